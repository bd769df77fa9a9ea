// The full check of untrusted bytes. See set_view.h.
#include <algorithm>
#include <bit>
#include <span>
#include <string>

#include "core/error.h"
#include "set/permutation.h"
#include "set/set_kernel.h"
#include "set/set_probe.h"
#include "set/set_view.h"

namespace batmap {

namespace {

[[noreturn]] void invalid(const char* what) { throw Error(ErrorCode::kInvalidData, std::string("invalid batmap: ") + what); }

/// Array elements, stash elements, bitmap words or look-ups between two polls of the token.
constexpr uint64_t kStepsPerPoll = 4096;

void poll(uint64_t step, const CancelToken& cancel) {
  if (step % kStepsPerPoll == kStepsPerPoll - 1) cancel.throw_if_requested();
}

/// Checks that elements are strictly ascending and inside the universe.
template <typename Element>
void check_ascending(uint64_t count, uint64_t universe, const CancelToken& cancel, Element element) {
  uint64_t min = 0;
  for (uint64_t i = 0; i < count; ++i) {
    poll(i, cancel);
    const uint64_t x = element(i);
    if (x < min) invalid("elements are not ascending");
    if (x >= universe) invalid("an element is outside the universe");
    min = x + 1;
  }
}

void check_bitmap(const SetView& set, const CancelToken& cancel) {
  uint64_t count = 0;
  for (uint64_t w = 0; w < set.words(); ++w) {
    poll(w, cancel);
    count += static_cast<uint64_t>(std::popcount(set.word(w)));
  }
  if (count != set.cardinality()) invalid("cardinality and bits disagree");
  if (set.word(set.words() - 1) == 0) invalid("a word behind the last element");
  if (set.universe() < 64 && set.word(0) >> set.universe() != 0) invalid("bits behind the universe");
}

/// The slots of a block that are in use, and how many of them have the indicator set.
struct SlotCounts {
  uint64_t used = 0;
  uint64_t indicated = 0;
};
/// Checks that empty slots have no bits, and counts the others.
SlotCounts check_planes(const std::byte* block, const BatmapShape& shape) {
  SlotCounts counts;
  for (size_t at = 0; at < kPlaneBytes; at += 8) {
    const auto valid = load_le<uint64_t>(block + at);
    uint64_t bits = 0;
    for (size_t i = 1; i < shape.planes(); ++i) bits |= load_le<uint64_t>(block + i * kPlaneBytes + at);
    if ((bits & ~valid) != 0) invalid("bits in an empty slot");
    const auto indicators = load_le<uint64_t>(block + (shape.planes() - 1) * kPlaneBytes + at);
    counts.used += static_cast<uint64_t>(std::popcount(valid));
    counts.indicated += static_cast<uint64_t>(std::popcount(indicators));
  }
  return counts;
}

/// Checks the elements of a block whose indicator is set: the other copy, the twin, must be in the table
/// before, with its indicator clear.
void check_twins(const SetView& set, const std::byte* block, int table, uint64_t position) {
  constexpr size_t kBatch = 16;
  const SetKernel& kernel = best_set_kernel();
  const BatmapShape shape = set.shape();
  const int before = (table + 2) % kTables;
  const Permutation<> pi(before, set.width());
  uint64_t elements[kBlockSlots];
  const size_t count = kernel.read_images(block, shape, position, block + (shape.planes() - 1) * kPlaneBytes, elements);
  kernel.invert_images(elements, count, table, set.width());
  for (size_t done = 0; done < count; done += kBatch) {
    const size_t now = std::min(kBatch, count - done);
    SlotProbe twins[kBatch];
    for (size_t i = 0; i < now; ++i) {
      twins[i] = slot_of(set, before, pi.forward(elements[done + i]));
      twins[i].prefetch();
    }
    for (size_t i = 0; i < now; ++i)
      if (!twins[i].holds_key() || twins[i].indicator()) invalid("an element is not in exactly two tables");
  }
}

/// Why the checks suffice: every slot with the indicator set has a twin with the indicator clear, and
/// different slots have different twins. If both kinds are equally many, every slot belongs to exactly one
/// pair of copies of one element. So an element has an even number of slots in three tables: two.
void check_batmap(const SetView& set, const CancelToken& cancel) {
  check_ascending(set.stash(), set.universe(), cancel, [&](uint64_t i) { return set.stash_element(i); });
  for (int table = 0; table < 2; ++table) {
    const Permutation<> pi(table, set.width());
    for (uint64_t i = 0; i < set.stash(); ++i) {
      poll(i, cancel);
      if (slot_of(set, table, pi.forward(set.stash_element(i))).holds_key())
        invalid("an element is in the stash and in the tables");
    }
  }
  const BatmapShape shape = set.shape();
  SlotCounts counts;
  const std::byte* block = set.planes();
  for (uint64_t group = 0; group < shape.groups(); ++group) {
    if (group > 0) cancel.throw_if_requested();
    for (int table = 0; table < kTables; ++table, block += shape.block_bytes()) {
      const SlotCounts here = check_planes(block, shape);
      counts.used += here.used;
      counts.indicated += here.indicated;
      check_twins(set, block, table, group * kBlockSlots);
    }
  }
  const uint64_t placed = set.cardinality() - set.stash();
  if (counts.indicated != placed || counts.used != 2 * placed) invalid("cardinality and slots disagree");
}

}  // namespace

void validate(std::span<const std::byte> bytes, const CancelToken& cancel) {
  const SetView set = SetView::open(bytes);
  switch (set.container()) {
    case Container::kArray:
      return check_ascending(set.cardinality(), set.universe(), cancel, [&](uint64_t i) { return set.array_element(i); });
    case Container::kBitmap: return check_bitmap(set, cancel);
    case Container::kBatmap: return check_batmap(set, cancel);
    case Container::kCompact: return validate_compact(bytes, cancel);
  }
}

}  // namespace batmap
