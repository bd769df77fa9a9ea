// A run whose pairs of items become pairs of groups (grouped_pairs.h). If each group is one item, pairs are translated as they
// come. Otherwise all of them are added up before the first answer. Source: ours.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/options.h"
#include "core/run_record.h"
#include "pairs/grouped_pairs.h"

namespace batmap {

/// @tparam Run  PairRun or JoinRun; the members of this class are those of Run
template <typename Run>
class GroupedRun {
 public:
  /// @param grouping  none: the pairs of items are the answers
  /// @param make      makes the run at a given address of an empty optional
  template <typename Make>
  GroupedRun(const std::optional<PairGrouping>& grouping, const ExecutionOptions& options, Make make) {
    make(run_);
    if (!grouping) return;
    grouped_.emplace(*grouping, options);
    adds_up_ = !grouping->keeps_items();
  }
  GroupedRun(const GroupedRun&) = delete;
  GroupedRun& operator=(const GroupedRun&) = delete;

  bool next(PairBatch& batch) {
    if (!grouped_) return run_->next(batch);
    bool more = true;
    PairBatch items;
    groups_.clear();
    if (!adds_up_) {
      more = run_->next(items);
      grouped_->translate(items.pairs(), groups_);
    } else if (finished_) {
      more = grouped_->next(groups_);
    } else if (run_->next(items)) {
      grouped_->add(items.pairs());
    } else {
      grouped_->finish();
      finished_ = true;
    }
    batch = PairBatch(groups_);
    handed_over_ += batch.size();
    return more;
  }

  const RunRecord& record() {
    if (!grouped_) return run_->record();
    record_ = run_->record();
    record_.results = handed_over_;
    return record_;
  }

  bool may_run_out() const { return !adds_up_ && run_->may_run_out(); }
  void count_all() { run_->count_all(); }
  bool needs_rows() const { return run_->needs_rows(); }

 private:
  std::optional<Run> run_;
  std::optional<GroupedPairs> grouped_;
  bool adds_up_ = false;
  bool finished_ = false;         // with adding up
  std::vector<ItemPair> groups_;  // of the last batch
  uint64_t handed_over_ = 0;
  RunRecord record_;
};

}  // namespace batmap
