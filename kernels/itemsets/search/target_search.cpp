// The search for each target. See target_search.h.
#include "itemsets/search/target_search.h"

namespace batmap {

std::unique_ptr<TargetSearch> make_target_search(ItemsetTarget target, const TargetSearchInput& input) {
  switch (target) {
    case ItemsetTarget::kAll:
    case ItemsetTarget::kClosed: break;
    case ItemsetTarget::kMaximal: return make_maximal_search(input);
    case ItemsetTarget::kGenerators: return make_generator_search(input);
  }
  return make_closed_search(input);
}

}  // namespace batmap
