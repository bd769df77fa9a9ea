// Random queries over a random schema (random_schema.h), for metamorphic_client.cpp: joins of two relations
// that are grouped by items of both, as the plan node BatmapJoinProject answers them; queries that it nearly
// answers; and calls of table functions. A query is kept in parts, so that a relation between answers can add
// or omit a part, and a failure can be reduced.
#pragma once

#include <optional>

#include "random_schema.h"

namespace client {

enum class From { kPlain, kFiltered, kFence, kDistinct, kCte };

struct QuerySide {
  std::string alias;
  std::string relation;
  From from = From::kPlain;
  std::string from_condition;           // for kFiltered
  std::vector<std::string> conditions;  // of WHERE
  std::vector<std::string> items;       // the expressions of GROUP BY
  std::optional<int> min_id;            // a condition whose number can be a parameter

  std::string source() const {
    switch (from) {
      case From::kPlain: return relation + " " + alias;
      case From::kFiltered: return "(SELECT * FROM " + relation + " WHERE " + from_condition + ") " + alias;
      case From::kFence: return "(SELECT * FROM " + relation + " OFFSET 0) " + alias;
      case From::kDistinct: return "(SELECT DISTINCT id, k, l, i, j, h FROM " + relation + ") " + alias;
      case From::kCte: return "w_" + relation + " " + alias;
    }
    return {};
  }
};

enum class Asks { kCounts, kGroups, kDistinct };
enum class Order { kNone, kCount, kCountAndItems, kItems };
enum class Form { kDirect, kSubquery, kCte, kLateral, kPrepared, kCursor };

struct Query {
  QuerySide sides[2];
  std::vector<std::pair<std::string, std::string>> keys;  // pairs of equal columns of the two sides
  std::string on;                                         // another join condition: a comparison of items; or empty
  std::string join = "JOIN";
  Asks asks = Asks::kCounts;
  std::string count = "count(*)";
  std::optional<int> threshold;  // HAVING count >= threshold
  std::vector<std::string> having;
  Order order = Order::kNone;
  std::optional<int> limit;
  std::optional<int> offset;
  bool with_ties = false;
  Form form = Form::kDirect;
  std::vector<int> fetches;  // by a cursor, which may be closed before its end
  bool generic_plan = false;

  size_t items() const { return sides[0].items.size() + sides[1].items.size(); }
  bool counts() const { return asks == Asks::kCounts; }
  bool counts_rows() const { return count.find("DISTINCT") == std::string::npos; }
  /// Does the query define the order of its rows completely?
  bool total_order() const { return order == Order::kCountAndItems || order == Order::kItems; }

  std::string where() const {
    std::vector<std::string> parts;
    for (const QuerySide& side : sides) parts.insert(parts.end(), side.conditions.begin(), side.conditions.end());
    for (const QuerySide& side : sides)
      if (side.min_id) parts.push_back(side.alias + ".id >= " + std::to_string(*side.min_id));
    return parts.empty() ? "" : " WHERE " + joined(parts, " AND ");
  }

  std::string from() const {
    std::vector<std::string> parts;
    for (const auto& [left, right] : keys) parts.push_back("a." + left + " = b." + right);
    if (!on.empty()) parts.push_back(on);
    return " FROM " + sides[0].source() + " " + join + " " + sides[1].source() + " ON " + joined(parts, " AND ");
  }

  std::string with() const {
    std::set<std::string> parts;
    for (const QuerySide& side : sides)
      if (side.from == From::kCte)
        parts.insert("w_" + side.relation + " AS MATERIALIZED (SELECT * FROM " + side.relation + ")");
    return parts.empty() ? "" : "WITH " + joined({parts.begin(), parts.end()}, ", ") + " ";
  }

  /// The query without its surrounding statement. `number` writes the numbers that can be parameters.
  template <class Number>
  std::string core(Number number, const std::string& min_count = {}) const {
    std::vector<std::string> outputs;
    std::vector<std::string> positions;
    for (const QuerySide& side : sides)
      for (const std::string& item : side.items) {
        outputs.push_back(item + text(" AS x%zu", outputs.size() + 1));
        positions.push_back(std::to_string(outputs.size()));
      }
    const std::string groups = joined(positions, ", ");
    if (counts()) outputs.push_back(count + " AS n");
    std::vector<std::string> conditions;
    for (const QuerySide& side : sides) conditions.insert(conditions.end(), side.conditions.begin(), side.conditions.end());
    for (const QuerySide& side : sides)
      if (side.min_id) conditions.push_back(side.alias + ".id >= " + number(*side.min_id));
    std::string out = with() + (asks == Asks::kDistinct ? "SELECT DISTINCT " : "SELECT ") + joined(outputs, ", ") + from();
    if (!conditions.empty()) out += " WHERE " + joined(conditions, " AND ");
    if (asks != Asks::kDistinct) {
      std::vector<std::string> filters = having;
      if (threshold) filters.insert(filters.begin(), count + " >= " + number(*threshold));
      if (!min_count.empty()) filters.push_back(count + " >= " + min_count);
      out += " GROUP BY " + groups;
      if (!filters.empty()) out += " HAVING " + joined(filters, " AND ");
    }
    const std::string by_count = std::to_string(outputs.size()) + " DESC";
    if (order == Order::kCount) out += " ORDER BY " + by_count;
    if (order == Order::kCountAndItems) out += " ORDER BY " + by_count + ", " + groups;
    if (order == Order::kItems) out += " ORDER BY " + groups;
    if (offset) out += " OFFSET " + number(*offset);
    if (limit && with_ties) out += " FETCH FIRST " + number(*limit) + " ROWS WITH TIES";
    if (limit && !with_ties) out += " LIMIT " + number(*limit);
    return out;
  }

  std::string text_of() const {
    const auto plain = [](int value) { return std::to_string(value); };
    switch (form) {
      case Form::kSubquery: return "SELECT q.* FROM (" + core(plain) + ") q";
      case Form::kCte: return "WITH q AS MATERIALIZED (" + core(plain) + ") SELECT * FROM q";
      case Form::kLateral:
        return "SELECT q.*, o FROM generate_series(1, 3) o, LATERAL (" + core(plain, counts() ? "o" : "") + ") q";
      default: return core(plain);
    }
  }

  /// PREPARE and EXECUTE.
  std::pair<std::string, std::string> prepared() const {
    std::vector<std::string> values;
    const std::string statement = core([&](int value) {
      values.push_back(std::to_string(value));
      return text("$%zu", values.size());
    });
    return {"PREPARE question AS " + statement,
            "EXECUTE question" + (values.empty() ? "" : "(" + joined(values, ", ") + ")")};
  }
};

// A call of a table function over rows (k, i) of a relation, or of two.
struct Call {
  enum class Function { kPairs, kJoinProject, kItemsets, kRules } function = Function::kPairs;
  std::string relations[2];
  std::string conditions[2];  // in the texts, or empty
  int min_count = 1;
  std::optional<int> top_k;
  int confidence_eighths = 4;
  int max_length = 2;
  std::string method;     // or empty
  std::string algorithm;  // for itemsets, or empty
};

// A predicate: true, false and NULL divide the rows into three parts.
struct Predicate {
  enum class Scope { kItem, kKey, kRow } scope = Scope::kRow;  // what it depends on
  size_t side = 0;
  std::string text;
};

class QueryMaker {
 public:
  QueryMaker(Rng& rng, const Schema& schema) : rng_(rng), schema_(schema) {}

  Query query() {
    Query q;
    const Relation& left = one_of(rng_, schema_.relations);
    const Relation& right = chance(rng_, 0.55) ? left : one_of(rng_, schema_.relations);
    q.sides[0] = side("a", left);
    q.sides[1] = side("b", right);
    const bool mirrored = left.name == right.name && chance(rng_, 0.7);
    if (mirrored) {
      q.sides[1] = q.sides[0];
      q.sides[1].alias = "b";
      for (auto* const list : {&q.sides[1].conditions, &q.sides[1].items})
        for (std::string& expression : *list) expression = moved(expression);
    }
    if (chance(rng_, 0.9)) q.keys.emplace_back("k", "k");
    if (q.keys.empty() || chance(rng_, 0.15)) q.keys.emplace_back("l", "l");
    const bool same_types =
        schema_.table_of(left).columns[kSecondItem].type == schema_.table_of(right).columns[kSecondItem].type;
    const bool same_item = q.sides[1].items[0] == moved(q.sides[0].items[0]) && same_types;
    if (same_item && chance(rng_, 0.5))
      q.on = q.sides[0].items[0] + one_of(rng_, {" < ", " < ", " > ", " <> ", " <= ", " >= "}) + q.sides[1].items[0];
    const size_t kind = below(rng_, 10);
    q.asks = kind == 0 ? Asks::kGroups : kind == 1 ? Asks::kDistinct : Asks::kCounts;
    if (q.counts() && q.keys.size() == 1 && chance(rng_, 0.25))
      q.count = "count(DISTINCT a." + q.keys[0].first + ")";
    else if (chance(rng_, 0.25))
      q.count = one_of(rng_, {"count(a.x)", "count(b.y)", "count(1)"});
    if (q.count == "count(a.x)") q.count = "count(" + q.sides[0].items[0] + ")";
    if (q.count == "count(b.y)") q.count = "count(b." + q.keys[0].second + ")";
    if (q.counts() && chance(rng_, 0.4)) q.threshold = number_of(rng_, {0, 1, 2, 3, 8, 50});
    if (q.asks != Asks::kDistinct && chance(rng_, 0.1))
      q.having.push_back(one_of(
          rng_, std::vector<std::string>{q.sides[0].items[0] + " IS NOT NULL", q.count + " % 2 = 0", q.count + " <> 3"}));
    bound(q);
    if (chance(rng_, 0.45)) set_form(q);
    if (chance(rng_, 0.08)) spoil(q);
    return q;
  }

  Predicate predicate(const Query& q) {
    Predicate p;
    p.side = below(rng_, 2);
    const QuerySide& side = q.sides[p.side];
    const Relation& relation = schema_.relation(side.relation);
    p.scope = one_of(rng_, std::vector{Predicate::Scope::kItem, Predicate::Scope::kKey, Predicate::Scope::kRow});
    size_t column = std::vector<size_t>{kItem, kKey, kSecondItem}[static_cast<size_t>(p.scope)];
    if (p.scope == Predicate::Scope::kItem && side.items[0] != side.alias + ".i") p.scope = Predicate::Scope::kRow;
    if (p.scope == Predicate::Scope::kKey && q.keys[0].first != "k") column = kSecondKey;
    p.text = condition(side.alias, relation, column, false);
    return p;
  }

  Call call() {
    Call c;
    c.function = static_cast<Call::Function>(below(rng_, 4));
    for (size_t k = 0; k < 2; ++k) {
      const Relation& relation = one_of(rng_, schema_.relations);
      c.relations[k] = relation.name;
      if (chance(rng_, 0.3)) c.conditions[k] = condition("", relation, below(rng_, kColumns), true);
    }
    c.min_count = number_of(rng_, {1, 1, 2, 3, 10});
    if (chance(rng_, 0.25)) c.top_k = number_of(rng_, {1, 5, 40});
    c.confidence_eighths = number_of(rng_, {1, 4, 7, 8});
    c.max_length = number_of(rng_, {1, 2, 3});
    if (chance(rng_, 0.5)) c.method = one_of(rng_, {"horizontal", "positional", "bitmap", "batmap", "merge"});
    if (chance(rng_, 0.4)) c.algorithm = one_of(rng_, {"pbi", "tbi", "dfs"});
    return c;
  }

  /// Settings that must not change an answer.
  std::vector<std::string> settings() {
    std::vector<std::string> out;
    const auto maybe = [&](double p, const std::string& name, std::initializer_list<const char*> values) {
      if (chance(rng_, p)) out.push_back("SET " + name + " = " + one_of(rng_, values));
    };
    maybe(0.5, "max_parallel_workers_per_gather", {"0", "2"});
    maybe(0.3, "batmap.threads", {"1", "2", "4"});
    maybe(0.15, "batmap.work_mem", {"'64kB'", "'1MB'"});
    maybe(0.12, "batmap.memory_limit", {"'128kB'", "'300kB'", "'2MB'"});
    maybe(0.2, "batmap.cpu_kernel", {"'scalar'", "'auto'"});
    maybe(0.2, "enable_partitionwise_join", {"on"});
    maybe(0.2, "enable_partitionwise_aggregate", {"on"});
    maybe(0.1, "work_mem", {"'64kB'"});
    maybe(0.1, "enable_hashagg", {"off"});
    return out;
  }

 private:
  /// Rewrites an expression of the left side for the right side.
  static std::string moved(const std::string& expression) {
    std::string out;
    for (size_t at = 0; at < expression.size(); ++at) {
      const bool starts = at == 0 || std::isalnum(static_cast<unsigned char>(expression[at - 1])) == 0;
      out += starts && expression.compare(at, 2, "a.") == 0 ? 'b' : expression[at];
    }
    return out;
  }

  QuerySide side(const std::string& alias, const Relation& relation) {
    QuerySide s;
    s.alias = alias;
    s.relation = relation.name;
    if (chance(rng_, 0.2)) s.from = static_cast<From>(1 + below(rng_, 4));
    if (s.from == From::kFiltered) s.from_condition = condition("", relation, below(rng_, kColumns), true);
    const size_t items = chance(rng_, 0.85) ? 1 : 2;
    while (s.items.size() < items) s.items.push_back(item(alias, relation));
    if (items == 2 && s.items[0] == s.items[1]) s.items.pop_back();
    if (chance(rng_, 0.3)) s.conditions.push_back(condition(alias, relation, below(rng_, kColumns), true));
    if (chance(rng_, 0.1)) s.min_id = static_cast<int>(below(rng_, 200));
    return s;
  }

  std::string item(const std::string& alias, const Relation& relation) {
    const Table& table = schema_.table_of(relation);
    const Column& second = table.columns[kSecondItem];
    const char* const a = alias.c_str();
    const size_t kind = below(rng_, 20);
    if (kind < 12) return alias + ".i";
    if (kind < 16) return alias + ".j";
    if (kind == 16) return text("(%s.i IS NULL)", a);
    if (kind == 17) return text("coalesce(%s.j, %s)", a, second.literal(1).c_str());
    if (kind == 18) return text("peek('%s.i', %s.i)", relation.name.c_str(), a);
    return is_integer(second.type) ? text("%s.j %% 3", a) : alias + ".j::text";
  }

  /// A condition on a column. Without an alias for a query of one relation.
  std::string condition(const std::string& alias, const Relation& relation, size_t number, bool may_leak) {
    const Table& table = schema_.table_of(relation);
    const Column& column = table.columns[number];
    const std::string dot = alias.empty() ? "" : alias + ".";
    const std::string x = dot + column.name;
    const auto literal = [&] {
      if (number == kId) return std::to_string(below(rng_, table.rows.size() + 1));
      return column.literal(static_cast<int>(below(rng_, static_cast<uint64_t>(column.values))));
    };
    if (may_leak && chance(rng_, 0.25) && (number == kItem || number == kSecondItem))
      return text("leak('%s.%s', %s)", relation.name.c_str(), column.name.c_str(), x.c_str());
    switch (below(rng_, 9)) {
      case 0: return x + " < " + literal();
      case 1: return x + " >= " + literal();
      case 2: return x + " <> " + literal();
      case 3: return x + " IN (" + literal() + ", " + literal() + ", " + literal() + ")";
      case 4: return x + " IS NOT NULL";
      case 5: return x + " IS DISTINCT FROM " + literal();
      case 6: return "NOT (" + x + " = " + literal() + ")";
      case 7: return x + " BETWEEN " + literal() + " AND " + literal();
      default:
        return number == kHidden || number == kId ? "(" + dot + "id % 3 = 1) IS DISTINCT FROM " + dot + "h"
                                                  : "(" + x + " > " + literal() + ") IS NOT TRUE";
    }
  }

  void bound(Query& q) {
    if (!chance(rng_, 0.3)) return;
    q.order = q.counts() ? static_cast<Order>(below(rng_, 4)) : chance(rng_, 0.5) ? Order::kItems : Order::kNone;
    if (chance(rng_, 0.8)) q.limit = number_of(rng_, {0, 1, 2, 5, 20, 100});
    if (chance(rng_, 0.3)) q.offset = number_of(rng_, {0, 1, 3, 30});
    q.with_ties = q.limit && q.order != Order::kNone && chance(rng_, 0.25);
  }

  void set_form(Query& q) {
    q.form = static_cast<Form>(1 + below(rng_, 5));
    q.generic_plan = chance(rng_, 0.5);
    if (q.form == Form::kLateral && q.limit && !q.total_order()) q.form = Form::kSubquery;
    if (q.form == Form::kCursor)
      for (size_t k = 1 + below(rng_, 4); k > 0; --k) q.fetches.push_back(number_of(rng_, {1, 2, 7, 50, 1000000}));
  }

  /// Adds a part that the node does not support.
  void spoil(Query& q) {
    switch (below(rng_, 5)) {
      case 0: q.join = one_of(rng_, {"LEFT JOIN", "RIGHT JOIN"}); break;
      case 1: q.sides[0].items.emplace_back("a.l + b.l"); break;
      case 2: q.sides[0].conditions.emplace_back("a.l + b.l > 1"); break;
      case 3:
        q.sides[1].conditions.emplace_back("EXISTS (SELECT FROM " + q.sides[0].relation + " e WHERE e.l = b.l)");
        break;
      default: q.sides[0].conditions.emplace_back("a.id >= random()");
    }
  }

  Rng& rng_;
  const Schema& schema_;
};

}  // namespace client
