// Type batmap_pair_counts: text and binary form, addition, summary figures, and conversion to rows. The text
// form is "c1:" and the bytes in base64. Bytes from outside are validated in full. See
// kernels/pairs/counts/pair_counts.h for the format.
#include <span>
#include <string_view>

#include "extension/server/flat_value.h"
#include "extension/types/pair_counts_datum.h"
#include "extension/types/text_items.h"
#include "pairs/counts/kept_counts.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// The items of a value in the order of their indexes. Lives in the context of its call.
struct ItemsByIndex {
  explicit ItemsByIndex(const std::byte* value)
      : meter(memory_limit_bytes(), session_memory()), item(meter, pair_counts_header(value).items) {
    for (PairCountsItems items(value); items.next();) item[items.index()] = items.item();
  }

  MemoryMeter meter;
  Buffer<int64_t> item;
};

}  // namespace

const FlatType kPairCountsType = {"batmap_pair_counts", "c1:", "Build pair counts with batmap_pair_counts_agg(tid, item).",
                                  counts_allocate,
                                  [](std::span<const std::byte> bytes) { return is_pair_counts(bytes, bytes.size()); }};

const SummedType kSummedPairCounts = {kPairCountsType, add_pair_counts, pair_counts_append, validate_pair_counts};

struct varlena* counts_allocate(size_t capacity) {
  return value_allocate("batmap_pair_counts",
                        "Give the query itself to the table function batmap_pairs: it has no such limit.", capacity);
}

void check_same_items(struct varlena* left, struct varlena* right) {
  const PairCountsHeader of_left = pair_counts_header(counts_bytes(left));
  const PairCountsHeader of_right = pair_counts_header(counts_bytes(right));
  if (of_left.has_texts() == of_right.has_texts() || of_left.items == 0 || of_right.items == 0) return;
  ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("%s", kMixedCounts), errhint("%s", kMixedCountsHint)));
}

void check_counts_items(struct varlena* counts, bool texts, const char* hint) {
  const PairCountsHeader header = pair_counts_header(counts_bytes(counts));
  if (header.has_texts() == texts || header.items == 0) return;
  ereport(ERROR,
          (errcode(ERRCODE_DATATYPE_MISMATCH),
           errmsg("the items of the pair counts are %s", header.has_texts() ? "text" : "integers"), errhint("%s", hint)));
}

struct varlena* counts_validated(struct varlena* value) {
  summed_validated(kSummedPairCounts, value);
  for (PairCountsItems items(counts_bytes(value)); items.next();) {
    if (items.index() % 4096 == 0) CHECK_FOR_INTERRUPTS();
    check_encoding(items.text());
  }
  return value;
}

std::span<const std::string_view> counts_texts(struct varlena* finished, MemoryMeter& meter) {
  const std::byte* const value = counts_bytes(finished);
  const size_t count = pair_counts_header(value).items;
  const size_t array_bytes = Max(count, 1) * sizeof(std::string_view);
  guarded([&] { meter.charge(array_bytes); });
  auto* const texts = static_cast<std::string_view*>(MemoryContextAllocHuge(CurrentMemoryContext, array_bytes));
  for (PairCountsItems items(value); items.next();) {
    if (items.index() % 65536 == 0) CHECK_FOR_INTERRUPTS();
    texts[items.index()] = items.text();
  }
  return {texts, count};
}

}  // namespace batmap::pg

using namespace batmap;
using namespace batmap::pg;

namespace {

/// Argument 0 in its finished form.
const std::byte* value_argument(FunctionCallInfo fcinfo) {
  return counts_bytes(counts_finished(counts_argument(fcinfo, 0)));
}

/// The same. @param hint  what to use instead if its items are texts
const std::byte* integer_counts_argument(FunctionCallInfo fcinfo, const char* hint) {
  struct varlena* const counts = counts_finished(counts_argument(fcinfo, 0));
  check_counts_items(counts, false, hint);
  return counts_bytes(counts);
}

constexpr const char* kTextArguments = "Give items of type text: 'item'::text.";

/// The count of a pair of items that are given as texts. An untyped literal or parameter has this type, so texts are
/// read as integers where the items of the counts are integers. @raises 22P02 for a text that is no integer
Datum count_of_texts(FunctionCallInfo fcinfo, int item_a, int item_b) {
  const std::byte* const value = value_argument(fcinfo);
  const PairCountsHeader header = pair_counts_header(value);
  if (header.has_texts() || header.items == 0)
    PG_RETURN_INT64(static_cast<int64>(pair_count(value, text_argument(fcinfo, item_a), text_argument(fcinfo, item_b))));
  const auto integer = [&](int argument) {
    return DatumGetInt64(DirectFunctionCall1(int8in, CStringGetDatum(text_to_cstring(PG_GETARG_TEXT_PP(argument)))));
  };
  const int64 first = integer(item_a);
  PG_RETURN_INT64(static_cast<int64>(pair_count(value, first, integer(item_b))));
}

PairCountsHeader header_argument(FunctionCallInfo fcinfo) {
  return summed_header_argument<PairCountsHeader>(kSummedPairCounts, fcinfo, is_pair_counts);
}

}  // namespace

BATMAP_FUNCTION(batmap_pair_counts_in) {
  PG_RETURN_POINTER(counts_validated(flat_of_text(kPairCountsType, PG_GETARG_CSTRING(0))));
}

BATMAP_FUNCTION(batmap_pair_counts_out) { return summed_out(kSummedPairCounts, fcinfo); }

BATMAP_FUNCTION(batmap_pair_counts_recv) {
  PG_RETURN_POINTER(counts_validated(flat_of_message(kPairCountsType, reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)))));
}

BATMAP_FUNCTION(batmap_pair_counts_send) { return summed_send(kSummedPairCounts, fcinfo); }

BATMAP_FUNCTION(batmap_pair_counts_add) {
  struct varlena* const left = counts_argument(fcinfo, 0);
  struct varlena* const right = counts_argument(fcinfo, 1);
  check_same_items(left, right);
  PG_RETURN_POINTER(sum_of_two(kSummedPairCounts, left, right));
}

BATMAP_FUNCTION(batmap_pair_counts_subtract) {
  struct varlena* const left = counts_finished(counts_argument(fcinfo, 0));
  struct varlena* const right = counts_finished(counts_argument(fcinfo, 1));
  check_same_items(left, right);
  PG_RETURN_POINTER(counts_made(
      [&](CountsWork& work) { subtract_pair_counts(counts_bytes(left), counts_bytes(right), work.bytes, work.options); }));
}

BATMAP_FUNCTION(batmap_pair_counts_total) { PG_RETURN_INT64(static_cast<int64>(header_argument(fcinfo).total)); }
BATMAP_FUNCTION(batmap_pair_counts_items) { PG_RETURN_INT64(header_argument(fcinfo).items); }
BATMAP_FUNCTION(batmap_pair_counts_pairs) { PG_RETURN_INT64(static_cast<int64>(header_argument(fcinfo).pairs)); }

BATMAP_FUNCTION(batmap_pair_count) {
  const std::byte* const value = integer_counts_argument(fcinfo, kTextArguments);
  PG_RETURN_INT64(static_cast<int64>(pair_count(value, PG_GETARG_INT64(1), PG_GETARG_INT64(2))));
}

BATMAP_FUNCTION(batmap_pair_count_text) { return count_of_texts(fcinfo, 1, 2); }

BATMAP_FUNCTION(batmap_item_count) {
  const int64 item = PG_GETARG_INT64(1);
  PG_RETURN_INT64(static_cast<int64>(pair_count(integer_counts_argument(fcinfo, kTextArguments), item, item)));
}

BATMAP_FUNCTION(batmap_item_count_text) { return count_of_texts(fcinfo, 1, 1); }

BATMAP_FUNCTION(batmap_pair_counts_unnest_of) {
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  struct varlena* const counts = counts_finished(counts_argument(fcinfo, 0));
  check_counts_items(counts, true, "Use batmap_pair_counts_unnest.");
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap unnest", ALLOCSET_SMALL_SIZES);
  const MemoryContext caller = MemoryContextSwitchTo(context);
  MemoryMeter* const meter = call_meter(context);
  const Datum* const texts = text_values(counts_texts(counts, *meter), context, *meter);
  MemoryContextSwitchTo(caller);
  for (PairCountsItems items(counts_bytes(counts)); items.next();) {
    CHECK_FOR_INTERRUPTS();
    for (PairCountsRow row = items.row(); row.next();) {
      Datum values[3] = {texts[items.index()], texts[row.index()], Int64GetDatum(static_cast<int64>(row.count()))};
      bool nulls[3] = {};
      tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }
  }
  MemoryContextDelete(context);
  return Datum{0};
}

BATMAP_FUNCTION(batmap_pair_counts_unnest) {
  InitMaterializedSRF(fcinfo, 0);
  auto* const result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
  const MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "batmap unnest", ALLOCSET_SMALL_SIZES);
  const std::byte* const value = integer_counts_argument(fcinfo, "Use batmap_pair_counts_unnest_of.");
  const ItemsByIndex* const by_index = ContextOwned<ItemsByIndex>::reserve(context)->emplace(value);
  for (PairCountsItems items(value); items.next();) {
    CHECK_FOR_INTERRUPTS();
    for (PairCountsRow row = items.row(); row.next();) {
      Datum values[3] = {Int64GetDatum(items.item()), Int64GetDatum(by_index->item[row.index()]),
                         Int64GetDatum(static_cast<int64>(row.count()))};
      bool nulls[3] = {};
      tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }
  }
  MemoryContextDelete(context);
  return Datum{0};
}
