// Which of the frequent itemsets are wanted.
#pragma once

namespace batmap {

/// All frequent itemsets; those without a superset of the same support; those without a frequent superset;
/// those without a proper subset (the empty set included) of the same support.
enum class ItemsetTarget { kAll, kClosed, kMaximal, kGenerators };

}  // namespace batmap
