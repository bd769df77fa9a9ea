// Makes the list of edges and the rows of neighbours. See triangle_run.h.
#include "pairs/triangle_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/counting_sort.h"
#include "core/polled.h"
#include "core/stopwatch.h"
#include "relation/key_codes.h"

namespace batmap {

namespace {

constexpr uint64_t kMaxEdges = UINT32_MAX;

struct Edge {
  uint32_t from;
  uint32_t to;

  bool operator==(const Edge&) const = default;
};

uint64_t edge_rows_of(const std::vector<ChunkView>& chunks) {
  uint64_t rows = 0;
  for (const ChunkView& chunk : chunks) rows += chunk.rows;
  if (rows >= kMaxEdges) throw Error(ErrorCode::kTooLarge, "more than 4294967294 edges");
  return rows;
}

/// Calls visit(a, b) with the nodes of every row, or with their ranks.
template <typename Visit>
void visit_edges(const std::vector<ChunkView>& chunks, std::span<const uint32_t> rank, const CancelToken& cancel,
                 Visit visit) {
  TidItem rows[kChunkRows];
  for (const ChunkView& chunk : chunks) {
    cancel.throw_if_requested();
    decode_chunk(chunk, rows);
    if (rank.empty()) {
      for (uint32_t k = 0; k < chunk.rows; ++k) visit(rows[k].tid, rows[k].item);
    } else {
      for (uint32_t k = 0; k < chunk.rows; ++k)
        visit(rank[static_cast<size_t>(rows[k].tid)], rank[static_cast<size_t>(rows[k].item)]);
    }
  }
}

KeyBounds bounds_of(const std::vector<ChunkView>& chunks, std::span<const uint32_t> rank) {
  KeyBounds bounds;
  if (!rank.empty()) {
    bounds.add(0, rank.size() - 1);
    return bounds;
  }
  for (const ChunkView& chunk : chunks) {
    bounds.add(chunk.tid_base, chunk.tid_range);
    bounds.add(chunk.item_base, chunk.item_range);
  }
  return bounds;
}

}  // namespace

TriangleRun::TriangleRun(const std::vector<ChunkView>& edges, std::span<const uint32_t> node_rank, bool of_edges,
                         const ExecutionOptions& options)
    : options_(options), edges_(*options.memory), values_(*options.memory), answers_(*options.memory, false) {
  const Stopwatch watch;
  MemoryMeter& meter = *options.memory;
  const uint64_t rows = edge_rows_of(edges);
  if (rows == 0) {
    edges_.seal();
    return;
  }

  // Codes, and the edges by code.
  const KeyBounds bounds = bounds_of(edges, node_rank);
  KeyCodes codes(meter, bounds.low, bounds.range(), 2 * rows);
  first_value_ = codes.base();
  const auto code = [&](int64_t node) { return codes.direct() ? codes.find(node) : codes.insert(node); };
  Buffer<Edge> all(meter, rows);
  size_t size = 0;
  visit_edges(edges, node_rank, options.cancel, [&](int64_t a, int64_t b) {
    all[size] = {code(a), code(b)};
    ++size;
  });
  const auto slots = static_cast<uint32_t>(codes.size());

  // Nodes in an order: by value, or by the number of edges.
  Buffer<uint32_t> degrees(meter, slots, Fill::kZero);
  in_parts(size, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) {
      ++degrees[all[k].from];
      if (all[k].to != all[k].from) ++degrees[all[k].to];
    }
  });
  in_parts(slots, options.cancel, [&](size_t first, size_t last) {
    for (size_t node = first; node < last; ++node) nodes_ += degrees[node] > 0;
  });
  Buffer<uint32_t> position(meter, of_edges && codes.direct() ? 0 : slots);
  if (!position.empty()) {
    Buffer<uint32_t> order(meter, slots);
    in_parts(slots, options.cancel, [&](size_t first, size_t last) {
      for (size_t node = first; node < last; ++node) order[node] = static_cast<uint32_t>(node);
    });
    const auto by = [&](auto value) {
      std::sort(order.begin(), order.end(), polled(options.cancel, [&](uint32_t x, uint32_t y) {
                  return value(x) != value(y) ? value(x) < value(y) : x < y;
                }));
    };
    if (of_edges)
      by([&](uint32_t node) { return codes.key(node); });
    else
      by([&](uint32_t node) { return degrees[node]; });
    in_parts(slots, options.cancel, [&](size_t first, size_t last) {
      for (size_t k = first; k < last; ++k) {
        position[order[k]] = static_cast<uint32_t>(k);
        if (of_edges) values_.push_back(codes.key(order[k]));
      }
    });
  }

  // Each edge once, from the node that comes first.
  size_t kept = 0;
  in_parts(size, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) {
      Edge edge = all[k];
      if (edge.from == edge.to) continue;
      if (!position.empty()) edge = {position[edge.from], position[edge.to]};
      if (edge.from > edge.to) std::swap(edge.from, edge.to);
      all[kept++] = edge;
    }
  });
  {
    Buffer<Edge> sorted(meter, kept);
    sort_by(&Edge::to, slots, kept, all, sorted, options);
    sort_by(&Edge::from, slots, kept, sorted, all, options);
  }
  RowLog neighbours(meter);  // rows (neighbour, node)
  in_parts(kept, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) {
      const Edge& edge = all[k];
      if (k > 0 && edge == all[k - 1]) continue;
      edges_.append(edge.from, edge.to);
      neighbours.append(edge.to, edge.from);
      if (of_edges) neighbours.append(edge.from, edge.to);
    }
  });
  edges_.seal();
  neighbours.seal();
  all = Buffer<Edge>();
  const std::vector<ChunkView> list = edges_.chunks();
  if (of_edges) {
    of_edges_.emplace(list, list, neighbours.chunks(), false, DeviceUse{}, options);
    record_ = of_edges_->record();
  } else {
    all_.emplace(ListedInput{list, neighbours.chunks(), neighbours.chunks()}, ListedQuery{}, options);
    record_ = all_->record();
  }
  record_.items = nodes_;
  record_.group_ms = watch.milliseconds();
}

bool TriangleRun::next(PairBatch& batch) {
  answers_.clear();
  PairBatch found;
  const bool more = of_edges_ && of_edges_->next(found);
  if (more) {
    const PairList::Room room = answers_.fill(found.size());
    const auto value = [&](int64_t code) {
      return values_.empty() ? first_value_ + code : values_[static_cast<size_t>(code)];
    };
    for (size_t k = 0; k < found.size(); ++k) {
      const ItemPair& edge = found.pairs()[k];
      room.pairs[k] = {value(edge.item_a), value(edge.item_b), edge.support};
    }
    const double group_ms = record_.group_ms;
    record_ = of_edges_->record();
    record_.items = nodes_;
    record_.group_ms = group_ms;
  }
  batch = answers_.batch();
  return more;
}

uint64_t TriangleRun::count() {
  uint64_t triangles = 0;
  std::vector<ListedPair> batch;
  while (all_ && all_->next(batch)) {
    for (const ListedPair& edge : batch) triangles += edge.count;
    record_.tasks_done = all_->record().tasks_done;
    record_.count_ms = all_->record().count_ms;
  }
  record_.results = 1;
  return triangles;
}

}  // namespace batmap
