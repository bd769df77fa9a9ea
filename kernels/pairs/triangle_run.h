// Triangles of a graph without directions: three nodes that are joined by three edges. In how many each edge is, which is the
// number of neighbours that its two nodes have in common, or how many there are in all.
//
// Input: rows of two nodes. An edge may come in both directions and more than once, and counts once; an edge from a node to
// itself counts for nothing, but its node is one.
//
// Each node gets a list of neighbours (neighbour_lists.h), and the lists of the two nodes of an edge are compared: the longer one
// is marked in a row of bits, once for all its edges that it is the longer one of, and the other one is looked up. For the number
// of all triangles, each edge is only in the list of the node with fewer edges, so that each triangle is found once, and no list
// has more than sqrt(2 m) neighbours. Else each edge is in both lists. At most O(m^1.5) neighbours are looked up.
//
// Rows in files give lists in files, from which two kinds of parts are loaded: a slice, as large as the memory allows, and
// beside it one piece after the other. Then the edges between the two are counted, so that each edge is counted once. The slices
// come in the order of the answers, and all edges of a slice from node to larger node have their counts when its last piece has
// been counted. A slice is half of the work memory, a piece a sixteenth, so lists of B bytes are read B / work memory times, plus
// half a time: m edges are 4 m bytes for all triangles, and 8 m with twice as many slices for each edge.
//
// Cost: for each edge about 25 ns to sort it and 50 to 100 ns to count it; 1 ns for each neighbour that is looked up. Memory:
// 8 to 100 bytes a node, and a bit for each node and thread. In memory also 16 bytes a row while they are sorted (32 for each
// edge), then 4 bytes an edge (16). In files the work memory, and 8 bytes on disk a row (16) beside the rows, whose place the lists
// then take. The lists of two nodes must always fit into memory. Source: the order by degree is that of Chiba & Nishizeki 1985 and of
// most codes since; slices in memory against all lists, as Hu, Tao & Chung 2013 do.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/run_record.h"
#include "pairs/neighbour_lists.h"
#include "pairs/pair_batch.h"
#include "relation/row_log.h"

namespace batmap {

class TriangleRun {
 public:
  /// Makes the lists. Then either next() or count() is called.
  /// @param edges      sealed; if they are in files, these are closed
  /// @param node_rank  the rank of each node, by which edges are ordered and named in the answers; empty: nodes are numbers
  /// @param of_edges   next() is called; else count()
  /// @param options    copied; its meter and its files must outlive the run
  /// @throws Error{kTooLarge} from 2^32 - 1 rows on; Error{kMemoryLimit, kCancelled}, std::bad_alloc, what the files throw
  TriangleRun(const RowLog& edges, std::span<const uint32_t> node_rank, bool of_edges, const ExecutionOptions& options);
  TriangleRun(const TriangleRun&) = delete;
  TriangleRun& operator=(const TriangleRun&) = delete;

  /// Gets answers (node, larger node, triangles), in order of the nodes.
  /// @param batch  overwritten; valid until the next call; may be empty although more answers follow
  /// @return false after the last answer; `batch` is then empty
  /// @throws Error, std::bad_alloc, what the files throw; after that next() must not be called again
  bool next(PairBatch& batch);

  /// The number of triangles. @throws what next() throws
  uint64_t count();

  uint64_t nodes() const { return record_.items; }
  uint64_t edges() const { return edges_; }
  /// items: nodes; items_kept, transactions: those that have an edge to another one; occurrences: neighbours in all lists;
  /// pair_instances: those that were looked up; tasks: pieces, for all slices together.
  const RunRecord& record() const { return record_; }

 private:
  class Input;
  class Coding;
  /// What one thread has.
  struct Worker {
    Buffer<uint64_t> marks;          // a bit for each node
    std::span<const uint32_t> list;  // that is marked
    GrowingBuffer<uint64_t> turned;  // edges whose other list is to be marked
    uint64_t triangles = 0;
    uint64_t looked_up = 0;
  };
  class Comparison;

  void add_edges(const Input& input);
  void plan();
  void make_workers();
  bool next_slice();
  void count_piece();
  void count_turned(const ListsOfNodes& others);
  void answer();

  ExecutionOptions options_;
  RunRecord record_;
  bool of_edges_;
  uint64_t edges_ = 0;
  // Values of the nodes, which are in ascending order; empty: nodes are distances from first_value_, or ranks.
  Buffer<int64_t> values_;
  int64_t first_value_ = 0;
  std::optional<NeighbourLists> lists_;
  std::vector<Worker> workers_;      // [threads]
  std::vector<size_t> slice_begin_;  // [slices + 1] pieces

  size_t slices_begun_ = 0;
  Buffer<uint32_t> slice_room_;
  ListsOfNodes slice_;
  Buffer<uint32_t> counts_;  // with of_edges: for each neighbour in the slice
  size_t next_piece_ = 0;    // to be counted with the slice
  size_t end_piece_ = 0;
  // What is answered next: a node of the slice, and a place in its list.
  uint32_t next_node_ = 0;
  size_t next_neighbour_ = 0;
  PairList answers_;
};

}  // namespace batmap
