// Pairs of items of one stream that come within a window of each other: how many streams have such a pair of events, or
// how many such pairs of events there are. The order of the two does not matter, nor whether other events lie between.
//
// For one item after the other, a walk over the events within the window of any of its own events counts all larger items
// at once, in a row of counters. Each event is visited once for each item, however much the windows overlap: how many
// events of the item are in reach follows from two indexes in its list, which move on with the walk. An item that may only
// be paired with a few others (include) is merged with their lists, if that is less work.
//
// Cost: for each item the events in its windows: at most items x events, usually far fewer. Memory: the axes
// (event_streams.h), 16 bytes an item and a thread, and 16 bytes for each answer of a batch of items. Where the events are
// in files, a batch counts part by part, and it is 32 bytes for each of its pairs that occur, or 48 if a stream comes in
// pieces. If a window is longer than what fits into memory, pieces that are wholly in reach of another one are counted by
// the numbers of their events: for each piece that takes a step for each two items of the batch. Source: ours. The
// counters of pairs/ count shared transactions. They would need a transaction for each event and its window, which
// repeats every event as often as the window has events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/best_k.h"
#include "core/options.h"
#include "core/run_record.h"
#include "core/truncation.h"
#include "episodes/event_streams.h"

namespace batmap {

/// What the support of a pair is: the streams that have it, or the pairs of events. Events are distinct (item, time, stream).
enum class WindowCounting { kStreams, kOccurrences };

/// @throws Error{kInvalidParameter} for a name that is none
WindowCounting parse_window_counting(const std::string& name);

struct WindowPairQuery {
  int64_t window = 0;                           // the largest distance of two times, in ticks
  double ticks_a_unit = 1;                      // of the user
  std::optional<int64_t> min_count;             // at most one of the two; neither only together with top_k
  std::optional<double> min_support;            // of the streams, if these are counted
  std::optional<std::vector<int64_t>> include;  // item values, or ranks; a pair needs one of these
  std::optional<std::vector<int64_t>> exclude;  // their rows are ignored
  std::optional<int64_t> top_k;                 // ties: the smaller items
  std::optional<int64_t> max_results;
  std::optional<int64_t> timeout_ms;
  WindowCounting counting = WindowCounting::kStreams;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

/// Symbols, the smaller one first.
struct WindowPair {
  uint32_t a;
  uint32_t b;
  uint64_t support;
};

class WindowPairRun {
 public:
  /// @param log, item_rank  see EventStreams; with ranks, the query's items and item() are ranks
  /// @param options         copied; its meter must outlive the run
  /// @throws Error, std::bad_alloc
  WindowPairRun(EventLog log, std::span<const uint32_t> item_rank, const WindowPairQuery& query,
                const ExecutionOptions& options);
  WindowPairRun(const WindowPairRun&) = delete;
  WindowPairRun& operator=(const WindowPairRun&) = delete;
  ~WindowPairRun();

  /// The next answer: in order of the items or, for the k best, of the support. Empty at the end.
  /// @throws Error, std::bad_alloc; then the run cannot go on
  std::optional<WindowPair> next();

  int64_t item(uint32_t symbol) const { return streams_->value(symbol); }
  const EventStreams& streams() const { return *streams_; }
  const RunRecord& record() const { return record_; }

 private:
  class Counter;

  void estimate_reach();
  uint32_t end_of_batch() const;
  bool next_batch();
  void count_batch(uint32_t begin, const EventPart& part);
  void end_stream();
  void add_counts_of_files(uint32_t begin);
  std::optional<WindowPair> next_of_all();
  void find_best();

  WindowPairQuery query_;
  ExecutionOptions options_;  // the token also looks at the clock
  CancelToken cancel_;        // the caller's
  AnswerLimit limit_;
  RunRecord record_;
  uint64_t min_count_ = 1;  // rises while the k best are found
  std::optional<EventStreams> streams_;
  Buffer<double> reach_;                                    // [symbol] an estimate of the events in its windows
  std::vector<bool> included_;                              // [symbol] empty: all
  std::vector<uint32_t> include_;                           // symbols, ascending
  std::vector<std::unique_ptr<Counter>> counters_;          // [worker]
  uint32_t next_item_ = 0;                                  // of the next batch
  std::vector<GrowingBuffer<WindowPair>> found_;            // [item of the batch]
  std::vector<GrowingBuffer<WindowPair>> found_in_stream_;  // the same in a stream that comes in pieces
  size_t list_ = 0;                                         // in found_
  size_t row_ = 0;                                          // in found_[list_]
  std::optional<BestK<WindowPair>> best_;
};

}  // namespace batmap
