// Merges and counts blocks. See compact_operations.h.
#include "compact/compact_operations.h"

#include <algorithm>
#include <utility>

namespace batmap {

namespace {

/// An array this many times as long as another one is searched for the elements of the shorter one.
constexpr uint32_t kGallopFrom = 32;
/// Runs, and single elements beside runs, that are merged as such; more are merged as bitmaps.
constexpr uint32_t kFewRuns = 128;

bool is(const CompactBlock& block, BlockKind kind) { return block.shape.kind == kind; }

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

uint32_t count_runs_in_runs(const CompactBlock& a, const CompactBlock& b) {
  uint32_t count = 0;
  uint32_t i = 0;
  uint32_t j = 0;
  while (i < a.runs() && j < b.runs()) {
    const BlockRun x = a.run(i);
    const BlockRun y = b.run(j);
    const uint32_t first = std::max(x.first, y.first);
    const uint32_t last = std::min(x.last, y.last);
    if (first <= last) count += last - first + 1;
    i += x.last <= y.last;
    j += y.last <= x.last;
  }
  return count;
}

/// The elements of `array` that are in `other`, or those that are not. @param out  room for all and 8 more
size_t filter_array(const CompactBlock& array, const CompactBlock& other, bool members, const CompactKernel& kernel,
                    uint16_t* out) {
  if (members && is(other, BlockKind::kArray)) {
    const CompactBlock& few = array.count < other.count ? array : other;
    const CompactBlock& many = array.count < other.count ? other : array;
    if (few.count * kGallopFrom >= many.count) return kernel.keep_common(few.data, few.count, many.data, many.count, out);
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

// ---- runs

/// The places where a block of runs, or an array as runs of one element, changes between in and out.
class Changes {
 public:
  explicit Changes(const CompactBlock& block)
      : block_(block), runs_(is(block, BlockKind::kArray) ? block.count : block.runs()) {
    load();
  }
  /// 2^16 or more at the end
  uint32_t at() const { return inside_ ? run_.last + 1 : run_.first; }
  bool inside() const { return inside_; }
  void pass() {
    if (inside_) {
      ++next_;
      load();
    }
    inside_ = !inside_;
  }

 private:
  void load() {
    if (next_ == runs_)
      run_ = {2 * kBlockSpan, 2 * kBlockSpan};
    else if (is(block_, BlockKind::kArray))
      run_ = {block_.unit(next_), block_.unit(next_)};
    else
      run_ = block_.run(next_);
  }
  CompactBlock block_;
  uint32_t runs_;
  uint32_t next_ = 0;
  BlockRun run_{};
  bool inside_ = false;
};

bool keeps(SetCombination operation, bool in_a, bool in_b) {
  switch (operation) {
    case SetCombination::kAnd: return in_a && in_b;
    case SetCombination::kOr: return in_a || in_b;
    case SetCombination::kAndNot: return in_a && !in_b;
    case SetCombination::kXor: return in_a != in_b;
  }
  return false;
}

/// @param out  room for kFewRuns + 1 @return how many
size_t sweep(const CompactBlock& a, const CompactBlock& b, SetCombination operation, BlockRun* out) {
  Changes x(a);
  Changes y(b);
  size_t count = 0;
  bool kept = false;
  for (uint32_t at = std::min(x.at(), y.at()); at <= kBlockSpan; at = std::min(x.at(), y.at())) {
    while (x.at() == at) x.pass();
    while (y.at() == at) y.pass();
    const bool keep = keeps(operation, x.inside(), y.inside());
    if (keep == kept) continue;
    if (keep)
      out[count].first = at;
    else
      out[count++].last = at - 1;
    kept = keep;
  }
  return count;
}

/// The runs that sweep() would have to read: no more than the elements.
uint32_t swept(const CompactBlock& block) {
  if (is(block, BlockKind::kBitmap)) return kBlockSpan;
  return is(block, BlockKind::kArray) ? block.count : block.runs();
}

// ---- bitmaps

/// Changes the words of a by the elements of b.
void apply(SetCombination operation, const CompactBlock& b, uint64_t* words) {
  const auto change = [&](uint32_t w, uint64_t mask) {
    if (operation == SetCombination::kOr)
      words[w] |= mask;
    else if (operation == SetCombination::kXor)
      words[w] ^= mask;
    else
      words[w] &= ~mask;
  };
  switch (b.shape.kind) {
    case BlockKind::kArray:
      for (uint32_t i = 0; i < b.count; ++i) change(b.unit(i) / 64, uint64_t{1} << (b.unit(i) % 64));
      return;
    case BlockKind::kBitmap:
      for (uint32_t w = 0; w < kBitmapBlockWords; ++w) change(w, b.word(w));
      return;
    case BlockKind::kRuns:
      for (uint32_t i = 0; i < b.runs(); ++i) in_words_of(b.run(i).first, b.run(i).last, change);
      return;
  }
}

void combine_words(const CompactBlock& a, const CompactBlock& b, SetCombination operation, uint64_t* words) {
  expand_block(a, words);
  if (operation != SetCombination::kAnd) return apply(operation, b, words);
  if (is(b, BlockKind::kBitmap)) {
    for (uint32_t w = 0; w < kBitmapBlockWords; ++w) words[w] &= b.word(w);
    return;
  }
  // b has runs: what lies between them is cleared.
  uint32_t free_from = 0;
  const auto clear = [&](uint32_t w, uint64_t mask) { words[w] &= ~mask; };
  for (uint32_t i = 0; i < b.runs(); ++i) {
    const BlockRun run = b.run(i);
    if (run.first > free_from) in_words_of(free_from, run.first - 1, clear);
    free_from = run.last + 1;
  }
  if (free_from < kBlockSpan) in_words_of(free_from, kBlockSpan - 1, clear);
}

/// The room of one call, on its stack.
struct Scratch {
  alignas(64) uint64_t words[kBitmapBlockWords];
  uint16_t elements[2 * kMaxUnits + 8];
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
  if (a_is_array && b_is_array) {
    const auto merge = operation == SetCombination::kOr ? kernel.keep_either : kernel.keep_single;
    count = merge(a.data, a.count, b.data, b.count, scratch.elements);
    return out.add_array(a.key, {scratch.elements, count}, kernel);
  }
  if (swept(a) + swept(b) <= kFewRuns) {
    count = sweep(a, b, operation, scratch.runs);
    return out.add_runs(a.key, {scratch.runs, count});
  }
  combine_words(a, b, operation, scratch.words);
  out.add_words(a.key, scratch.words, kernel);
}

}  // namespace

uint32_t count_common(const CompactBlock& a, const CompactBlock& b, const CompactKernel& kernel) {
  if (is(a, BlockKind::kBitmap) && is(b, BlockKind::kBitmap)) return kernel.count_words(a.data, b.data);
  if (is(a, BlockKind::kArray) && is(b, BlockKind::kArray)) {
    const CompactBlock& few = a.count < b.count ? a : b;
    const CompactBlock& many = a.count < b.count ? b : a;
    if (few.count * kGallopFrom >= many.count)
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
