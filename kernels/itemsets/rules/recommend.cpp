// Groups the transactions that meet the basket, and walks over the basket's subsets, or counts them part by part. See recommend.h.
#include "itemsets/rules/recommend.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/parameters.h"
#include "core/poll.h"
#include "core/polled.h"
#include "core/stopwatch.h"
#include "itemsets/rules/rules.h"
#include "relation/encoded_relation.h"
#include "relation/row_parts.h"

namespace batmap {

namespace {

constexpr uint32_t kNone = UINT32_MAX;

/// Numbers (roles) for the items that can be part of a rule: first those of the basket by value, then those
/// that may be recommended. The role of a basket item is also its position in the basket.
struct Roles {
  Buffer<uint32_t> of_code;      // [item codes] or kNone
  GrowingBuffer<int64_t> value;  // [roles]
  uint32_t basket = 0;           // number of basket items

  /// @param relation  EncodedRelation or ItemTotals
  template <typename Relation>
  Roles(const Relation& relation, const RecommendQuery& query, uint64_t min_count, MemoryMeter& meter)
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
  uint32_t others() const { return size() - basket; }

 private:
  void add(ItemCode code, int64_t item) {
    of_code[index_of(code)] = size();
    value.push_back(item);
  }
};

/// The transactions of a relation that hold at least one item of the basket.
class BasketTransactions {
 public:
  /// @param role_of_code  [item codes of the relation] or kNone
  BasketTransactions(const EncodedRelation& relation, std::span<const uint32_t> role_of_code, const Roles& roles,
                     const ExecutionOptions& options)
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
          if (const uint32_t role = role_of_code[items[k]]; role != kNone) use(tids[k], role);
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
  bool holds(uint32_t transaction, std::span<const uint32_t> positions) const {
    return std::ranges::all_of(positions, [&](uint32_t position) { return holds(transaction, position); });
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

/// The best rule for each item among those that are offered, in any order.
class RuleForEachItem {
 public:
  /// Of one item so far. Support 0: none.
  struct Best {
    double score;
    uint32_t support;
    uint32_t lhs_support;
    size_t lhs_begin;
    uint32_t lhs_length;
  };

  RuleForEachItem(const Roles& roles, const RecommendQuery& query, uint64_t total, uint64_t min_count,
                  const ExecutionOptions& options)
      : query_(query),
        total_(static_cast<double>(total)),
        min_count_(min_count),
        best_(*options.memory, roles.size(), Fill::kZero),
        item_support_(*options.memory, roles.size(), Fill::kZero),
        poll_(options.cancel) {}

  /// Adds the supports of all roles. To be called before rules are offered.
  void add_item_supports(const BasketTransactions& transactions) {
    for (uint32_t role = 0; role < item_support_.size(); ++role) item_support_[role] += transactions.support(role);
  }
  uint32_t item_support(uint32_t role) const { return item_support_[role]; }

  /// The rules that are offered next have this lhs. @param positions  ascending; valid until the next call
  void begin(std::span<const uint32_t> positions, uint32_t support) {
    lhs_ = positions;
    lhs_support_ = support;
    lhs_kept_ = false;
  }

  void offer(uint32_t role, uint32_t support) {
    if (support < min_count_) return;
    // As in RuleRun: a quotient that equals the bound rounds to the same double, as long as products are below 2^53.
    const ContingencyTable counts{.both = static_cast<double>(support),
                                  .a = static_cast<double>(lhs_support_),
                                  .b = static_cast<double>(item_support_[role]),
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
    best = {score, support, lhs_support_, lhs_begin_, static_cast<uint32_t>(lhs_.size())};
  }

  const Best& best(uint32_t role) const { return best_[role]; }
  /// The positions of a rule's lhs, ascending.
  std::span<const uint32_t> lhs(size_t begin, uint32_t length) const { return {lhs_of_best_.data() + begin, length}; }

 private:
  /// Is the rule with lhs_ better than the best so far?
  bool is_better(double score, uint32_t support, const Best& best) const {
    if (score != best.score) return score > best.score;
    if (support != best.support) return support > best.support;
    if (lhs_.size() != best.lhs_length) return lhs_.size() < best.lhs_length;
    return std::ranges::lexicographical_compare(lhs_, lhs(best.lhs_begin, best.lhs_length));
  }

  const RecommendQuery& query_;
  double total_;
  uint64_t min_count_;
  Buffer<Best> best_;              // [roles]
  Buffer<uint32_t> item_support_;  // [roles] exact
  std::span<const uint32_t> lhs_;
  uint32_t lhs_support_ = 0;
  std::vector<uint32_t> lhs_of_best_;  // positions, of the rules that are or were the best
  size_t lhs_begin_ = 0;
  bool lhs_kept_ = false;  // lhs_ is at lhs_begin_
  Poll poll_;
};

uint64_t max_lhs_of(const RecommendQuery& query) {
  return query.max_lhs ? static_cast<uint64_t>(*query.max_lhs) : UINT64_MAX;
}

/// A depth-first walk over the subsets of the basket. A subset takes its transactions from the subset without its last item.
class RuleSearch {
 public:
  RuleSearch(const BasketTransactions& transactions, const Roles& roles, const RecommendQuery& query, uint64_t min_count,
             RuleForEachItem& rules, const ExecutionOptions& options)
      : transactions_(transactions),
        roles_(roles),
        min_count_(min_count),
        max_lhs_(max_lhs_of(query)),
        rules_(rules),
        holders_(*options.memory),
        count_(*options.memory, roles.size(), Fill::kZero),
        poll_(options.cancel) {}

  void search() {
    if (roles_.others() == 0) return;  // nothing can be recommended
    const uint32_t all = transactions_.size();
    uint32_t* const holders = holders_.room(all);
    std::iota(holders, holders + all, 0u);
    holders_.add(all);
    begin_.push_back(0);
    // A basket may have more items than a stack has room for calls.
    for (uint32_t position = 0;; ++position) {
      if (position < roles_.basket && lhs_.size() < max_lhs_) {
        extend(position);
      } else if (!lhs_.empty()) {
        position = lhs_.back();
        lhs_.pop_back();
        holders_.shrink(begin_.back());
        begin_.pop_back();
      } else {
        return;
      }
    }
  }

 private:
  /// Extends lhs_ by a position if enough transactions are left.
  void extend(uint32_t position) {
    const size_t begin = begin_.back();
    const size_t end = holders_.size();
    uint32_t* const narrowed = holders_.room(end - begin);
    size_t count = 0;
    for (size_t k = begin; k < end; ++k) {
      narrowed[count] = holders_[k];
      count += transactions_.holds(holders_[k], position);
    }
    poll_.after(end - begin + 1);
    if (count < min_count_) return;
    holders_.add(count);
    begin_.push_back(end);
    lhs_.push_back(position);
    offer_rules({narrowed, count});
  }

  void offer_rules(std::span<const uint32_t> holders) {
    for (const uint32_t transaction : holders) {
      const std::span<const uint32_t> others = transactions_.others(transaction);
      for (const uint32_t role : others)
        if (count_[role]++ == 0) counted_.push_back(role);
      poll_.after(others.size());
    }
    rules_.begin(lhs_, static_cast<uint32_t>(holders.size()));
    for (const uint32_t role : counted_) rules_.offer(role, std::exchange(count_[role], 0));
    counted_.clear();
  }

  const BasketTransactions& transactions_;
  const Roles& roles_;
  uint64_t min_count_;
  uint64_t max_lhs_;
  RuleForEachItem& rules_;
  GrowingBuffer<uint32_t> holders_;  // transactions of the empty lhs, then of each prefix of lhs_
  std::vector<size_t> begin_;        // where those of each of them begin
  Buffer<uint32_t> count_;           // [roles] zero between two lhs
  std::vector<uint32_t> counted_;
  std::vector<uint32_t> lhs_;
  Poll poll_;
};

/// The same rules over transactions in parts: the subsets of one size are counted in all parts before larger ones.
class LevelSearch {
 public:
  LevelSearch(const RowParts& parts, std::span<const uint32_t> item_rank, const Roles& roles, const RecommendQuery& query,
              uint64_t min_count, RuleForEachItem& rules, const ExecutionOptions& options)
      : parts_(parts),
        item_rank_(item_rank),
        roles_(roles),
        min_count_(min_count),
        max_lhs_(max_lhs_of(query)),
        rules_(rules),
        options_(options),
        frequent_(*options.memory),
        poll_(options.cancel) {}

  void search() {
    GrowingBuffer<uint32_t> level(*options_.memory);
    for (uint32_t position = 0; position < roles_.basket; ++position) level.push_back(position);
    const uint64_t counters = max_loaded_bytes(options_) / sizeof(uint32_t) / (roles_.others() + 1);
    const auto batch = static_cast<size_t>(std::max<uint64_t>(counters, 1));
    for (uint32_t length = 1; !level.empty(); ++length) {
      frequent_.shrink(0);
      for (size_t begin = 0; begin < level.size(); begin += batch * length)
        count_batch(level.span().subspan(begin, std::min(batch * length, level.size() - begin)), length);
      if (length >= max_lhs_ || roles_.others() == 0) break;
      level.shrink(0);
      for (size_t begin = 0; begin < frequent_.size(); begin += length) {
        const uint32_t* const lhs = frequent_.begin() + begin;
        for (uint32_t position = lhs[length - 1] + 1; position < roles_.basket; ++position) {
          uint32_t* const longer = level.room(length + 1);
          std::copy(lhs, lhs + length, longer);
          longer[length] = position;
          level.add(length + 1);
          poll_.after(length + 1);
        }
      }
    }
  }

  uint64_t transactions() const { return transactions_; }  // that meet the basket

 private:
  /// Calls visit(transactions) for each part.
  template <typename Visit>
  void for_parts(Visit visit) {
    for (size_t part = 0; part < parts_.size(); ++part) {
      const LoadedRows loaded(parts_[part], options_);
      const EncodedRelation relation(loaded.chunks(), item_rank_, options_);
      Buffer<uint32_t> role_of_code(*options_.memory, relation.item_codes());
      for (uint32_t index = 0; index < relation.item_codes(); ++index) {
        const ItemCode code{index};
        role_of_code[index] = relation.item_rows(code) == 0
                                  ? kNone
                                  : roles_.of_code[index_of(parts_.totals().item_code(relation.item_value(code)))];
      }
      visit(BasketTransactions(relation, role_of_code.span(), roles_, options_));
    }
  }

  /// Counts and offers the rules of some subsets, and keeps those that are frequent.
  void count_batch(std::span<const uint32_t> subsets, uint32_t length) {
    const size_t size = subsets.size() / length;
    const uint32_t others = roles_.others();
    Buffer<uint32_t> lhs_support(*options_.memory, size, Fill::kZero);
    Buffer<uint32_t> support(*options_.memory, size * others, Fill::kZero);  // [subsets][others]
    const auto lhs = [&](size_t k) { return subsets.subspan(k * length, length); };
    for_parts([&](const BasketTransactions& transactions) {
      if (first_pass_) {
        rules_.add_item_supports(transactions);
        transactions_ += transactions.size();
      }
      for (uint32_t transaction = 0; transaction < transactions.size(); ++transaction) {
        const std::span<const uint32_t> held = transactions.others(transaction);
        for (size_t k = 0; k < size; ++k) {
          if (!transactions.holds(transaction, lhs(k))) continue;
          ++lhs_support[k];
          for (const uint32_t role : held) ++support[k * others + role - roles_.basket];
          poll_.after(held.size());
        }
        poll_.after(size);
      }
    });
    first_pass_ = false;
    for (size_t k = 0; k < size; ++k) {
      poll_.after(others);
      if (lhs_support[k] < min_count_) continue;
      std::copy(lhs(k).begin(), lhs(k).end(), frequent_.room(length));
      frequent_.add(length);
      rules_.begin(lhs(k), lhs_support[k]);
      for (uint32_t other = 0; other < others; ++other)
        if (const uint32_t count = support[k * others + other]; count > 0) rules_.offer(roles_.basket + other, count);
    }
  }

  const RowParts& parts_;
  std::span<const uint32_t> item_rank_;
  const Roles& roles_;
  uint64_t min_count_;
  uint64_t max_lhs_;
  RuleForEachItem& rules_;
  const ExecutionOptions& options_;
  GrowingBuffer<uint32_t> frequent_;  // [subsets][length] of the level
  uint64_t transactions_ = 0;
  bool first_pass_ = true;
  Poll poll_;
};

bool is_before(const Recommendation& a, const Recommendation& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.support != b.support) return a.support > b.support;
  return a.item < b.item;
}

std::string reason(uint64_t transactions, uint64_t min_count) {
  return std::to_string(transactions) + " transactions meet the basket, threshold " + std::to_string(min_count);
}

/// The top_k of the rules. @param lhs  appended to
std::vector<Recommendation> best_of(const RuleForEachItem& rules, const Roles& roles, const RecommendQuery& query,
                                    std::vector<int64_t>& lhs, RunRecord& record, const ExecutionOptions& options) {
  std::vector<Recommendation> rows;
  record.items_kept = roles.size();
  for (uint32_t role = roles.basket; role < roles.size(); ++role) {
    const RuleForEachItem::Best& best = rules.best(role);
    if (best.support == 0) continue;
    record.occurrences += rules.item_support(role);
    rows.push_back({roles.value[role], best.score, best.lhs_begin, best.lhs_length, best.support, best.lhs_support,
                    rules.item_support(role)});
  }
  const size_t k = std::min<uint64_t>(static_cast<uint64_t>(query.top_k), rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(k), rows.end(), polled(options.cancel, is_before));
  rows.resize(k);
  record.results = k;
  for (Recommendation& row : rows) {
    const size_t begin = lhs.size();
    for (const uint32_t position : rules.lhs(row.lhs_begin, row.lhs_length)) lhs.push_back(roles.value[position]);
    row.lhs_begin = begin;
  }
  return rows;
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
  search_in_memory(std::move(chunks), item_rank, query, options);
}

RecommendRun::RecommendRun(const RowLog& log, std::span<const uint32_t> item_rank, const RecommendQuery& query,
                           const ExecutionOptions& options) {
  query.check();
  if (log.partitions() == nullptr)
    search_in_memory(log.chunks(), item_rank, query, options);
  else
    search_in_parts(*log.partitions(), item_rank, query, options);
}

template <typename Relation>
void RecommendRun::read_totals(const Relation& relation, uint64_t transactions, const RecommendQuery& query) {
  record_.answers = AnswerKind::kRecommendations;
  record_.method = "subsets of the basket";
  record_.transactions = transactions;
  record_.items = relation.items();
  record_.most_item_rows = relation.most_item_rows();
  min_count_ = query.min_count_among(transactions);
}

void RecommendRun::search_in_memory(std::vector<ChunkView> chunks, std::span<const uint32_t> item_rank,
                                    const RecommendQuery& query, const ExecutionOptions& options) {
  const Stopwatch watch;
  const EncodedRelation relation(std::move(chunks), item_rank, options);
  read_totals(relation, relation.transactions(), query);
  const Roles roles(relation, query, min_count_, *options.memory);
  const BasketTransactions transactions(relation, roles.of_code.span(), roles, options);
  record_.distinct_transactions = transactions.size();
  record_.reason = reason(transactions.size(), min_count_);
  record_.group_ms = watch.milliseconds();

  RuleForEachItem rules(roles, query, record_.transactions, min_count_, options);
  rules.add_item_supports(transactions);
  RuleSearch(transactions, roles, query, min_count_, rules, options).search();
  rows_ = best_of(rules, roles, query, lhs_, record_, options);
}

void RecommendRun::search_in_parts(const RowPartitions& rows, std::span<const uint32_t> item_rank,
                                   const RecommendQuery& query, const ExecutionOptions& options) {
  const Stopwatch watch;
  const RowParts parts(rows, item_rank, options);
  read_totals(parts.totals(), parts.transactions(), query);
  record_.file_bytes = parts.file_bytes();
  const Roles roles(parts.totals(), query, min_count_, *options.memory);
  record_.group_ms = watch.milliseconds();

  RuleForEachItem rules(roles, query, record_.transactions, min_count_, options);
  LevelSearch search(parts, item_rank, roles, query, min_count_, rules, options);
  search.search();
  record_.distinct_transactions = search.transactions();
  record_.reason = rows_in_files(record_.file_bytes, parts.size()) + ", " + reason(search.transactions(), min_count_);
  rows_ = best_of(rules, roles, query, lhs_, record_, options);
}

}  // namespace batmap
