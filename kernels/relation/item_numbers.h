// The numbers that stand for an item in one run (docs/glossary.md), as types of their own: a code cannot be used
// where a rank is meant. They cost no more than a uint32_t, and they convert only by index_of(). What is a plain
// number: decoded rows and forms that are counted, bounds of loops, the C ABI of devices; and the bits of masks and
// the rows of bit rows, which are positions. Source: ours.
#pragma once

#include <concepts>
#include <cstdint>

namespace batmap {

/// The dense number of an item's value in one relation. Codes mostly have the order of the values.
enum class ItemCode : uint32_t {};
/// The number of a kept item in the order of counting (kept_items.h).
enum class Rank : uint32_t {};
/// The number of an item at the root of a search for itemsets (itemsets/forms/search_root.h), in the order of the ranks.
enum class RootItem : uint32_t {};
/// The number of an item in the lists of a node below the root: its index among the node's candidates.
enum class NodeItem : uint32_t {};

template <typename Number>
concept ItemNumber = std::same_as<Number, ItemCode> || std::same_as<Number, Rank> || std::same_as<Number, RootItem> ||
    std::same_as<Number, NodeItem>;

/// One of these numbers as an index of an array.
template <ItemNumber Number>
constexpr uint32_t index_of(Number number) {
  return static_cast<uint32_t>(number);
}

}  // namespace batmap
