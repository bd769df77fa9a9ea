// Algorithm `dfs`: depth-first search over bit rows. At each node one row is ANDed with all later rows, the results are
// counted, the frequent ones are packed, and the search goes on among them. Answers come in the order of depth_first.h.
// Cost: a row of all columns for each candidate of each node on the path.
// Source: Losiak 2009, 5.1.5 and 5.5; perfect extensions are added.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "itemsets/itemset_writer.h"
#include "itemsets/poll.h"
#include "itemsets/weighted_bits.h"

namespace batmap {

class BitRowSearch {
 public:
  BitRowSearch(const SearchRoot& root, const std::atomic<uint32_t>& min_count, uint32_t most,
               const AndPopcountKernel& kernel, ItemsetWriter& writer, const ExecutionOptions& options)
      : root_(root),
        min_count_(min_count),
        most_(most),
        writer_(writer),
        options_(options),
        poll_(options.cancel),
        bits_(root, kernel, options) {}

  /// The itemsets that begin with one of the first `leading` items. To be called once.
  void search(uint32_t leading);

 private:
  struct Candidate {
    uint32_t rank;
    uint32_t support;
  };
  /// @param rows  [candidates][words] of the node
  /// @param plain  perfect extensions are candidates like others: the node is below a last node of depth_first.h
  void walk(const std::vector<Candidate>& candidates, const uint64_t* rows, size_t branches, uint32_t length, bool plain);

  const SearchRoot& root_;
  const std::atomic<uint32_t>& min_count_;
  uint32_t most_;
  ItemsetWriter& writer_;
  const ExecutionOptions& options_;
  Poll poll_;
  WeightedBits bits_;
};

}  // namespace batmap
