// Triangles of a graph without directions: three nodes that are joined by three edges. In how many each edge is, which is the
// number of neighbours that its two nodes have in common, or how many there are in all.
//
// Input: rows of two nodes. An edge may come in both directions and more than once, and counts once; an edge from a node to
// itself counts for nothing, but its node is one.
//
// The edges become a list of pairs that are counted in the rows of neighbours (listed_run.h). For the number of all triangles,
// each edge leads from the node with fewer edges to the other, so that each triangle is found once, and no node has more than
// sqrt(2 m) edges that lead away. Cost: that of the list, and of sorting the edges. Memory: 16 bytes an edge while they are
// sorted, and then that of the list. Source: the order by degree is that of Chiba & Nishizeki 1985 and of most codes since.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pairs/listed_answers.h"
#include "relation/row_log.h"

namespace batmap {

class TriangleRun {
 public:
  /// Makes the lists. Then either next() or count() is called.
  /// @param edges      chunks that must stay valid until the constructor returns
  /// @param node_rank  the rank of each node, by which edges are ordered and named in the answers; empty: nodes are numbers
  /// @param of_edges   next() is called; else count()
  /// @throws what ListedRun throws
  TriangleRun(const std::vector<ChunkView>& edges, std::span<const uint32_t> node_rank, bool of_edges,
              const ExecutionOptions& options);

  /// Gets answers (node, larger node, triangles), in order of the nodes. @see ListedAnswers::next
  bool next(PairBatch& batch);

  /// The number of triangles. @throws Error, std::bad_alloc
  uint64_t count();

  uint64_t nodes() const { return nodes_; }
  uint64_t edges() const { return edges_.rows(); }
  /// As that of ListedRun. items: nodes; transactions: nodes that have an edge
  const RunRecord& record() const { return record_; }

 private:
  ExecutionOptions options_;
  RunRecord record_;
  uint64_t nodes_ = 0;
  RowLog edges_;  // between different nodes, each once
  GrowingBuffer<int64_t>
      values_;  // of the codes, in ascending order; empty: codes are distances from first_value_, or ranks
  int64_t first_value_ = 0;
  std::optional<ListedAnswers> of_edges_;
  std::optional<ListedRun> all_;
  PairList answers_;
};

}  // namespace batmap
