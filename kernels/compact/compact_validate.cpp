// The full check of untrusted bytes. See compact_view.h.
#include <bit>
#include <span>
#include <string>

#include "compact/compact_view.h"
#include "core/error.h"

namespace batmap {

namespace {

constexpr size_t kBlocksPerPoll = 16;

[[noreturn]] void invalid(const char* what) { throw Error(ErrorCode::kInvalidData, std::string("invalid batmap: ") + what); }

/// What the data of a block says.
struct Measured {
  uint32_t count = 0;
  uint32_t runs = 0;
};

Measured measure_array(const CompactBlock& block) {
  Measured found{block.count, 1};
  for (uint32_t i = 1; i < block.count; ++i) {
    if (block.unit(i) <= block.unit(i - 1)) invalid("elements are not ascending");
    found.runs += block.unit(i) != block.unit(i - 1) + 1;
  }
  return found;
}

Measured measure_bitmap(const CompactBlock& block) {
  Measured found;
  uint64_t before = 0;  // the highest bit of the word before
  for (size_t w = 0; w < kBitmapBlockWords; ++w) {
    const uint64_t word = block.word(w);
    found.count += static_cast<uint32_t>(std::popcount(word));
    found.runs += static_cast<uint32_t>(std::popcount(word & ~(word << 1 | before)));
    before = word >> 63;
  }
  return found;
}

Measured measure_runs(const CompactBlock& block) {
  Measured found{0, block.runs()};
  uint32_t free_from = 0;  // a run may begin here
  for (uint32_t i = 0; i < block.runs(); ++i) {
    const BlockRun run = block.run(i);
    if (run.first < free_from) invalid("runs are not ascending");
    if (run.last < run.first) invalid("a run ends before it begins");
    found.count += run.last - run.first + 1;
    free_from = run.last + 2;
  }
  return found;
}

void check_block(const CompactBlock& block) {
  Measured found;
  switch (block.shape.kind) {
    case BlockKind::kArray:
      if (block.shape.units != block.count) invalid("cardinality and array disagree");
      found = measure_array(block);
      break;
    case BlockKind::kBitmap:
      if (block.shape.units != kMaxUnits) invalid("a bitmap is cut off");
      found = measure_bitmap(block);
      break;
    case BlockKind::kRuns:
      if (block.shape.units != 1 && block.shape.units % 2 != 0) invalid("a run is cut off");
      found = measure_runs(block);
      break;
    default: invalid("unknown kind of block");
  }
  if (found.count != block.count) invalid("cardinality and elements disagree");
  if (block.shape != block_shape(found.count, found.runs)) invalid("a block is not in its shortest form");
}

}  // namespace

void validate_compact(std::span<const std::byte> bytes, const CancelToken& cancel) {
  const CompactView set = CompactView::open(bytes);
  const unsigned codes = std::to_integer<unsigned>(bytes[0]) & 15;
  const size_t key_bytes = key_bytes_of(codes);
  if (key_bytes == 2 && !has_few_blocks(codes) && set.blocks() <= kMaxFewBlocks)
    invalid("header is not in its shortest form");
  if (set.has_long_header() && (load_le<uint32_t>(bytes.data()) >> 8) != 0) invalid("reserved bytes are not zero");
  uint64_t cardinality = 0;
  size_t units = 0;
  for (size_t i = 0; i < set.blocks(); ++i) {
    if (i % kBlocksPerPoll == kBlocksPerPoll - 1) cancel.throw_if_requested();
    if (i > 0 && set.key(i) <= set.key(i - 1)) invalid("blocks are not ascending");
    if (set.key(i) > kMaxKey) invalid("an element is 2^62 or more");
    if (set.has_long_header() && i % kBlocksPerOffset == 0 &&
        load_le<uint32_t>(bytes.data() + kLongHeaderBytes + 4 * (i / kBlocksPerOffset)) != units)
      invalid("offsets and blocks disagree");
    const CompactBlock block = set.written_block(i, bytes.data() + set.head_bytes() + 2 * units);
    units += block.shape.units;
    if (set.head_bytes() + 2 * units > bytes.size()) invalid("blocks are cut off");
    check_block(block);
    cardinality += block.count;
  }
  if (set.head_bytes() + 2 * units != bytes.size()) invalid("length and header disagree");
  if (cardinality != set.cardinality()) invalid("cardinality and blocks disagree");
  if (set.has_long_header() && set.last_key() != set.key(set.blocks() - 1)) invalid("last key and blocks disagree");
  if (key_bytes != key_bytes_for(set.last_key())) invalid("header is not in its shortest form");
}

}  // namespace batmap
