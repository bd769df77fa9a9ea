// The numbers that stand for an item in one run, as types of their own: a code cannot be used where a rank is meant. The
// words are those of docs/glossary.md. Such a number costs what a uint32_t costs. Inside a loop over raw rows (decoded
// chunks, tails, bit rows) and beyond the C ABI of devices all of them are uint32_t; the interfaces of this room say
// which number is meant. Source: ours.
#pragma once

#include <concepts>
#include <cstdint>

namespace batmap {

/// The dense number of an item's value in one relation. Codes mostly have the order of the values.
enum class ItemCode : uint32_t {};
/// The number of a kept item in the order of counting (kept_items.h).
enum class Rank : uint32_t {};

/// A code or a rank as an index of an array.
template <typename Number>
  requires std::same_as<Number, ItemCode> || std::same_as<Number, Rank>
constexpr uint32_t index_of(Number number) {
  return static_cast<uint32_t>(number);
}

}  // namespace batmap
