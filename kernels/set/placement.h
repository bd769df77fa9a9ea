// Places the elements of a batmap: each in two of its three slots, or in the stash (BM II-A).
//
// The first pass takes all elements in order and places those with two free slots; sixteen elements overlap
// their cache misses. At the highest load (r = 2n) it places 19 of 20 elements on average. The others follow
// by the cuckoo walk: an element that is pushed out goes to its third table, where it may push out the next
// one. If a walk does not end, its last element goes to the stash. The number of steps is limited for the
// whole build, so a hostile set costs no more than a few ordinary ones; it gets a long stash.
#pragma once

#include <algorithm>
#include <span>

#include "core/options.h"
#include "set/permutation.h"
#include "set/set_format.h"

namespace batmap {

/// @tparam Slot  uint32_t or uint64_t: bit 0 valid, then the key, then the indicator; 0 is an empty slot
template <typename Slot>
class Placement {
 public:
  /// @param slots  zeroed [groups][tables][512]; position p of a block is at [p % 32][p / 32], as
  /// transpose_slots() wants it
  /// @param stash  elements that find no place are appended, in no order
  Placement(Slot* slots, BatmapShape shape, int width, const ExecutionOptions& options, GrowingBuffer<uint64_t>& stash)
      : slots_(slots), shape_(shape), pi_{{0, width}, {1, width}, {2, width}}, options_(options), stash_(stash) {}

  void place(std::span<const uint64_t> elements) {
    GrowingBuffer<uint64_t> crowded(*options_.memory);
    for (size_t done = 0; done < elements.size(); done += kBatch) {
      if (done % 65536 == 0) options_.cancel.throw_if_requested();
      place_where_free(elements.subspan(done, std::min(kBatch, elements.size() - done)), crowded);
    }
    steps_left_ = 16 * elements.size() + 4096;
    for (size_t i = 0; i < crowded.size(); ++i) {
      if (i % 1024 == 0) options_.cancel.throw_if_requested();
      place_by_walk(crowded[i]);
    }
  }

 private:
  static constexpr size_t kBatch = 16;
  static constexpr int kNone = -1;
  // an ordinary walk ends after a few steps; at r = 2n, now and then after a hundred
  static constexpr int kMaxWalk = 400;

  static constexpr int next(int table) { return table == 2 ? 0 : table + 1; }
  static constexpr int previous(int table) { return table == 0 ? 2 : table - 1; }

  size_t index(int table, uint64_t image) const {
    const uint64_t position = image & (shape_.slots() - 1);
    return (position / kBlockSlots * kTables + static_cast<uint64_t>(table)) * kBlockSlots + (position % 32) * 16 +
           position % kBlockSlots / 32;
  }
  Slot slot_value(uint64_t image, bool indicator) const {
    return static_cast<Slot>(1 | (image >> shape_.range_bits) << 1 | uint64_t{indicator} << (shape_.key_bits + 1));
  }

  void place_where_free(std::span<const uint64_t> batch, GrowingBuffer<uint64_t>& crowded) {
    uint64_t images[kTables][kBatch];
    size_t at[kTables][kBatch];
    for (int t = 0; t < kTables; ++t)
      for (size_t i = 0; i < batch.size(); ++i) {
        images[t][i] = pi_[t].forward(batch[i]);
        at[t][i] = index(t, images[t][i]);
        __builtin_prefetch(slots_ + at[t][i], 1);
      }
    for (size_t i = 0; i < batch.size(); ++i) {
      // If all three slots are free, the table that is left out rotates, so that all tables fill evenly.
      const bool taken[kTables] = {slots_[at[0][i]] != 0, slots_[at[1][i]] != 0, slots_[at[2][i]] != 0};
      turn_ = next(turn_);
      const int taken_count = taken[0] + taken[1] + taken[2];
      if (taken_count > 1) {
        crowded.push_back(batch[i]);
        continue;
      }
      const int excluded = taken_count == 0 ? turn_ : taken[1] + 2 * taken[2];
      const int first = next(excluded);
      const int second = previous(excluded);
      slots_[at[first][i]] = slot_value(images[first][i], false);
      slots_[at[second][i]] = slot_value(images[second][i], true);
    }
  }

  /// A copy of an element that needs a slot. `other` is the table of the other copy, `from` the table that
  /// this one was pushed out of; each may be kNone.
  struct Nestless {
    uint64_t element;
    int other;
    int from;
  };

  void place_by_walk(uint64_t x) {
    single_ = x;
    has_single_ = true;
    single_table_ = kNone;
    bool placed = true;
    for (int t = 0; t < kTables && single_table_ == kNone; ++t)
      if (slots_[index(t, pi_[t].forward(x))] == 0) settle({x, kNone, previous(t)}, t);
    if (single_table_ == kNone) placed = walk({x, kNone, previous(0)});
    has_single_ = false;
    if (placed) walk({x, single_table_, kNone});
  }

  /// Moves copies until none needs a slot. @return false if `single_` itself went to the stash
  bool walk(Nestless nestless) {
    for (int step = 0; step < kMaxWalk && steps_left_ > 0; ++step, --steps_left_) {
      const int table = nestless.other == kNone  ? next(nestless.from)
                        : nestless.from == kNone ? next(nestless.other)
                                                 : kTables - nestless.other - nestless.from;
      const Slot old = settle(nestless, table);
      if (old == 0) return true;
      nestless = pushed_out(old, table, last_image_);
    }
    if (nestless.other != kNone) slots_[index(nestless.other, pi_[nestless.other].forward(nestless.element))] = 0;
    stash_.push_back(nestless.element);
    return nestless.element != single_;
  }

  /// Writes a copy to its slot in `table`, and adjusts the indicator of the other copy.
  /// @return the old value of the slot
  Slot settle(const Nestless& nestless, int table) {
    last_image_ = pi_[table].forward(nestless.element);
    if (nestless.other != kNone) {
      const uint64_t image = pi_[nestless.other].forward(nestless.element);
      slots_[index(nestless.other, image)] = slot_value(image, table == previous(nestless.other));
    } else {
      single_table_ = table;
    }
    Slot& slot = slots_[index(table, last_image_)];
    const Slot old = slot;
    slot = slot_value(last_image_, nestless.other == previous(table));
    return old;
  }

  /// The element of a slot's old value.
  /// @param image  of the element that has replaced it, so at the same position
  Nestless pushed_out(Slot old, int table, uint64_t image) const {
    const uint64_t key = old >> 1 & ((uint64_t{1} << shape_.key_bits) - 1);
    const uint64_t element = pi_[table].inverse(key << shape_.range_bits | (image & (shape_.slots() - 1)));
    if (has_single_ && element == single_) return {element, kNone, table};
    const bool indicator = old >> (shape_.key_bits + 1) & 1;
    return {element, indicator ? previous(table) : next(table), table};
  }

  Slot* slots_;
  BatmapShape shape_;
  Permutation<> pi_[kTables];
  const ExecutionOptions& options_;
  GrowingBuffer<uint64_t>& stash_;

  int turn_ = 0;
  size_t steps_left_ = 0;
  uint64_t last_image_ = 0;
  uint64_t single_ = 0;       // the element that is being inserted
  bool has_single_ = false;   // single_ has at most one copy
  int single_table_ = kNone;  // the table of that copy
};

}  // namespace batmap
