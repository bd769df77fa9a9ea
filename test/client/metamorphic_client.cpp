// Metamorphic checks over random schemas (random_schema.h) and queries (random_query.h). The correct answers are
// not known, but it is known how answers to related queries must agree. Each relation is a row of kRelations:
//
//   node on and off       the plan node and the plain plan return the same rows; under LIMIT, the same number of
//                         rows, in the requested order
//   ternary partitioning  Q with p, with NOT p and with p IS NULL together return the rows of Q
//                         (Rigger and Su, OOPSLA 2020)
//   no optimisation       the number of join rows that satisfy p is the same whether p is a condition, an item, or
//                         a value computed for each row (Rigger and Su, ESEC/FSE 2020)
//   table functions       return the rows that plain SQL returns without the node
//   other settings        threads, method, memory and parallel plans do not change an answer
//   row security          by node, plain plan and functions the role sees the rows that a superuser finds in
//                         tables that hold only the rows of the role
//   hidden rows           no function in a query of the role, however cheap, gets a value that only hidden rows have
//
// usage: metamorphic_client [--rounds N | --seconds N] [--first N] [--scripts FOLDER]
//
// A round is a schema with kCases queries. It depends only on the seed (BATMAP_TEST_SEED) and on its number, so
// --first repeats a round that failed. A failure is reduced as long as it remains, and printed as a psql script,
// which is also written to FOLDER (build/check). Before the rounds, each relation gets an answer with one broken
// row and must report it.
#include <fstream>
#include <functional>

#include "random_query.h"

using namespace client;

namespace {

const int kRounds = full_grid() ? 8 : 5;
constexpr int kCases = 24;
constexpr double kReduceMs = 40000;
constexpr int kMaxFailures = 5;  // the program ends after this many
constexpr int kSelfChecks = 4;   // deliberately broken cases for each relation and kind

enum class Check { kNode, kPartition, kNoOptimisation, kFunction, kSettings, kRowSecurity, kHiddenRows };

struct CheckName {
  Check check;
  const char* name;
  int weight;  // how often it is drawn
};

// Every statement of the role is checked for hidden rows.
constexpr CheckName kChecks[] = {
    {Check::kNode, "node on and off", 9},           {Check::kPartition, "ternary partitioning", 5},
    {Check::kNoOptimisation, "no optimisation", 3}, {Check::kFunction, "table functions", 4},
    {Check::kSettings, "other settings", 3},        {Check::kRowSecurity, "row security", 5},
    {Check::kHiddenRows, "hidden rows", 0}};

struct Case {
  Check check = Check::kNode;
  bool as_role = false;
  bool calls = false;  // for table functions, if the relation is for both
  Query query;
  Predicate predicate;
  std::string having_predicate;  // for ternary partitioning over the count; replaces `predicate`
  Call call;
  std::vector<std::string> settings;
};

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

struct Answer {
  Rows rows;
  std::string sqlstate;
  std::string message;

  bool good() const { return sqlstate.empty(); }
};

// How an answer is deliberately broken.
enum class Fault { kNone, kLostRow, kTwice, kWrongNumber };

// The settings for a query.
struct Setting {
  bool node = false;
  bool as_role = false;
  bool truth = false;  // over the tables that hold only rows that the role may see
  std::vector<std::string> more = {};
};

// ---- asking

class Asker {
 public:
  Asker() { connect(); }

  void connect() {
    const auto start = Clock::now();
    session_.reset();
    while (session_ == nullptr) {
      try {
        session_ = std::make_unique<Session>();
      } catch (const std::exception&) {  // the server may be restarting after a crash
        if (ms_since(start) > 60000) throw;
        sleep_ms(200);
      }
    }
    PQsetNoticeProcessor(
        session_->raw(), [](void* self, const char* line) { static_cast<Asker*>(self)->hear(line); }, this);
    session_->must("LOAD 'batmap'");
  }

  void make(const Schema& schema) {
    if (!session_->alive()) connect();
    session_->must("RESET ROLE");
    session_->reset();
    session_->must(joined(schema.script(), ";"));
    hidden_.clear();
    for (const Relation& relation : schema.relations) {
      if (!relation.guarded) continue;
      for (const char* column : {"i", "j"}) {
        const Result values =
            session_->must(text("SELECT %s::text FROM meta.%s EXCEPT SELECT %s::text FROM meta_truth.%s", column,
                                schema.table_of(relation).name.c_str(), column, relation.name.c_str()));
        for (int k = 0; k < values.rows(); ++k)
          hidden_.insert(relation.name + "." + column + "=" + (values.null(k, 0) ? "<NULL>" : values.value(k, 0)));
      }
    }
  }

  void clean() {
    session_->must("RESET ROLE");
    session_->reset();
    session_->must(text("DROP SCHEMA IF EXISTS meta, meta_truth CASCADE; DROP ROLE IF EXISTS %s", kReader));
  }

  /// The rows of a statement.
  Answer ask(const std::string& sql, const Setting& setting) {
    begin(setting);
    return finished(one(sql));
  }

  /// The rows of a query, in its form.
  Answer ask(const Query& query, const Setting& setting) {
    begin(setting);
    if (query.form == Form::kPrepared) {
      one(text("SET plan_cache_mode = %s", query.generic_plan ? "force_generic_plan" : "force_custom_plan"));
      const auto [prepare, execute] = query.prepared();
      Answer answer = one(prepare);
      if (answer.good()) {
        see_plan(execute, setting);
        answer = one(execute);
      }
      session_->must("DEALLOCATE ALL");
      log_.emplace_back("DEALLOCATE ALL");
      return finished(std::move(answer));
    }
    see_plan(query.text_of(), setting);
    if (query.form != Form::kCursor) return finished(one(query.text_of()));
    one("BEGIN");
    Answer answer = one("DECLARE c CURSOR FOR " + query.text_of());
    for (const int rows : query.fetches) {
      if (!answer.good()) break;
      Answer part = one(text("FETCH %d FROM c", rows));
      answer.rows.insert(answer.rows.end(), part.rows.begin(), part.rows.end());
      answer.sqlstate = part.sqlstate;
      answer.message = part.message;
    }
    one("ROLLBACK");
    return finished(std::move(answer));
  }

  /// Begins a case: forgets what functions have reported.
  void begin_case(Fault fault) {
    log_.clear();
    seen_.clear();
    fault_ = fault;
    had_rows_ = has_broken_ = false;
    plans_ = 0;
    with_node_ = 0;
  }

  int plans() const { return plans_; }
  int with_node() const { return with_node_; }
  /// Are there values of a column that only hidden rows have?
  bool hides(const std::string& column) const {
    const auto at = hidden_.lower_bound(column + "=");
    return at != hidden_.end() && at->starts_with(column + "=");
  }
  bool had_rows() const { return had_rows_; }  // any answer of the case
  bool has_broken() const { return has_broken_; }
  bool alive() const { return session_->alive(); }
  const std::vector<std::string>& log() const { return log_; }
  const std::string& seen() const { return seen_; }  // a hidden value; or nothing

  int64_t statements = 0;
  int64_t notices = 0;

 private:
  void hear(const std::string& line) {
    const size_t at = line.find("saw ");
    if (at == std::string::npos) return;
    ++notices;
    const std::string what = line.substr(at + 4, line.find_last_not_of('\n') + 1 - (at + 4));
    if (listens_ && hidden_.contains(what)) seen_ = what;
  }

  void begin(const Setting& setting) {
    session_->exec("ROLLBACK");
    std::vector<std::string> all = {
        "RESET ROLE",
        "RESET ALL",
        setting.truth ? "SET search_path = meta_truth, meta, public" : "SET search_path = meta, public",
        "SET statement_timeout = '60s'",
        "SET jit = off",
        "SET meta.shown = 'false'",
        "SET min_parallel_table_scan_size = 0",
        "SET parallel_setup_cost = 0",
        "SET parallel_tuple_cost = 0"};
    all.push_back(setting.node ? "SET batmap.enable_join_project = on" : "SET batmap.enable_join_project = off");
    // Plain plans are made so expensive that the node is chosen wherever it can be.
    if (setting.node)
      for (const char* join : {"hashjoin", "mergejoin", "nestloop"}) all.push_back(text("SET enable_%s = off", join));
    all.insert(all.end(), setting.more.begin(), setting.more.end());
    if (setting.as_role) all.push_back(text("SET ROLE %s", kReader));
    log_.push_back(joined(all, ";\n"));
    session_->must(joined(all, ";"));
    listens_ = setting.as_role;
  }

  void see_plan(const std::string& sql, const Setting& setting) {
    if (!setting.node) return;
    const Result plan = session_->exec("EXPLAIN (COSTS OFF) " + sql);
    ++plans_;
    for (int k = 0; k < plan.rows(); ++k) {
      if (plan.value(k, 0).find("(BatmapJoinProject)") == std::string::npos) continue;
      ++with_node_;
      break;
    }
  }

  Answer one(const std::string& sql) {
    log_.push_back(sql);
    ++statements;
    const Result result = session_->exec(sql);
    Answer answer;
    if (!result.good()) {
      answer.sqlstate = result.sqlstate().empty() ? "XXXXX" : result.sqlstate();
      answer.message = session_->alive() ? result.message() : "the server closed the connection";
      return answer;
    }
    for (int row = 0; row < result.rows(); ++row) {
      Row values;
      for (int column = 0; column < result.columns(); ++column)
        values.push_back(result.null(row, column) ? "NULL" : printed(result, row, column));
      answer.rows.push_back(std::move(values));
    }
    return answer;
  }

  /// A value as text. Equal numerics may be written with more or fewer zeros.
  static std::string printed(const Result& result, int row, int column) {
    constexpr Oid kNumericOid = 1700;
    std::string value = result.value(row, column);
    if (PQftype(result.raw(), column) == kNumericOid && value.find('.') != std::string::npos) {
      value.erase(value.find_last_not_of('0') + 1);
      if (value.back() == '.') value.pop_back();
    }
    return value;
  }

  /// Breaks the first answer of a case that is to be broken and has rows.
  Answer finished(Answer answer) {
    const Fault fault = std::exchange(fault_, Fault::kNone);
    if (!answer.good() || answer.rows.empty()) return answer;
    had_rows_ = true;
    switch (fault) {
      case Fault::kNone: return answer;
      case Fault::kLostRow: answer.rows.pop_back(); break;
      case Fault::kTwice: answer.rows.push_back(answer.rows.back()); break;
      case Fault::kWrongNumber: answer.rows.back().back() += "?"; break;
    }
    has_broken_ = true;
    return answer;
  }

  std::unique_ptr<Session> session_;
  std::vector<std::string> log_;
  std::set<std::string> hidden_;  // "relation.column=value", as the functions report it
  std::string seen_;
  bool listens_ = false;
  bool had_rows_ = false;
  bool has_broken_ = false;
  Fault fault_ = Fault::kNone;
  int plans_ = 0;
  int with_node_ = 0;
};

// ---- comparing

Rows sorted(Rows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::string shown(const Row& row) { return "(" + joined(row, ", ") + ")"; }

/// Rows of one bag that the other lacks.
Rows missing(const Rows& from, const Rows& in) {
  const Rows a = sorted(from);
  const Rows b = sorted(in);
  Rows out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

/// The difference between two bags, or an empty text.
std::string difference(const Rows& one, const Rows& other) {
  const Rows more = missing(one, other);
  const Rows less = missing(other, one);
  if (more.empty() && less.empty()) return {};
  std::string out = text("%zu and %zu rows", one.size(), other.size());
  if (!more.empty()) out += "; only the first has " + shown(more.front());
  if (!less.empty()) out += "; only the second has " + shown(less.front());
  return out;
}

std::string failed(const Answer& answer, const char* what) {
  return answer.good() ? "" : std::string(what) + " fails: " + answer.sqlstate + " " + answer.message;
}

// Thrown if a query cannot be checked for a relation, because memory was short as expected.
struct NoAnswer {};

/// Adds up the last column over rows that are equal in the others.
Rows summed(const Rows& rows) {
  std::map<Row, int64_t> sums;
  for (const Row& row : rows) sums[Row(row.begin(), row.end() - 1)] += std::strtoll(row.back().c_str(), nullptr, 10);
  Rows out;
  for (const auto& [key, sum] : sums) {
    out.push_back(key);
    out.back().push_back(std::to_string(sum));
  }
  return out;
}

Rows distinct(Rows rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// ---- the relations

class Checker {
 public:
  Checker(Asker& asker, const Schema& schema) : asker_(asker), schema_(schema) {}

  /// @return what is wrong, or an empty text
  std::string check(const Case& c, Fault fault = Fault::kNone) {
    asker_.begin_case(fault);
    std::string wrong;
    try {
      wrong = relation(c);
    } catch (const NoAnswer&) {
      ++out_of_memory;
    }
    // What functions have seen is reported first: the answer may be right all the same.
    return asker_.seen().empty() ? wrong : "a function was called with " + asker_.seen() + ", which only hidden rows have";
  }

  int out_of_memory = 0;
  std::string question_error;  // the error that all plans of a query give, or empty

 private:
  std::string relation(const Case& c) {
    switch (c.check) {
      case Check::kNode: return node_on_and_off(c);
      case Check::kPartition: return partitioning(c);
      case Check::kNoOptimisation: return no_optimisation(c);
      case Check::kFunction: return function(c);
      case Check::kSettings: return other_settings(c);
      case Check::kRowSecurity:
      case Check::kHiddenRows: return row_security(c);
    }
    return {};
  }

  /// Under a small memory limit a run may fail this way.
  template <class Question>
  Answer ask(const Question& question, const Setting& setting) {
    Answer answer = asker_.ask(question, setting);
    const auto is_limit = [](const std::string& line) { return line.find("memory_limit") != std::string::npos; };
    if (answer.sqlstate == "53200" && std::any_of(setting.more.begin(), setting.more.end(), is_limit)) throw NoAnswer();
    return answer;
  }

  bool is_error_of_question(const Answer& answer) {
    if (answer.sqlstate.starts_with("XX")) return false;
    question_error = answer.sqlstate + " " + answer.message;
    return true;
  }

  std::string compare(const Query& query, const Setting& one, const Setting& other) {
    const Answer first = ask(query, one);
    const Answer second = ask(query, other);
    // An error belongs to the query if both plans give it.
    if (!first.good() && first.sqlstate == second.sqlstate && is_error_of_question(first)) return {};
    if (!first.good()) return failed(first, "the first");
    if (!second.good()) return failed(second, "the second");
    const bool is_part = (query.limit || query.offset || query.form == Form::kCursor) && !query.total_order();
    if (!is_part) return difference(first.rows, second.rows);
    // Any rows may be within the limit unless the order decides.
    if (first.rows.size() != second.rows.size()) return difference(first.rows, second.rows);
    if (query.order == Order::kCount &&
        (query.form == Form::kDirect || query.form == Form::kPrepared || query.form == Form::kCursor))
      for (size_t k = 0; k < first.rows.size(); ++k)
        if (first.rows[k].back() != second.rows[k].back())
          return text("row %zu is %s, and %s", k + 1, shown(first.rows[k]).c_str(), shown(second.rows[k]).c_str());
    Query whole = query;
    whole.limit = whole.offset = std::nullopt;
    whole.with_ties = false;
    whole.order = Order::kNone;
    whole.form = Form::kDirect;
    const Answer all = ask(whole, other);
    if (!all.good()) return failed(all, "the second without a limit");
    const Rows strange = missing(first.rows, all.rows);
    return strange.empty() ? "" : "a row that is none without the limit: " + shown(strange.front());
  }

  std::string node_on_and_off(const Case& c) {
    return compare(c.query, {true, c.as_role, false, c.settings}, {false, c.as_role, false});
  }

  std::string partitioning(const Case& c) {
    Query whole = c.query;
    const Setting setting{true, c.as_role, false, c.settings};
    const bool by_item = c.predicate.scope == Predicate::Scope::kItem;
    const bool of_groups = !c.having_predicate.empty() && whole.asks != Asks::kDistinct;
    // Some queries cannot be put together from parts: a part of a count says nothing about the whole.
    if (!of_groups && !by_item) {
      whole.threshold = std::nullopt;
      whole.having.clear();
      if (whole.counts() && !whole.counts_rows() && c.predicate.scope != Predicate::Scope::kKey) whole.count = "count(*)";
    }
    const Answer all = ask(whole, setting);
    Rows parts;
    const std::string& p = of_groups ? c.having_predicate : c.predicate.text;
    for (const std::string& part : {"(" + p + ")", "NOT (" + p + ")", "(" + p + ") IS NULL"}) {
      Query query = whole;
      (of_groups ? query.having : query.sides[c.predicate.side].conditions).push_back(part);
      const Answer answer = ask(query, setting);
      if (all.good() != answer.good()) return all.good() ? failed(answer, "a part") : failed(all, "the whole");
      parts.insert(parts.end(), answer.rows.begin(), answer.rows.end());
    }
    if (!all.good()) return is_error_of_question(all) ? "" : failed(all, "the whole");
    if (!of_groups && !by_item) parts = whole.counts() ? summed(parts) : distinct(std::move(parts));
    return difference(all.rows, parts);
  }

  std::string no_optimisation(const Case& c) {
    Query query = c.query;
    query.threshold = std::nullopt;
    query.having.clear();
    query.asks = Asks::kCounts;
    query.count = "count(*)";
    const auto plain = [](int value) { return std::to_string(value); };
    const std::string p = "((" + c.predicate.text + ") IS TRUE)";

    Query filtered = query;
    filtered.sides[c.predicate.side].conditions.push_back(c.predicate.text);
    Query as_item = query;
    as_item.sides[c.predicate.side].items = {p};
    const std::string flag = text("x%zu", c.predicate.side == 0 ? 1 : query.sides[0].items.size() + 1);
    const Setting node{true, c.as_role, false, c.settings};
    std::string computed =
        query.with() + "SELECT coalesce(sum(CASE WHEN " + p + " THEN 1 ELSE 0 END), 0)" + query.from() + query.where();

    const Answer first = ask("SELECT coalesce(sum(n), 0) FROM (" + filtered.core(plain) + ") q", node);
    const Answer second = ask("SELECT coalesce(sum(n), 0) FROM (" + as_item.core(plain) + ") q WHERE " + flag, node);
    const Answer third = ask(computed, {false, c.as_role, false});
    if (!first.good() && first.sqlstate == third.sqlstate && is_error_of_question(first)) return {};
    if (!first.good()) return failed(first, "p in WHERE");
    if (!second.good()) return failed(second, "p as an item");
    if (!third.good()) return failed(third, "p computed");
    const std::string wrong = difference(first.rows, third.rows);
    return wrong.empty() ? difference(second.rows, third.rows) : wrong;
  }

  // ---- table functions

  struct Plain {
    std::string function;
    std::string sql;
    bool ordered = false;
  };

  const Column& item_of(const Call& call, size_t side) const {
    return schema_.table_of(schema_.relation(call.relations[side])).columns[kItem];
  }

  static std::string quoted(const std::string& sql) {
    std::string out = "'";
    for (const char c : sql) out += c == '\'' ? std::string("''") : std::string(1, c);
    return out + "'";
  }

  static std::string source(const Call& call, size_t side) {
    return " FROM " + call.relations[side] + (call.conditions[side].empty() ? "" : " WHERE " + call.conditions[side]);
  }

  /// The number of row triples in a join of three relations.
  double triples(const Call& call) const {
    std::map<int, double> rows_of_key;
    for (const NumberRow& row : schema_.table_of(schema_.relation(call.relations[0])).rows) ++rows_of_key[row[kKey]];
    double sum = 0;
    for (const auto& [key, rows] : rows_of_key) sum += key < 0 ? 0 : rows * rows * rows;
    return sum;
  }

  Plain plain_of(const Call& call) const {
    using Function = Call::Function;
    const Column& item = item_of(call, 0);
    const bool of = !is_integer(item.type);
    const bool lists = call.function == Function::kItemsets || call.function == Function::kRules;
    // Numerics in arrays are printed as they are.
    const std::string x = lists && item.type == ColumnType::kNumeric ? "trim_scale(i)" : "i";
    const std::string type = std::string("NULL::") + type_name(item.type) + ", ";
    std::string arguments = text(", min_count => %d", call.min_count);
    if (call.top_k) arguments += text(", top_k => %d", *call.top_k);
    const int m = call.min_count;
    const int best = call.top_k.value_or(0);
    const std::string limit = call.top_k ? text(" LIMIT %d", best) : "";
    Plain out;
    out.ordered = call.top_k.has_value();

    if (call.function == Function::kJoinProject) {
      const std::string key = is_integer(schema_.tables[0].columns[kKey].type) ? "k::int8" : "k";
      if (!call.method.empty()) arguments += ", method => '" + call.method + "'";
      const bool right_of = !is_integer(item_of(call, 1).type);
      const std::string types = of || right_of ? type + "NULL::" + type_name(item_of(call, 1).type) + ", " : "";
      out.function = text("SELECT * FROM batmap_join_project%s(%s%s, %s%s)", types.empty() ? "" : "_as", types.c_str(),
                          quoted("SELECT i, " + key + source(call, 0)).c_str(),
                          quoted("SELECT " + key + ", i" + source(call, 1)).c_str(), arguments.c_str());
      out.sql = text(
          "SELECT a.i, b.i, count(DISTINCT a.k) FROM (SELECT *%s) a JOIN (SELECT *%s) b ON a.k = b.k"
          " WHERE a.i IS NOT NULL AND b.i IS NOT NULL GROUP BY 1, 2 HAVING count(DISTINCT a.k) >= %d"
          " ORDER BY 3 DESC, 1, 2%s",
          source(call, 0).c_str(), source(call, 1).c_str(), m, limit.c_str());
      return out;
    }
    const std::string rows = quoted("SELECT k, " + x + source(call, 0));
    const std::string sets = text(
        "WITH d AS MATERIALIZED (SELECT DISTINCT k, %s AS i FROM (SELECT *%s) q WHERE k IS NOT NULL AND i IS NOT NULL),"
        " s AS MATERIALIZED (SELECT i, count(*) AS n FROM d GROUP BY i),"
        " p AS MATERIALIZED (SELECT a.i AS x, b.i AS y, count(*) AS n FROM d a JOIN d b ON a.k = b.k AND a.i < b.i"
        " GROUP BY 1, 2 HAVING count(*) >= %d), total AS MATERIALIZED (SELECT count(DISTINCT k) AS n FROM d) ",
        x.c_str(), source(call, 0).c_str(), m);
    if (call.function == Function::kPairs) {
      if (!call.method.empty()) arguments += ", method => '" + call.method + "'";
      out.function = text("SELECT item_a, item_b, support_count, count_a, count_b, total FROM batmap_pairs%s(%s%s%s)",
                          of ? "_as" : "", of ? type.c_str() : "", rows.c_str(), arguments.c_str());
      out.sql = sets +
                "SELECT x, y, p.n, a.n, b.n, total.n FROM p JOIN s a ON a.i = x JOIN s b ON b.i = y CROSS JOIN total"
                " ORDER BY 3 DESC, 1, 2" +
                limit;
    } else if (call.function == Function::kItemsets) {
      const int length = triples(call) > 2e6 ? std::min(call.max_length, 2) : call.max_length;
      if (!call.algorithm.empty()) arguments += ", algorithm => '" + call.algorithm + "'";
      out.function = text("SELECT itemset, length, support_count, total FROM batmap_itemsets%s(%s%s%s, max_length => %d)",
                          of ? "_as" : "", of ? type.c_str() : "", rows.c_str(), arguments.c_str(), length);
      out.sql = sets + text("SELECT ARRAY[i], 1, s.n, total.n FROM s, total WHERE s.n >= %d", m);
      if (length >= 2) out.sql += " UNION ALL SELECT ARRAY[x, y], 2, p.n, total.n FROM p, total";
      if (length >= 3)
        out.sql += text(
            " UNION ALL (SELECT ARRAY[a.i, b.i, c.i], 3, count(*), total.n FROM d a JOIN d b ON a.k = b.k AND"
            " a.i < b.i JOIN d c ON b.k = c.k AND b.i < c.i CROSS JOIN total GROUP BY a.i, b.i, c.i, total.n"
            " HAVING count(*) >= %d)",
            m);
      out.sql += " ORDER BY 3 DESC, 2, 1" + limit;
    } else {
      out.ordered = false;
      out.function = text(
          "SELECT lhs, rhs, support_count, lhs_count, rhs_count, total FROM batmap_rules%s(%s%s,"
          " min_count => %d, min_confidence => %d / 8.0, max_lhs => 1)",
          of ? "_as" : "", of ? type.c_str() : "", rows.c_str(), m, call.confidence_eighths);
      out.sql =
          sets + text(
                     ", r AS (SELECT x, y, n FROM p UNION ALL SELECT y, x, n FROM p) SELECT ARRAY[x], ARRAY[y], r.n, a.n,"
                     " b.n, total.n FROM r JOIN s a ON a.i = x JOIN s b ON b.i = y CROSS JOIN total"
                     " WHERE r.n * 8 >= %d * a.n",
                     call.confidence_eighths);
    }
    return out;
  }

  std::string compare(const Answer& one, const Answer& other, bool ordered) {
    if (!one.good()) return failed(one, "the first");
    if (!other.good()) return failed(other, "the second");
    const std::string wrong = difference(one.rows, other.rows);
    return wrong.empty() && ordered && one.rows != other.rows ? "the same rows in another order" : wrong;
  }

  std::string function(const Case& c) {
    const Plain plain = plain_of(c.call);
    const Answer first = ask(plain.function, {true, c.as_role, false, c.settings});
    return compare(first, ask(plain.sql, {false, c.as_role, false}), plain.ordered);
  }

  std::string other_settings(const Case& c) {
    if (!c.calls) return compare(c.query, {true, c.as_role, false, c.settings}, {true, c.as_role, false});
    Call usual = c.call;
    usual.method.clear();
    usual.algorithm.clear();
    const Answer first = ask(plain_of(c.call).function, {false, c.as_role, false, c.settings});
    // All methods return rows in the same order; the algorithms of the papers have another one.
    return compare(first, ask(plain_of(usual).function, {false, c.as_role, false}), c.call.algorithm.empty());
  }

  std::string row_security(const Case& c) {
    const Setting truth{false, false, true};
    if (c.calls) {
      const Plain plain = plain_of(c.call);
      const Answer seen = ask(plain.function, {false, true, false, c.settings});
      const std::string wrong = compare(seen, ask(plain.sql, truth), plain.ordered);
      return wrong.empty() ? compare(ask(plain.sql, {false, true, false}), seen, plain.ordered) : wrong;
    }
    const std::string wrong = compare(c.query, {true, true, false, c.settings}, truth);
    return wrong.empty() ? compare(c.query, {false, true, false}, truth) : wrong;
  }

  Asker& asker_;
  const Schema& schema_;
};

// ---- cases

/// The query for ternary partitioning and for no optimisation: without limit and without
/// a surrounding statement.
Query bare(Query query) {
  query.limit = query.offset = std::nullopt;
  query.with_ties = false;
  query.order = Order::kNone;
  query.form = Form::kDirect;
  return query;
}

Case make_case(Rng& rng, const Schema& schema, Check check) {
  QueryMaker maker(rng, schema);
  Case c;
  c.check = check;
  c.as_role = chance(rng, 0.5) || check == Check::kRowSecurity || check == Check::kHiddenRows;
  c.calls = check == Check::kFunction || chance(rng, 0.3);
  c.query = maker.query();
  if (check == Check::kPartition || check == Check::kNoOptimisation) {
    c.calls = false;
    c.query = bare(c.query);
  }
  c.predicate = maker.predicate(c.query);
  if (chance(rng, 0.25))
    c.having_predicate = c.query.count + one_of(rng, {" % 3 = 1", " > nullif(count(*), 2)", " BETWEEN 2 AND 9"});
  c.call = maker.call();
  c.settings = maker.settings();
  return c;
}

Check draw_check(Rng& rng) {
  int all = 0;
  for (const CheckName& c : kChecks) all += c.weight;
  int at = static_cast<int>(below(rng, static_cast<uint64_t>(all)));
  for (const CheckName& c : kChecks) {
    at -= c.weight;
    if (at < 0) return c.check;
  }
  return Check::kNode;
}

const char* name_of(Check check) { return kChecks[static_cast<size_t>(check)].name; }

// ---- making a failure smaller

class Reducer {
 public:
  Reducer(Asker& asker, Schema schema, Case failing, const std::string& wrong, Fault fault = Fault::kNone)
      : asker_(asker), schema_(std::move(schema)), case_(std::move(failing)), kind_(kind_of(wrong)), fault_(fault) {}

  void reduce() {
    drop_relations();
    for (size_t k = 0; k < schema_.tables.size(); ++k) {
      try_schema([k](Schema& s) { s.tables[k].partitions.clear(); });
      try_schema([k](Schema& s) { s.tables[k].constraint.clear(); });
      try_schema([k](Schema& s) {
        for (Column& column : s.tables[k].columns) column.not_null = false;
      });
    }
    simplify_case();
    drop_relations();
    for (size_t k = 0; k < schema_.tables.size(); ++k) reduce_rows(k);
    simplify_case();
    wrong_ = failure(schema_, case_);
  }

  size_t rows() const { return schema_.rows(); }

  /// psql runs it.
  std::string script(const std::string& title) const {
    std::string out = "-- " + title + "\n-- " + wrong_ + "\nLOAD 'batmap';\n";
    for (const std::string& statement : schema_.script()) out += statement + ";\n";
    out += "\n";
    for (const std::string& statement : asker_.log()) out += statement + ";\n";
    return out + "RESET ROLE;\n";
  }

  const std::string& wrong() const { return wrong_; }

 private:
  std::string failure(const Schema& schema, const Case& c) {
    try {
      if (&schema != &schema_ || !is_made_) asker_.make(schema);
      is_made_ = &schema == &schema_;
      const std::string wrong = Checker(asker_, schema).check(c, fault_);
      return kind_of(wrong) == kind_ ? wrong : "";
    } catch (const std::exception&) {  // a schema that is not valid: a key repeats
      if (!asker_.alive()) asker_.connect();
      return {};
    }
  }

  /// A failure must keep its kind: an error with the same code, or a wrong answer.
  static std::string kind_of(const std::string& wrong) {
    constexpr char kFails[] = " fails: ";
    const size_t at = wrong.find(kFails);
    return at == std::string::npos ? "" : wrong.substr(at + std::size(kFails) - 1, 5);
  }

  bool has_time() const { return ms_since(start_) < kReduceMs; }

  template <class Change>
  bool try_schema(Change change) {
    if (!has_time()) return false;
    Schema smaller = schema_;
    change(smaller);
    if (failure(smaller, case_).empty()) return false;
    schema_ = std::move(smaller);
    return true;
  }

  template <class Change>
  bool try_case(Change change) {
    if (!has_time()) return false;
    Case smaller = case_;
    change(smaller);
    if (failure(schema_, smaller).empty()) return false;
    case_ = std::move(smaller);
    return true;
  }

  void drop_relations() {
    for (size_t k = schema_.relations.size(); k-- > 0;)
      try_schema([k](Schema& s) { s.relations.erase(s.relations.begin() + static_cast<std::ptrdiff_t>(k)); });
  }

  void reduce_rows(size_t table) {
    for (size_t chunk = (schema_.tables[table].rows.size() + 1) / 2; chunk > 0; chunk /= 2)
      for (size_t from = 0; from < schema_.tables[table].rows.size() && has_time();) {
        const bool gone = try_schema([&](Schema& s) {
          auto& rows = s.tables[table].rows;
          rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(from),
                     rows.begin() + static_cast<std::ptrdiff_t>(std::min(from + chunk, rows.size())));
        });
        if (!gone) from += chunk;
      }
  }

  void simplify_case() {
    for (size_t k = case_.settings.size(); k-- > 0;)
      try_case([k](Case& c) { c.settings.erase(c.settings.begin() + static_cast<std::ptrdiff_t>(k)); });
    try_case([](Case& c) { c.as_role = false; });
    try_case([](Case& c) { c.having_predicate.clear(); });
    try_case([](Case& c) { c.query = bare(c.query); });
    try_case([](Case& c) { c.query.form = Form::kDirect; });
    try_case([](Case& c) { c.query.offset = std::nullopt; });
    try_case([](Case& c) { c.query.with_ties = false; });
    try_case([](Case& c) { c.query.threshold = std::nullopt; });
    try_case([](Case& c) { c.query.having.clear(); });
    try_case([](Case& c) { c.query.on.clear(); });
    try_case([](Case& c) { c.query.count = "count(*)"; });
    try_case([](Case& c) { c.query.keys.resize(1); });
    for (size_t side = 0; side < 2; ++side) {
      try_case([=](Case& c) { c.query.sides[side].from = From::kPlain; });
      try_case([=](Case& c) { c.query.sides[side].conditions.clear(); });
      try_case([=](Case& c) { c.query.sides[side].min_id = std::nullopt; });
      try_case([=](Case& c) { c.query.sides[side].items.resize(1); });
      try_case([=](Case& c) { c.call.conditions[side].clear(); });
    }
    try_case([](Case& c) { c.call.top_k = std::nullopt; });
    try_case([](Case& c) { c.call.method.clear(); });
    try_case([](Case& c) { c.call.algorithm.clear(); });
    try_case([](Case& c) { c.call.min_count = 1; });
    try_case([](Case& c) { c.call.max_length = 1; });
  }

  Asker& asker_;
  Schema schema_;
  Case case_;
  std::string kind_;
  Fault fault_;
  std::string wrong_;
  bool is_made_ = false;  // schema schema_ exists in the server
  Clock::time_point start_ = Clock::now();
};

// ---- the program

struct Options {
  int rounds = kRounds;
  double seconds = 0;  // 0: run all rounds
  uint64_t first = 0;
  std::string scripts = "build/check";
};

Options options_of(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; k += 2) {
    const std::string name = argv[k];
    if (k + 1 == argc) throw std::runtime_error("no value for " + name);
    const char* const value = argv[k + 1];
    if (name == "--rounds")
      options.rounds = std::atoi(value);
    else if (name == "--seconds")
      options.seconds = std::atof(value);
    else if (name == "--first")
      options.first = std::strtoull(value, nullptr, 10);
    else if (name == "--scripts")
      options.scripts = value;
    else
      throw std::runtime_error("unknown option " + name);
  }
  return options;
}

Rng rng_of(uint64_t seed, uint64_t round) { return Rng(seed + round * 0x9e3779b97f4a7c15u); }

// Breaks answers deliberately: each relation must report that.
void check_the_checks(Tap& tap, Asker& asker, uint64_t seed) {
  for (const CheckName& check : kChecks) {
    std::vector<std::pair<Fault, const char*>> faults = {{Fault::kLostRow, "a row that is lost"},
                                                         {Fault::kTwice, "a row that comes twice"},
                                                         {Fault::kWrongNumber, "a wrong number"}};
    if (check.check == Check::kNoOptimisation) faults = {{Fault::kWrongNumber, "a wrong number"}};
    if (check.check == Check::kHiddenRows) faults.clear();  // see check_the_listening()
    for (const auto& [fault, what] : faults) {
      int broken = 0;
      int found = 0;
      for (uint64_t round = 0; round < 20 && broken < kSelfChecks; ++round) {
        Rng rng = rng_of(~seed, round);
        const Schema schema = SchemaMaker(rng).make();
        asker.make(schema);
        for (int k = 0; k < kSelfChecks; ++k) {
          const bool wrong = !Checker(asker, schema).check(make_case(rng, schema, check.check), fault).empty();
          if (!asker.has_broken()) continue;
          ++broken;
          found += wrong ? 1 : 0;
        }
      }
      tap.ok(found == broken && found > 0, text("%s: %d answers with %s, %d found", check.name, broken, what, found));
    }
  }
}

// A view without a barrier may show hidden rows to a cheap function. This check expects that it does.
void check_the_listening(Tap& tap, Asker& asker, uint64_t seed) {
  int views = 0;
  int found = 0;
  for (uint64_t round = 0; round < 40 && views < kSelfChecks; ++round) {
    Rng rng = rng_of(~seed, round);
    Schema schema = SchemaMaker(rng).make();
    for (Relation& relation : schema.relations) {
      if (relation.name[0] != 'v') continue;
      relation.guarded = true;
      asker.make(schema);
      if (!asker.hides(relation.name + ".i")) continue;
      Case c;
      c.check = Check::kHiddenRows;
      for (size_t side = 0; side < 2; ++side) {
        QuerySide& s = c.query.sides[side];
        s.alias = side == 0 ? "a" : "b";
        s.relation = relation.name;
        s.items = {s.alias + ".i"};
        s.conditions = {text("leak('%s.i', %s.i)", s.relation.c_str(), s.alias.c_str())};
      }
      c.query.keys = {{"k", "k"}};
      ++views;
      found += Checker(asker, schema).check(c).empty() ? 0 : 1;
    }
  }
  tap.ok(found == views && found > 0,
         text("hidden rows: %d views without a barrier, %d found to show hidden rows", views, found));
}

// A large failure must be reduced to a small one.
void check_the_reducer(Tap& tap, Asker& asker, uint64_t seed) {
  for (uint64_t round = 0;; ++round) {
    Rng rng = rng_of(~seed, round);
    const Schema schema = SchemaMaker(rng).make();
    asker.make(schema);
    const Case c = make_case(rng, schema, Check::kNode);
    const std::string wrong = Checker(asker, schema).check(c, Fault::kLostRow);
    if (schema.rows() < 100 || wrong.empty()) continue;
    Reducer reducer(asker, schema, c, wrong, Fault::kLostRow);
    reducer.reduce();
    const std::string script = reducer.script(name_of(c.check));
    tap.ok(reducer.rows() <= 4 && !reducer.wrong().empty() && script.find("INSERT INTO") != std::string::npos,
           text("%zu rows are reduced to %zu, and a script of %zu bytes", schema.rows(), reducer.rows(), script.size()));
    return;
  }
}

struct Count {
  int cases = 0;
  int failures = 0;
  double ms = 0;
};

void report(Tap& tap, Asker& asker, const Schema& schema, const Case& c, const std::string& wrong, const Options& options,
            uint64_t seed, uint64_t round) {
  const std::string title = text("%s: seed %llu, round %llu", name_of(c.check), static_cast<unsigned long long>(seed),
                                 static_cast<unsigned long long>(round));
  tap.note(title + ": " + wrong);
  Reducer reducer(asker, schema, c, wrong);
  reducer.reduce();
  if (reducer.wrong().empty()) tap.note("it does not fail a second time");
  const std::string script = reducer.script(title);
  std::filesystem::create_directories(options.scripts);
  std::string file = text("%s/metamorphic-%llu-%llu.sql", options.scripts.c_str(), static_cast<unsigned long long>(seed),
                          static_cast<unsigned long long>(round));
  std::ofstream(file) << script;
  tap.note("the case, made smaller, is in " + file + ":");
  size_t from = 0;
  for (size_t to; (to = script.find('\n', from)) != std::string::npos; from = to + 1)
    tap.note(script.substr(from, to - from));
}

void run(Tap& tap, const Options& options) {
  Rng base = seeded(tap, 20261122);
  const uint64_t seed = base();
  Asker asker;
  check_the_checks(tap, asker, seed);
  check_the_listening(tap, asker, seed);
  check_the_reducer(tap, asker, seed);

  Count counts[std::size(kChecks)];
  int plans = 0;
  int with_node = 0;
  int of_queries = 0;
  int taken = 0;
  int failures = 0;
  int out_of_memory = 0;
  int of_role = 0;
  int cases = 0;
  int with_rows = 0;
  std::map<std::string, int> question_errors;
  int64_t rows = 0;
  uint64_t round = options.first;
  const auto start = Clock::now();
  const auto goes_on = [&] {
    if (failures >= kMaxFailures) return false;
    if (options.seconds > 0) return ms_since(start) < options.seconds * 1000;
    return round < options.first + static_cast<uint64_t>(options.rounds);
  };
  for (; goes_on(); ++round) {
    Rng rng = rng_of(seed, round);
    const Schema schema = SchemaMaker(rng).make();
    rows += static_cast<int64_t>(schema.rows());
    asker.make(schema);
    for (int k = 0; k < kCases && failures < kMaxFailures; ++k) {
      const Case c = make_case(rng, schema, draw_check(rng));
      const auto before = Clock::now();
      Checker checker(asker, schema);
      const std::string wrong = checker.check(c);
      Count& count = counts[static_cast<size_t>(c.check)];
      ++count.cases;
      count.ms += ms_since(before);
      plans += asker.plans();
      with_node += asker.with_node();
      of_queries += asker.plans() > 0 ? 1 : 0;
      taken += asker.with_node() > 0 ? 1 : 0;
      out_of_memory += checker.out_of_memory;
      ++cases;
      with_rows += asker.had_rows() ? 1 : 0;
      if (!checker.question_error.empty()) ++question_errors[checker.question_error];
      of_role += c.as_role ? 1 : 0;
      if (wrong.empty()) continue;
      ++count.failures;
      ++failures;
      report(tap, asker, schema, c, wrong, options, seed, round);
      asker.make(schema);
    }
  }
  asker.clean();
  counts[static_cast<size_t>(Check::kHiddenRows)].cases = of_role;
  for (const CheckName& check : kChecks) {
    const Count& count = counts[static_cast<size_t>(check.check)];
    tap.ok(count.failures == 0 && count.cases > 0,
           text("%s: %d cases, %d fail (%.0f s)", check.name, count.cases, count.failures, count.ms / 1000));
  }
  const double share = of_queries > 0 ? 100.0 * taken / of_queries : 0;
  tap.note(text(
      "%llu schemas with %lld rows, %lld statements and %lld calls of functions that tell, %d cases out of memory, %.0f s",
      static_cast<unsigned long long>(round - options.first), static_cast<long long>(rows),
      static_cast<long long>(asker.statements), static_cast<long long>(asker.notices), out_of_memory,
      ms_since(start) / 1000));
  int errors = 0;
  for (const auto& [error, times] : question_errors) {
    tap.note(text("%d questions end with %s, whatever the plan", times, error.c_str()));
    errors += times;
  }
  tap.ok(errors * 50 <= cases, text("%d of %d questions make no sense", errors, cases));
  tap.ok(with_rows * 3 >= cases, text("%d have rows", with_rows));
  tap.ok(share >= 50,
         text("the node took %.0f %% of %d queries (%d of %d statements)", share, of_queries, with_node, plans));
}

}  // namespace

int main(int argc, char** argv) {
  return run_tests([&](Tap& tap) { run(tap, options_of(argc, argv)); });
}
