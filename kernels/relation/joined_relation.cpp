// Gives codes to the columns of two relations and joins them. See joined_relation.h.
#include "relation/joined_relation.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "core/polled.h"
#include "relation/key_codes.h"

namespace batmap {

namespace {

KeyCodes codes_within(const KeyBounds& keys, uint64_t rows, const ExecutionOptions& options) {
  return {options, keys.low, keys.range(), rows};
}

/// Decodes a column: offsets from the smallest key if codes are direct, else the keys.
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

/// With more tids than this, the arrays by tid that grouping writes do not fit into a cache: the shape `sparse` of
/// bench/join_shapes.h gains, and `middle` does not.
constexpr uint64_t kTidsInCache = uint64_t{1} << 18;

/// Puts the rows of many tids into a log so that a chunk has tids of one range: grouping then takes range by range, on
/// several threads and in their caches (tid_parts.h). Rows of few tids go into the log as they come.
class RowDealer {
 public:
  /// @param tids  the codes that rows can have are below this
  RowDealer(RowLog& log, uint64_t tids, MemoryMeter& meter)
      : log_(log),
        shift_(tids > kTidsInCache ? static_cast<int>(std::bit_width(tids - 1)) - kRangeBits : kNoShift),
        rows_(meter, shift_ == kNoShift ? 0 : kRanges * kChunkRows) {}

  void append(int64_t tids_before, uint32_t tid, int64_t item) {
    if (shift_ == kNoShift) {
      log_.append(tids_before + tid, item);
      return;
    }
    const size_t range = tid >> shift_;
    rows_[range * kChunkRows + count_[range]] = {tids_before + tid, item};
    if (++count_[range] == kChunkRows) pass_on(range);
  }
  /// After the last row.
  void finish() {
    if (shift_ == kNoShift) return;
    for (size_t range = 0; range < kRanges; ++range) pass_on(range);
  }

 private:
  static constexpr int kRangeBits = 4;
  static constexpr size_t kRanges = size_t{1} << kRangeBits;
  static constexpr int kNoShift = -1;

  void pass_on(size_t range) {
    log_.append_rows(rows_.span().subspan(range * kChunkRows, count_[range]));
    count_[range] = 0;
  }

  RowLog& log_;
  int shift_;
  Buffer<TidItem> rows_;  // [ranges][kChunkRows]
  uint32_t count_[kRanges] = {};
};

/// Calls visit(decoded b, decoded item) for every row of the chunks.
template <typename Visit>
void visit_rows(std::span<const ChunkView> chunks, const KeyCodes& tids, const KeyCodes& items,
                const ExecutionOptions& options, Visit visit) {
  uint64_t tid[kChunkRows];
  uint64_t item[kChunkRows];
  for (const ChunkView& chunk : chunks) {
    options.cancel.throw_if_requested();
    decode(tids, chunk.tids, chunk.tid_base, chunk.tid_range, chunk.rows, tid);
    decode(items, chunk.items, chunk.item_base, chunk.item_range, chunk.rows, item);
    for (uint32_t k = 0; k < chunk.rows; ++k) visit(tid[k], item[k]);
  }
}

/// Ranks the codes of one side by value; the first rank is `before`, the number of items of the other side.
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

uint64_t rows_of(const JoinSide& side) {
  if (side.partitions != nullptr) return side.partitions->rows();
  uint64_t rows = 0;
  for (const ChunkView& chunk : side.chunks) rows += chunk.rows;
  return rows;
}

KeyCodes item_codes(const JoinSide& side, uint64_t rows, const ExecutionOptions& options) {
  if (side.partitions != nullptr) return codes_within(side.partitions->item_bounds(), rows, options);
  KeyBounds items;
  for (const ChunkView& chunk : side.chunks) items.add(chunk.item_base, chunk.item_range);
  return codes_within(items, rows, options);
}

/// Calls visit(chunks of the left side, chunks of the right side) for all partitions of the same b with rows
/// on both sides. Closes the files of these partitions.
template <typename Visit>
void visit_partitions(const RowPartitions& left, const RowPartitions& right, const ExecutionOptions& options, Visit visit) {
  for (size_t k = 0; k < RowPartitions::kPartitions; ++k) {
    const RowPartition& ours = left.parts()[k];
    const RowPartition& theirs = right.parts()[k];
    if (ours.rows == 0 || theirs.rows == 0) continue;
    if (ours.bytes + theirs.bytes > max_loaded_bytes(options) && left.can_split()) {
      visit_partitions(left.split(ours, options.cancel), right.split(theirs, options.cancel), options, visit);
      continue;
    }
    const LoadedRows our_rows({&ours, 1}, options);
    const LoadedRows their_rows({&theirs, 1}, options);
    ours.file->close();
    theirs.file->close();
    visit(our_rows.chunks(), their_rows.chunks());
  }
}

/// The joined relation while it grows. Each add() brings a set of b with all their rows of both sides.
class Join {
 public:
  /// @param left_rows, right_rows  upper bounds of the rows to be coded; they bound the range of direct codes
  Join(const JoinSide& left, uint64_t left_rows, const JoinSide& right, uint64_t right_rows, const ExecutionOptions& options)
      : options_(options),
        left_items_(item_codes(left, left_rows, options)),
        right_items_(item_codes(right, right_rows, options)),
        joined_{RowLog(options), {}, {}, 0} {}

  /// Whether all left items must be coded before the first of several add(): the codes of right items follow theirs.
  bool needs_left_items() const { return !left_items_.direct(); }
  void code_left(const ChunkView& chunk) {
    uint64_t keys[kChunkRows];
    decode(left_items_, chunk.items, chunk.item_base, chunk.item_range, chunk.rows, keys);
    for (uint32_t k = 0; k < chunk.rows; ++k) insert(left_items_, keys[k]);
  }

  void add(std::span<const ChunkView> left, std::span<const ChunkView> right) {
    KeyBounds bounds;
    uint64_t rows = 0;
    for (const std::span<const ChunkView> side : {left, right})
      for (const ChunkView& chunk : side) {
        bounds.add(chunk.tid_base, chunk.tid_range);
        rows += chunk.rows;
      }
    MemoryMeter& meter = *options_.memory;
    KeyCodes tids = codes_within(bounds, rows, options_);
    // A hashed tid has a code exactly if the left side has it.
    Bits in_left(meter, tids.direct() ? tids.size() : 0);
    visit_rows(left, tids, left_items_, options_, [&](uint64_t tid, uint64_t item) {
      const uint32_t code = insert(tids, tid);
      if (tids.direct()) in_left.set(code);
      insert(left_items_, item);
    });
    joined_.left_items = static_cast<uint32_t>(left_items_.size());
    Bits in_both(meter, tids.size());
    RowDealer dealer(joined_.log, tids.size(), meter);
    visit_rows(right, tids, right_items_, options_, [&](uint64_t tid, uint64_t item) {
      const uint32_t code = find(tids, tid);
      if (tids.direct() ? !in_left[code] : code == KeyCodes::kNone) return;
      in_both.set(code);
      dealer.append(tids_before_, code, int64_t{joined_.left_items} + insert(right_items_, item));
    });
    visit_rows(left, tids, left_items_, options_, [&](uint64_t tid, uint64_t item) {
      if (const uint32_t code = find(tids, tid); in_both[code]) dealer.append(tids_before_, code, find(left_items_, item));
    });
    dealer.finish();
    tids_before_ += static_cast<int64_t>(tids.size());
  }

  JoinedRelation finish(std::span<const uint32_t> left_rank, std::span<const uint32_t> right_rank) {
    joined_.left_items = static_cast<uint32_t>(left_items_.size());
    joined_.log.seal();
    const uint64_t items = left_items_.size() + right_items_.size();
    if (items >= UINT32_MAX)
      throw Error(ErrorCode::kTooLarge, "more than 4294967294 items in one join",
                  "Join in parts, each with some of the items.");
    joined_.item_rank = Buffer<uint32_t>(*options_.memory, items);
    joined_.values = Buffer<int64_t>(*options_.memory, items);
    rank_items(left_items_, left_rank, 0, options_, joined_);
    rank_items(right_items_, right_rank, joined_.left_items, options_, joined_);
    return std::move(joined_);
  }

 private:
  const ExecutionOptions& options_;
  KeyCodes left_items_;
  KeyCodes right_items_;
  JoinedRelation joined_;
  int64_t tids_before_ = 0;  // codes of the b of earlier add()
};

/// The side in files; a side in memory is written to files first, which `moved` then owns.
const RowPartitions& in_files(const JoinSide& side, std::optional<RowPartitions>& moved, const ExecutionOptions& options) {
  if (side.partitions != nullptr) return *side.partitions;
  moved.emplace(*options.files, *options.memory);
  for (const ChunkView& chunk : side.chunks) {
    options.cancel.throw_if_requested();
    moved->append(chunk);
  }
  moved->seal();
  return *moved;
}

}  // namespace

JoinedRelation join_relations(const JoinSide& left, const JoinSide& right, const ExecutionOptions& options) {
  uint64_t left_rows = rows_of(left);
  uint64_t right_rows = rows_of(right);
  if (left_rows == 0 || right_rows == 0) return {RowLog(*options.memory), {}, {}, 0};
  if (left.partitions == nullptr && right.partitions == nullptr) {
    Join join(left, left_rows, right, right_rows, options);
    join.add(left.chunks, right.chunks);
    return join.finish(left.item_rank, right.item_rank);
  }
  const uint64_t max_rows = max_coded_rows(options);
  Join join(left, std::min(left_rows, max_rows), right, std::min(right_rows, max_rows), options);
  std::optional<RowPartitions> moved[2];
  const RowPartitions& left_files = in_files(left, moved[0], options);
  const RowPartitions& right_files = in_files(right, moved[1], options);
  if (join.needs_left_items())
    for (const RowPartition& part : left_files.parts())
      visit_chunks(part, *options.memory, options.cancel, [&](const ChunkView& chunk) { join.code_left(chunk); });
  visit_partitions(left_files, right_files, options, [&](const auto& ours, const auto& theirs) { join.add(ours, theirs); });
  return join.finish(left.item_rank, right.item_rank);
}

}  // namespace batmap
