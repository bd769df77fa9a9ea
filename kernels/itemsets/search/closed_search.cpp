// Closed itemsets: those without a superset of the same support. Every node that is not covered is an answer. No memory
// beyond the transactions. Source: see closure_nodes.h.
#include <memory>
#include <span>

#include "itemsets/search/closure_nodes.h"

namespace batmap {

namespace {

class ClosedSearch final : public ClosureNodes {
 public:
  explicit ClosedSearch(const TargetSearchInput& input) : ClosureNodes(input, false) {}

  void search(RootItem first, RootItem last) override {
    if (!may_have(length())) return;
    if (first == RootItem{0} && length() != 0) tell({}, root_.transactions);
    search_root_lists(first, last);
    search_root_masks(first, last);
  }

 private:
  /// Are there answers of this length, or longer ones?
  bool may_have(size_t length) const { return length <= max_length_; }

  void visit_lists(const ListNode& node, std::span<const Candidate> children, uint32_t support) override {
    if (!may_have(length())) return;
    tell({}, support);
    if (!children.empty()) search_below(node, children, support);
  }

  bool visit_bits(const BitNode& node, bool is_closed) override {
    if (!may_have(length())) return false;
    if (is_closed) tell({}, node.support);
    return true;
  }

  void visit_masks(const MaskNode& child) override {
    const size_t before = path_.size();
    push_bits(child.with);
    if (may_have(length())) {
      tell({}, child.support);
      if (child.candidates != 0) extend_masks(child);
    }
    pop(before);
  }

  void visit_table(const MaskNode& node, std::span<const RootItem> leaf) override { tell_closed(node, leaf); }
  void visit_table(const ListNode& node, std::span<const RootItem> leaf) override { tell_closed(node, leaf); }

  template <typename Node>
  void tell_closed(const Node& node, std::span<const RootItem> leaf) {
    walk_table(
        leaf, [&](size_t length) { return may_have(length); }, [&](size_t subset) { return is_passed(node, subset); },
        [](uint32_t support) { return support; },
        [&](const LeafStep& step, std::span<const RootItem> items) { tell(items, table_.supports[step.subset]); });
  }
};

}  // namespace

std::unique_ptr<TargetSearch> make_closed_search(const TargetSearchInput& input) {
  return std::make_unique<ClosedSearch>(input);
}

}  // namespace batmap
