// The itemset half of the fake accelerator (fake_accelerator.h): levels of bit rows in plain vectors, candidates by
// the definition, pruning by a set of itemsets. Any call can be made to fail, and the room for rows can be made small.
#pragma once

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include "accel/device_itemsets.h"
#include "test/unit/shared/fake_accelerator.h"

namespace batmap {

struct DeviceItemsets {
  struct Level {
    std::vector<std::vector<uint64_t>> rows;
    std::vector<std::vector<uint32_t>> itemsets;  // the items of each
  };
  DeviceItemsetJob job;
  std::vector<DevicePlane> planes;
  std::vector<Level> levels;

  uint32_t support(uint32_t a, uint32_t b) const {
    const Level& level = levels.back();
    uint32_t sum = 0;
    for (const DevicePlane& plane : planes)
      for (uint64_t w = plane.first; w < plane.first + plane.words; ++w)
        sum += static_cast<uint32_t>(std::popcount(level.rows[a][w] & level.rows[b][w])) << plane.shift;
    return sum;
  }
  void add(Level& to, const JoinedItemset& joined) const {
    const Level& from = levels.back();
    std::vector<uint64_t> row = from.rows[joined.parent];
    for (size_t w = 0; w < row.size(); ++w) row[w] &= from.rows[joined.other][w];
    to.rows.push_back(row);
    to.itemsets.push_back(from.itemsets[joined.parent]);
    to.itemsets.back().push_back(from.itemsets[joined.other].back());
  }
};

/// How the next calls end. One state for all searches.
struct FakeItemsets {
  enum Call { kOpen, kExtend, kCount, kPush, kCalls };

  AcceleratorStatus answer[kCalls] = {};  // what a call returns after `after` successful calls of its kind
  int after[kCalls] = {};
  int calls[kCalls] = {};
  uint64_t room_bytes = UINT64_MAX;
  bool stalls = false;
  int open = 0;  // searches that are not closed yet

  static FakeItemsets& state() {
    static FakeItemsets fake;
    return fake;
  }
  void reset() {
    const int still_open = open;
    *this = {};
    open = still_open;
  }

  /// The fake accelerator, with this half.
  static const AcceleratorApi* accelerator() {
    static const AcceleratorApi table = [] {
      AcceleratorApi api = *FakeAccelerator::api();
      api.itemsets = FakeItemsets::api();
      return api;
    }();
    return &table;
  }

 private:
  static AcceleratorStatus say(Call call, AcceleratorMessage* why) {
    FakeItemsets& fake = state();
    const AcceleratorStatus status = fake.calls[call]++ >= fake.after[call] ? fake.answer[call] : AcceleratorStatus::kOk;
    if (status != AcceleratorStatus::kOk)
      std::snprintf(why->text, sizeof why->text, "fake itemset answer %d", static_cast<int>(call));
    return status;
  }

  static AcceleratorStatus open_search(const DeviceItemsetJob* job, DeviceItemsets** itemsets, AcceleratorMessage* why) {
    if (const AcceleratorStatus status = say(kOpen, why); status != AcceleratorStatus::kOk) return status;
    *itemsets = new DeviceItemsets{*job, {job->planes, job->planes + job->plane_count}, {}};
    DeviceItemsets::Level items;
    for (uint32_t item = 0; item < job->items; ++item) {
      items.rows.emplace_back(job->rows + item * job->words, job->rows + (item + 1) * job->words);
      items.itemsets.push_back({item});
    }
    (*itemsets)->levels.push_back(std::move(items));
    ++state().open;
    return AcceleratorStatus::kOk;
  }

  static AcceleratorStatus extend(DeviceItemsets* search, const DeviceExtension* step, const DeviceItemsetSink* sink,
                                  uint64_t* candidates, AcceleratorMessage* why) {
    while (state().stalls)
      if (search->job.stop(search->job.stop_arg)) return AcceleratorStatus::kCancelled;
    if (const AcceleratorStatus status = say(kExtend, why); status != AcceleratorStatus::kOk) return status;
    const DeviceItemsets::Level& level = search->levels.back();
    const std::set<std::vector<uint32_t>> whole(level.itemsets.begin(), level.itemsets.end());
    std::vector<JoinedItemset> found;
    DeviceItemsets::Level next;
    *candidates = 0;
    for (uint32_t a = step->first; a < step->last; ++a)
      for (uint32_t b = a + 1; b < level.itemsets.size(); ++b) {
        std::vector<uint32_t> itemset = level.itemsets[a];
        if (!std::equal(itemset.begin(), itemset.end() - 1, level.itemsets[b].begin())) break;
        itemset.push_back(level.itemsets[b].back());
        bool pruned = false;
        for (size_t without = 0; step->prune != 0 && without + 2 < itemset.size(); ++without) {
          std::vector<uint32_t> subset = itemset;
          subset.erase(subset.begin() + static_cast<ptrdiff_t>(without));
          pruned = pruned || (subset[0] < step->leading && !whole.contains(subset));
        }
        if (pruned) continue;
        ++*candidates;
        const JoinedItemset joined{a, b, search->support(a, b)};
        if (joined.support < step->min_count) continue;
        found.push_back(joined);
        if (joined.support != step->fold_support) search->add(next, joined);
      }
    JoinedItemset* const out = sink->room(sink->arg, found.size());
    if (out == nullptr && !found.empty()) return AcceleratorStatus::kOutOfMemory;
    std::copy(found.begin(), found.end(), out);
    if (step->push != 0) search->levels.push_back(std::move(next));
    return AcceleratorStatus::kOk;
  }

  static const DeviceItemsetApi* api() {
    static const DeviceItemsetApi table = {
        .open = open_search,
        .extend = extend,
        .count =
            [](DeviceItemsets* search, JoinedItemset* candidates, size_t size, AcceleratorMessage* why) {
              for (size_t i = 0; i < size; ++i)
                candidates[i].support = search->support(candidates[i].parent, candidates[i].other);
              return say(kCount, why);
            },
        .push =
            [](DeviceItemsets* search, const JoinedItemset* kept, size_t size, AcceleratorMessage* why) {
              DeviceItemsets::Level next;
              for (size_t i = 0; i < size; ++i) search->add(next, kept[i]);
              search->levels.push_back(std::move(next));
              return say(kPush, why);
            },
        .pop = [](DeviceItemsets* search) { search->levels.pop_back(); },
        .drop_lower =
            [](DeviceItemsets* search) {
              for (size_t k = 0; k + 1 < search->levels.size(); ++k) search->levels[k] = {};
            },
        .room = [](DeviceItemsets*) { return state().room_bytes; },
        .times = [](DeviceItemsets*, DeviceItemsetTimes* times) { *times = {}; },
        .close =
            [](DeviceItemsets* search) {
              --state().open;
              delete search;
            },
    };
    return &table;
  }
};

}  // namespace batmap
