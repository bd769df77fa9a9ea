// Merges equal masks and adds up their weights: an open-addressing hash table over a growing list. Source: textbook.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/options.h"
#include "itemsets/forms/mask_kernel.h"

namespace batmap {

/// A stack of mask lists: a new list is made at the end, and is removed before the list under it.
class MaskStack {
 public:
  explicit MaskStack(MemoryMeter& meter) : meter_(&meter), masks_(meter), weights_(meter) {}

  size_t size() const { return masks_.size(); }
  void shrink(size_t size) {
    masks_.shrink(size);
    weights_.shrink(size);
  }
  WeightedMasks list(size_t from, size_t to) const { return {masks_.begin() + from, weights_.begin() + from, to - from}; }

  struct WeightedMask {
    uint64_t mask;
    uint32_t weight;
  };
  WeightedMask at(size_t index) const { return {masks_[index], weights_[index]}; }

  /// Appends a mask that is merged with no other.
  void push(const WeightedMask& mask) {
    masks_.push_back(mask.mask);
    weights_.push_back(mask.weight);
  }
  /// Appends a copy of another list.
  void append(const WeightedMasks& list) {
    std::copy_n(list.masks, list.size, masks_.room(list.size));
    std::copy_n(list.weights, list.size, weights_.room(list.size));
    masks_.add(list.size);
    weights_.add(list.size);
  }
  /// Begins a list.
  /// @param max_masks  number of masks that will be added, if known
  void start(size_t max_masks = 0) {
    first_ = masks_.size();
    limit_ = 0;
    make_slots(std::bit_ceil(2 * std::min(max_masks, kStart) + 16));
  }
  /// @return index of the mask
  size_t add(uint64_t mask, uint32_t weight) {
    size_t at = (mask * 0x9e3779b97f4a7c15u) >> shift_;
    for (; slots_[at] != 0; at = (at + 1) & wrap_) {
      const size_t index = first_ + slots_[at] - 1;
      if (masks_[index] != mask) continue;
      weights_[index] += weight;
      return index;
    }
    if (masks_.size() - first_ == limit_) return grow(mask, weight);
    *masks_.end() = mask;
    *weights_.end() = weight;
    masks_.add(1);
    weights_.add(1);
    slots_[at] = static_cast<uint32_t>(masks_.size() - first_);
    return masks_.size() - 1;
  }

 private:
  static constexpr size_t kStart = 2048;

  void make_slots(size_t slots) {
    if (slots_.size() < slots) {
      slots_.reset();
      slots_ = Buffer<uint32_t>(*meter_, slots);
    }
    std::fill_n(slots_.data(), slots, 0u);
    shift_ = 64 - std::countr_zero(slots);
    wrap_ = slots - 1;
    limit_ = slots / 2;
    masks_.room(limit_ - (masks_.size() - first_));
    weights_.room(limit_ - (masks_.size() - first_));
  }
  [[gnu::noinline]] size_t grow(uint64_t mask, uint32_t weight) {
    make_slots(4 * (wrap_ + 1));
    for (size_t index = first_; index < masks_.size(); ++index) {
      size_t at = (masks_[index] * 0x9e3779b97f4a7c15u) >> shift_;
      while (slots_[at] != 0) at = (at + 1) & wrap_;
      slots_[at] = static_cast<uint32_t>(index - first_ + 1);
    }
    return add(mask, weight);
  }

  MemoryMeter* meter_;
  GrowingBuffer<uint64_t> masks_;
  GrowingBuffer<uint32_t> weights_;
  Buffer<uint32_t> slots_;  // index in the list + 1, or 0
  size_t first_ = 0;
  int shift_ = 0;
  size_t wrap_ = 0;
  size_t limit_ = 0;  // masks in the list before the slots have to grow
};

}  // namespace batmap
