// Look-ups of subsets. See itemset_targets.h.
#include "itemsets/search/itemset_targets.h"

#include <algorithm>
#include <span>

#include "core/poll.h"
#include "itemsets/answers/itemset_supports.h"

namespace batmap {

void TargetSink::take(std::span<const ItemsetStep> steps) {
  std::copy(steps.begin(), steps.end(), steps_.room(steps.size()));
  steps_.add(steps.size());
  if (steps_.size() >= UINT32_MAX)
    throw Error(ErrorCode::kTooLarge, "more than 4294967294 frequent itemsets to choose from",
                "Raise the threshold or give max_length.");
}

void TargetSink::drop_others() {
  Poll poll(options_.cancel);
  ItemsetSupports itemsets(*options_.memory, steps_.size());
  ItemsetPrefix prefix;
  for (size_t index = 0; index < steps_.size(); ++index) {
    prefix.step(steps_[index]);
    itemsets.insert(prefix.sum(), steps_[index].support, index);
    poll.after(32);
  }
  Buffer<bool> dropped(*options_.memory, steps_.size(), Fill::kZero);
  prefix = {};
  for (size_t index = 0; index < steps_.size(); ++index) {
    const ItemsetStep& step = steps_[index];
    prefix.step(step);
    poll.after(32 * uint64_t{step.length});
    if (step.length == 1) {
      if (target_ == ItemsetTarget::kGenerators) dropped[index] = step.support == transactions_;
      continue;
    }
    for (const Rank item : prefix.items()) {
      const ItemsetSupports::Entry& subset = itemsets.find(prefix.sum() - signature_of(item));
      if (subset.support == 0) continue;  // not searched: it has no included item, so it is no answer
      const bool same = subset.support == step.support;
      if (target_ == ItemsetTarget::kGenerators)
        dropped[index] = dropped[index] || same;
      else if (target_ == ItemsetTarget::kMaximal || same)
        dropped[subset.index] = true;
    }
  }
  for (size_t index = 0; index < steps_.size(); ++index)
    if (dropped[index]) steps_[index].support = 0;
}

}  // namespace batmap
