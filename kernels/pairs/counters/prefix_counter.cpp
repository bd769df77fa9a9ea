// Ranks elements, builds the index over prefixes, and looks for partners of each set among larger ones. See prefix_counter.h.
#include "pairs/counters/prefix_counter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/poll.h"
#include "core/polled.h"
#include "core/thread_team.h"
#include "relation/key_codes.h"
#include "set/set_decode.h"

namespace batmap {

namespace {

constexpr size_t kSetsATask = 256;
constexpr size_t kSampledRows = 512;

// Nanoseconds of one thread, from bench/similarity_join.cpp.
constexpr double kPosting = 3;
constexpr double kCandidate = 40;  // its row is seldom in a cache
constexpr double kMerged = 2;
constexpr double kRow = 100;

/// A lower bound of the common elements of sets of these sizes: how rounding comes out does not matter, because pairs are
/// tested exactly in the end.
uint64_t min_common(double min_jaccard, uint64_t min_count, uint64_t a, uint64_t b) {
  const double common = min_jaccard / (1 + min_jaccard) * static_cast<double>(a + b);
  return std::max(min_count, static_cast<uint64_t>(std::ceil(common * (1 - 1e-12) - 1e-9)));
}

/// The least common elements with any set that is at least as large, and with any that is not larger.
uint64_t min_common_with_larger(double min_jaccard, uint64_t min_count, uint64_t size) {
  return min_common(min_jaccard, min_count, size, size);
}
uint64_t min_common_with_smaller(double min_jaccard, uint64_t min_count, uint64_t size) {
  const double common = min_jaccard * static_cast<double>(size);
  return std::max(min_count, static_cast<uint64_t>(std::ceil(common * (1 - 1e-12) - 1e-9)));
}

/// The length of the prefix in which the first common element lies.
uint64_t prefix_length(uint64_t size, uint64_t common) { return common > size ? 0 : size - common + 1; }

/// Elements as codes in rows, unordered. @return the number of codes
uint64_t code_elements(const SetCollection& sets, std::span<const uint32_t> order, uint64_t element_bound,
                       const SetKernel& kernel, const ExecutionOptions& options, RankedSets& out) {
  const uint64_t elements = out.begin[order.size()];
  KeyCodes codes(options, 0, element_bound - 1, elements);
  const auto code_rows = [&](size_t first, size_t end, const auto& code_of) {
    uint64_t chunk[kChunkElements];
    for (size_t k = first; k < end; ++k) {
      options.cancel.throw_if_requested();
      uint32_t* at = out.ranks.data() + out.begin[k];
      SetReader reader(sets[order[k]], kernel, options.cancel);
      while (const size_t count = reader.next(chunk)) {
        check_elements({chunk, count}, element_bound);
        for (size_t i = 0; i < count; ++i) *at++ = code_of(chunk[i]);
      }
    }
  };
  if (codes.direct()) {
    const size_t tasks = (order.size() + kSetsATask - 1) / kSetsATask;
    parallel_for(options, tasks, [&](size_t task, int) {
      code_rows(task * kSetsATask, std::min((task + 1) * kSetsATask, order.size()),
                [](uint64_t element) { return static_cast<uint32_t>(element); });
    });
  } else {
    code_rows(0, order.size(), [&](uint64_t element) { return codes.insert(static_cast<int64_t>(element)); });
  }
  return codes.size();
}

/// Replaces codes by ranks and orders the rows.
void rank_codes(RankedSets& sets, uint64_t codes, const ExecutionOptions& options) {
  MemoryMeter& meter = *options.memory;
  Buffer<uint32_t> counts(meter, codes, Fill::kZero);
  in_parts(sets.ranks.size(), options.cancel, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) ++counts[sets.ranks[k]];
  });
  Buffer<uint32_t> by_rarity(meter, codes);
  size_t used = 0;
  for (uint64_t code = 0; code < codes; ++code)
    if (counts[code] > 0) by_rarity[used++] = static_cast<uint32_t>(code);
  std::sort(by_rarity.begin(), by_rarity.begin() + used, polled(options.cancel, [&](uint32_t x, uint32_t y) {
              return counts[x] != counts[y] ? counts[x] < counts[y] : x < y;
            }));
  sets.frequencies = Buffer<uint32_t>(meter, used);
  for (size_t rank = 0; rank < used; ++rank) sets.frequencies[rank] = counts[by_rarity[rank]];
  for (size_t rank = 0; rank < used; ++rank) counts[by_rarity[rank]] = static_cast<uint32_t>(rank);
  by_rarity.reset();
  const size_t rows = sets.begin.size() - 1;
  parallel_for(options, (rows + kSetsATask - 1) / kSetsATask, [&](size_t task, int) {
    for (size_t row = task * kSetsATask; row < std::min((task + 1) * kSetsATask, rows); ++row) {
      options.cancel.throw_if_requested();
      uint32_t* const begin = sets.ranks.begin() + sets.begin[row];
      uint32_t* const end = sets.ranks.begin() + sets.begin[row + 1];
      for (uint32_t* at = begin; at < end; ++at) *at = counts[*at];
      std::sort(begin, end, polled(options.cancel, std::less<>()));
    }
  });
}

}  // namespace

double RankedSets::pair_instances() const {
  double instances = 0;
  for (const uint32_t frequency : frequencies.span())
    instances += static_cast<double>(frequency) * (static_cast<double>(frequency) - 1) / 2;
  return instances;
}

RankedSets rank_elements(const SetCollection& sets, std::span<const uint32_t> order, uint64_t element_bound,
                         const SetKernel& kernel, const ExecutionOptions& options) {
  RankedSets out;
  out.begin = Buffer<uint64_t>(*options.memory, order.size() + 1);
  out.begin[0] = 0;
  for (size_t k = 0; k < order.size(); ++k) out.begin[k + 1] = out.begin[k] + sets[order[k]].cardinality();
  out.ranks = Buffer<uint32_t>(*options.memory, out.begin[order.size()]);
  rank_codes(out, code_elements(sets, order, element_bound, kernel, options, out), options);
  return out;
}

uint64_t prefix_counter_bytes(uint64_t sets, uint64_t elements, uint64_t element_bound, int threads) {
  constexpr uint64_t kCodeBytes = 96;  // of an element of a wide universe, while codes are given
  const uint64_t codes = std::min(element_bound, elements);
  return sets * (16 + 4 * static_cast<uint64_t>(threads)) + elements * 12 + codes * kCodeBytes;
}

PrefixCounter::PrefixCounter(RankedSets sets, uint64_t min_count, double min_jaccard, const ExecutionOptions& options)
    : sets_(std::move(sets)), options_(options), min_count_(min_count), min_jaccard_(min_jaccard) {
  const size_t count = sets_.begin.size() - 1;
  supports_ = Buffer<uint32_t>(*options.memory, count);
  for (size_t k = 0; k < count; ++k) supports_[k] = static_cast<uint32_t>(sets_.begin[k + 1] - sets_.begin[k]);
  seen_.resize(static_cast<size_t>(options.threads));
  build_index();
}

void PrefixCounter::build_index() {
  const double min_jaccard = min_jaccard_.load(std::memory_order_relaxed);
  const size_t ranks = sets_.frequencies.size();
  index_begin_ = Buffer<uint64_t>(*options_.memory, ranks + 1, Fill::kZero);
  const auto for_each_posting = [&](const auto& visit) {
    in_parts(supports_.size(), options_.cancel, [&](size_t begin, size_t end) {
      for (size_t set = begin; set < end; ++set) {
        const uint64_t size = supports_[set];
        const uint64_t length = prefix_length(size, min_common_with_smaller(min_jaccard, min_count_, size));
        const std::span<const uint32_t> row = sets_.row(set);
        for (uint64_t position = 0; position < length; ++position)
          visit(row[position], Posting{static_cast<uint32_t>(set), static_cast<uint32_t>(position)});
      }
    });
  };
  for_each_posting([&](uint32_t rank, Posting) { ++index_begin_[rank + 1]; });
  for (size_t rank = 0; rank < ranks; ++rank) index_begin_[rank + 1] += index_begin_[rank];
  index_ = Buffer<Posting>(*options_.memory, index_begin_[ranks]);
  Buffer<uint64_t> next(*options_.memory, ranks);
  std::copy_n(index_begin_.data(), ranks, next.data());
  for_each_posting([&](uint32_t rank, Posting posting) { index_[next[rank]++] = posting; });
}

size_t PrefixCounter::tasks() const { return (supports_.size() + kSetsATask - 1) / kSetsATask; }

std::span<uint32_t> PrefixCounter::seen_by(int worker) {
  Buffer<uint32_t>& seen = seen_[static_cast<size_t>(worker)];
  if (seen.empty()) seen = Buffer<uint32_t>(*options_.memory, supports_.size(), Fill::kZero);
  return seen.span();
}

/// Appends the partners of a that come after it and have enough in common.
void PrefixCounter::count_row(uint32_t a, uint32_t threshold, std::span<uint32_t> seen, GrowingBuffer<PairCount>& out,
                              Work& work) const {
  const double min_jaccard = min_jaccard_.load(std::memory_order_relaxed);
  const uint64_t min_count = std::max<uint64_t>(threshold, min_count_);
  const std::span<const uint32_t> row = sets_.row(a);
  const uint64_t size = row.size();
  const uint64_t length = prefix_length(size, min_common_with_larger(min_jaccard, min_count, size));
  const double max_size = min_jaccard > 0 ? static_cast<double>(size) / min_jaccard * (1 + 1e-12) : 0x1p62;
  const size_t first_found = out.size();
  Poll poll(options_.cancel);
  for (uint64_t i = 0; i < length; ++i) {
    const Posting* at = index_.begin() + index_begin_[row[i]];
    const Posting* const end = index_.begin() + index_begin_[row[i] + 1];
    at = std::upper_bound(at, end, a, [](uint32_t set, const Posting& posting) { return set < posting.set; });
    for (; at < end; ++at) {
      poll.after(1);
      const uint32_t b = at->set;
      const uint64_t other_size = supports_[b];
      if (static_cast<double>(other_size) > max_size) break;
      ++work.postings;
      if (seen[b] == a + 1) continue;
      seen[b] = a + 1;
      // This is the first common element of the two: a smaller one would be in both prefixes.
      const uint64_t needed = min_common(min_jaccard, min_count, size, other_size);
      const uint64_t left = size - i;
      const uint64_t other_left = other_size - at->position;
      if (std::min(left, other_left) < needed) continue;
      ++work.candidates;
      const std::span<const uint32_t> other = sets_.row(b).subspan(at->position);
      // How many elements of either may have no partner.
      uint64_t spare = left - needed;
      uint64_t other_spare = other_left - needed;
      uint64_t common = 1;
      uint64_t x = 1;
      uint64_t y = 1;
      bool is_enough = true;
      while (x < left && y < other_left) {
        const uint32_t rank = row[i + x];
        const uint32_t other_rank = other[y];
        if (rank == other_rank) {
          ++common;
          ++x;
          ++y;
        } else if (rank < other_rank) {
          ++x;
          if (spare-- == 0) {
            is_enough = false;
            break;
          }
        } else {
          ++y;
          if (other_spare-- == 0) {
            is_enough = false;
            break;
          }
        }
      }
      work.merged += x + y;
      poll.after(x + y);
      if (is_enough && common >= needed) out.push_back({a, b, common});
    }
  }
  std::sort(out.begin() + first_found, out.end(), [](const PairCount& x, const PairCount& y) { return x.b < y.b; });
}

void PrefixCounter::count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) {
  const std::span<uint32_t> seen = seen_by(worker);
  Work work;
  for (size_t a = task * kSetsATask; a < std::min((task + 1) * kSetsATask, supports_.size()); ++a) {
    options_.cancel.throw_if_requested();
    count_row(static_cast<uint32_t>(a), threshold, seen, out, work);
  }
}

double PrefixCounter::expected_ms() {
  const std::span<uint32_t> seen = seen_by(0);
  GrowingBuffer<PairCount> found(*options_.memory);
  Work work;
  const size_t sets = supports_.size();
  const size_t rows = std::min(sets, kSampledRows);
  for (size_t k = 0; k < rows; ++k) {
    options_.cancel.throw_if_requested();
    found.shrink(0);
    count_row(static_cast<uint32_t>(k * sets / rows), 1, seen, found, work);
  }
  std::ranges::fill(seen, 0);  // a row looks at the sets anew
  const double ns = static_cast<double>(work.postings) * kPosting + static_cast<double>(work.candidates) * kCandidate +
                    static_cast<double>(work.merged) * kMerged;
  return rows == 0 ? 0 : (ns / static_cast<double>(rows) + kRow) * static_cast<double>(sets) / 1e6;
}

}  // namespace batmap
