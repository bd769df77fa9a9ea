// The neighbours of each node of a graph, as lists in ascending order, by node. They are made of pairs (node, neighbour), which
// come in any order, and each of which counts once.
//
// In memory the pairs are sorted, and lists are 4 bytes a pair. In files they are sorted as many at a time as a share of the work
// memory holds; each such run is written, and all runs are merged into lists, which lie in pieces: files that each have the lists
// of some consecutive nodes. Cost: 8 bytes written and read for each pair, and 4 for each different one. Memory: 8 bytes a node,
// and up to half of the work memory while pairs are sorted. The list of one node is never divided. Source: merge sort is
// textbook.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/options.h"

namespace batmap {

/// The lists of consecutive nodes, in memory. A view.
class ListsOfNodes {
 public:
  ListsOfNodes() = default;
  /// @param begin  [nodes + 1] where the list of each node begins, whether or not it is here
  /// @param lists  those of [first_node, end_node)
  ListsOfNodes(const uint64_t* begin, const uint32_t* lists, uint32_t first_node, uint32_t end_node)
      : begin_(begin), lists_(lists), base_(begin[first_node]), first_node_(first_node), end_node_(end_node) {}

  uint32_t first_node() const { return first_node_; }
  uint32_t end_node() const { return end_node_; }
  /// Neighbours in all lists.
  uint64_t size() const { return first_node_ == end_node_ ? 0 : begin_[end_node_] - base_; }
  /// Where the list of a node begins, counted from that of the first node.
  uint64_t place(uint32_t node) const { return begin_[node] - base_; }
  std::span<const uint32_t> operator[](uint32_t node) const {
    return {lists_ + place(node), begin_[node + 1] - begin_[node]};
  }
  /// Where `neighbour` is in the list of `node`, counted in the same way. It must be there.
  uint64_t place(uint32_t node, uint32_t neighbour) const {
    const std::span<const uint32_t> list = (*this)[node];
    return place(node) + static_cast<uint64_t>(std::lower_bound(list.begin(), list.end(), neighbour) - list.begin());
  }
  /// Some of these.
  ListsOfNodes part(uint32_t first_node, uint32_t end_node) const {
    return {begin_, lists_ + place(first_node), first_node, end_node};
  }

 private:
  const uint64_t* begin_ = nullptr;
  const uint32_t* lists_ = nullptr;
  uint64_t base_ = 0;
  uint32_t first_node_ = 0;
  uint32_t end_node_ = 0;
};

class NeighbourLists {
 public:
  /// A piece in memory ends with the list that makes it so many neighbours.
  static constexpr uint64_t kPieceInMemory = uint64_t{1} << 22;
  /// The same in files: a sixteenth of the work memory.
  static constexpr uint64_t piece_in_files(size_t work_bytes) { return work_bytes / 16 / sizeof(uint32_t) + 1; }

  /// @param nodes     nodes are below this
  /// @param pairs     that will be added at most
  /// @param in_files  more than a share of the work memory go to the files of `options`
  /// @param options   copied; its meter and its files must outlive this object
  /// All that can fail: @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw
  NeighbourLists(uint32_t nodes, uint64_t pairs, bool in_files, const ExecutionOptions& options);

  void add(uint32_t node, uint32_t neighbour) {
    if (keys_.size() == max_keys_ && in_files_) write_run();
    keys_.push_back(uint64_t{node} << neighbour_bits_ | neighbour);
  }
  /// After the last pair, and before the lists are used.
  void seal();

  uint32_t nodes() const { return nodes_; }
  /// Neighbours in all lists.
  uint64_t size() const { return begin_[nodes_]; }
  /// After seal(): few pairs stay in memory.
  bool in_files() const { return !pieces_.empty(); }
  size_t pieces() const { return piece_begin_.size() - 1; }
  /// The first node of a piece; the number of all nodes behind the last.
  uint32_t piece_begin(size_t piece) const { return piece_begin_[piece]; }
  /// Neighbours in some pieces.
  uint64_t size_of(size_t first_piece, size_t end_piece) const {
    return begin_[piece_begin_[end_piece]] - begin_[piece_begin_[first_piece]];
  }
  /// The lists of some pieces. @param room  has them if they were in files
  ListsOfNodes load(size_t first_piece, size_t end_piece, Buffer<uint32_t>& room) const;

 private:
  class RunReader;

  void write_run();
  void sort_in_memory();
  void merge_runs();
  /// The list of a node begins, after all those before it.
  void begin_list(uint32_t node, uint64_t at);

  uint32_t nodes_;
  bool in_files_;
  ExecutionOptions options_;
  int neighbour_bits_;
  uint64_t max_keys_;
  GrowingBuffer<uint64_t> keys_;  // pairs that are not sorted
  std::vector<TempFile*> runs_;
  Buffer<uint64_t> begin_;  // [nodes + 1]
  uint64_t begun_ = 0;      // lists whose beginning is known
  std::vector<uint32_t> piece_begin_;
  Buffer<uint32_t> lists_;         // if they are in memory
  std::vector<TempFile*> pieces_;  // if not
};

}  // namespace batmap
