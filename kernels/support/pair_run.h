// One run of pair support, from rows to answers: codes the relation, drops what cannot matter, chooses a method,
// builds its form, and lets pair_answers.h count and hand over. The ranks are those of kept_items.h, so the order of
// the answers depends on the rows alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/offload.h"
#include "core/options.h"
#include "relation/kept_items.h"
#include "relation/pair_log.h"
#include "support/build_counter.h"
#include "support/choose.h"
#include "support/pair_answers.h"
#include "support/spilled_pairs.h"

namespace batmap {

struct PairQuery {
  // Exactly one of the two, or neither together with one of the top-k forms (then 1).
  std::optional<int64_t> min_count;
  std::optional<double> min_support;
  std::optional<int64_t> top_k;
  std::optional<int64_t> per_item_top_k;
  std::optional<double> min_jaccard;   // in addition
  std::optional<PairMeasure> measure;  // what the top-k forms rank by; none: support
  std::optional<std::vector<int64_t>> include;
  std::optional<std::vector<int64_t>> exclude;
  std::optional<int64_t> max_results;
  // Two kinds of items: those below it, and the others; pairs have one of each. Not together with include.
  std::optional<int64_t> left_items;
  bool bag = false;                  // rows that repeat multiply, as in a join in SQL; else they count once
  bool diagonal = false;             // pairs of an item with itself, too
  bool ties = false;                 // top_k: at least all pairs as good as the k-th by support, in no order
  bool distinct_only = false;        // which pairs there are; their supports may be any number from the threshold on
  std::optional<PairMethod> method;  // none: the chooser's
  PairKernels kernels;
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

/// "auto" or nothing-special names to methods. @throws Error{kInvalidParameter} for an unknown name
std::optional<PairMethod> parse_pair_method(const std::string& name);

/// What a run did; complete when next() has returned no more.
struct PairReport {
  std::string method;
  std::string kernel;          // empty unless bits were counted
  std::string device = "cpu";  // or the names of GPUs
  std::string notice;          // what the user should be told: a device failed
  std::string reason;
  uint64_t transactions = 0;
  uint64_t items = 0;
  uint64_t items_kept = 0;
  uint64_t occurrences = 0;     // rows of kept items
  uint64_t pair_instances = 0;  // sum over transactions of (kept items choose 2)
  uint64_t threshold = 0;
  uint64_t results = 0;
  uint64_t tasks = 0;  // into which counting is cut, as far as known
  uint64_t tasks_done = 0;
  uint64_t file_bytes = 0;  // of rows in temporary files
  bool truncated = false;
  double group_ms = 0;
  double count_ms = 0;  // time that next() took, all calls together
};

class PairRun {
 public:
  /// Groups the rows and builds what the method counts.
  /// @param chunks     must stay valid until the constructor returns, and, with item_rank, while needs_rows()
  /// @param item_rank  see EncodedRelation; with it, include and exclude are ranks and so are the answers' items
  /// @param options    copied; its meter must outlive the run
  /// @throws Error, std::bad_alloc
  PairRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const PairQuery& query,
          const ExecutionOptions& options);
  /// The same from a sealed log, wherever its rows are. What has moved to files is counted from them, which must outlive the
  /// run, and so must item_rank.
  PairRun(const PairLog& log, std::span<const uint32_t> item_rank, const PairQuery& query, const ExecutionOptions& options);
  PairRun(const PairRun&) = delete;
  PairRun& operator=(const PairRun&) = delete;

  /// The next answers. Returns after about one task's work, so that the caller can look after other things.
  /// @param batch  overwritten; may be empty although there is more to come
  /// @return false when there are no more, and `batch` is empty
  /// @throws Error, std::bad_alloc; the run cannot go on after that
  bool next(std::vector<PairRow>& batch);

  const PairReport& report() const { return report_; }

  /// Is the input still needed? A device may fail in the middle; then the CPU starts again where it stopped.
  bool needs_rows() const { return device_threads_ > 0; }

 private:
  void group(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank);
  void group_spilled(const RowPartitions& rows, std::span<const uint32_t> item_rank);
  bool begin(uint64_t transactions, uint64_t items);
  ItemFilter filter(bool weighted) const;
  PairSelection selection() const;
  std::unique_ptr<PairCounter> next_block();
  void count_kept(std::span<const uint32_t> supports);
  std::unique_ptr<PairCounter> count_on_a_device(const EncodedRelation& relation, const KeptItems& kept, double cpu_ms);
  void refuse_without_device(const char* why) const;
  bool next_answers(std::vector<PairRow>& batch);
  void go_on_without_device();

  PairQuery query_;
  ExecutionOptions options_;
  PairReport report_;
  int device_threads_ = 0;         // more than none: a device counts
  std::vector<ChunkView> chunks_;  // while on a device: for starting again
  std::span<const uint32_t> item_rank_;
  uint64_t skip_ = 0;                    // answers that a device had given before it failed
  std::optional<SpilledPairs> spilled_;  // where the rows were too many
  std::optional<PairAnswers> answers_;   // none: there is nothing to count
};

}  // namespace batmap
