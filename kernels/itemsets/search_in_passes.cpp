// Searches branch by branch, in passes. See itemset_source.h.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "itemsets/itemset_source.h"

namespace batmap {

namespace {

constexpr size_t kBatchSteps = 4096;  // that are handed over at once
constexpr size_t kFirstPass = 16384;  // steps
constexpr size_t kPassGrowth = 4;

class SearchPasses final : public ItemsetSource {
 public:
  SearchPasses(ItemsetRun& run, const ExecutionOptions& options)
      : run_(run), options_(options), branches_(run.branches()), pass_(*options.memory) {}

  size_t branches_done() const override { return branch_; }

  std::optional<Buffer<ItemsetStep>> pull() override {
    while (handed_over_ == pass_.size()) {
      if (std::exchange(branch_ends_, false)) {
        ++branch_;
        room_ = 0;
        known_ = 0;
      }
      if (branch_ == branches_) return std::nullopt;
      make_pass();
    }
    const size_t size = std::min(pass_.size() - handed_over_, kBatchSteps);
    Buffer<ItemsetStep> batch(*options_.memory, size);
    std::copy_n(pass_.begin() + handed_over_, size, batch.begin());
    handed_over_ += size;
    return batch;
  }

 private:
  struct IsFull {};

  /// Keeps the steps of a branch behind those already known, until there is no room for more.
  class PassSink final : public ItemsetSink {
   public:
    explicit PassSink(SearchPasses& passes) : passes_(passes) {}
    void begin() { skip_ = passes_.known_; }
    void take(std::span<const ItemsetStep> steps) override {
      const auto skipped = static_cast<size_t>(std::min<uint64_t>(skip_, steps.size()));
      skip_ -= skipped;
      for (const ItemsetStep& step : steps.subspan(skipped)) {
        if (passes_.pass_.size() == passes_.room_) throw IsFull{};
        passes_.pass_.push_back(step);
        ++passes_.known_;
      }
    }

   private:
    SearchPasses& passes_;
    uint64_t skip_ = 0;
  };

  /// Searches the branch until the pass is full or the branch ends.
  void make_pass() {
    pass_.shrink(0);
    if (room_ > 0) {
      run_.restart();
      searcher_ = nullptr;
      pass_.reset();
    }
    const size_t max_room = options_.memory->available() / 4 / sizeof(ItemsetStep);
    room_ = std::max(kFirstPass, std::min(room_ * kPassGrowth, max_room));
    pass_.room(room_);
    handed_over_ = 0;
    if (!searcher_) searcher_ = run_.searcher(sink_, options_);
    sink_.begin();
    try {
      searcher_(branch_);
      branch_ends_ = true;
    } catch (const IsFull&) {
    }
  }

  ItemsetRun& run_;
  const ExecutionOptions& options_;
  size_t branches_;
  size_t branch_ = 0;
  GrowingBuffer<ItemsetStep> pass_;  // steps of the branch
  size_t handed_over_ = 0;           // how many of them
  size_t room_ = 0;                  // of the last pass over the branch, in steps; 0: none yet
  uint64_t known_ = 0;               // steps of the branch up to the end of the pass
  bool branch_ends_ = false;         // the pass reached the end of the branch
  PassSink sink_{*this};
  ItemsetRun::Searcher searcher_;  // empty: to be made
};

}  // namespace

std::unique_ptr<ItemsetSource> search_in_passes(ItemsetRun& run, const ExecutionOptions& options) {
  return std::make_unique<SearchPasses>(run, options);
}

}  // namespace batmap
