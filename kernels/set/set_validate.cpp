// The full check of bytes from outside. See set_view.h.
#include <bit>
#include <string>

#include "core/error.h"
#include "set/permutation.h"
#include "set/set_probe.h"
#include "set/set_view.h"

namespace batmap {

namespace {

[[noreturn]] void invalid(const char* what) { throw Error(ErrorCode::kInvalidData, std::string("invalid batmap: ") + what); }

/// Strictly ascending and inside the universe.
template <typename Element>
void check_ascending(uint64_t count, uint64_t universe, Element element) {
  uint64_t least = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t x = element(i);
    if (x < least) invalid("elements are not ascending");
    if (x >= universe) invalid("an element is outside the universe");
    least = x + 1;
  }
}

void check_bitmap(const SetView& set) {
  uint64_t count = 0;
  for (uint64_t w = 0; w < set.words(); ++w) count += static_cast<uint64_t>(std::popcount(set.word(w)));
  if (count != set.cardinality()) invalid("cardinality and bits disagree");
  if (set.universe() < 64 && set.word(0) >> set.universe() != 0) invalid("bits behind the universe");
}

/// Each slot in use names the table of its element's other copy; that slot must hold the element and name this one. So every
/// element has an even number of copies that name each other in pairs, and three tables have room for one such pair.
void check_batmap(const SetView& set) {
  const Permutation<> pi[kTables] = {{0, set.width()}, {1, set.width()}, {2, set.width()}};
  check_ascending(set.stash(), set.universe(), [&](uint64_t i) { return set.stash_element(i); });
  for (uint64_t i = 0; i < set.stash(); ++i)
    for (int table = 0; table < 2; ++table)
      if (slot_of(set, table, pi[table].forward(set.stash_element(i))).holds_key())
        invalid("an element is in the stash and in the tables");

  const BatmapShape shape = set.shape();
  uint64_t copies = 0;
  for (uint64_t position = 0; position < shape.slots(); position += 64)
    for (int table = 0; table < kTables; ++table) {
      const std::byte* at = set.block(table, position) + position % kBlockSlots / 8;
      const auto plane = [&](int i) { return load_le<uint64_t>(at + static_cast<size_t>(i) * kPlaneBytes); };
      const uint64_t valid = plane(0);
      for (int i = 1; i <= shape.key_bits + 1; ++i)
        if (plane(i) & ~valid) invalid("bits in an empty slot");
      copies += static_cast<uint64_t>(std::popcount(valid));
      for (uint64_t rest = valid; rest != 0; rest &= rest - 1) {
        const int bit = std::countr_zero(rest);
        uint64_t image = position | static_cast<uint64_t>(bit);
        for (int k = 0; k < shape.key_bits; ++k) image |= (plane(k + 1) >> bit & 1) << (shape.range_bits + k);
        const bool indicator = plane(shape.key_bits + 1) >> bit & 1;
        const int other = (table + (indicator ? 2 : 1)) % kTables;
        const SlotProbe twin = slot_of(set, other, pi[other].forward(pi[table].inverse(image)));
        if (!twin.holds_key() || twin.indicator() == indicator) invalid("an element is not in exactly two tables");
      }
    }
  if (copies != 2 * (set.cardinality() - set.stash())) invalid("cardinality and slots disagree");
}

}  // namespace

void validate(std::span<const std::byte> bytes) {
  const SetView set = SetView::open(bytes);
  switch (set.container()) {
    case Container::kArray:
      return check_ascending(set.cardinality(), set.universe(), [&](uint64_t i) { return set.array_element(i); });
    case Container::kBitmap: return check_bitmap(set);
    case Container::kBatmap: return check_batmap(set);
  }
}

}  // namespace batmap
