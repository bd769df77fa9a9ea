// Algorithm `dfs`, and the last resort of depth_first.h where transactions do not merge: depth-first search over bit rows.
// At each node one row is ANDed with all later rows, the results are counted, the frequent ones are packed, and the search
// goes on among them. Answers come in the order of depth_first.h. Cost: a row of all columns for each candidate of each node
// on the path. Source: Losiak 2009, 5.1.5 and 5.5; perfect extensions are added.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "itemsets/itemset_visitor.h"
#include "itemsets/poll.h"
#include "itemsets/search_bounds.h"
#include "itemsets/weighted_bits.h"

namespace batmap {

/// A search over the rows of one node.
class BitRowSearch {
 public:
  struct Candidate {
    uint32_t rank;
    uint32_t support;
  };

  /// @param bits  a row for each candidate of the node
  BitRowSearch(WeightedBits bits, const SearchBounds& bounds, uint32_t most, ItemsetVisitor& visitor,
               const ExecutionOptions& options)
      : bits_(std::move(bits)), bounds_(bounds), most_(most), visitor_(visitor), options_(options), poll_(options.cancel) {}

  /// The itemsets that go on with one of the first `branches` candidates of the node.
  /// @param length  of the node's itemset
  /// @param plain   perfect extensions are candidates like others: the node is a last node of depth_first.h
  void search(const std::vector<Candidate>& candidates, size_t branches, uint32_t length, bool plain) {
    walk(candidates, bits_.row(0), branches, length, plain);
  }

  /// For who walks the node itself. supports[j] = transactions that the row at `place` and the j-th behind it have in
  /// common.
  void count_later(size_t place, size_t later, uint32_t* supports) {
    bits_.count(bits_.row(place), bits_.row(place + 1), later, supports);
    poll_.after(later * (bits_.words() + 8));
  }
  size_t words() const { return bits_.words(); }
  /// The itemsets that go on from the row at `place` with some of those behind it. @param places  of the candidates
  void extend(size_t place, std::span<const size_t> places, const std::vector<Candidate>& candidates, uint32_t length);

 private:
  /// @param rows  [candidates][words] of the node
  void walk(const std::vector<Candidate>& candidates, const uint64_t* rows, size_t branches, uint32_t length, bool plain);

  WeightedBits bits_;
  const SearchBounds& bounds_;
  uint32_t most_;
  ItemsetVisitor& visitor_;
  const ExecutionOptions& options_;
  Poll poll_;
};

/// The itemsets of a root that begin with one of its first `leading` items.
void search_bit_rows(const SearchRoot& root, uint32_t leading, const SearchBounds& bounds, uint32_t most,
                     const AndPopcountKernel& kernel, ItemsetVisitor& visitor, const ExecutionOptions& options);

}  // namespace batmap
