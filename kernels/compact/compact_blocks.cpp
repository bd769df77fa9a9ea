// Merges and counts blocks. See compact_blocks.h.
#include "compact/compact_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace batmap {

namespace {

// ---- pairs of kinds, each with a function that sees the common elements of an array and another block

/// Calls see(x) for the elements of the short array that are in the long one.
template <typename See>
void gallop(const CompactBlock& few, const CompactBlock& many, See see) {
  uint32_t from = 0;
  for (uint32_t i = 0; i < few.count && from < many.count; ++i) {
    const uint32_t x = few.unit(i);
    uint32_t step = 1;
    while (from + step < many.count && many.unit(from + step) < x) step *= 2;
    uint32_t low = from + step / 2;
    uint32_t high = std::min(from + step, many.count - 1);
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      if (many.unit(middle) < x)
        low = middle + 1;
      else
        high = middle;
    }
    from = low;
    if (many.unit(low) == x) see(x);
  }
}

/// Calls see(x, is_member) for every element of an array. @param other  a bitmap or runs
template <typename See>
void test_members(const CompactBlock& array, const CompactBlock& other, See see) {
  if (is(other, BlockKind::kBitmap)) {
    for (uint32_t i = 0; i < array.count; ++i) {
      const uint32_t x = array.unit(i);
      see(x, (std::to_integer<unsigned>(other.data[x / 8]) >> (x % 8) & 1) != 0);
    }
    return;
  }
  const uint32_t runs = other.runs();
  uint32_t r = 0;
  BlockRun run = other.run(0);
  for (uint32_t i = 0; i < array.count; ++i) {
    const uint32_t x = array.unit(i);
    while (run.last < x && ++r < runs) run = other.run(r);
    see(x, run.first <= x && x <= run.last);
  }
}

uint32_t count_bits_in_runs(const CompactBlock& bitmap, const CompactBlock& runs) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < runs.runs(); ++i) {
    const BlockRun run = runs.run(i);
    in_words_of(run.first, run.last,
                [&](uint32_t w, uint64_t mask) { count += static_cast<uint32_t>(std::popcount(bitmap.word(w) & mask)); });
  }
  return count;
}

/// Calls see(first, last) for runs of a and b side by side; where first is above last, the two have nothing in common.
template <typename See>
void meet_runs(const CompactBlock& a, const CompactBlock& b, See see) {
  uint32_t i = 0;
  uint32_t j = 0;
  while (i < a.runs() && j < b.runs()) {
    const BlockRun x = a.run(i);
    const BlockRun y = b.run(j);
    see(std::max(x.first, y.first), std::min(x.last, y.last));
    i += x.last <= y.last;
    j += y.last <= x.last;
  }
}

uint32_t count_runs_in_runs(const CompactBlock& a, const CompactBlock& b) {
  uint32_t count = 0;
  meet_runs(a, b, [&](uint32_t first, uint32_t last) { count += first <= last ? last - first + 1 : 0; });
  return count;
}

// ---- runs

constexpr uint32_t kNoPlace = 2 * kBlockSpan;

/// Writes the places where a block begins and ceases to have elements, then kNoPlace: an even number of places, up to 2^16.
/// @param block  runs, or an array as runs of one element @param out  room for two places for each, and one
void list_changes(const CompactBlock& block, uint32_t* out) {
  if (is(block, BlockKind::kArray)) {
    for (uint32_t i = 0; i < block.count; ++i) {
      *out++ = block.unit(i);
      *out++ = block.unit(i) + 1;
    }
  } else if (block.shape.units == 1) {
    *out++ = block.run(0).first;
    *out++ = block.run(0).last + 1;
  } else {
    for (uint32_t i = 0; i < 2 * block.runs(); ++i) *out++ = block.unit(i) + i % 2;
  }
  *out = kNoPlace;
}

/// @return how many runs
size_t intersect_runs(const CompactBlock& a, const CompactBlock& b, BlockRun* out) {
  size_t count = 0;
  uint32_t free_from = 0;  // the runs of the result ascend, whatever the order of those of a and b
  meet_runs(a, b, [&](uint32_t first, uint32_t last) {
    const BlockRun common{std::max(first, free_from), last};
    const bool is_run = common.first <= common.last;
    out[count] = common;
    count += is_run;
    free_from = is_run ? common.last + 1 : free_from;
  });
  return count;
}

/// Bit 2 * (in a) + (in b) tells whether the result has such elements.
constexpr unsigned kept_elements(SetCombination operation) {
  switch (operation) {
    case SetCombination::kAnd: return 0b1000;
    case SetCombination::kOr: return 0b1110;
    case SetCombination::kAndNot: return 0b0100;
    case SetCombination::kXor: return 0b0110;
  }
  return 0;
}

// ---- words

/// @param changed  the new word or byte, from the old one and a mask of elements
template <typename Changed>
void change_members(const CompactBlock& block, uint64_t* words, Changed changed) {
  const auto change = [&](uint32_t w, uint64_t mask) { words[w] = changed(words[w], mask); };
  switch (block.shape.kind) {
    case BlockKind::kArray: {
      // Byte by byte: neighbours often lie in one word, and each would wait for the store of the one before.
      auto* const bytes = reinterpret_cast<uint8_t*>(words);
      for (uint32_t i = 0; i < block.count; ++i) {
        const uint32_t x = block.unit(i);
        bytes[x / 8] = static_cast<uint8_t>(changed(bytes[x / 8], uint64_t{1} << (x % 8)));
      }
      return;
    }
    case BlockKind::kBitmap:
      for (uint32_t w = 0; w < kBitmapBlockWords; ++w) change(w, block.word(w));
      return;
    case BlockKind::kRuns:
      for (uint32_t i = 0; i < block.runs(); ++i) in_words_of(block.run(i).first, block.run(i).last, change);
      return;
  }
}

/// @param block  a bitmap, or runs
void keep_members_of(const CompactBlock& block, uint64_t* words) {
  if (is(block, BlockKind::kBitmap)) {
    for (uint32_t w = 0; w < kBitmapBlockWords; ++w) words[w] &= block.word(w);
    return;
  }
  // What lies between the runs is cleared.
  uint32_t free_from = 0;
  const auto clear = [&](uint32_t w, uint64_t mask) { words[w] &= ~mask; };
  for (uint32_t i = 0; i < block.runs(); ++i) {
    const BlockRun run = block.run(i);
    if (run.first > free_from) in_words_of(free_from, run.first - 1, clear);
    free_from = run.last + 1;
  }
  if (free_from < kBlockSpan) in_words_of(free_from, kBlockSpan - 1, clear);
}

}  // namespace

size_t filter_array(const CompactBlock& array, const CompactBlock& other, bool members, const CompactKernel& kernel,
                    uint16_t* out) {
  if (members && is(other, BlockKind::kArray)) {
    const CompactBlock& few = array.count < other.count ? array : other;
    const CompactBlock& many = array.count < other.count ? other : array;
    if (few.count * kernel.gallop_from >= many.count)
      return kernel.keep_common(few.data, few.count, many.data, many.count, out);
    uint16_t* to = out;
    gallop(few, many, [&](uint32_t x) { *to++ = static_cast<uint16_t>(x); });
    return static_cast<size_t>(to - out);
  }
  if (is(other, BlockKind::kArray)) return kernel.keep_missing(array.data, array.count, other.data, other.count, out);
  uint16_t* to = out;
  test_members(array, other, [&](uint32_t x, bool is_member) {
    *to = static_cast<uint16_t>(x);
    to += is_member == members;
  });
  return static_cast<size_t>(to - out);
}

size_t sweep(const CompactBlock& a, const CompactBlock& b, SetCombination operation, BlockRun* out) {
  if (operation == SetCombination::kAnd && is(a, BlockKind::kRuns) && is(b, BlockKind::kRuns))
    return intersect_runs(a, b, out);
  uint32_t of_a[2 * kFewRuns + 1];
  uint32_t of_b[2 * kFewRuns + 1];
  list_changes(a, of_a);
  list_changes(b, of_b);
  const unsigned kept_of = kept_elements(operation);
  uint32_t changes[2 * kFewRuns + 2];  // of the result, from the second on
  changes[0] = kNoPlace;
  size_t count = 0;
  size_t i = 0;  // odd: in a
  size_t j = 0;
  unsigned kept = 0;
  // Goes up, whatever the order of the runs, so that the result has no run that ends before it begins. Without branches: which
  // set changes next cannot be foreseen.
  for (uint32_t at = std::min(of_a[0], of_b[0]); at != kNoPlace; at = std::max(at, std::min(of_a[i], of_b[j]))) {
    i += of_a[i] <= at;
    j += of_b[j] <= at;
    const unsigned keep = kept_of >> (2 * (i & 1) + (j & 1)) & 1;
    const unsigned changed = keep ^ kept;
    // What begins where the run before has ended goes on with it: the last change goes.
    const bool goes_on = changes[count] == at;
    changes[count + 1] = at;
    count += goes_on ? -size_t{changed} : changed;
    kept = keep;
  }
  for (size_t run = 0; 2 * run < count; ++run) out[run] = {changes[2 * run + 1], changes[2 * run + 2] - 1};
  return count / 2;
}

uint32_t swept(const CompactBlock& block) {
  if (is(block, BlockKind::kBitmap)) return kBlockSpan;
  return is(block, BlockKind::kArray) ? block.count : block.runs();
}

void expand_block(const CompactBlock& block, const CompactKernel& kernel, uint64_t* words) {
  if (is(block, BlockKind::kBitmap)) {
    std::memcpy(words, block.data, kBitmapBlockBytes);
  } else if (is(block, BlockKind::kArray)) {
    kernel.mark_elements(block.data, block.count, words);
  } else {
    std::memset(words, 0, kBitmapBlockBytes);
    for (uint32_t i = 0; i < block.runs(); ++i)
      in_words_of(block.run(i).first, block.run(i).last, [&](uint32_t w, uint64_t mask) { words[w] |= mask; });
  }
}

const std::byte* words_of_block(const CompactBlock& block, const CompactKernel& kernel, uint64_t* words) {
  if (is(block, BlockKind::kBitmap)) return block.data;
  expand_block(block, kernel, words);
  return reinterpret_cast<const std::byte*>(words);
}

void change_words(SetCombination operation, const CompactBlock& block, uint64_t* words) {
  switch (operation) {
    case SetCombination::kAnd: return keep_members_of(block, words);
    case SetCombination::kOr: return change_members(block, words, [](uint64_t word, uint64_t mask) { return word | mask; });
    case SetCombination::kAndNot:
      return change_members(block, words, [](uint64_t word, uint64_t mask) { return word & ~mask; });
    case SetCombination::kXor: return change_members(block, words, [](uint64_t word, uint64_t mask) { return word ^ mask; });
  }
}

uint32_t count_common(const CompactBlock& a, const CompactBlock& b, const CompactKernel& kernel) {
  if (is(a, BlockKind::kBitmap) && is(b, BlockKind::kBitmap)) return kernel.count_words(a.data, b.data);
  if (is(a, BlockKind::kArray) && is(b, BlockKind::kArray)) {
    const CompactBlock& few = a.count < b.count ? a : b;
    const CompactBlock& many = a.count < b.count ? b : a;
    if (few.count * kernel.gallop_from >= many.count)
      return static_cast<uint32_t>(kernel.count_common(few.data, few.count, many.data, many.count));
    uint32_t count = 0;
    gallop(few, many, [&](uint32_t) { ++count; });
    return count;
  }
  if (is(a, BlockKind::kArray) || is(b, BlockKind::kArray)) {
    uint32_t count = 0;
    const bool first = is(a, BlockKind::kArray);
    test_members(first ? a : b, first ? b : a, [&](uint32_t, bool is_member) { count += is_member; });
    return count;
  }
  if (is(a, BlockKind::kBitmap)) return count_bits_in_runs(a, b);
  return is(b, BlockKind::kBitmap) ? count_bits_in_runs(b, a) : count_runs_in_runs(a, b);
}

}  // namespace batmap
