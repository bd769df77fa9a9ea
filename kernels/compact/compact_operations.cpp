// Walks over two sets. See compact_operations.h.
#include "compact/compact_operations.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "compact/compact_blocks.h"

namespace batmap {

namespace {

/// The room of one call, on its stack.
struct Scratch {
  alignas(64) uint64_t words[kBitmapBlockWords];
  alignas(64) uint64_t more_words[kBitmapBlockWords];
  uint16_t elements[kFilteredUnits];
  BlockRun runs[kFewRuns + 1];
};

void combine_blocks(const CompactBlock& a, const CompactBlock& b, SetCombination operation, const CompactKernel& kernel,
                    Scratch& scratch, CompactWriter& out) {
  const bool a_is_array = is(a, BlockKind::kArray);
  const bool b_is_array = is(b, BlockKind::kArray);
  size_t count = 0;
  if (operation == SetCombination::kAnd && (a_is_array || b_is_array)) {
    count =
        a_is_array ? filter_array(a, b, true, kernel, scratch.elements) : filter_array(b, a, true, kernel, scratch.elements);
    return out.add_array(a.key, {scratch.elements, count}, kernel);
  }
  if (operation == SetCombination::kAndNot && a_is_array) {
    count = filter_array(a, b, false, kernel, scratch.elements);
    return out.add_array(a.key, {scratch.elements, count}, kernel);
  }
  if (a_is_array && b_is_array && a.count + b.count <= kMaxUnits) {
    const auto merge = operation == SetCombination::kOr ? kernel.keep_either : kernel.keep_single;
    count = merge(a.data, a.count, b.data, b.count, scratch.elements);
    return out.add_array(a.key, {scratch.elements, count}, kernel);
  }
  // Arrays of more elements become a bitmap, unless they have many in common.
  if (swept(a) + swept(b) <= kFewRuns) {
    count = sweep(a, b, operation, scratch.runs);
    return out.add_runs(a.key, {scratch.runs, count});
  }
  const std::byte* const of_a = words_of_block(a, kernel, scratch.words);
  const std::byte* const of_b = words_of_block(b, kernel, scratch.more_words);
  kernel.combine_words(operation, of_a, of_b, scratch.words);
  out.add_words(a.key, scratch.words, kernel);
}

}  // namespace

void combine_compact(const CompactView& a, const CompactView& b, SetCombination operation, const CompactKernel& kernel,
                     CompactWriter& out, const CancelToken& cancel) {
  const bool keep_b = operation == SetCombination::kOr || operation == SetCombination::kXor;
  const bool keep_a = operation != SetCombination::kAnd;
  if (keep_b)
    out.reserve(a.blocks() + b.blocks(), a.bytes() + b.bytes());
  else
    out.reserve(keep_a ? a.blocks() : std::min(a.blocks(), b.blocks()), keep_a ? a.bytes() : std::min(a.bytes(), b.bytes()));
  Scratch scratch;
  BlockCursor x(a);
  BlockCursor y(b);
  uint32_t steps = 0;
  while (!x.at_end() && !y.at_end()) {
    if (++steps % kStepsPerPoll == 0) cancel.throw_if_requested();
    const uint64_t x_key = x.key();
    const uint64_t y_key = y.key();
    if (x_key < y_key) {
      if (keep_a) {
        out.add_block(x.block());
        x.next();
      } else {
        x.seek(y_key);
      }
    } else if (y_key < x_key) {
      if (keep_b) {
        out.add_block(y.block());
        y.next();
      } else {
        y.seek(x_key);
      }
    } else {
      combine_blocks(x.block(), y.block(), operation, kernel, scratch, out);
      x.next();
      y.next();
    }
  }
  const auto add_rest = [&](BlockCursor& rest) {
    for (; !rest.at_end(); rest.next()) {
      if (++steps % kStepsPerPoll == 0) cancel.throw_if_requested();
      out.add_block(rest.block());
    }
  };
  if (keep_a) add_rest(x);
  if (keep_b) add_rest(y);
}

namespace {

/// The elements that all blocks of a key have. Arrays come first, the shortest one in front: what is left of them never grows.
uint32_t count_common_of_blocks(std::span<CompactBlock> blocks, const CompactKernel& kernel, Scratch& scratch,
                                std::span<uint16_t> other_elements) {
  std::sort(blocks.begin(), blocks.end(), [](const CompactBlock& x, const CompactBlock& y) {
    const bool x_is_array = is(x, BlockKind::kArray);
    return x_is_array != is(y, BlockKind::kArray) ? x_is_array : x.count < y.count;
  });
  CompactBlock common = blocks[0];
  uint16_t* to = scratch.elements;
  uint16_t* next = other_elements.data();
  for (const CompactBlock& block : blocks.subspan(1, blocks.size() - 2)) {
    if (is(common, BlockKind::kArray)) {
      const size_t left = filter_array(common, block, true, kernel, to);
      if (left == 0) return 0;
      const auto count = static_cast<uint32_t>(std::min<size_t>(left, kMaxUnits));  // more only of damaged bytes
      common = {block.key, count, {BlockKind::kArray, count}, reinterpret_cast<const std::byte*>(to)};
      std::swap(to, next);
      continue;
    }
    if (common.data != reinterpret_cast<const std::byte*>(scratch.words)) expand_block(common, kernel, scratch.words);
    common = {block.key, kBlockSpan, {BlockKind::kBitmap, kMaxUnits}, reinterpret_cast<const std::byte*>(scratch.words)};
    change_words(SetCombination::kAnd, block, scratch.words);
  }
  return count_common(common, blocks.back(), kernel);
}

}  // namespace

uint64_t count_common_of_all(std::span<const CompactView> sets, const CompactKernel& kernel, const CancelToken& cancel) {
  assert(sets.size() >= 2 && sets.size() <= kMostTogether);
  std::array<std::optional<BlockCursor>, kMostTogether> at;
  std::array<CompactBlock, kMostTogether> blocks;
  for (size_t i = 0; i < sets.size(); ++i) at[i].emplace(sets[i]);
  // The one with the fewest blocks leads.
  const auto fewest = std::min_element(sets.begin(), sets.end(),
                                       [](const CompactView& x, const CompactView& y) { return x.blocks() < y.blocks(); });
  BlockCursor& lead = *at[static_cast<size_t>(fewest - sets.begin())];
  Scratch scratch;
  uint16_t elements[kFilteredUnits];
  uint64_t total = 0;
  for (uint32_t steps = 1; !lead.at_end(); ++steps) {
    if (steps % kStepsPerPoll == 0) cancel.throw_if_requested();
    const uint64_t key = lead.key();
    uint64_t wanted = key;
    for (size_t i = 0; i < sets.size() && wanted == key; ++i) {
      at[i]->seek(key);
      if (at[i]->at_end()) return total;
      wanted = at[i]->key();
      blocks[i] = at[i]->block();
    }
    if (wanted != key) {
      lead.seek(wanted);
      continue;
    }
    total += count_common_of_blocks({blocks.data(), sets.size()}, kernel, scratch, elements);
    lead.next();
  }
  return total;
}

bool is_subset(const CompactView& a, const CompactView& b, const CompactKernel& kernel, const CancelToken& cancel) {
  if (a.cardinality() > b.cardinality()) return false;
  BlockCursor y(b);
  uint32_t steps = 0;
  for (BlockCursor x(a); !x.at_end(); x.next()) {
    if (++steps % kStepsPerPoll == 0) cancel.throw_if_requested();
    y.seek(x.key());
    if (y.at_end() || y.key() != x.key()) return false;
    const CompactBlock block = x.block();
    if (count_common(block, y.block(), kernel) != block.count) return false;
  }
  return true;
}

size_t keep_members(const CompactView& set, std::span<uint64_t> elements) {
  size_t kept = 0;
  uint64_t key = ~uint64_t{0};
  bool found = false;
  CompactBlock block{};
  for (const uint64_t x : elements) {
    if (x >> kBlockShift != key) {
      key = x >> kBlockShift;
      const size_t i = set.lower_bound(key);
      found = i < set.blocks() && set.key(i) == key;
      if (found) block = set.block(i);
    }
    elements[kept] = x;
    kept += found && block.contains(static_cast<uint32_t>(x % kBlockSpan));
  }
  return kept;
}

int compare_compact(const CompactView& a, const CompactView& b, const CancelToken& cancel) {
  BlockCursor x(a);
  BlockCursor y(b);
  for (uint32_t steps = 1; !x.at_end() && !y.at_end(); ++steps, x.next(), y.next()) {
    if (steps % kStepsPerPoll == 0) cancel.throw_if_requested();
    const CompactBlock p = x.block();
    const CompactBlock q = y.block();
    if (p.key != q.key || p.count != q.count || p.shape != q.shape || std::memcmp(p.data, q.data, p.bytes()) != 0) break;
  }
  if (x.at_end() || y.at_end()) return x.at_end() ? (y.at_end() ? 0 : -1) : 1;
  CompactReader from_a(a, cancel, x.number());
  CompactReader from_b(b, cancel, y.number());
  uint64_t a_chunk[CompactReader::kChunk];
  uint64_t b_chunk[CompactReader::kChunk];
  size_t a_count = 0, b_count = 0, i = 0, j = 0;
  for (;; ++i, ++j) {
    if (i == a_count) a_count = from_a.next(a_chunk), i = 0;
    if (j == b_count) b_count = from_b.next(b_chunk), j = 0;
    if (a_count == 0 || b_count == 0) return a_count == b_count ? 0 : a_count == 0 ? -1 : 1;
    if (a_chunk[i] != b_chunk[j]) return a_chunk[i] < b_chunk[j] ? -1 : 1;
  }
}

}  // namespace batmap
