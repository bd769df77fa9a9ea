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
#include "pairs/build_counter.h"
#include "pairs/choose.h"
#include "pairs/offloaded_answers.h"
#include "pairs/pair_report.h"
#include "pairs/spilled_pairs.h"
#include "pairs/spooled_pairs.h"
#include "relation/kept_items.h"
#include "relation/pair_log.h"

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
  bool bag = false;                    // rows that repeat multiply, as in a join in SQL; else they count once
  bool diagonal = false;               // pairs of an item with itself, too
  bool ties = false;                   // top_k: at least all pairs as good as the k-th by support, in no order
  bool distinct_only = false;          // which pairs there are; their supports may be any number from the threshold on
  std::optional<uint64_t> max_passes;  // over rows in files; where more are needed: Error{kMemoryLimit}
  std::optional<PairMethod> method;    // none: the chooser's
  PairKernels kernels;
  DeviceUse device;

  /// @throws Error{kInvalidParameter} with the value, the bound and a hint
  void check() const;
};

/// "auto" or nothing-special names to methods. @throws Error{kInvalidParameter} for an unknown name
std::optional<PairMethod> parse_pair_method(const std::string& name);

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

  /// Whether memory may be too small for the answers that are still to come.
  bool may_run_out() const;
  /// Counts to the end, before any answer is handed over: the answers wait in a file (ExecutionOptions::files, which is
  /// there), and next() needs no more memory. @throws Error, std::bad_alloc, what the files throw; the run cannot go on
  /// after that
  void count_all();

  /// Is the input still needed? A device may fail in the middle; then the CPU starts again where it stopped.
  bool needs_rows() const { return answers_.on_devices(); }

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

  PairQuery query_;
  ExecutionOptions options_;
  PairReport report_;
  std::vector<ChunkView> chunks_;  // while on a device: for starting again
  std::span<const uint32_t> item_rank_;
  std::optional<SpilledPairs> spilled_;  // where the rows were too many
  OffloadedAnswers answers_;             // none: there is nothing to count
  uint64_t most_pairs_ = UINT64_MAX;     // that there can be
  uint64_t restart_bytes_ = 0;           // while on a device: what the CPU would need
  std::optional<SpooledPairs> spooled_;  // instead of answers_, once all of them are known
};

}  // namespace batmap
