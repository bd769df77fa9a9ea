// Which of the frequent itemsets are wanted.
#pragma once

namespace batmap {

/// Of the frequent itemsets: all; those without a superset of the same support; those without a frequent superset; those
/// without a subset of the same support, the empty one included.
enum class ItemsetTarget { kAll, kClosed, kMaximal, kGenerators };

}  // namespace batmap
