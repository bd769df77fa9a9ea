// See answer_size.h. Rows are dealt to their transactions part by part. Each worker keeps a sketch of its own; a
// threshold that one of them has reached holds for all, since the k-th smallest value of some pairs is no smaller than
// that of all pairs.
#include "pairs/answer_size.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "core/poll.h"
#include "core/polled.h"
#include "core/thread_team.h"
#include "relation/kept_rows.h"

namespace batmap {

namespace {

/// Any four values are independent (Wegman and Carter 1981). The values are multiples of 8 in [0, 2^64).
class ItemHash {
 public:
  explicit ItemHash(uint64_t seed) {
    for (uint64_t& coefficient : coefficients_) {  // splitmix64
      uint64_t z = seed += 0x9e3779b97f4a7c15;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      coefficient = (z ^ (z >> 31)) % kPrime;
    }
  }
  uint64_t operator()(uint32_t item) const {
    uint64_t value = 0;
    for (const uint64_t coefficient : coefficients_) value = reduced(product(value, item) + coefficient);
    return value << 3;
  }

 private:
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

  static uint64_t reduced(uint64_t value) {
    value = (value & kPrime) + (value >> 61);
    return value >= kPrime ? value - kPrime : value;
  }
  static uint64_t product(uint64_t x, uint64_t y) {
    __extension__ using Wide = unsigned __int128;
    const Wide wide = static_cast<Wide>(x) * y;
    return reduced(static_cast<uint64_t>(wide & kPrime) + static_cast<uint64_t>(wide >> 61));
  }

  std::array<uint64_t, 4> coefficients_;
};

/// A pair of the sample.
struct Entry {
  uint64_t value;
  uint32_t a;
  uint32_t b;
  uint64_t count;  // transactions that have it, of those looked at; 0: the slot is free
};

/// The pairs with the smallest values so far: between k and 2 k of them, with all occurrences below the threshold.
class Sample {
 public:
  /// @param threshold  shared by all workers
  Sample(uint32_t k, std::atomic<uint64_t>& threshold, MemoryMeter& meter)
      : k_(k),
        shared_(threshold),
        slots_(meter, std::bit_ceil(size_t{k} * 4), Fill::kZero),
        entries_(meter, size_t{k} * 2),
        threshold_(threshold) {}

  /// Pairs with this value or a larger one are of no use.
  uint64_t threshold() const { return threshold_; }
  void fetch_threshold() { threshold_ = std::min(threshold_, shared_.load(std::memory_order_relaxed)); }

  /// @param value  below the threshold
  void add(uint64_t value, uint32_t a, uint32_t b, uint64_t count = 1) {
    Entry& entry = find(value, a, b);
    entry.count += count;
    if (entry.count > count) return;
    entry.value = value;
    entry.a = a;
    entry.b = b;
    if (++size_ == entries_.size()) shrink();
  }
  /// Forgets all pairs but the k with the smallest values. @return them, sorted by value
  std::span<const Entry> shrink() {
    size_t found = 0;
    for (Entry& entry : slots_)
      if (entry.count > 0) entries_[found++] = entry;
    std::sort(entries_.begin(), entries_.begin() + found, [](const Entry& x, const Entry& y) { return x.value < y.value; });
    size_ = std::min<size_t>(found, k_);
    if (size_ == k_) lower_threshold(entries_[size_ - 1].value + 1);
    std::fill(slots_.begin(), slots_.end(), Entry{});
    for (size_t at = 0; at < size_; ++at) find(entries_[at].value, entries_[at].a, entries_[at].b) = entries_[at];
    return {entries_.data(), size_};
  }
  void clear() {
    std::fill(slots_.begin(), slots_.end(), Entry{});
    size_ = 0;
  }

 private:
  Entry& find(uint64_t value, uint32_t a, uint32_t b) {
    const size_t mask = slots_.size() - 1;
    size_t slot = (value >> 3) & mask;
    while (slots_[slot].count > 0 && (slots_[slot].a != a || slots_[slot].b != b)) slot = (slot + 1) & mask;
    return slots_[slot];
  }
  void lower_threshold(uint64_t value) {
    threshold_ = std::min(threshold_, value);
    uint64_t shared = shared_.load(std::memory_order_relaxed);
    while (threshold_ < shared && !shared_.compare_exchange_weak(shared, threshold_, std::memory_order_relaxed)) {
    }
  }

  uint32_t k_;
  std::atomic<uint64_t>& shared_;
  Buffer<Entry> slots_;    // open addressing, at most half full
  Buffer<Entry> entries_;  // [2 k] scratch
  size_t size_ = 0;
  uint64_t threshold_;
};

/// A row: the first half of its item's hash value, and its item.
struct HashedRow {
  uint32_t value;
  uint32_t rank;
};

struct HashedItem {
  uint64_t value;
  uint32_t rank;

  bool operator<(const HashedItem& other) const { return value != other.value ? value < other.value : rank < other.rank; }
  bool operator==(const HashedItem& other) const { return rank == other.rank; }
};

/// Finds the pairs below the threshold in one transaction after the other.
class PairFinder {
 public:
  PairFinder(const WantedPairs& pairs, std::span<const uint64_t> hash, Sample& sample, const ExecutionOptions& options)
      : pairs_(pairs),
        hash_(hash),
        sample_(sample),
        cancel_(options.cancel),
        poll_(options.cancel),
        left_(*options.memory),
        right_(*options.memory),
        selected_(*options.memory) {}

  /// @param rows  of one transaction, in any order, perhaps repeated
  void find(std::span<const HashedRow> rows) {
    if (rows.size() < 2) return;
    sample_.fetch_threshold();
    poll_.after(rows.size());
    if (rows.size() > kFewRows) rows = select(rows);
    if (rows.size() <= kFewRows) return compare_all(rows);
    left_.shrink(0);
    right_.shrink(0);
    const bool rectangle = pairs_.rectangle();
    in_parts(rows.size(), cancel_, [&](size_t begin, size_t end) {
      for (size_t k = begin; k < end; ++k) {
        const uint32_t rank = rows[k].rank;
        (rectangle && rank >= pairs_.first_column ? right_ : left_).push_back({hash_[rank], rank});
      }
    });
    sort(left_);
    sort(right_);
    walk(left_.span(), rectangle ? right_.span() : left_.span());
  }

 private:
  static constexpr size_t kFewRows = 16;
  static constexpr int kMaxBucketBits = 18;
  static constexpr size_t kBucketsARow = 16;
  static constexpr size_t kPolledSort = 1 << 12;

  bool wanted(uint32_t a, uint32_t b) const { return a < b && a < pairs_.leading && b >= pairs_.first_column; }

  void compare_all(std::span<const HashedRow> rows) {
    // The carry from the second halves of two values is unknown here. Halves that add up to -1 come from 0 with it.
    const uint32_t bound = static_cast<uint32_t>(std::min<uint64_t>((sample_.threshold() >> 32) + 1, UINT32_MAX));
    for (size_t i = 1; i < rows.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (rows[i].value + rows[j].value + 1 > bound) continue;
        add_once(rows, i, j);
      }
    }
  }

  void add_once(std::span<const HashedRow> rows, size_t i, size_t j) {
    const auto [a, b] = std::minmax(rows[i].rank, rows[j].rank);
    const uint64_t value = hash_[a] + hash_[b];
    if (value >= sample_.threshold() || !wanted(a, b)) return;
    const auto came_before = [&](size_t at) {
      return std::any_of(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(at),
                         [&](const HashedRow& row) { return row.rank == rows[at].rank; });
    };
    if (!came_before(i) && !came_before(j)) sample_.add(value, a, b);
  }

  /// The rows that may have a partner below the threshold: one in the bucket where it would be, or the next.
  std::span<const HashedRow> select(std::span<const HashedRow> rows) {
    const auto width = static_cast<uint32_t>(sample_.threshold() >> 32);
    const int shift = std::max(32 - std::min(static_cast<int>(std::bit_width(rows.size() * kBucketsARow)), kMaxBucketBits),
                               static_cast<int>(std::bit_width(width)));
    const size_t buckets = shift < 32 ? size_t{1} << (32 - shift) : 1;
    if (buckets < rows.size() * 2) return rows;  // most have
    const size_t words = (buckets + 63) / 64;
    const bool rectangle = pairs_.rectangle();
    occupied_.assign(words * (rectangle ? 2 : 1), 0);
    uint64_t* const left = occupied_.data();
    uint64_t* const right = rectangle ? left + words : left;
    const auto is_right = [&](const HashedRow& row) { return row.rank >= pairs_.first_column; };
    in_parts(rows.size(), cancel_, [&](size_t begin, size_t end) {
      for (size_t k = begin; k < end; ++k) {
        const uint32_t bucket = rows[k].value >> shift;
        (is_right(rows[k]) ? right : left)[bucket / 64] |= uint64_t{1} << (bucket % 64);
      }
    });
    // The first halves of two values add up to -1, or to 0 .. width, if the values add up to less than the threshold.
    selected_.shrink(0);
    in_parts(rows.size(), cancel_, [&](size_t begin, size_t end) {
      HashedRow* const from = selected_.room(end - begin);
      HashedRow* to = from;
      for (size_t k = begin; k < end; ++k) {
        const uint64_t* const partners = is_right(rows[k]) ? left : right;
        const uint32_t first = ~rows[k].value >> shift;
        const uint32_t last = (~rows[k].value + width + 1) >> shift;
        *to = rows[k];
        to += (partners[first / 64] >> (first % 64) | partners[last / 64] >> (last % 64)) & 1;
      }
      selected_.add(static_cast<size_t>(to - from));
    });
    return selected_.span();
  }

  void sort(GrowingBuffer<HashedItem>& items) {
    if (items.size() < kPolledSort)
      std::sort(items.begin(), items.end());
    else
      std::sort(items.begin(), items.end(), polled(cancel_, std::less<>()));
    items.shrink(static_cast<size_t>(std::unique(items.begin(), items.end()) - items.begin()));
  }

  /// The partners of an item begin where the sum of the values exceeds 2^64, and sums ascend from there.
  void walk(std::span<const HashedItem> left, std::span<const HashedItem> right) {
    size_t begin = right.size();  // of the values from -value on; it falls as values rise
    for (const HashedItem& item : left) {
      while (begin > 0 && right[begin - 1].value >= -item.value && item.value > 0) --begin;
      size_t steps = 0;
      for (size_t at = begin; steps < right.size(); ++steps, ++at) {
        if (at == right.size()) at = 0;
        const uint64_t value = item.value + right[at].value;
        if (value >= sample_.threshold()) break;
        if (wanted(item.rank, right[at].rank)) sample_.add(value, item.rank, right[at].rank);
      }
      poll_.after(steps + 1);
    }
  }

  const WantedPairs& pairs_;
  std::span<const uint64_t> hash_;
  Sample& sample_;
  const CancelToken& cancel_;
  Poll poll_;
  std::vector<uint64_t> occupied_;  // [buckets / 64] a bit for each bucket with a partner, for each side; at most 64 KiB
  GrowingBuffer<HashedItem> left_;
  GrowingBuffer<HashedItem> right_;
  GrowingBuffer<HashedRow> selected_;
};

constexpr uint64_t kAllPlaces = uint64_t{1} << 32;

/// The place of a transaction in a random order, below kAllPlaces: the last steps of MurmurHash3.
uint64_t place_of(uint32_t tid) {
  tid = (tid ^ (tid >> 16)) * 0x85ebca6b;
  tid = (tid ^ (tid >> 13)) * 0xc2b2ae35;
  return tid ^ (tid >> 16);
}

size_t number_of_parts(const EncodedRelation& relation, const ExecutionOptions& options) {
  const size_t in_cache = std::min<uint64_t>(relation.rows() / kRowsInCache, TidParts::max_narrow(relation));
  return std::max(threads_for_rows(relation.rows(), options), in_cache);
}

class SizeEstimate final : public AnswerSizeSketch {
 public:
  SizeEstimate(uint32_t items, const WantedPairs& pairs, const AnswerSizeQuery& query, const ExecutionOptions& options)
      : items_(items), pairs_(pairs), query_(query), options_(options), hash_(*options.memory, items) {
    const ItemHash hash(query.seed);
    in_parts(items, options.cancel, [&](size_t begin, size_t end) {
      for (size_t rank = begin; rank < end; ++rank) hash_[rank] = hash(static_cast<uint32_t>(rank));
    });
  }

  /// Looks at the transactions of a relation, perhaps at a random part of them only.
  void sample(const EncodedRelation& relation, const KeptItems& kept, const TransactionLengths& lengths) {
    pair_instances_ += lengths.pair_instances;
    const Input input{TidParts(relation, number_of_parts(relation, options_), options_), kept, lengths};
    uint64_t seen = 0;
    if (const uint64_t share = first_share(); share < kAllPlaces) {
      look_at(input, seen, share);
      seen = share;
      const std::span<const Entry> sample = merged();
      const auto once = static_cast<double>(
          std::count_if(sample.begin(), sample.end(), [](const Entry& entry) { return entry.count == 1; }));
      const double rest = static_cast<double>(kAllPlaces - seen) / static_cast<double>(seen);
      if (sample.size() == query_.sample && once * rest <= kMissed * query_.sample) return;
    }
    look_at(input, seen, kAllPlaces);
  }

  void add(const EncodedRelation& part, const KeptItems& kept, const TransactionLengths& lengths) override {
    if (lengths.pair_instances == 0) return;
    pair_instances_ += lengths.pair_instances;
    look_at({TidParts(part, number_of_parts(part, options_), options_), kept, lengths}, 0, kAllPlaces);
  }

  AnswerSize size() override {
    AnswerSize size;
    if (workers_.empty()) return size;
    const std::span<const Entry> sample = merged();
    size_t drawn = sample.size();
    if (drawn < query_.sample) {
      size.pairs = static_cast<double>(drawn);
    } else {
      // The k-th value tells the number of pairs, and those below it are a sample: k - 1 makes both free of bias.
      drawn = query_.sample - 1;
      size.pairs = static_cast<double>(drawn) / (static_cast<double>(sample[drawn].value) * 0x1p-64);
      size.standard_error = size.pairs / std::sqrt(query_.sample - 2.0);
      size.pairs = std::min({size.pairs, wanted_pairs(), static_cast<double>(pair_instances_)});
    }
    size.sampled = drawn;
    size.reached = static_cast<uint64_t>(std::count_if(sample.begin(), sample.begin() + static_cast<ptrdiff_t>(drawn),
                                                       [&](const Entry& entry) { return entry.count >= query_.min_count; }));
    return size;
  }

 private:
  static constexpr double kMissed = 0.01;  // share of the pairs

  struct Input {
    TidParts parts;
    const KeptItems& kept;
    const TransactionLengths& lengths;
  };

  /// All of them, whether they occur or not.
  double wanted_pairs() const {
    const double items = items_;
    const double leading = pairs_.leading;
    return pairs_.rectangle() ? leading * (items - pairs_.first_column)
                              : leading * (items - leading) + leading * (leading - 1) / 2;
  }

  /// The share of the transactions to begin with: all, unless the pairs have a large support even if all of them occur.
  uint64_t first_share() const {
    constexpr double kEnough = 12;  // support in the share: then few pairs occur once
    constexpr double kWorthIt = 0.5;
    const double share = kEnough * wanted_pairs() / static_cast<double>(pair_instances_);
    if (query_.min_count > 1 || share > kWorthIt) return kAllPlaces;
    return static_cast<uint64_t>(share * static_cast<double>(kAllPlaces)) + 1;
  }

  /// Adds the pairs of the transactions with places from `begin` to `end`.
  void look_at(const Input& input, uint64_t begin, uint64_t end) {
    const size_t workers = std::min(static_cast<size_t>(options_.threads), input.parts.size());
    while (workers_.size() < workers) workers_.emplace_back(query_.sample, threshold_, *options_.memory);
    parallel_for(options_, input.parts.size(), [&](size_t part, int worker) { look_at(input, begin, end, part, worker); });
  }

  void look_at(const Input& input, uint64_t begin, uint64_t end, size_t part, int worker) {
    constexpr uint32_t kElsewhere = UINT32_MAX;
    Worker& own = workers_[static_cast<size_t>(worker)];
    const uint32_t first = input.parts.first_tid(part);
    const uint32_t tids = input.parts.first_tid(part + 1) - first;
    const uint32_t* const length = input.lengths.length.data() + first;
    own.next.shrink(0);
    uint32_t* const next = own.next.room(tids);
    uint32_t rows = 0;
    in_parts(tids, options_.cancel, [&](size_t from, size_t to) {
      for (size_t tid = from; tid < to; ++tid) {
        const uint64_t place = place_of(first + static_cast<uint32_t>(tid));
        const bool taken = length[tid] > 1 && place >= begin && place < end;
        next[tid] = taken ? rows : kElsewhere;
        rows += taken ? length[tid] : 0;
      }
    });
    own.dealt.shrink(0);
    HashedRow* const dealt = own.dealt.room(rows);
    uint64_t whole = 0;  // rows of transactions that need not be dealt
    PairFinder finder(pairs_, hash_.span(), own.sample, options_);
    visit_kept_rows(input.parts, part, input.kept, [&](const uint32_t* tid, const uint32_t* item, uint32_t count) {
      HashedRow together[kChunkRows];
      for (uint32_t k = 0; k < count;) {
        const uint32_t begin_of_run = k;
        const uint32_t transaction = tid[k] - first;
        while (k < count && tid[k] - first == transaction) ++k;
        if (next[transaction] == kElsewhere) continue;
        const bool is_whole = k - begin_of_run > 1 && k - begin_of_run == length[transaction];
        HashedRow* to = is_whole ? together : dealt + next[transaction];
        for (uint32_t at = begin_of_run; at < k; ++at) *to++ = {static_cast<uint32_t>(hash_[item[at]] >> 32), item[at]};
        if (is_whole) {
          finder.find({together, length[transaction]});
          next[transaction] = kElsewhere;
          whole += length[transaction];
        } else {
          next[transaction] += k - begin_of_run;
        }
      }
    });
    if (whole == rows) return;
    in_parts(tids, options_.cancel, [&](size_t from, size_t to) {
      for (size_t tid = from; tid < to; ++tid)
        if (next[tid] != kElsewhere) finder.find({dealt + next[tid] - length[tid], length[tid]});
    });
  }

  /// The k pairs with the smallest values, or all pairs if there are fewer, sorted by value: now in the first sample.
  std::span<const Entry> merged() {
    Sample& all = workers_[0].sample;
    for (size_t other = 1; other < workers_.size(); ++other) {
      all.fetch_threshold();
      for (const Entry& entry : workers_[other].sample.shrink())
        if (entry.value < all.threshold()) all.add(entry.value, entry.a, entry.b, entry.count);
      workers_[other].sample.clear();
    }
    return all.shrink();
  }

  struct Worker {
    Worker(uint32_t k, std::atomic<uint64_t>& threshold, MemoryMeter& meter)
        : sample(k, threshold, meter), next(meter), dealt(meter) {}

    Sample sample;
    GrowingBuffer<uint32_t> next;    // [tids of a part] where the next row of each transaction goes
    GrowingBuffer<HashedRow> dealt;  // [rows of a part] transaction by transaction
  };

  uint32_t items_;
  WantedPairs pairs_;
  AnswerSizeQuery query_;
  const ExecutionOptions& options_;
  Buffer<uint64_t> hash_;  // [items] by rank
  uint64_t pair_instances_ = 0;
  std::atomic<uint64_t> threshold_{UINT64_MAX};
  std::vector<Worker> workers_;  // [threads]
};

}  // namespace

std::unique_ptr<AnswerSizeSketch> make_answer_size_sketch(uint32_t items, const WantedPairs& pairs,
                                                          const AnswerSizeQuery& query, const ExecutionOptions& options) {
  return std::make_unique<SizeEstimate>(items, pairs, query, options);
}

AnswerSize estimate_answer_size(const EncodedRelation& relation, const KeptItems& kept, const TransactionLengths& lengths,
                                const AnswerSizeQuery& query, const ExecutionOptions& options) {
  if (lengths.pair_instances == 0) return {};
  SizeEstimate estimate(kept.size, kept.pairs, query, options);
  estimate.sample(relation, kept, lengths);
  return estimate.size();
}

}  // namespace batmap
