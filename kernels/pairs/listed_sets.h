// Answers for each row of a list of pairs of stored sets, in the order of the list: the number of common elements, and the
// cardinalities if they are asked for. As in a relation whose items are the sets and whose tids are their elements: so the
// answers are those of listed_answers.h over the rows (element, id). A pair that is on the list twice has two answers; an id
// without a set has no elements.
//
// A pair that is on the list twice is counted once. Pairs with one set in common are counted one after the other, and the
// larger set is the one in common, so that it stays in the cache. Compact sets are compared as they are, or prepared first
// where they are on the list often. Devices get the elements of the sets, and count listed pairs or all; or they get the
// batmaps of one width, and the CPU counts the pairs of the others. The list is ordered on all threads, too. Cost, on one
// thread: 40 ns a row of the list to order it, and a comparison (set/set_intersect.h) a pair. Memory: the sets, 32 bytes a
// row of the list and 12 a pair, 8 a row more with cardinalities; on a device also 128 KB a thread. Source: ours.
#pragma once

#include <span>
#include <vector>

#include "accel/device_session.h"
#include "core/options.h"
#include "core/run_record.h"
#include "pairs/pair_batch.h"
#include "relation/chunk.h"
#include "set/set_collection.h"
#include "set/set_kernel.h"

namespace batmap {

struct ListedSetsQuery {
  bool supports = false;  // also the cardinalities of the sets
  bool total = false;     // also the number of distinct elements of all sets
  const SetKernel* kernel = &best_set_kernel();
  DeviceUse device;
};

class ListedSets {
 public:
  /// @param sets   moved in; their ids differ
  /// @param shown  the list as the answers name it: rows of two ids, to stay valid while there are answers
  /// @param list   the same rows with the ids that the sets have. These chunks must stay valid until the constructor returns
  /// @throws Error{kTooLarge} for a set of 2^32 elements or more, or as many rows; Error, std::bad_alloc
  ListedSets(SetCollection sets, std::vector<ChunkView> shown, const std::vector<ChunkView>& list,
             const ListedSetsQuery& query, const ExecutionOptions& options);
  ListedSets(const ListedSets&) = delete;
  ListedSets& operator=(const ListedSets&) = delete;

  /// Gets the answers for the next rows of the list. The first call counts.
  /// @param batch  overwritten; valid until the next call
  /// @return false after the last answer; `batch` is then empty
  /// @throws Error, std::bad_alloc; after that next() must not be called again
  bool next(PairBatch& batch);

  /// items: sets; items_kept: those on the list; occurrences: their elements; transactions: the total, if it is asked for;
  /// device and reason: after the first call of next().
  const RunRecord& record() const { return record_; }

 private:
  /// Two sets by rank, which is a position in order_.
  struct RankPair {
    uint32_t large;
    uint32_t small;

    friend bool operator==(const RankPair&, const RankPair&) = default;
  };
  struct Costs;
  struct Entry;

  void rank_sets();
  void read_list(const std::vector<ChunkView>& list);
  void make_pairs(const Buffer<Entry>& sorted, size_t size);
  uint64_t distinct_elements();
  void count();
  size_t count_on_devices();
  void count_on(std::span<const DeviceTraits> devices, const ListSizes& way, std::span<const uint32_t> named);
  std::vector<uint32_t> name_batmaps();
  double expected_pair_instances() const;
  bool is_for_devices(const RankPair& pair) const;
  Costs costs() const;
  void count_on_cpu();
  double expected_cpu_ms(const Costs& costs) const;

  std::vector<ChunkView> shown_;
  size_t next_chunk_ = 0;
  uint64_t next_row_ = 0;
  ListedSetsQuery query_;
  ExecutionOptions options_;
  RunRecord record_;
  bool is_counted_ = false;
  SetCollection sets_;
  std::vector<uint32_t> order_;        // by rising cardinality
  std::vector<uint32_t> rank_of_;      // [sets]
  std::vector<uint32_t> listed_;       // sets of the list, by rank
  int width_ = 0;                      // that compact ones of them are prepared for
  Buffer<RankPair> pairs_;             // different ones, by the larger and then by the smaller set
  Buffer<uint32_t> counts_;            // [pairs_]
  Buffer<uint32_t> pair_of_row_;       // [rows of the list] index in pairs_, or kNoPair
  std::vector<uint32_t> device_rank_;  // [order_] how devices that have counted name a set, or kNoSet; empty: none have
  Buffer<uint32_t> supports_[2];       // the same
  PairList answers_;
};

}  // namespace batmap
