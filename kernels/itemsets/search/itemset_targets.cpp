// Look-ups of subsets. See itemset_targets.h.
#include "itemsets/search/itemset_targets.h"

#include <algorithm>

#include "core/poll.h"
#include "itemsets/answers/itemset_supports.h"

namespace batmap {

void TargetSink::take(std::span<const ItemsetStep> steps) {
  std::copy(steps.begin(), steps.end(), steps_.room(steps.size()));
  steps_.add(steps.size());
  if (steps_.size() >= UINT32_MAX)
    throw Error(ErrorCode::kTooLarge, "more than 4294967294 frequent itemsets to choose from");
}

void TargetSink::drop_others() {
  Poll poll(options_.cancel);
  ItemsetSupports itemsets(*options_.memory, steps_.size());
  ItemsetPrefix prefix;
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
      const ItemsetSupports::Entry& subset = itemsets.find(prefix.sum() - signature_of(item));
      if (subset.support == 0) continue;  // not searched: it has no included item, so it is no answer
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
