// Makes lists of neighbours, and compares those of the nodes of each edge. See triangle_run.h.
#include "pairs/triangle_run.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/poll.h"
#include "core/polled.h"
#include "core/sort_elements.h"
#include "core/stopwatch.h"
#include "core/thread_team.h"
#include "relation/key_codes.h"

namespace batmap {

namespace {

constexpr const char* kTriangleMethod = "marking";
constexpr const char* kTriangleReason = "only edges are counted";
constexpr uint64_t kMaxEdgeRows = UINT32_MAX;
constexpr uint64_t kTaskNeighbours = 1 << 14;  // of the nodes whose edges a task counts: about a millisecond
constexpr size_t kTaskTurned = 1 << 13;        // edges
constexpr uint64_t kLookedUpAtOnce = 1 << 16;  // neighbours looked up between two polls

/// The half of a key.
constexpr int kHalf = 32;

}  // namespace

/// The rows, wherever they are.
class TriangleRun::Input {
 public:
  Input(const RowLog& rows, std::span<const uint32_t> rank) : rows_(rows.rows()), files_(rows.partitions()), rank_(rank) {
    if (rows_ >= kMaxEdgeRows) throw Error(ErrorCode::kTooLarge, "more than 4294967294 edges");
    if (files_ == nullptr) chunks_ = rows.chunks();
  }

  uint64_t rows() const { return rows_; }
  bool in_files() const { return files_ != nullptr; }
  std::span<const uint32_t> rank() const { return rank_; }

  /// Of nodes, or of their ranks.
  KeyBounds bounds() const {
    KeyBounds bounds;
    if (!rank_.empty()) {
      bounds.add(0, rank_.size() - 1);
    } else if (in_files()) {
      bounds.add(files_->tid_bounds().low, files_->tid_bounds().range());
      bounds.add(files_->item_bounds().low, files_->item_bounds().range());
    } else {
      for (const ChunkView& chunk : chunks_) {
        bounds.add(chunk.tid_base, chunk.tid_range);
        bounds.add(chunk.item_base, chunk.item_range);
      }
    }
    return bounds;
  }

  /// Calls visit(a, b) with the nodes of every row, or with their ranks.
  template <typename Visit>
  void visit(const ExecutionOptions& options, Visit visit) const {
    TidItem rows[kChunkRows];
    const auto visit_chunk = [&](const ChunkView& chunk) {
      decode_chunk(chunk, rows);
      for (const TidItem& row : std::span(rows).first(chunk.rows)) {
        if (rank_.empty())
          visit(row.tid, row.item);
        else
          visit(rank_[static_cast<size_t>(row.tid)], rank_[static_cast<size_t>(row.item)]);
      }
    };
    for (const ChunkView& chunk : chunks_) {
      options.cancel.throw_if_requested();
      visit_chunk(chunk);
    }
    if (in_files())
      for (const RowPartition& part : files_->parts()) visit_chunks(part, *options.memory, options.cancel, visit_chunk);
  }

  /// @return the bytes that were in files
  uint64_t close_files() const {
    uint64_t bytes = 0;
    if (in_files()) {
      for (const RowPartition& part : files_->parts()) {
        bytes += part.bytes;
        if (part.file != nullptr) part.file->close();
      }
    }
    return bytes;
  }

 private:
  uint64_t rows_;
  const RowPartitions* files_;
  std::vector<ChunkView> chunks_;  // empty if the rows are in files
  std::span<const uint32_t> rank_;
};

/// Codes of the nodes, and their order.
class TriangleRun::Coding {
 public:
  Coding(const Input& input, const ExecutionOptions& options) : options_(options), marks_(*options.memory) {
    // Direct codes take memory for all values that nodes may have. Rows in files may be many more than the nodes, so there must
    // first be nodes enough.
    uint64_t few = 2 * input.rows();
    if (input.in_files()) few = std::max<uint64_t>(std::min(few, max_coded_rows(options)), input.rank().size());
    while (!see_all(input, few)) few = codes_->size();
  }

  uint32_t size() const { return static_cast<uint32_t>(marks_.size()); }
  const KeyCodes& codes() const { return *codes_; }
  bool is_node(uint32_t code) const { return marks_[code] > 0; }
  bool has_edge(uint32_t code) const { return marks_[code] > 1; }

  /// Orders the nodes by their number of edges.
  void order_by_degree() {
    order_by([&](uint32_t code) { return marks_[code]; });
  }
  /// Orders the nodes by their values. @return these in order
  Buffer<int64_t> order_by_value() {
    Buffer<int64_t> values(*options_.memory, size());
    const Buffer<uint32_t> order = order_by([&](uint32_t code) { return codes_->key(code); });
    in_parts(size(), options_.cancel, [&](size_t first, size_t last) {
      for (size_t k = first; k < last; ++k) values[k] = codes_->key(order[k]);
    });
    return values;
  }

  /// The place of a node in the order.
  uint32_t place(int64_t node) const {
    const uint32_t code = codes_->find(node);
    return place_.empty() ? code : place_[code];
  }

 private:
  /// @param few  codes are direct if their range is small beside so many nodes
  /// @return false: it is small beside the nodes that were seen, which are more
  bool see_all(const Input& input, uint64_t few) {
    const KeyBounds bounds = input.bounds();
    codes_.emplace(options_, bounds.low, bounds.range(), few);
    marks_.reset();
    if (codes_->direct()) {
      uint32_t* const marks = marks_.room(codes_->size());
      in_parts(codes_->size(), options_.cancel,
               [&](size_t first, size_t last) { std::fill(marks + first, marks + last, 0); });
      marks_.add(codes_->size());
    }
    bool are_too_many = false;
    input.visit(options_, [&](int64_t a, int64_t b) {
      if (are_too_many) return;
      see(a, a != b);
      if (a != b) see(b, true);
      are_too_many = !codes_->direct() && codes_->size() > few && KeyCodes::are_direct(bounds.range(), codes_->size());
    });
    return !are_too_many;
  }

  void see(int64_t node, bool has_edge) {
    const uint32_t code = codes_->direct() ? codes_->find(node) : codes_->insert(node);
    if (code == marks_.size()) marks_.push_back(0);
    if (marks_[code] == 0) marks_[code] = 1;
    marks_[code] += has_edge;
  }

  /// @return the codes in order
  template <typename Value>
  Buffer<uint32_t> order_by(Value value) {
    Buffer<uint32_t> order(*options_.memory, size());
    in_parts(size(), options_.cancel,
             [&](size_t first, size_t last) { std::iota(order.begin() + first, order.begin() + last, first); });
    std::sort(order.begin(), order.end(), polled(options_.cancel, [&](uint32_t x, uint32_t y) {
                return value(x) != value(y) ? value(x) < value(y) : x < y;
              }));
    place_ = Buffer<uint32_t>(*options_.memory, size());
    in_parts(size(), options_.cancel, [&](size_t first, size_t last) {
      for (size_t k = first; k < last; ++k) place_[order[k]] = static_cast<uint32_t>(k);
    });
    return order;
  }

  const ExecutionOptions& options_;
  std::optional<KeyCodes> codes_;
  GrowingBuffer<uint32_t> marks_;  // of each code: 0: it is no node; else 1, and 1 for each row of an edge
  Buffer<uint32_t> place_;         // of each code; empty: its code
};

/// One thread's comparisons of lists, for one task.
class TriangleRun::Comparison {
 public:
  Comparison(Worker& worker, const CancelToken& cancel) : worker_(worker), poll_(cancel) {}
  /// Before the next task. Not after an exception: then nobody counts again.
  void end() {
    unmark();
    worker_.looked_up += looked_up_;
  }

  void mark(std::span<const uint32_t> list) {
    unmark();
    for (const uint32_t node : list) worker_.marks[node >> 6] |= uint64_t{1} << (node & 63);
    worker_.list = list;
    poll_.after(2 * list.size());
  }

  /// The number of marks that a list meets.
  uint64_t look_up(std::span<const uint32_t> list) {
    const uint64_t* const marks = worker_.marks.data();
    uint64_t count = 0;
    looked_up_ += list.size();
    do {
      const std::span<const uint32_t> part = list.first(std::min<size_t>(list.size(), kLookedUpAtOnce));
      list = list.subspan(part.size());
      for (const uint32_t node : part) count += marks[node >> 6] >> (node & 63) & 1;
      poll_.after(part.size() + 1);
    } while (!list.empty());
    return count;
  }

  void turn(uint32_t node, uint32_t other) {
    worker_.turned.push_back(uint64_t{node} << kHalf | other);
    poll_.after(1);
  }

 private:
  void unmark() {
    for (const uint32_t node : worker_.list) worker_.marks[node >> 6] = 0;
    worker_.list = {};
  }

  Worker& worker_;
  Poll poll_;
  uint64_t looked_up_ = 0;
};

TriangleRun::TriangleRun(const RowLog& edges, std::span<const uint32_t> node_rank, bool of_edges,
                         const ExecutionOptions& options)
    : options_(options), of_edges_(of_edges), answers_(*options.memory, false) {
  const Stopwatch watch;
  record_.method = kTriangleMethod;
  record_.reason = kTriangleReason;
  const Input input(edges, node_rank);
  if (input.rows() == 0) return;
  add_edges(input);
  record_.file_bytes = input.close_files();
  lists_->seal();
  edges_ = of_edges_ ? lists_->size() / 2 : lists_->size();
  record_.occurrences = lists_->size();
  plan();
  if (input.in_files()) record_.reason = rows_in_files(record_.file_bytes, slice_begin_.size() - 1) + ", " + kTriangleReason;
  make_workers();
  record_.group_ms = watch.milliseconds();
}

/// Puts each edge into the list of the node that comes first; for answers of each edge, into both lists.
void TriangleRun::add_edges(const Input& input) {
  Coding coding(input, options_);
  in_parts(coding.size(), options_.cancel, [&](size_t first, size_t last) {
    for (size_t code = first; code < last; ++code) {
      record_.items += coding.is_node(static_cast<uint32_t>(code));
      record_.items_kept += coding.has_edge(static_cast<uint32_t>(code));
    }
  });
  record_.transactions = record_.items_kept;
  first_value_ = coding.codes().base();
  if (!of_edges_)
    coding.order_by_degree();
  else if (!coding.codes().direct())
    values_ = coding.order_by_value();

  lists_.emplace(coding.size(), (of_edges_ ? 2 : 1) * input.rows(), input.in_files(), options_);
  input.visit(options_, [&](int64_t a, int64_t b) {
    if (a == b) return;
    uint32_t from = coding.place(a);
    uint32_t to = coding.place(b);
    if (from > to) std::swap(from, to);
    lists_->add(from, to);
    if (of_edges_) lists_->add(to, from);
  });
}

/// Puts pieces together to slices that take half of the work memory, with the counts of their edges.
void TriangleRun::plan() {
  const uint64_t bytes = of_edges_ ? 2 * sizeof(uint32_t) : sizeof(uint32_t);
  const uint64_t most = lists_->in_files() ? options_.work_bytes / 2 / bytes : UINT64_MAX;
  const size_t pieces = lists_->pieces();
  for (size_t piece = 0; piece < pieces; ++piece)
    if (piece == 0 || lists_->size_of(slice_begin_.back(), piece + 1) > most) slice_begin_.push_back(piece);
  slice_begin_.push_back(pieces);
  for (size_t slice = 0; slice + 1 < slice_begin_.size(); ++slice)
    record_.tasks += of_edges_ ? pieces - slice_begin_[slice] : slice_begin_[slice + 1];
}

void TriangleRun::make_workers() {
  MemoryMeter& meter = *options_.memory;
  const size_t words = size_t{lists_->nodes()} / 64 + 1;
  const size_t fitting = meter.available() / 2 / (words * sizeof(uint64_t));
  options_.threads = static_cast<int>(std::clamp<size_t>(fitting, 1, static_cast<size_t>(std::max(options_.threads, 1))));
  for (int worker = 0; worker < options_.threads; ++worker)
    workers_.push_back({Buffer<uint64_t>(meter, words, Fill::kZero), {}, GrowingBuffer<uint64_t>(meter)});
}

/// Loads a slice. It is then counted with all pieces that have lists of the other nodes of its edges: for answers of each edge
/// those of larger nodes, else those of nodes before it.
bool TriangleRun::next_slice() {
  if (!lists_ || slices_begun_ + 1 == slice_begin_.size()) return false;
  const Stopwatch watch;
  const size_t first = slice_begin_[slices_begun_];
  const size_t end = slice_begin_[slices_begun_ + 1];
  ++slices_begun_;
  counts_.reset();
  slice_ = lists_->load(first, end, slice_room_);
  if (of_edges_) counts_ = Buffer<uint32_t>(*options_.memory, slice_.size());
  next_piece_ = of_edges_ ? first : 0;
  end_piece_ = of_edges_ ? lists_->pieces() : end;
  next_node_ = slice_.first_node();
  next_neighbour_ = 0;
  record_.count_ms += watch.milliseconds();
  return true;
}

/// Counts the edges between the slice and the next piece. They are found in the lists of the piece.
void TriangleRun::count_piece() {
  const Stopwatch watch;
  const size_t piece = next_piece_++;
  Buffer<uint32_t> room;
  const uint32_t first_node = lists_->piece_begin(piece);
  const uint32_t end_node = lists_->piece_begin(piece + 1);
  const bool is_here = slice_.first_node() <= first_node && end_node <= slice_.end_node();
  const ListsOfNodes others = is_here ? slice_.part(first_node, end_node) : lists_->load(piece, piece + 1, room);

  std::vector<uint32_t> tasks{first_node};
  for (uint32_t node = first_node; node < end_node; ++node) {
    if (node - tasks.back() < kLookedUpAtOnce && others.place(node) - others.place(tasks.back()) < kTaskNeighbours) continue;
    options_.cancel.throw_if_requested();
    tasks.push_back(node);
  }
  tasks.push_back(end_node);
  parallel_for(options_, tasks.size() - 1, [&](size_t task, int of_thread) {
    Worker& worker = workers_[static_cast<size_t>(of_thread)];
    Comparison comparison(worker, options_.cancel);
    uint64_t triangles = 0;
    for (uint32_t node = tasks[task]; node < tasks[task + 1]; ++node) {
      const std::span<const uint32_t> list = others[node];
      // The other nodes of the edges. For answers of each edge these come before the node, else behind it.
      const auto end =
          std::lower_bound(list.begin(), list.end(), of_edges_ ? std::min(node, slice_.end_node()) : slice_.end_node());
      auto at = std::lower_bound(list.begin(), end, slice_.first_node());
      bool is_marked = false;
      for (; at != end; ++at) {
        const std::span<const uint32_t> other = slice_[*at];
        if (other.size() > list.size()) {
          comparison.turn(*at, node);
          continue;
        }
        if (!std::exchange(is_marked, true)) comparison.mark(list);
        const uint64_t count = comparison.look_up(other);
        triangles += count;
        if (of_edges_) counts_[slice_.place(*at, node)] = static_cast<uint32_t>(count);
      }
    }
    comparison.end();
    worker.triangles += triangles;
  });
  count_turned(others);

  record_.pair_instances = 0;
  for (const Worker& worker : workers_) record_.pair_instances += worker.looked_up;
  ++record_.tasks_done;
  record_.count_ms += watch.milliseconds();
}

/// Counts the edges whose node in the slice has the longer list, of which each is then marked once.
void TriangleRun::count_turned(const ListsOfNodes& others) {
  uint64_t edges = 0;
  for (const Worker& worker : workers_) edges += worker.turned.size();
  Buffer<uint64_t> turned(*options_.memory, edges);
  uint64_t* to = turned.begin();
  for (Worker& worker : workers_) {
    options_.cancel.throw_if_requested();
    to = std::copy(worker.turned.begin(), worker.turned.end(), to);
    worker.turned.reset();
  }
  sort_elements(turned.span(), options_);

  std::vector<size_t> tasks{0};
  for (size_t k = kTaskTurned; k < turned.size();) {
    while (k < turned.size() && turned[k] >> kHalf == turned[k - 1] >> kHalf) ++k;
    if (k == turned.size()) break;
    tasks.push_back(k);
    k += kTaskTurned;
  }
  tasks.push_back(turned.size());
  parallel_for(options_, tasks.size() - 1, [&](size_t task, int of_thread) {
    Worker& worker = workers_[static_cast<size_t>(of_thread)];
    Comparison comparison(worker, options_.cancel);
    uint64_t triangles = 0;
    uint32_t marked = UINT32_MAX;
    for (size_t k = tasks[task]; k < tasks[task + 1]; ++k) {
      const auto node = static_cast<uint32_t>(turned[k] >> kHalf);
      const auto other = static_cast<uint32_t>(turned[k]);
      if (std::exchange(marked, node) != node) comparison.mark(slice_[node]);
      const uint64_t count = comparison.look_up(others[other]);
      triangles += count;
      if (of_edges_) counts_[slice_.place(node, other)] = static_cast<uint32_t>(count);
    }
    comparison.end();
    worker.triangles += triangles;
  });
}

/// Makes answers of the next edges of the slice.
void TriangleRun::answer() {
  const auto value = [&](uint32_t node) { return values_.empty() ? first_value_ + node : values_[node]; };
  Poll poll(options_.cancel);
  for (; next_node_ < slice_.end_node(); ++next_node_, next_neighbour_ = 0) {
    const std::span<const uint32_t> list = slice_[next_node_];
    const uint32_t* const counts = counts_.data() + slice_.place(next_node_);
    if (next_neighbour_ == 0)
      next_neighbour_ = static_cast<size_t>(std::upper_bound(list.begin(), list.end(), next_node_) - list.begin());
    const size_t end = std::min(list.size(), next_neighbour_ + (kBatchRows - answers_.size()));
    poll.after(end - next_neighbour_ + 1);
    for (; next_neighbour_ < end; ++next_neighbour_)
      answers_.push_back({value(next_node_), value(list[next_neighbour_]), counts[next_neighbour_], 0, 0});
    if (answers_.size() == kBatchRows) return;
  }
}

bool TriangleRun::next(PairBatch& batch) {
  answers_.clear();
  batch = PairBatch();
  if (next_piece_ == end_piece_ && next_node_ == slice_.end_node() && !next_slice()) return false;
  if (next_piece_ < end_piece_) count_piece();
  if (next_piece_ == end_piece_) answer();
  record_.results += answers_.size();
  batch = answers_.batch();
  return true;
}

uint64_t TriangleRun::count() {
  while (next_slice())
    while (next_piece_ < end_piece_) count_piece();
  uint64_t triangles = 0;
  for (const Worker& worker : workers_) triangles += worker.triangles;
  record_.results = 1;
  return triangles;
}

}  // namespace batmap
