// The k best of the entries that are offered: a bounded heap with the worst entry in front. Once k are kept, an entry
// that is not better than the worst of them cannot be among the k best, so the search that offers them may skip it.
// Cost: log2(k) comparisons an entry that is kept, one for any other. Memory: that of the kept entries. Source: ours.
//
// "Better" is given with each call, because it may look at memory that moves with its owner. It is a strict order of all
// entries: so what is kept does not depend on the order in which entries arrive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/memory.h"
#include "core/polled.h"

namespace batmap {

/// @tparam Entry  trivially copyable
template <typename Entry>
class BestK {
 public:
  /// @param k  at least 1
  BestK(MemoryMeter& meter, uint64_t k) : k_(k), heap_(meter) {}

  uint64_t size() const { return heap_.size(); }
  /// Whether k entries are kept: then worst() is the k-th best so far.
  bool is_full() const { return heap_.size() == k_; }
  const Entry& worst() const { return heap_[0]; }
  /// In no order before sort(), then best first.
  std::span<const Entry> entries() const { return heap_.span(); }
  std::span<Entry> entries() { return {heap_.begin(), heap_.end()}; }

  /// Keeps an entry if it is one of the k best so far. @throws Error{kMemoryLimit}, std::bad_alloc
  template <typename Better>
  void offer(const Entry& entry, Better better) {
    if (is_full()) {
      if (!better(entry, worst())) return;
      drop_worst(better);
    }
    add(entry, better);
  }

  // The two steps of offer(), for entries that own more than their bytes:

  /// Needs a full heap.
  template <typename Better>
  Entry drop_worst(Better better) {
    std::pop_heap(heap_.begin(), heap_.end(), better);
    const Entry dropped = heap_[heap_.size() - 1];
    heap_.shrink(heap_.size() - 1);
    return dropped;
  }
  /// Needs a heap that is not full. @throws Error{kMemoryLimit}, std::bad_alloc
  template <typename Better>
  void add(const Entry& entry, Better better) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), better);
  }

  /// Orders the entries, best first. Nothing may be offered afterwards. @throws Error{kCancelled}
  template <typename Better>
  void sort(const CancelToken& cancel, Better better) {
    std::sort(heap_.begin(), heap_.end(), polled(cancel, better));
  }
  /// Frees the memory.
  void reset() { heap_.reset(); }

 private:
  uint64_t k_;
  GrowingBuffer<Entry> heap_;
};

}  // namespace batmap
