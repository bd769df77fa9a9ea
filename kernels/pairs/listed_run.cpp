// Groups, marks and looks up. See listed_run.h.
#include "pairs/listed_run.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "accel/device_session.h"
#include "core/counting_sort.h"
#include "core/poll.h"
#include "core/polled.h"
#include "core/stopwatch.h"
#include "pairs/counters/device_counter.h"

namespace batmap {

struct ListedRun::KeptRow {
  uint32_t item;
  uint32_t tid;
};

/// The tids of one item, for one thread: a bit for each tid, or the number of rows.
struct ListedRun::Marks {
  Buffer<uint64_t> bits;
  Buffer<uint32_t> rows;  // if rows repeat
  uint32_t marked = UINT32_MAX;
};

namespace {

constexpr uint64_t kTaskWork = 1 << 22;    // rows marked or looked up: some milliseconds
constexpr size_t kTaskAnswers = 8192;      // at most, so that the answers that wait stay small
constexpr size_t kListsATask = 1024;       // sorted at once
constexpr size_t kTasksAhead = 4;          // for each thread
constexpr uint64_t kMaxRows = UINT32_MAX;  // of the list, and rows that are kept: they are counted in 32 bits
constexpr uint64_t kPart = 1 << 16;        // rows between two polls
// Nanoseconds of one thread: bench/listed_bench.cpp.
constexpr double kCountedPair = 150;
constexpr double kLookedUpRow = 1;

uint64_t rows_of(const std::vector<ChunkView>& chunks) {
  uint64_t rows = 0;
  for (const ChunkView& chunk : chunks) rows += chunk.rows;
  return rows;
}

/// Calls visit(tid, item) for every row.
template <typename Visit>
void visit_rows(const std::vector<ChunkView>& chunks, const CancelToken& cancel, Visit visit) {
  TidItem rows[kChunkRows];
  for (const ChunkView& chunk : chunks) {
    cancel.throw_if_requested();
    decode_chunk(chunk, rows);
    for (uint32_t k = 0; k < chunk.rows; ++k) visit(rows[k].tid, rows[k].item);
  }
}

/// The code of a key, which may be new.
uint32_t insert(KeyCodes& codes, int64_t key) { return codes.direct() ? codes.find(key) : codes.insert(key); }

void require_at_most(uint64_t rows, const char* what) {
  if (rows >= kMaxRows) throw Error(ErrorCode::kTooLarge, std::string("more than 4294967294 rows ") + what);
}

}  // namespace

ListedRun::ListedRun(const ListedInput& input, const ListedQuery& query, const ExecutionOptions& options)
    : query_(query), options_(options) {
  const Stopwatch watch;
  record_.method = kMethod;
  record_.reason = kReason;
  code_list(input.list);
  if (size_ > 0) {
    group_rows(input);
    sort_lists();
    order_entries();
    cut_tasks();
    offer_to_devices();
  }
  record_.tasks = task_begin_.empty() ? 0 : task_begin_.size() - 1;
  record_.group_ms = watch.milliseconds();
}

ListedRun::~ListedRun() = default;

void ListedRun::code_list(const std::vector<ChunkView>& list) {
  const uint64_t rows = rows_of(list);
  require_at_most(rows, "in a list of pairs");
  if (rows == 0) return;
  KeyBounds bounds[2];
  for (const ChunkView& chunk : list) {
    bounds[0].add(chunk.tid_base, chunk.tid_range);
    bounds[1].add(chunk.item_base, chunk.item_range);
  }
  for (int side = 0; side < 2; ++side) codes_[side].emplace(options_, bounds[side].low, bounds[side].range(), rows);
  entries_ = Buffer<Entry>(*options_.memory, rows);
  visit_rows(list, options_.cancel, [&](int64_t a, int64_t b) {
    entries_[size_] = {insert(*codes_[0], a), insert(*codes_[1], b), static_cast<uint32_t>(size_)};
    ++size_;
  });
  const uint64_t items = codes_[0]->size() + codes_[1]->size();
  if (items >= UINT32_MAX) throw Error(ErrorCode::kTooLarge, "more than 4294967294 items in a list of pairs");
  left_items_ = static_cast<uint32_t>(codes_[0]->size());
  items_ = static_cast<uint32_t>(items);
  in_parts(size_, options_.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) entries_[k].probed += left_items_;
  });
}

/// Keeps the rows of listed items, and counts them.
void ListedRun::keep_rows(const std::vector<ChunkView>& chunks, int side, KeyCodes& tids, const Buffer<uint8_t>& is_listed,
                          GrowingBuffer<KeptRow>& kept) {
  const KeyCodes& items = *codes_[side];
  const uint32_t first = side == 0 ? 0 : left_items_;
  visit_rows(chunks, options_.cancel, [&](int64_t tid, int64_t key) {
    const uint32_t code = items.find(key);
    if (code == KeyCodes::kNone || !is_listed[first + code]) return;
    // A tid that only the right side has is in no pair. With supports it has all listed items of either side.
    const uint32_t slot = side == 0 || query_.supports ? insert(tids, tid) : tids.find(tid);
    if (slot == KeyCodes::kNone) return;
    kept.push_back({first + code, slot});
    ++lists_.length[first + code];
  });
  require_at_most(kept.size(), "with listed items");
}

/// Gives each tid a code, and counts them.
void ListedRun::count_tids(const std::vector<ChunkView>& chunks, KeyCodes& tids) {
  if (!tids.direct()) {
    visit_rows(chunks, options_.cancel, [&](int64_t tid, int64_t) { tids.insert(tid); });
    record_.transactions = tids.size();
    return;
  }
  Buffer<uint64_t> seen(*options_.memory, (tids.size() + 63) / 64, Fill::kZero);
  visit_rows(chunks, options_.cancel, [&](int64_t tid, int64_t) {
    const uint32_t slot = tids.find(tid);
    seen[slot >> 6] |= uint64_t{1} << (slot & 63);
  });
  for (const uint64_t word : seen) record_.transactions += static_cast<uint64_t>(std::popcount(word));
}

void ListedRun::group_rows(const ListedInput& input) {
  MemoryMeter& meter = *options_.memory;
  Buffer<uint8_t> is_listed(meter, items_, Fill::kZero);
  in_parts(size_, options_.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) is_listed[entries_[k].marked] = is_listed[entries_[k].probed] = 1;
  });
  for (const uint8_t listed : is_listed) record_.items += listed;

  KeyBounds bounds;
  for (const std::vector<ChunkView>* const side : {&input.left, &input.right})
    for (const ChunkView& chunk : *side) bounds.add(chunk.tid_base, chunk.tid_range);
  lists_.length = Buffer<uint32_t>(meter, items_, Fill::kZero);
  lists_.begin = Buffer<uint64_t>(meter, size_t{items_} + 1);
  GrowingBuffer<KeptRow> kept(meter);
  if (!input.left.empty() && !input.right.empty()) {
    KeyCodes tids(options_, bounds.low, bounds.range(), rows_of(input.left) + rows_of(input.right));
    if (query_.supports) count_tids(input.left, tids);
    keep_rows(input.left, 0, tids, is_listed, kept);
    keep_rows(input.right, 1, tids, is_listed, kept);
    tid_slots_ = static_cast<uint32_t>(tids.size());
  }
  record_.occurrences = kept.size();

  uint64_t at = 0;
  for (uint32_t item = 0; item < items_; ++item) {
    lists_.begin[item] = at;
    at += std::exchange(lists_.length[item], 0);
  }
  lists_.begin[items_] = at;
  lists_.tids = Buffer<uint32_t>(meter, at);
  Buffer<uint64_t> seen(meter, (size_t{tid_slots_} + 63) / 64, Fill::kZero);
  in_parts(kept.size(), options_.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) {
      const KeptRow& row = kept[k];
      lists_.append(row.item, row.tid);
      seen[row.tid >> 6] |= uint64_t{1} << (row.tid & 63);
    }
  });
  if (query_.supports) return;
  for (const uint64_t word : seen) record_.transactions += static_cast<uint64_t>(std::popcount(word));
}

/// Sorts the tids of each item, which finds rows that repeat, and makes the looking up go through memory in one direction.
void ListedRun::sort_lists() {
  std::atomic<bool> repeats{false};
  std::atomic<uint64_t> kept{0};
  parallel_for(options_, (items_ + kListsATask - 1) / kListsATask, [&](size_t task, int) {
    const auto first = static_cast<uint32_t>(task * kListsATask);
    const auto last = static_cast<uint32_t>(std::min<size_t>(items_, (task + 1) * kListsATask));
    uint64_t with_rows = 0;
    for (uint32_t item = first; item < last; ++item) {
      const std::span<uint32_t> list = lists_.list(item);
      with_rows += !list.empty();
      if (!std::is_sorted(list.begin(), list.end()))
        std::sort(list.begin(), list.end(), polled(options_.cancel, std::less<>()));
      if (!query_.bag)
        lists_.length[item] = static_cast<uint32_t>(std::unique(list.begin(), list.end()) - list.begin());
      else if (!repeats && std::adjacent_find(list.begin(), list.end()) != list.end())
        repeats = true;
    }
    kept += with_rows;
  });
  rows_repeat_ = repeats;
  record_.items_kept = kept;
}

/// Decides which item of each pair is marked, drops the pairs of which one item has no rows, and sorts the others.
void ListedRun::order_entries() {
  size_t left = 0;
  in_parts(size_, options_.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) {
      Entry entry = entries_[k];
      const uint32_t lengths[] = {lists_.length[entry.marked], lists_.length[entry.probed]};
      if (query_.min_count > 0 && (lengths[0] == 0 || lengths[1] == 0)) continue;
      if (lengths[0] < lengths[1]) std::swap(entry.marked, entry.probed);
      entries_[left++] = entry;
    }
  });
  size_ = left;
  Buffer<Entry> sorted(*options_.memory, size_);
  sort_by(&Entry::probed, items_, size_, entries_, sorted, options_);
  sort_by(&Entry::marked, items_, size_, sorted, entries_, options_);
}

void ListedRun::cut_tasks() {
  uint64_t work = 0;  // of the task so far
  uint64_t least = kTaskWork;
  size_t answers = 0;
  task_begin_.push_back(0);
  for (size_t k = 0; k < size_; ++k) {
    if (k % kPart == 0) options_.cancel.throw_if_requested();
    const Entry& entry = entries_[k];
    const bool is_new = query_.each_row || k == 0 || !entry.is_same_pair(entries_[k - 1]);
    if (is_new && (work >= least || answers == kTaskAnswers)) {
      task_begin_.push_back(k);
      work = answers = 0;
    }
    if (answers == 0 || entry.marked != entries_[k - 1].marked) {
      work += lists_.length[entry.marked];
      least = kTaskWork + lists_.length[entry.marked];  // a task that has to mark a large item again must be worth it
    }
    answers += is_new;
    if (k > 0 && entry.is_same_pair(entries_[k - 1])) continue;
    work += lists_.length[entry.probed] + 1;
    record_.pair_instances += lists_.length[entry.probed];
  }
  task_begin_.push_back(size_);

  const size_t words = rows_repeat_ ? 0 : (size_t{tid_slots_} + 63) / 64;
  const size_t rows = rows_repeat_ ? tid_slots_ : 0;
  const size_t bytes = words * sizeof(uint64_t) + rows * sizeof(uint32_t) + 1;
  const size_t fitting = options_.memory->available() / 2 / bytes;
  const size_t threads = std::min({static_cast<size_t>(options_.threads), task_begin_.size() - 1, fitting});
  options_.threads = static_cast<int>(std::max<size_t>(threads, 1));
  for (int worker = 0; worker < options_.threads; ++worker)
    marks_.push_back({Buffer<uint64_t>(*options_.memory, words, Fill::kZero),
                      Buffer<uint32_t>(*options_.memory, rows, Fill::kZero), UINT32_MAX});
}

/// Devices count all pairs at once, in bit rows or lists, if that is faster. If they fail, the CPU counts.
void ListedRun::offer_to_devices() {
  if (query_.bag || size_ == 0 || record_.occurrences == 0) return;
  DeviceSession session(query_.device);
  if (!session.is_possible()) return;
  const double cpu_ms = (static_cast<double>(size_) * kCountedPair +
                         static_cast<double>(record_.pair_instances + record_.occurrences) * kLookedUpRow) /
                        options_.threads / 1e6;
  const uint64_t row_bytes = (uint64_t{tid_slots_} + 1023) / 1024 * 128;
  ListSizes bits{.method = DeviceMethod::kBitmap,
                 .items = items_,
                 .pairs = size_,
                 .rows = record_.occurrences,
                 .memory_limit = query_.device.memory_limit,
                 .threads = options_.threads};
  ListSizes lists = bits;
  bits.form_bytes = (uint64_t{items_} + 127) / 128 * 128 * row_bytes;
  bits.read_bytes = 2 * static_cast<double>(size_) * static_cast<double>(row_bytes);
  lists.method = DeviceMethod::kLists;
  lists.look_ups = static_cast<double>(record_.pair_instances);
  const ListSizes ways[] = {bits, lists};
  std::optional<DeviceMethod> method;
  Buffer<uint32_t> counts;
  const bool is_counted = session.offer(
      cpu_ms,
      [&](std::span<const DeviceTraits> devices) {
        DeviceChoice choice = choose_list_devices(query_.device.mode, ways, devices, cpu_ms);
        method = choice.method;
        return DeviceVerdict{method.has_value(), std::move(choice.reason)};
      },
      [&](std::span<const DeviceTraits> devices) {
        counts = Buffer<uint32_t>(*options_.memory, size_);
        const ListedPairs pairs{.size = size_,
                                .counts_all = method == DeviceMethod::kBitmap && pays_to_count_all(items_, size_),
                                .fill =
                                    [&](size_t first, size_t last, uint32_t* a, uint32_t* b) {
                                      for (size_t k = first; k < last; ++k) {
                                        *a++ = entries_[k].probed;
                                        *b++ = entries_[k].marked;
                                      }
                                      return last - first;
                                    },
                                .take = [&](size_t first, size_t last,
                                            const uint32_t* found) { std::copy_n(found, last - first, &counts[first]); }};
        count_list_on_devices(*query_.device.offload, devices, *method, query_.device.memory_limit, lists_, tid_slots_,
                              pairs, options_);
        return true;
      });
  record_.reason += session.reason();
  record_.notice = session.notice();
  record_.device = session.device();
  if (!is_counted) return;
  device_counts_ = std::move(counts);
  record_.method = method == DeviceMethod::kBitmap ? "bitmap" : "lists";
}

/// Marks the tids of an item instead of those of the one before.
void ListedRun::mark(Marks& marks, uint32_t item, Poll& poll) const {
  if (marks.marked != UINT32_MAX) {
    for (const uint32_t tid : lists_.list(marks.marked)) {
      if (rows_repeat_)
        marks.rows[tid] = 0;
      else
        marks.bits[tid >> 6] = 0;
    }
  }
  for (const uint32_t tid : lists_.list(item)) {
    if (rows_repeat_)
      ++marks.rows[tid];
    else
      marks.bits[tid >> 6] |= uint64_t{1} << (tid & 63);
  }
  marks.marked = item;
  poll.after(2 * lists_.length[item]);
}

/// The number of marks that the tids of an item meet.
uint64_t ListedRun::look_up(const Marks& marks, uint32_t item, Poll& poll) const {
  uint64_t count = 0;
  std::span<const uint32_t> rest = lists_.list(item);
  do {
    const std::span<const uint32_t> part = rest.first(std::min<size_t>(rest.size(), kPart));
    rest = rest.subspan(part.size());
    if (rows_repeat_) {
      const uint32_t* const rows = marks.rows.data();
      for (const uint32_t tid : part) count += rows[tid];
    } else {
      const uint64_t* const bits = marks.bits.data();
      for (const uint32_t tid : part) count += bits[tid >> 6] >> (tid & 63) & 1;
    }
    poll.after(part.size() + 1);
  } while (!rest.empty());
  return count;
}

int64_t ListedRun::value_of(uint32_t item) const {
  return item < left_items_ ? codes_[0]->key(item) : codes_[1]->key(item - left_items_);
}

GrowingBuffer<ListedPair> ListedRun::count(size_t task, int worker) {
  Marks& marks = marks_[static_cast<size_t>(worker)];
  Poll poll(options_.cancel);
  const size_t end = task_begin_[task + 1];
  GrowingBuffer<ListedPair> found(*options_.memory);
  found.room(std::min(end - task_begin_[task], kTaskAnswers));
  uint64_t count = 0;
  for (size_t k = task_begin_[task]; k < end;) {
    const Entry& entry = entries_[k];
    if (!device_counts_.empty()) {
      count = device_counts_[k];
      poll.after(1);
    } else {
      if (entry.marked != marks.marked) mark(marks, entry.marked, poll);
      if (k == task_begin_[task] || !entry.is_same_pair(entries_[k - 1])) count = look_up(marks, entry.probed, poll);
    }
    size_t next = k + 1;
    if (!query_.each_row)
      while (next < end && entry.is_same_pair(entries_[next])) ++next;
    if (count >= query_.min_count) {
      const bool straight = entry.marked < left_items_;
      const uint32_t a = straight ? entry.marked : entry.probed;
      const uint32_t b = straight ? entry.probed : entry.marked;
      found.push_back({value_of(a), value_of(b), count, next - k, entry.row, lists_.length[a], lists_.length[b]});
    }
    k = next;
  }
  return found;
}

size_t ListedRun::window() const { return static_cast<size_t>(options_.threads) * kTasksAhead; }

bool ListedRun::may_run_out() const {
  // Results that wait, and one that is handed over.
  return (window() + 1) * std::min(size_, kTaskAnswers) * sizeof(ListedPair) > options_.memory->available();
}

bool ListedRun::next(std::vector<ListedPair>& batch) {
  batch.clear();
  if (record_.tasks_done == record_.tasks) return false;
  const Stopwatch watch;
  if (!tasks_)
    tasks_.emplace(options_, record_.tasks, window(), [this](size_t task, int worker) { return count(task, worker); });
  const std::optional<GrowingBuffer<ListedPair>> found = tasks_->next();
  batch.assign(found->begin(), found->end());
  ++record_.tasks_done;
  record_.results += batch.size();
  record_.count_ms += watch.milliseconds();
  return true;
}

}  // namespace batmap
