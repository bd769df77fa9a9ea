// All nonempty subsets of up to eight items in the order of a depth-first walk: {0}, {0,1},
// {0,1,2}, ... {1}, ... Source: ours.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace batmap {

inline constexpr int kLeafItems = 8;

struct LeafStep {
  uint8_t subset;  // bits of its items
  uint8_t length;
  uint8_t last;  // the largest item
};

namespace detail {

/// For each number k of items, 1 to kLeafItems: 2^k - 1 steps from index 2^k - 1 - k on.
constexpr std::array<LeafStep, (2u << kLeafItems) - kLeafItems - 2> leaf_steps() {
  std::array<LeafStep, (2u << kLeafItems) - kLeafItems - 2> steps{};
  size_t at = 0;
  for (int items = 1; items <= kLeafItems; ++items) {
    // The next subset adds the item after the last. If there is none, the last item leaves and the
    // one before it moves on by one.
    for (uint32_t subset = 1; subset != 0;) {
      const int last = std::bit_width(subset) - 1;
      steps[at++] = {static_cast<uint8_t>(subset), static_cast<uint8_t>(std::popcount(subset)), static_cast<uint8_t>(last)};
      if (last + 1 < items) {
        subset |= 2u << last;
      } else {
        subset &= ~(1u << last);
        if (subset != 0) {
          const int moved = std::bit_width(subset) - 1;
          subset = (subset & ~(1u << moved)) | 2u << moved;
        }
      }
    }
  }
  return steps;
}

inline constexpr auto kLeafSteps = leaf_steps();

}  // namespace detail

/// The walk over the subsets of `items` items, 1 to kLeafItems.
inline std::span<const LeafStep> leaf_order(int items) {
  const size_t size = (size_t{1} << items) - 1;
  return {detail::kLeafSteps.data() + size - static_cast<size_t>(items), size};
}

/// Number of steps from a subset to the next one that does not contain it.
inline size_t leaf_subtree(int items, const LeafStep& step) { return size_t{1} << (items - 1 - step.last); }

}  // namespace batmap
