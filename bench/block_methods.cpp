// What a method for each block of the pairs could gain over one method for all of them: items are cut by their number of
// rows into light and heavy ones, and the blocks heavy x heavy, light x heavy and light x light are counted apart, each by
// every method. Prints Markdown.
//
// usage: block_methods [large|grid [name]]
//   large  (default) 1 million rows of 16,000 items and 10 million rows of 100,000, ten in a transaction
//   grid   the relations of answer_size_inputs.h that have popularities, with a million rows
//   name   only relations with this in their names
//
// The best cut is looked for, and the best method for each of its blocks by its measured time, so no chooser can do better.
// `blocks` is the time with each form made from the rows of its own block. `free forms` leaves out the making of all forms
// but one: that is the bound of what could be gained if one pass made them all. Counted pairs go to a buffer that is
// overwritten; making rows of them would be the same for both sides. CPU time of one thread, the least of some turns, in
// which the sides alternate. The numbers of pairs and the sums of their supports are compared.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "bench/answer_size_inputs.h"
#include "pairs/build_counter.h"
#include "relation/row_log.h"

using namespace batmap;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTooSlow = 4;                      // a method is not run if its estimate is this many times the least
constexpr uint64_t kMostBytes = uint64_t{4} << 30;  // nor if it takes more memory
constexpr double kTurnsUntilMs = 1500;              // no further turn when those before took this long
constexpr int kTurns = 5;

double now_ms() {
  timespec at{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) * 1e3 + static_cast<double>(at.tv_nsec) / 1e6;
}

struct Answer {
  uint64_t pairs = 0;
  uint64_t sum = 0;
  bool operator==(const Answer&) const = default;
  Answer operator+(const Answer& other) const { return {pairs + other.pairs, sum + other.sum}; }
};

/// A block counted by one method.
struct Timing {
  PairMethod method = PairMethod::kHorizontal;
  double build_ms = kNever;  // of the form, with the lengths of the transactions
  double count_ms = kNever;
  Answer answer;

  double ms() const { return build_ms + count_ms; }
};

enum class Block { kAll, kHeavyHeavy, kLightAll, kLightHeavy, kLightLight };

class Relation {
 public:
  explicit Relation(const RowLog& log) : chunks_(log.chunks()) {
    relation_.emplace(chunks_, std::span<const uint32_t>{}, options_);
    const KeptItems all = keep_items(*relation_, {}, options_);
    for (uint32_t rank = 0; rank < all.size; ++rank) by_rows_.push_back(relation_->item_value(all.code(Rank{rank})));
  }

  uint32_t items() const { return static_cast<uint32_t>(by_rows_.size()); }

  /// The time of what every run does first: rows become codes, items get ranks.
  double group_ms() {
    double least = kNever;
    for (int turn = 0; turn < kTurns; ++turn) {
      const double begin = now_ms();
      const EncodedRelation relation(chunks_, {}, options_);
      const KeptItems kept = keep_items(relation, {}, options_);
      least = std::min(least, now_ms() - begin);
    }
    return least;
  }

  /// All methods that may be worth it, the fastest first.
  /// @param heavy  the number of heavy items
  std::vector<Timing> time(Block block, uint32_t heavy) {
    const KeptItems kept = keep(block, heavy);
    const TransactionLengths lengths = transaction_lengths(*relation_, kept, options_);
    const PairChoice choice = choose_pair_method(describe_job(*relation_, kept, lengths.pair_instances, {}, options_));
    const double least = choice.estimates[static_cast<size_t>(choice.method)].milliseconds;
    std::vector<Timing> timings;
    for (const PairMethodName& entry : kPairMethodNames) {
      const PairEstimate& estimate = choice.estimates[static_cast<size_t>(entry.method)];
      if (estimate.milliseconds > kTooSlow * least + 5 || estimate.bytes > kMostBytes) continue;
      Timing timing;
      timing.method = entry.method;
      timings.push_back(timing);
    }
    double spent = 0;
    for (int turn = 0; turn < kTurns && spent < kTurnsUntilMs; ++turn)
      for (Timing& timing : timings) spent += count(kept, timing);
    std::sort(timings.begin(), timings.end(), [](const Timing& x, const Timing& y) { return x.ms() < y.ms(); });
    return timings;
  }

 private:
  KeptItems keep(Block block, uint32_t heavy) const {
    const uint32_t light = items() - heavy;
    ItemFilter filter;
    std::vector<int64_t> only;
    if (block == Block::kHeavyHeavy) only.assign(by_rows_.begin() + light, by_rows_.end());
    if (block == Block::kLightLight) only.assign(by_rows_.begin(), by_rows_.begin() + light);
    std::sort(only.begin(), only.end());
    if (!only.empty()) filter.only = only;
    KeptItems kept = keep_items(*relation_, filter, options_);
    if (block == Block::kLightAll || block == Block::kLightHeavy) kept.pairs.leading = light;
    if (block == Block::kLightHeavy) kept.pairs.first_column = light;
    return kept;
  }

  /// @return the time of this turn
  double count(const KeptItems& kept, Timing& timing) {
    const double begin = now_ms();
    const TransactionLengths lengths = transaction_lengths(*relation_, kept, options_);
    const std::unique_ptr<PairCounter> counter = build_counter(*relation_, kept, lengths, timing.method, {}, options_);
    const double built = now_ms();
    GrowingBuffer<PairCount> out(meter_);
    Answer answer;
    for (size_t task = 0; task < counter->tasks(); ++task) {
      counter->count(task, 0, 1, out);
      answer.pairs += out.size();
      for (size_t k = 0; k < out.size(); ++k) answer.sum += out[k].count;
      out.shrink(0);
    }
    const double end = now_ms();
    if (end - begin < timing.ms()) {
      timing.build_ms = built - begin;
      timing.count_ms = end - built;
    }
    timing.answer = answer;
    return end - begin;
  }

  MemoryMeter meter_;
  ExecutionOptions options_{1, &meter_, {}};
  std::vector<ChunkView> chunks_;
  std::optional<EncodedRelation> relation_;
  std::vector<int64_t> by_rows_;  // [items] values by rank
};

struct Cut {
  uint32_t heavy = 0;
  double ms = kNever;  // building and counting
  std::string methods;
};

void keep_better(Cut& best, const Cut& cut) {
  if (cut.ms < best.ms) best = cut;
}

/// The block's method that is fastest, without building if forms are free.
const Timing& fastest(const std::vector<Timing>& timings, bool free_forms) {
  return *std::min_element(timings.begin(), timings.end(), [free_forms](const Timing& x, const Timing& y) {
    return free_forms ? x.count_ms < y.count_ms : x.ms() < y.ms();
  });
}

Cut combine(uint32_t heavy, const std::vector<const std::vector<Timing>*>& blocks, bool free_forms) {
  Cut cut{.heavy = heavy, .ms = 0, .methods = {}};
  double largest_form = 0;
  for (const std::vector<Timing>* const block : blocks) {
    const Timing& timing = fastest(*block, free_forms);
    cut.ms += free_forms ? timing.count_ms : timing.ms();
    largest_form = std::max(largest_form, timing.build_ms);
    cut.methods += (cut.methods.empty() ? "" : " + ") + std::string(pair_method_name(timing.method));
  }
  if (free_forms) cut.ms += largest_form;
  return cut;
}

std::string dominant(const std::vector<Timing>& timings) { return pair_method_name(timings[0].method); }

/// The gains of blocks over the best single method: as built, and with free forms.
struct Gains {
  double built;
  double bound;
};

void require_equal(const Answer& x, const Answer& y, const char* what) {
  if (x == y) return;
  std::fprintf(stderr, "different answers: %s\n", what);
  std::exit(1);
}

Gains measure(const std::string& name, const RowLog& log) {
  Relation relation(log);
  const double group = relation.group_ms();
  std::vector<Timing> whole = relation.time(Block::kAll, 0);
  Cut built;
  Cut bound;
  for (uint32_t heavy = 32; heavy <= relation.items() / 2; heavy *= 2) {
    const std::vector<Timing> heavy_heavy = relation.time(Block::kHeavyHeavy, heavy);
    const std::vector<Timing> light_all = relation.time(Block::kLightAll, heavy);
    const std::vector<Timing> light_heavy = relation.time(Block::kLightHeavy, heavy);
    const std::vector<Timing> light_light = relation.time(Block::kLightLight, heavy);
    for (const Timing& timing : light_all)
      require_equal(whole[0].answer, timing.answer + heavy_heavy[0].answer, "two blocks");
    require_equal(whole[0].answer, light_light[0].answer + light_heavy[0].answer + heavy_heavy[0].answer, "three blocks");
    for (const bool free_forms : {false, true}) {
      Cut& best = free_forms ? bound : built;
      keep_better(best, combine(heavy, {&heavy_heavy, &light_all}, free_forms));
      keep_better(best, combine(heavy, {&heavy_heavy, &light_heavy, &light_light}, free_forms));
    }
  }
  // The single method has turns of its own after the blocks, too.
  const std::vector<Timing> again = relation.time(Block::kAll, 0);
  const double single = std::min(whole[0].ms(), again[0].ms());
  const double gain = (group + single) / (group + built.ms);
  const double most = (group + single) / (group + bound.ms);
  std::printf("| %s | %.1f | %s | %.1f + %.1f | %u | %s | %.1f | %.2f | %u | %s | %.1f | %.2f |\n", name.c_str(), group,
              dominant(whole).c_str(), whole[0].build_ms, whole[0].count_ms, built.heavy, built.methods.c_str(), built.ms,
              gain, bound.heavy, bound.methods.c_str(), bound.ms, most);
  std::fflush(stdout);
  return {gain, most};
}

struct Input {
  std::string name;
  bench::Instance instance;
};

std::vector<Input> inputs_of(const std::string& what) {
  std::vector<Input> inputs;
  if (what == "grid") {
    for (const bench::SizeInput& input : bench::size_inputs(1e6))
      if (input.join_b == 0 && input.instance.zipf > 0) inputs.push_back({input.name, input.instance});
    return inputs;
  }
  for (const double zipf : {0.5, 1.0, 1.5}) {
    char name[60];
    for (const auto& [items, rows] : {std::pair{16'000, 1e6}, std::pair{100'000, 1e7}}) {
      std::snprintf(name, sizeof name, "Zipf %.1f, %d items, %.0f M rows", zipf, items, rows / 1e6);
      inputs.push_back({name, {"", items, 10.0 / items, rows, zipf}});
    }
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "large";
  const std::string wanted = argc > 2 ? argv[2] : "";
  if (what != "large" && what != "grid") {
    std::fprintf(stderr, "usage: block_methods [large|grid [name]]\n");
    return 2;
  }
  std::printf("CPU milliseconds of one thread.\n\n");
  std::printf(
      "| | group | single method | build + count | heavy items | blocks: heavy x heavy + ... | build + count | gain "
      "| heavy items | free forms | least form + count | gain |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  std::vector<Gains> all;
  for (const Input& input : inputs_of(what)) {
    if (input.name.find(wanted) == std::string::npos) continue;
    MemoryMeter meter;
    RowLog log(meter);
    bench::generate(input.instance, 1, [&](int32_t tid, int32_t item) { log.append(tid, item); });
    log.seal();
    all.push_back(measure(input.name, log));
  }
  if (all.empty()) return 1;
  const auto largest = [&](auto member) {
    double most = 0;
    for (const Gains& gains : all) most = std::max(most, gains.*member);
    return most;
  };
  std::printf("\n%zu relations. Largest gain: %.2f as built, %.2f with free forms.\n", all.size(), largest(&Gains::built),
              largest(&Gains::bound));
  return 0;
}
