// Type batmap_join_counts: text and binary form, addition, sum and summary figures. The text form is "j1:" and the bytes in
// base64. Bytes from outside are validated in full. See kernels/pairs/counts/pair_counts.h for the format.
#include <span>

#include "extension/types/join_counts_datum.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

struct varlena* join_counts_allocate(size_t capacity) {
  return value_allocate("batmap_join_counts", "Raise min_count.", capacity);
}

constexpr FlatType kJoinCountsType = {
    "batmap_join_counts", "j1:", "Make join counts with batmap_join_counts_from(left_query, right_query).",
    join_counts_allocate, [](std::span<const std::byte> bytes) { return is_join_counts(bytes, bytes.size()); }};

}  // namespace

const SummedType kSummedJoinCounts = {kJoinCountsType, add_pair_counts, pair_counts_append, validate_join_counts};

}  // namespace batmap::pg

using namespace batmap;
using namespace batmap::pg;

namespace {

PairCountsHeader join_header_argument(FunctionCallInfo fcinfo) {
  return summed_header_argument<PairCountsHeader>(kSummedJoinCounts, fcinfo, is_join_counts);
}

}  // namespace

BATMAP_FUNCTION(batmap_join_counts_in) { return summed_in(kSummedJoinCounts, fcinfo); }
BATMAP_FUNCTION(batmap_join_counts_out) { return summed_out(kSummedJoinCounts, fcinfo); }
BATMAP_FUNCTION(batmap_join_counts_recv) { return summed_recv(kSummedJoinCounts, fcinfo); }
BATMAP_FUNCTION(batmap_join_counts_send) { return summed_send(kSummedJoinCounts, fcinfo); }
BATMAP_FUNCTION(batmap_join_counts_add) { return summed_add(kSummedJoinCounts, fcinfo); }
BATMAP_FUNCTION(batmap_join_counts_merge) { return summed_merge(kSummedJoinCounts, fcinfo); }
BATMAP_FUNCTION(batmap_join_counts_sum_final) { return summed_final(kSummedJoinCounts, fcinfo); }

BATMAP_FUNCTION(batmap_join_counts_total) { PG_RETURN_INT64(static_cast<int64>(join_header_argument(fcinfo).total)); }
BATMAP_FUNCTION(batmap_join_counts_pairs) { PG_RETURN_INT64(static_cast<int64>(join_header_argument(fcinfo).pairs)); }
