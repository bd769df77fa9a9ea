// Groups the transactions that meet the basket, and walks over the basket's subsets. See recommend.h.
#include "itemsets/rules/recommend.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "core/parameters.h"
#include "core/poll.h"
#include "core/polled.h"
#include "core/stopwatch.h"
#include "itemsets/rules/rules.h"
#include "relation/encoded_relation.h"

namespace batmap {

namespace {

constexpr uint32_t kNone = UINT32_MAX;

/// Numbers (roles) for the items that can be part of a rule: first those of the basket by value, then those
/// that may be recommended. The role of a basket item is also its position in the basket.
struct Roles {
  Buffer<uint32_t> of_code;      // [item codes] or kNone
  GrowingBuffer<int64_t> value;  // [roles]
  uint32_t basket = 0;           // number of basket items

  Roles(const EncodedRelation& relation, const RecommendQuery& query, uint64_t min_count, MemoryMeter& meter)
      : of_code(meter, relation.item_codes()), value(meter) {
    std::fill(of_code.begin(), of_code.end(), kNone);
    using Values = std::unordered_set<int64_t>;
    const auto values_of = [](const std::optional<std::vector<int64_t>>& list) {
      return list ? Values(list->begin(), list->end()) : Values();
    };
    const Values held = values_of(query.basket);
    const Values included = values_of(query.include);
    const Values excluded = values_of(query.exclude);
    std::vector<std::pair<int64_t, ItemCode>> positions;
    for (uint32_t index = 0; index < relation.item_codes(); ++index) {
      const ItemCode code{index};
      if (relation.item_rows(code) >= min_count && held.contains(relation.item_value(code)))
        positions.emplace_back(relation.item_value(code), code);
    }
    std::sort(positions.begin(), positions.end());
    for (const auto& [item, code] : positions) add(code, item);
    basket = static_cast<uint32_t>(value.size());
    if (basket == 0) return;
    for (uint32_t index = 0; index < relation.item_codes(); ++index) {
      const ItemCode code{index};
      if (relation.item_rows(code) < min_count) continue;
      const int64_t item = relation.item_value(code);
      if (held.contains(item) || excluded.contains(item)) continue;
      if (!query.include || included.contains(item)) add(code, item);
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(value.size()); }

 private:
  void add(ItemCode code, int64_t item) {
    of_code[index_of(code)] = size();
    value.push_back(item);
  }
};

/// The transactions that hold at least one item of the basket.
class BasketTransactions {
 public:
  BasketTransactions(const EncodedRelation& relation, const Roles& roles, const ExecutionOptions& options)
      : words_((roles.basket + 63) / 64),
        begin_(*options.memory),
        held_(*options.memory),
        support_(*options.memory, roles.size(), Fill::kZero) {
    // Lay the roles of each transaction side by side.
    const uint32_t slots = relation.tid_slots();
    Buffer<uint32_t> end(*options.memory, slots, Fill::kZero);
    uint32_t tids[kChunkRows];
    uint32_t items[kChunkRows];
    const auto for_rows = [&](auto use) {
      for (size_t block = 0; block < relation.blocks(); ++block) {
        options.cancel.throw_if_requested();
        const uint32_t rows = relation.decode(block, tids, items);
        for (uint32_t k = 0; k < rows; ++k)
          if (const uint32_t role = roles.of_code[items[k]]; role != kNone) use(tids[k], role);
      }
    };
    for_rows([&](uint32_t tid, uint32_t) { ++end[tid]; });
    uint32_t at = 0;
    for (uint32_t tid = 0; tid < slots; ++tid) at += std::exchange(end[tid], at);
    others_ = Buffer<uint32_t>(*options.memory, at);
    for_rows([&](uint32_t tid, uint32_t role) { others_[end[tid]++] = role; });

    // Keep each role once. A transaction that does not meet the basket leaves after its items are
    // counted. Nothing moves to the right.
    Buffer<uint32_t> last(*options.memory, roles.size(), Fill::kZero);  // [roles] tid + 1 of the last
    std::vector<uint64_t> held(words_);
    Poll poll(options.cancel);
    uint32_t read = 0;
    uint32_t written = 0;
    begin_.push_back(0);
    for (uint32_t tid = 0; tid < slots; ++tid) {
      poll.after(end[tid] - read + 1);
      std::fill(held.begin(), held.end(), 0);
      bool meets = false;
      uint32_t to = written;
      for (; read < end[tid]; ++read) {
        const uint32_t role = others_[read];
        if (std::exchange(last[role], tid + 1) == tid + 1) continue;
        ++support_[role];
        if (role >= roles.basket)
          others_[to++] = role;
        else
          held[role / 64] |= uint64_t{1} << role % 64, meets = true;
      }
      if (!meets) continue;
      written = to;
      begin_.push_back(written);
      std::copy(held.begin(), held.end(), held_.room(words_));
      held_.add(words_);
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(begin_.size() - 1); }
  uint32_t support(uint32_t role) const { return support_[role]; }
  bool holds(uint32_t transaction, uint32_t position) const {
    return held_[size_t{transaction} * words_ + position / 64] >> position % 64 & 1;
  }
  /// Roles of the transaction's items that are not in the basket.
  std::span<const uint32_t> others(uint32_t transaction) const {
    return {others_.data() + begin_[transaction], begin_[transaction + 1] - begin_[transaction]};
  }

 private:
  size_t words_;                   // for each transaction in held_
  Buffer<uint32_t> others_;        // roles, transaction by transaction
  GrowingBuffer<uint32_t> begin_;  // [transactions + 1]
  GrowingBuffer<uint64_t> held_;   // [transactions][words_] bits by position
  Buffer<uint32_t> support_;       // [roles] exact
};

/// The best rule for one item so far. Support 0: none.
struct Best {
  double score;
  uint32_t support;
  uint32_t lhs_support;
  size_t lhs_begin;
  uint32_t lhs_length;
};

/// A depth-first walk over the subsets of the basket. A subset takes its transactions from the subset without its last item.
class RuleSearch {
 public:
  RuleSearch(const BasketTransactions& transactions, const Roles& roles, const RecommendQuery& query, uint64_t total,
             uint64_t min_count, const ExecutionOptions& options)
      : transactions_(transactions),
        roles_(roles),
        query_(query),
        total_(static_cast<double>(total)),
        min_count_(min_count),
        max_lhs_(query.max_lhs ? static_cast<uint64_t>(*query.max_lhs) : UINT64_MAX),
        holders_(*options.memory),
        count_(*options.memory, roles.size(), Fill::kZero),
        best_(*options.memory, roles.size(), Fill::kZero),
        poll_(options.cancel) {}

  void search() {
    const uint32_t all = transactions_.size();
    uint32_t* const holders = holders_.room(all);
    std::iota(holders, holders + all, 0u);
    holders_.add(all);
    extend(0, 0, all);
  }

  const Best& best(uint32_t role) const { return best_[role]; }
  /// The positions of a rule's lhs, ascending.
  std::span<const uint32_t> lhs(const Best& rule) const { return {lhs_of_best_.data() + rule.lhs_begin, rule.lhs_length}; }

 private:
  /// Extends lhs_ by each position from `first` on. The transactions of lhs_ are holders_[begin, end).
  void extend(uint32_t first, size_t begin, size_t end) {
    for (uint32_t position = first; position < roles_.basket; ++position) {
      uint32_t* const narrowed = holders_.room(end - begin);
      size_t count = 0;
      for (size_t k = begin; k < end; ++k) {
        narrowed[count] = holders_[k];
        count += transactions_.holds(holders_[k], position);
      }
      poll_.after(end - begin + 1);
      if (count < min_count_) continue;
      holders_.add(count);
      lhs_.push_back(position);
      offer_rules({narrowed, count});
      if (lhs_.size() < max_lhs_) extend(position + 1, end, end + count);
      lhs_.pop_back();
      holders_.shrink(end);
    }
  }

  void offer_rules(std::span<const uint32_t> holders) {
    for (const uint32_t transaction : holders) {
      const std::span<const uint32_t> others = transactions_.others(transaction);
      for (const uint32_t role : others)
        if (count_[role]++ == 0) counted_.push_back(role);
      poll_.after(others.size());
    }
    lhs_kept_ = false;
    for (const uint32_t role : counted_)
      if (const uint32_t support = std::exchange(count_[role], 0); support >= min_count_)
        offer(role, support, static_cast<uint32_t>(holders.size()));
    counted_.clear();
  }

  void offer(uint32_t role, uint32_t support, uint32_t lhs_support) {
    // As in RuleRun: a quotient that equals the bound rounds to the same double as the bound.
    const ContingencyTable counts{.both = static_cast<double>(support),
                                  .a = static_cast<double>(lhs_support),
                                  .b = static_cast<double>(transactions_.support(role)),
                                  .total = total_};
    if (query_.min_confidence && counts.both / counts.a < *query_.min_confidence) return;
    if (query_.min_lift && counts.both * counts.total / (counts.a * counts.b) < *query_.min_lift) return;
    const double score = pair_measure(query_.measure, counts);
    poll_.after(kScoreWork);
    if (std::isnan(score)) return;
    Best& best = best_[role];
    if (best.support != 0 && !is_better(score, support, best)) return;
    if (!lhs_kept_) {
      lhs_begin_ = lhs_of_best_.size();
      lhs_of_best_.insert(lhs_of_best_.end(), lhs_.begin(), lhs_.end());
      lhs_kept_ = true;
    }
    best = {score, support, lhs_support, lhs_begin_, static_cast<uint32_t>(lhs_.size())};
  }

  /// Is the rule with lhs_ better than the best so far?
  bool is_better(double score, uint32_t support, const Best& best) const {
    if (score != best.score) return score > best.score;
    if (support != best.support) return support > best.support;
    if (lhs_.size() != best.lhs_length) return lhs_.size() < best.lhs_length;
    return std::ranges::lexicographical_compare(lhs_, lhs(best));
  }

  const BasketTransactions& transactions_;
  const Roles& roles_;
  const RecommendQuery& query_;
  double total_;
  uint64_t min_count_;
  uint64_t max_lhs_;
  GrowingBuffer<uint32_t> holders_;  // transactions of the empty lhs, then of each prefix of lhs_
  Buffer<uint32_t> count_;           // [roles] zero between two lhs
  std::vector<uint32_t> counted_;
  Buffer<Best> best_;  // [roles]
  std::vector<uint32_t> lhs_;
  std::vector<uint32_t> lhs_of_best_;  // positions, of the rules that are or were the best
  size_t lhs_begin_ = 0;
  bool lhs_kept_ = false;  // lhs_ is at lhs_begin_
  Poll poll_;
};

bool is_before(const Recommendation& a, const Recommendation& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.support != b.support) return a.support > b.support;
  return a.item < b.item;
}

}  // namespace

void RecommendQuery::check() const {
  require_at_least("top_k", top_k, 1);
  ItemsetQuery threshold;
  threshold.min_count = min_count;
  threshold.min_support = min_support;
  if (!min_count && !min_support) threshold.min_count = 1;
  threshold.check();
  check_rule_bounds(min_confidence, min_lift);
  require_at_least("max_lhs", max_lhs, 1);
}

RecommendRun::RecommendRun(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank, const RecommendQuery& query,
                           const ExecutionOptions& options) {
  query.check();
  record_.answers = AnswerKind::kRecommendations;
  record_.method = "subsets of the basket";
  const Stopwatch watch;
  const EncodedRelation relation(std::move(chunks), item_rank, options);
  record_.transactions = relation.transactions();
  record_.items = relation.items();
  record_.most_item_rows = relation.most_item_rows();
  const uint64_t min_count = query.min_count_among(record_.transactions);
  const Roles roles(relation, query, min_count, *options.memory);
  record_.items_kept = roles.size();
  const BasketTransactions transactions(relation, roles, options);
  record_.distinct_transactions = transactions.size();
  record_.reason =
      std::to_string(transactions.size()) + " transactions meet the basket, threshold " + std::to_string(min_count);
  record_.group_ms = watch.milliseconds();

  RuleSearch rules(transactions, roles, query, record_.transactions, min_count, options);
  rules.search();
  for (uint32_t role = roles.basket; role < roles.size(); ++role) {
    const Best& best = rules.best(role);
    if (best.support == 0) continue;
    record_.occurrences += transactions.support(role);
    rows_.push_back({roles.value[role], best.score, best.lhs_begin, best.lhs_length, best.support, best.lhs_support,
                     transactions.support(role)});
  }
  const size_t k = std::min<uint64_t>(static_cast<uint64_t>(query.top_k), rows_.size());
  std::partial_sort(rows_.begin(), rows_.begin() + static_cast<ptrdiff_t>(k), rows_.end(),
                    polled(options.cancel, is_before));
  rows_.resize(k);
  record_.results = k;
  for (Recommendation& row : rows_) {
    const size_t begin = lhs_.size();
    for (const uint32_t position : rules.lhs({0, 0, 0, row.lhs_begin, row.lhs_length}))
      lhs_.push_back(roles.value[position]);
    row.lhs_begin = begin;
  }
}

}  // namespace batmap
