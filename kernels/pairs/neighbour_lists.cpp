// Sorts pairs, merges runs of them, and loads lists. See neighbour_lists.h.
#include "pairs/neighbour_lists.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/poll.h"
#include "core/polled.h"
#include "core/sort_elements.h"

namespace batmap {

namespace {

constexpr size_t kFilePart = size_t{1} << 20;  // bytes written or read between two polls
constexpr uint64_t kMinRun = 1024;             // pairs
// Keys that are read at once from a run.
constexpr size_t kMinRead = 64;
constexpr size_t kMaxRead = 4096;
constexpr size_t kWrittenAtOnce = 8192;  // neighbours
constexpr uint64_t kMergedPoll = 16;     // steps of work that a merged pair counts for

void write(TempFile& file, std::span<const std::byte> bytes, const CancelToken& cancel) {
  while (!bytes.empty()) {
    cancel.throw_if_requested();
    const size_t now = std::min(bytes.size(), kFilePart);
    file.write(bytes.first(now));
    bytes = bytes.subspan(now);
  }
}

}  // namespace

/// Reads the keys of one run.
class NeighbourLists::RunReader {
 public:
  RunReader(TempFile& file, size_t keys_at_once, MemoryMeter& meter) : file_(&file), keys_(meter, keys_at_once) {
    file.rewind();
  }
  /// @return false: there are no more
  bool next(uint64_t& key) {
    if (next_ == size_) {
      next_ = 0;
      size_ = std::min<uint64_t>(keys_.size(), file_->unread() / sizeof(uint64_t));
      if (size_ == 0) return false;
      file_->read(std::as_writable_bytes(keys_.span().first(size_)));
    }
    key = keys_[next_++];
    return true;
  }

 private:
  TempFile* file_;
  Buffer<uint64_t> keys_;
  size_t next_ = 0;
  size_t size_ = 0;
};

NeighbourLists::NeighbourLists(uint32_t nodes, uint64_t pairs, bool in_files, const ExecutionOptions& options)
    : nodes_(nodes),
      in_files_(in_files),
      options_(options),
      neighbour_bits_(std::bit_width(nodes)),
      max_keys_(pairs),
      keys_(*options.memory),
      begin_(*options.memory, size_t{nodes} + 1) {
  if (in_files) max_keys_ = std::min(pairs, std::max<uint64_t>(options.work_bytes / 4 / sizeof(uint64_t), kMinRun));
  keys_.room(max_keys_);
}

void NeighbourLists::write_run() {
  sort_distinct(keys_, options_);
  runs_.push_back(&options_.files->create());
  write(*runs_.back(), std::as_bytes(keys_.span()), options_.cancel);
  keys_.shrink(0);
}

void NeighbourLists::begin_list(uint32_t node, uint64_t at) {
  while (begun_ <= node) begin_[begun_++] = at;
}

void NeighbourLists::seal() {
  if (runs_.empty()) {
    sort_in_memory();
  } else {
    if (!keys_.empty()) write_run();
    keys_.reset();
    merge_runs();
  }
}

void NeighbourLists::sort_in_memory() {
  sort_distinct(keys_, options_);
  const uint64_t mask = (uint64_t{1} << neighbour_bits_) - 1;
  lists_ = Buffer<uint32_t>(*options_.memory, keys_.size());
  in_parts(keys_.size(), options_.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) {
      begin_list(static_cast<uint32_t>(keys_[k] >> neighbour_bits_), k);
      lists_[k] = static_cast<uint32_t>(keys_[k] & mask);
    }
  });
  begin_list(nodes_, keys_.size());
  keys_.reset();

  const uint64_t most = in_files_ ? piece_in_files(options_.work_bytes) : kPieceInMemory;
  for (uint32_t node = 0; node < nodes_;) {
    piece_begin_.push_back(node);
    const uint64_t* const begin = begin_.data();
    node = static_cast<uint32_t>(std::lower_bound(begin + node + 1, begin + nodes_, begin[node] + most) - begin);
  }
  piece_begin_.push_back(nodes_);
}

void NeighbourLists::merge_runs() {
  struct Head {
    uint64_t key;
    size_t run;
  };
  const auto later = [](const Head& x, const Head& y) { return x.key > y.key; };
  const size_t at_once = std::clamp(options_.work_bytes / 8 / sizeof(uint64_t) / runs_.size(), kMinRead, kMaxRead);
  std::vector<RunReader> readers;
  std::vector<Head> heads;
  for (TempFile* const run : runs_) {
    readers.emplace_back(*run, at_once, *options_.memory);
    uint64_t key;
    if (readers.back().next(key)) heads.push_back({key, readers.size() - 1});
  }
  std::ranges::make_heap(heads, later);

  const uint64_t mask = (uint64_t{1} << neighbour_bits_) - 1;
  const uint64_t most = piece_in_files(options_.work_bytes);
  Buffer<uint32_t> open(*options_.memory, kWrittenAtOnce);  // neighbours that are not written
  size_t open_size = 0;
  uint64_t size = 0;
  const auto write_open = [&] { pieces_.back()->write(std::as_bytes(open.span().first(std::exchange(open_size, 0)))); };
  const auto begin_piece = [&](uint32_t node) {
    piece_begin_.push_back(node);
    pieces_.push_back(&options_.files->create());
  };
  begin_piece(0);
  Poll poll(options_.cancel);
  uint64_t last = UINT64_MAX;
  while (!heads.empty()) {
    poll.after(kMergedPoll);
    std::ranges::pop_heap(heads, later);
    const uint64_t key = heads.back().key;
    if (readers[heads.back().run].next(heads.back().key))
      std::ranges::push_heap(heads, later);
    else
      heads.pop_back();
    if (std::exchange(last, key) == key) continue;
    const auto node = static_cast<uint32_t>(key >> neighbour_bits_);
    if (begun_ <= node) {
      begin_list(node, size);
      if (size - begin_[piece_begin_.back()] >= most) {
        write_open();
        begin_piece(node);
      }
    }
    open[open_size++] = static_cast<uint32_t>(key & mask);
    ++size;
    if (open_size == kWrittenAtOnce) write_open();
  }
  write_open();
  begin_list(nodes_, size);
  piece_begin_.push_back(nodes_);
}

ListsOfNodes NeighbourLists::load(size_t first_piece, size_t end_piece, Buffer<uint32_t>& room) const {
  const uint32_t first_node = piece_begin_[first_piece];
  const uint32_t end_node = piece_begin_[end_piece];
  if (pieces_.empty()) return {begin_.data(), lists_.data() + begin_[first_node], first_node, end_node};
  room.reset();
  room = Buffer<uint32_t>(*options_.memory, size_of(first_piece, end_piece));
  std::span<std::byte> rest = std::as_writable_bytes(room.span());
  for (size_t piece = first_piece; piece < end_piece; ++piece) {
    TempFile& file = *pieces_[piece];
    file.rewind();
    while (file.unread() > 0) {
      options_.cancel.throw_if_requested();
      const size_t now = std::min<uint64_t>(file.unread(), kFilePart);
      file.read(rest.first(now));
      rest = rest.subspan(now);
    }
  }
  return {begin_.data(), room.data(), first_node, end_node};
}

}  // namespace batmap
