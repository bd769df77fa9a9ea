// The record of a run: how it was done, its sizes, its times, and what cut its answer off. Every run of the engine fills one,
// of whatever kind its answers are. Its caller adds what only a caller knows. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/truncation.h"

namespace batmap {

/// How and where a run computes. This changes when a device fails.
struct ExecutionSite {
  std::string method;
  std::string kernel;          // empty if none was used
  std::string device = "cpu";  // or the names of the GPUs
  std::string notice;          // a message for the user: a device failed
};

enum class AnswerKind { kPairs, kSetPairs, kItemsets, kRules, kRecommendations, kEpisodes, kOccurrences, kSimilarSets };

/// The itemsets or episodes of one length.
struct RunLevel {
  std::optional<uint64_t> candidates;  // that were counted; empty: not known
  uint64_t frequent = 0;               // among them; without candidates: those in the answer
  std::optional<double> ms;            // empty: not measured
};

/// Complete when the last answer has been handed over.
struct RunRecord : ExecutionSite {
  AnswerKind answers = AnswerKind::kPairs;
  std::string reason;  // why this method, and why a device or none

  // Sizes.
  uint64_t transactions = 0;    // for episodes: streams; for all pairs: distinct elements, 0 if not known
  uint64_t items = 0;           // for all pairs: sets; for episodes: distinct events
  uint64_t most_item_rows = 0;  // rows of the item that has most; 0: not known
  uint64_t items_kept = 0;
  uint64_t occurrences = 0;            // rows of kept items; for all pairs: elements of kept sets
  uint64_t distinct_transactions = 0;  // that are searched
  uint64_t pair_instances = 0;         // sum over transactions of (number of kept items choose 2)
  uint64_t results = 0;                // answers handed over
  uint64_t tasks = 0;                  // as far as known
  uint64_t tasks_done = 0;
  uint64_t file_bytes = 0;       // of rows in temporary files
  std::vector<RunLevel> levels;  // [length - 1]

  // Phases, in milliseconds.
  double group_ms = 0;
  double choice_ms = 0;  // of group_ms: to choose a device
  double count_ms = 0;   // in next(), all calls together; 0: the run does not measure it

  Truncation truncation;
  bool truncated() const { return truncation.cause != Truncation::kNone; }

  // What the caller adds. The two texts are literals.
  const char* operation = "";  // what was asked for
  const char* input = "";      // how the rows were read
  int threads = 0;
  uint64_t rows_read = 0;
  double read_ms = 0;
  double answer_ms = 0;  // from one batch to the request for the next
  uint64_t peak_memory = 0;
};

/// For `reason`: where the rows of a run were, and how they were taken. @param taken  "counted" or "searched"
std::string rows_in_files(uint64_t bytes, size_t parts, const char* taken = "counted");

}  // namespace batmap
