// Itemsets by signature. See itemset_targets.h.
#include "itemsets/itemset_targets.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "itemsets/poll.h"

namespace batmap {

namespace {

// An itemset is known by the sum of 128 random bits of each of its items: two of n itemsets share a sum with a probability
// of n^2 / 2^129, below 10^-20 for a billion of them.
using Signature = unsigned __int128;

uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

Signature signature_of(uint32_t item) { return Signature{mix(2 * uint64_t{item})} << 64 | mix(2 * uint64_t{item} + 1); }

/// The itemset that the last of a row of steps stands for.
class Prefix {
 public:
  void step(const ItemsetStep& step) {
    items_.resize(step.length - 1);
    items_.push_back(step.item);
    sums_.resize(step.length);
    sums_.push_back(sums_.back() + signature_of(step.item));
  }
  Signature sum() const { return sums_.back(); }
  const std::vector<uint32_t>& items() const { return items_; }

 private:
  std::vector<uint32_t> items_;
  std::vector<Signature> sums_{0};  // of the first 0, 1, ... items
};

struct Entry {
  Signature sum;
  uint32_t support;  // 0: free
  uint32_t place;    // of its step
};

class Itemsets {
 public:
  Itemsets(MemoryMeter& meter, size_t most) : slots_(meter, std::bit_ceil(most + most / 4 + 2), Fill::kZero) {}

  void insert(Signature sum, uint32_t support, size_t place) { *slot(sum) = {sum, support, static_cast<uint32_t>(place)}; }
  const Entry& find(Signature sum) { return *slot(sum); }

 private:
  Entry* slot(Signature sum) {
    size_t at = static_cast<size_t>(sum) & (slots_.size() - 1);
    while (slots_[at].support != 0 && slots_[at].sum != sum) at = (at + 1) & (slots_.size() - 1);
    return &slots_[at];
  }

  Buffer<Entry> slots_;
};

}  // namespace

void TargetSink::take(std::span<const ItemsetStep> steps) {
  std::copy(steps.begin(), steps.end(), steps_.room(steps.size()));
  steps_.add(steps.size());
  if (steps_.size() >= UINT32_MAX)
    throw Error(ErrorCode::kTooLarge, "more than 4294967294 frequent itemsets to choose from");
}

void TargetSink::drop_others() {
  Poll poll(options_.cancel);
  Itemsets itemsets(*options_.memory, steps_.size());
  Prefix prefix;
  for (size_t place = 0; place < steps_.size(); ++place) {
    prefix.step(steps_[place]);
    itemsets.insert(prefix.sum(), steps_[place].support, place);
    poll.after(32);
  }
  Buffer<bool> dropped(*options_.memory, steps_.size(), Fill::kZero);
  prefix = {};
  for (size_t place = 0; place < steps_.size(); ++place) {
    const ItemsetStep& step = steps_[place];
    prefix.step(step);
    poll.after(32 * uint64_t{step.length});
    if (step.length == 1) {
      if (target_ == ItemsetTarget::kGenerators) dropped[place] = step.support == transactions_;
      continue;
    }
    for (const uint32_t item : prefix.items()) {
      const Entry& subset = itemsets.find(prefix.sum() - signature_of(item));
      const bool same = subset.support == step.support;
      if (target_ == ItemsetTarget::kGenerators)
        dropped[place] = dropped[place] || same;
      else if (target_ == ItemsetTarget::kMaximal || same)
        dropped[subset.place] = true;
    }
  }
  for (size_t place = 0; place < steps_.size(); ++place)
    if (dropped[place]) steps_[place].support = 0;
}

}  // namespace batmap
