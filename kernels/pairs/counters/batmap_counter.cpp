// Method `batmap`: the tids of every item become a batmap, and batmaps are compared pair by pair in tiles
// that stay in cache. Ranks rise with support, so neighbours have tables of the same width and the work in a
// tile is even. Only the half above the diagonal is counted. Tids in a stash are looked up in the other
// item's list. Every item gets a batmap, as in the paper, whatever container a stored set of its size would
// get. Source: Amossen & Pagh 2011, III-B to III-D. See pair_counter.h.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "pairs/counters/pair_counter.h"
#include "pairs/counters/tiles.h"
#include "set/set_builder.h"

namespace batmap {

namespace {

class BatmapCounter final : public PairCounter {
 public:
  BatmapCounter(Tidlists lists, const WantedPairs& pairs, uint64_t tid_slots, const SetKernel& kernel,
                const ExecutionOptions& options)
      : lists_(std::move(lists)),
        options_(options),
        kernel_(kernel),
        enough_(pairs.enough),
        width_(batmap_counter_width(tid_slots)),
        planes_(*options.memory, batmap_counter_bytes(lists_.length.span(), width_)),
        planes_of_(*options.memory, lists_.length.size()),
        stash_begin_(*options.memory, lists_.length.size() + 1),
        stash_(*options.memory) {
    build();
    tiles_ =
        Tiles(static_cast<uint32_t>(lists_.length.size()), pairs, [this](uint32_t item) { return shape(item).bytes(); });
  }

  size_t tasks() const override { return tiles_.strips(); }
  uint64_t max_results() const override { return tiles_.max_results(); }
  std::span<const uint32_t> supports() const override { return lists_.length.span(); }

  void count(size_t task, int, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    tiles_.visit(task, options_.cancel, out, [&](uint32_t a, uint32_t b) -> uint32_t {
      if (lists_.length[a] < threshold || lists_.length[b] < threshold) return 0;
      const uint32_t common = count_pair(a, b);
      return common >= threshold ? common : 0;
    });
  }

 private:
  BatmapShape shape(uint32_t item) const { return batmap_shape(lists_.length[item], width_); }
  std::span<const uint64_t> stash(uint32_t item) const {
    return stash_.span().subspan(stash_begin_[item], stash_begin_[item + 1] - stash_begin_[item]);
  }

  void build() {
    SetEncoder encoder(options_);
    GrowingBuffer<uint64_t> elements(*options_.memory);
    std::byte* at = planes_.data();
    for (uint32_t item = 0; item < lists_.length.size(); ++item) {
      const std::span<const uint32_t> tids = std::as_const(lists_).list(item);
      elements.shrink(0);
      std::copy(tids.begin(), tids.end(), elements.room(tids.size()));
      elements.add(tids.size());
      encoder.place_batmap(elements.span(), width_);
      encoder.write_planes(at);
      planes_of_[item] = at;
      at += shape(item).bytes();
      stash_begin_[item] = stash_.size();
      for (const uint64_t tid : encoder.stash()) stash_.push_back(tid);
    }
    stash_begin_[lists_.length.size()] = stash_.size();
  }

  uint32_t count_pair(uint32_t a, uint32_t b) const {
    if (shape(a).range_bits > shape(b).range_bits) std::swap(a, b);
    uint64_t common = 0;
    // Tids in the stash of either side. A tid in both stashes counts once.
    for (const uint64_t tid : stash(a)) common += holds(b, tid);
    for (const uint64_t tid : stash(b)) {
      const std::span<const uint64_t> counted = stash(a);
      common += holds(a, tid) && !std::binary_search(counted.begin(), counted.end(), tid);
    }
    const PlanePair pair{planes_of_[a], planes_of_[b], shape(a), shape(b)};
    const uint64_t groups = pair.large_shape.groups();
    if (enough_ == UINT32_MAX) return static_cast<uint32_t>(common + kernel_.count_planes(pair, 0, groups));
    // The number of groups doubles from step to step, until there are enough.
    for (uint64_t from = 0, to = 1; from < groups && common < enough_; from = to, to = std::min(2 * to, groups))
      common += kernel_.count_planes(pair, from, std::min(to, groups));
    return static_cast<uint32_t>(common);
  }
  bool holds(uint32_t item, uint64_t tid) const {
    const std::span<const uint32_t> tids = lists_.list(item);
    return std::binary_search(tids.begin(), tids.end(), static_cast<uint32_t>(tid));
  }

  Tidlists lists_;
  const ExecutionOptions& options_;
  const SetKernel& kernel_;
  uint32_t enough_;
  int width_;
  Buffer<std::byte> planes_;
  Buffer<const std::byte*> planes_of_;  // [items]
  Buffer<uint64_t> stash_begin_;        // [items + 1]
  GrowingBuffer<uint64_t> stash_;       // of all items, each ascending
  Tiles tiles_;
};

}  // namespace

int batmap_counter_width(uint64_t tid_slots) { return std::max(width_for(tid_slots) + 1, kBlockBits); }

uint64_t batmap_counter_bytes(std::span<const uint32_t> lengths, int width) {
  uint64_t bytes = 0;
  for (const uint32_t length : lengths) bytes += batmap_shape(length, width).bytes();
  return bytes;
}

std::unique_ptr<PairCounter> count_batmaps(Tidlists lists, const WantedPairs& pairs, uint64_t tid_slots,
                                           const SetKernel& kernel, const ExecutionOptions& options) {
  return std::make_unique<BatmapCounter>(std::move(lists), pairs, tid_slots, kernel, options);
}

}  // namespace batmap
