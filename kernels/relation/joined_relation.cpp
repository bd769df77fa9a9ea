// Codes for the columns of two relations. See joined_relation.h.
#include "relation/joined_relation.h"

#include <algorithm>
#include <numeric>

#include "core/polled.h"
#include "relation/key_codes.h"

namespace batmap {

namespace {

struct Extent {
  int64_t low = INT64_MAX;
  int64_t high = INT64_MIN;

  void add(int64_t base, uint64_t range) {
    low = std::min(low, base);
    high = std::max(high, static_cast<int64_t>(static_cast<uint64_t>(base) + range));
  }
  KeyCodes codes(MemoryMeter& meter, uint64_t rows) const {
    return {meter, low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low), rows};
  }
};

/// The offsets of a column from the smallest key where codes are direct, else its keys.
void decode(const KeyCodes& codes, const std::byte* column, int64_t base, uint64_t range, uint32_t rows, uint64_t* out) {
  const uint64_t shift = static_cast<uint64_t>(base) - (codes.direct() ? static_cast<uint64_t>(codes.base()) : 0);
  decode_offsets(column, range, rows, shift, out);
}
uint32_t insert(KeyCodes& codes, uint64_t decoded) {
  return codes.direct() ? static_cast<uint32_t>(decoded) : codes.insert(static_cast<int64_t>(decoded));
}
uint32_t find(const KeyCodes& codes, uint64_t decoded) {
  return codes.direct() ? static_cast<uint32_t>(decoded) : codes.find(static_cast<int64_t>(decoded));
}

class Bits {
 public:
  Bits(MemoryMeter& meter, uint64_t size) : words_(meter, (size + 63) / 64, Fill::kZero) {}
  void set(uint32_t bit) { words_[bit >> 6] |= uint64_t{1} << (bit & 63); }
  bool operator[](uint32_t bit) const { return words_[bit >> 6] >> (bit & 63) & 1; }

 private:
  Buffer<uint64_t> words_;
};

/// Calls visit(decoded b, decoded item) for every row.
template <typename Visit>
void visit_rows(const JoinSide& side, const KeyCodes& tids, const KeyCodes& items, const ExecutionOptions& options,
                Visit visit) {
  uint64_t tid[kChunkRows];
  uint64_t item[kChunkRows];
  for (const ChunkView& chunk : side.chunks) {
    options.cancel.throw_if_requested();
    decode(tids, chunk.tids, chunk.tid_base, chunk.tid_range, chunk.rows, tid);
    decode(items, chunk.items, chunk.item_base, chunk.item_range, chunk.rows, item);
    for (uint32_t k = 0; k < chunk.rows; ++k) visit(tid[k], item[k]);
  }
}

/// Ranks of the codes of one side by value, behind the `before` items of the other.
void rank_items(const KeyCodes& codes, std::span<const uint32_t> item_rank, uint32_t before, const ExecutionOptions& options,
                JoinedRelation& out) {
  const auto count = static_cast<uint32_t>(codes.size());
  const auto value = [&](uint32_t code) {
    return item_rank.empty() ? codes.key(code) : item_rank[static_cast<size_t>(codes.key(code))];
  };
  Buffer<uint32_t> by_value(*options.memory, count);
  std::iota(by_value.begin(), by_value.end(), 0u);
  if (!codes.direct() || !item_rank.empty())
    std::sort(by_value.begin(), by_value.end(),
              polled(options.cancel, [&](uint32_t x, uint32_t y) { return value(x) < value(y); }));
  for (uint32_t rank = 0; rank < count; ++rank) {
    if (rank % 65536 == 0) options.cancel.throw_if_requested();
    out.item_rank[before + by_value[rank]] = before + rank;
    out.values[before + rank] = value(by_value[rank]);
  }
}

}  // namespace

JoinedRelation join_relations(const JoinSide& left, const JoinSide& right, const ExecutionOptions& options) {
  MemoryMeter& meter = *options.memory;
  JoinedRelation joined{PairLog(meter), {}, {}, 0};
  Extent tid_extent;
  Extent item_extent[2];
  uint64_t rows[2] = {0, 0};
  for (const JoinSide* const side : {&left, &right})
    for (const ChunkView& chunk : side->chunks) {
      tid_extent.add(chunk.tid_base, chunk.tid_range);
      item_extent[side == &right].add(chunk.item_base, chunk.item_range);
      rows[side == &right] += chunk.rows;
    }
  if (rows[0] == 0 || rows[1] == 0) return joined;

  KeyCodes tids = tid_extent.codes(meter, rows[0] + rows[1]);
  KeyCodes left_items = item_extent[0].codes(meter, rows[0]);
  KeyCodes right_items = item_extent[1].codes(meter, rows[1]);
  // Hashed tids have a code exactly when the left side has them.
  Bits in_left(meter, tids.direct() ? tids.size() : 0);
  visit_rows(left, tids, left_items, options, [&](uint64_t tid, uint64_t item) {
    const uint32_t code = insert(tids, tid);
    if (tids.direct()) in_left.set(code);
    insert(left_items, item);
  });
  joined.left_items = static_cast<uint32_t>(left_items.size());
  Bits in_both(meter, tids.size());
  visit_rows(right, tids, right_items, options, [&](uint64_t tid, uint64_t item) {
    const uint32_t code = find(tids, tid);
    if (tids.direct() ? !in_left[code] : code == KeyCodes::kNone) return;
    in_both.set(code);
    joined.log.append(code, int64_t{joined.left_items} + insert(right_items, item));
  });
  visit_rows(left, tids, left_items, options, [&](uint64_t tid, uint64_t item) {
    if (const uint32_t code = find(tids, tid); in_both[code]) joined.log.append(code, find(left_items, item));
  });
  joined.log.seal();
  const uint64_t items = left_items.size() + right_items.size();
  if (items >= UINT32_MAX) throw Error(ErrorCode::kTooLarge, "more than 4294967294 items in one join");
  joined.item_rank = Buffer<uint32_t>(meter, items);
  joined.values = Buffer<int64_t>(meter, items);
  rank_items(left_items, left.item_rank, 0, options, joined);
  rank_items(right_items, right.item_rank, joined.left_items, options, joined);
  return joined;
}

}  // namespace batmap
