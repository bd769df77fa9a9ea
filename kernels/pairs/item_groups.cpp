// Fills the table of groups. See item_groups.h.
#include "pairs/item_groups.h"

#include <algorithm>
#include <cassert>

#include "core/poll.h"
#include "relation/chunk.h"

namespace batmap {

void ItemGroups::add(int64_t item, uint32_t group) {
  assert(group <= sizes_.size());
  members_.push_back({item, group});
  if (group == sizes_.size())
    sizes_.push_back(1);
  else
    all_are_single_ = ++sizes_[group] == 1 && all_are_single_;
}

void ItemGroups::seal(const CancelToken& cancel) {
  Poll poll(cancel);
  KeyBounds bounds;
  for (const Member& member : members_) bounds.add(member.item, 0);
  if (members_.empty()) bounds.add(0, 0);
  codes_.emplace(ExecutionOptions{.threads = 1, .memory = meter_, .cancel = cancel}, bounds.low, bounds.range(),
                 members_.size());
  const bool direct = codes_->direct();
  group_of_code_ = Buffer<uint32_t>(*meter_, direct ? codes_->size() : members_.size());
  std::fill(group_of_code_.begin(), group_of_code_.end(), kNone);
  for (const Member& member : members_) {
    poll.after(1);
    group_of_code_[direct ? codes_->find(member.item) : codes_->insert(member.item)] = member.group;
  }
  members_.reset();
}

}  // namespace batmap
