// What a search tells of each itemset that it finds.
//
// Perfect extensions are items that are in every transaction of an itemset: the itemset and any of them together have the
// same support, so their subsets are told, not searched (Borgelt, "Frequent item set mining", 2012, 3.2.5). A visitor so
// learns of 2^k itemsets in one call, and whatever it makes of the k extensions serves all nodes below the one they were
// found at. Items are ranks (relation/kept_items.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace batmap {

class ItemsetVisitor {
 public:
  virtual ~ItemsetVisitor() = default;

  /// One more perfect extension of the itemsets to come: a stack.
  void push_perfect(uint32_t item) {
    ++perfect_;
    push(item);
  }
  /// @param height  of the stack, at most what it is now
  void shrink_perfect(size_t height) {
    if (height == perfect_) return;
    perfect_ = height;
    shrink(height);
  }
  size_t perfect() const { return perfect_; }

  /// The itemset of the first length - 1 items of the one before and `item`, and all it makes with the perfect extensions.
  /// @param length   of the itemset, item included
  /// @param support  0: no answer, only a prefix of answers to come
  virtual void visit(uint32_t item, uint32_t length, uint32_t support) = 0;
  /// The nonempty subsets of the perfect extensions alone.
  virtual void visit_perfect(uint32_t support) = 0;

 private:
  virtual void push(uint32_t item) = 0;
  virtual void shrink(size_t height) = 0;

  size_t perfect_ = 0;
};

}  // namespace batmap
