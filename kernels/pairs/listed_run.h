// Counts the pairs of a list, and no others: a list names an item of the left relation and one of the right, and the
// answer is the number of tids that both have, or of the row pairs that a SQL join would make. With edges as both relations
// and as the list, the sum over the list is the number of triangles.
//
// Each row of a relation whose item is on the list goes into the list of tids of that item. The run marks the tids of the
// item with more rows of a pair, and looks the rows of the other one up. It takes the pairs with one marked item together,
// so each item is marked once: there is nothing to gain from a search in sorted lists, however different the sizes are.
//
// Cost: 50 to 100 ns for each row of the list and of a listed item; then 100 to 200 ns for each different pair, which are
// reads past the cache, and one for each row of the smaller item of the pair (bench/listed_bench.cpp). In a graph with m
// edges these are at most O(m^1.5) rows. Memory: 24 bytes a row of the list, 12 for each row that is kept, and a bit (4
// bytes if rows repeat) for each tid and thread. Source: the bound is that of Chiba & Nishizeki 1985 for triangles; the
// marks are the textbook way to intersect many lists with one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "accel/offload.h"
#include "core/options.h"
#include "core/poll.h"
#include "core/run_record.h"
#include "core/thread_team.h"
#include "relation/chunk.h"
#include "relation/key_codes.h"
#include "relation/tidlists.h"

namespace batmap {

struct ListedQuery {
  uint64_t min_count = 1;  // 0: also pairs that have nothing in common
  bool bag = false;        // repeated rows multiply, as in a SQL join; else they count once
  bool each_row = false;   // an answer for each row of the list; else one for each different pair
  bool supports = false;   // the two relations are one: also the supports of the items, and the number of all tids
  DeviceUse device = {};   // for pairs whose rows count once
};

/// What is counted, in chunks that must stay valid until the constructor of the run returns.
struct ListedInput {
  std::vector<ChunkView> list;   // rows (item of `left`, item of `right`); items may be unknown, and rows may repeat
  std::vector<ChunkView> left;   // rows (tid, item)
  std::vector<ChunkView> right;  // the same; the chunks of `left` for a self-join
};

/// One answer.
struct ListedPair {
  int64_t item_a;
  int64_t item_b;
  uint64_t count;
  uint64_t times;  // rows of the list with this pair; 1 with each_row
  uint64_t row;    // with each_row: its number in the list
  // With supports: the tids of each item.
  uint64_t support_a = 0;
  uint64_t support_b = 0;
};

class ListedRun {
 public:
  // For the record of a run.
  static constexpr const char* kMethod = "marking";
  static constexpr const char* kReason = "only listed pairs are counted";

  /// Groups the rows, and orders the list.
  /// @param options  copied; its meter must outlive the run. Rows stay in memory
  /// @throws Error{kTooLarge} from 2^32 - 1 rows on; Error{kMemoryLimit, kCancelled}, std::bad_alloc
  ListedRun(const ListedInput& input, const ListedQuery& query, const ExecutionOptions& options);
  ListedRun(const ListedRun&) = delete;
  ListedRun& operator=(const ListedRun&) = delete;
  ~ListedRun();

  /// Gets the next answers, after about one task's work. Their order depends on the input only.
  /// @param batch  overwritten; may be empty although more answers follow
  /// @return false after the last answer; `batch` is then empty
  /// @throws Error, std::bad_alloc; after that next() must not be called again
  bool next(std::vector<ListedPair>& batch);

  /// pair_instances: rows that are looked up, known before the first answer; items: different ones on the list;
  /// items_kept: those that have rows; transactions: tids of the rows that are kept, or with supports all tids.
  const RunRecord& record() const { return record_; }

  /// Whether memory may not suffice for the answers still to come.
  bool may_run_out() const;

 private:
  /// A row of the list. Items are codes of both sides: those of the right follow those of the left.
  struct Entry {
    uint32_t marked;  // the item with more rows
    uint32_t probed;
    uint32_t row;

    bool is_same_pair(const Entry& other) const { return marked == other.marked && probed == other.probed; }
  };
  struct KeptRow;
  struct Marks;

  void code_list(const std::vector<ChunkView>& list);
  void keep_rows(const std::vector<ChunkView>& chunks, int side, KeyCodes& tids, const Buffer<uint8_t>& is_listed,
                 GrowingBuffer<KeptRow>& kept);
  void count_tids(const std::vector<ChunkView>& chunks, KeyCodes& tids);
  void group_rows(const ListedInput& input);
  void sort_lists();
  void order_entries();
  void cut_tasks();
  void offer_to_devices();
  void mark(Marks& marks, uint32_t item, Poll& poll) const;
  uint64_t look_up(const Marks& marks, uint32_t item, Poll& poll) const;
  GrowingBuffer<ListedPair> count(size_t task, int worker);
  size_t window() const;
  int64_t value_of(uint32_t item) const;

  ListedQuery query_;
  ExecutionOptions options_;
  RunRecord record_;
  std::optional<KeyCodes> codes_[2];  // of listed items; none: the list is empty
  uint32_t left_items_ = 0;           // codes of the left side
  uint32_t items_ = 0;                // codes of both sides
  uint32_t tid_slots_ = 0;
  bool rows_repeat_ = false;
  Tidlists lists_;                  // [items_]
  Buffer<Entry> entries_;           // that are counted, by the marked and then by the other item
  size_t size_ = 0;                 // of entries_ in use
  Buffer<uint32_t> device_counts_;  // [size_] if devices have counted
  std::vector<size_t> task_begin_;
  std::vector<Marks> marks_;  // [threads]
  // The counting threads, once started. The last member, so that it is destroyed first.
  std::optional<OrderedTasks<GrowingBuffer<ListedPair>>> tasks_;
};

}  // namespace batmap
