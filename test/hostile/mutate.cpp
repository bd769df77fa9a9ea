// Damaged bytes for every type and every aggregate state of the extension, and hostile arguments for each
// of its functions.
//
// The catalog tells what to call, so a new type, function, operator or aggregate is included without being
// named. A round takes valid values of one type (made by aggregates, casts and functions of the
// extension), changes their bytes, and sends them in: through the receive function, the input function,
// COPY BINARY, and casts from bytea. Accepted values are stored in a table with valid ones. Then every
// function and operator that takes the type is called with them, all aggregates, the combine functions
// with the values as states, and the indexes of the operator classes. Any role could do the same: the
// session belongs to an ordinary role.
//
// usage: mutate SECONDS SEED [ROUND]
//
// A round depends only on SEED and its number. The number is printed with a finding: `mutate 0 SEED ROUND`
// repeats one round. Findings are a lost connection, an internal error (XX000) and a statement that exceeds
// its timeout by 5 s.

#include "hostile.h"

using namespace hostile;

namespace {

constexpr int kTimeoutMs = 3000;
constexpr double kLateMs = 5000;  // after the timeout; the machine is busy, and assertions slow the server down
constexpr int kMutants = 12;      // per round

struct Function {
  std::string oid;
  std::string name;                // qualified and quoted
  std::string signature;           // printed with findings
  std::vector<std::string> types;  // of its arguments, from format_type()
  std::vector<std::string> names;
  size_t required = 0;
  bool returns_set = false;
  bool variadic = false;
};

struct Operator {
  std::string name;
  std::string left;  // empty: a prefix operator
  std::string right;
};

struct Aggregate {
  Function function;
  bool gives_array;     // the server writes an array as text without a look at a cancel
  std::string state;    // type
  std::string trans;    // qualified
  std::string combine;  // qualified; empty: none
  std::string final;
};

std::vector<std::string> split(const std::string& list, char at) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : list) {
    if (c == at) {
      out.push_back(word);
      word.clear();
    } else {
      word += c;
    }
  }
  if (!list.empty()) out.push_back(word);
  return out;
}

const std::string kMembers =
    "(SELECT objid FROM pg_depend WHERE classid = '%s'::regclass AND refclassid = 'pg_extension'::regclass AND deptype = 'e'"
    " AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'batmap'))";

std::string members(const char* catalog) { return text(kMembers.c_str(), catalog); }

class Catalog {
 public:
  explicit Catalog(Session& session) {
    const Result types = session.must(
        "SELECT t.oid, format_type(t.oid, NULL) FROM pg_type t WHERE t.typtype = 'b' AND t.typelem = 0 AND t.oid IN " +
        members("pg_type") + " ORDER BY 2");
    for (int i = 0; i < types.rows(); ++i) {
      types_.push_back(types.value(i, 1));
      oids_[types.value(i, 1)] = static_cast<Oid>(types.number(i, 0));
    }
    const std::string columns =
        "p.oid, quote_ident(n.nspname) || '.' || quote_ident(p.proname), p.oid::regprocedure::text,"
        " (SELECT string_agg(format_type(a, NULL), ';' ORDER BY i) FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY u(a, "
        "i)),"
        " array_to_string(p.proargnames, ';', ''), p.pronargs - p.pronargdefaults, p.proretset, p.provariadic <> 0, "
        "p.prokind";
    const std::string from = " FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace";
    const Result functions = session.must("SELECT " + columns + from + " WHERE p.prokind = 'f' AND p.oid IN " +
                                          members("pg_proc") + " ORDER BY 3");
    for (int i = 0; i < functions.rows(); ++i) {
      Function f = function_of(functions, i);
      const bool callable = std::find(f.types.begin(), f.types.end(), "internal") == f.types.end();
      if (callable)
        functions_.push_back(std::move(f));
      else
        ++not_callable_;
    }
    const Result aggregates = session.must(
        "SELECT " + columns +
        ", format_type(a.aggtranstype, NULL), a.aggtransfn::regproc, nullif(a.aggcombinefn, 0)::regproc,"
        " nullif(a.aggfinalfn, 0)::regproc, (SELECT typcategory = 'A' FROM pg_type t WHERE t.oid = p.prorettype)" +
        from + " JOIN pg_aggregate a ON a.aggfnoid = p.oid WHERE p.oid IN " + members("pg_proc") + " ORDER BY 3");
    for (int i = 0; i < aggregates.rows(); ++i) {
      const auto at = [&](int column) { return aggregates.null(i, column) ? std::string() : aggregates.value(i, column); };
      aggregates_.push_back({function_of(aggregates, i), at(13) == "t", at(9), at(10), at(11), at(12)});
    }
    const Result operators = session.must(
        "SELECT 'OPERATOR(' || quote_ident(n.nspname) || '.' || o.oprname || ')', CASE WHEN oprleft <> 0 THEN "
        "format_type(oprleft, NULL) END,"
        " format_type(oprright, NULL) FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace WHERE o.oid IN " +
        members("pg_operator") + " ORDER BY 1, 2, 3");
    for (int i = 0; i < operators.rows(); ++i)
      operators_.push_back(
          {operators.value(i, 0), operators.null(i, 1) ? "" : operators.value(i, 1), operators.value(i, 2)});
    const Result classes = session.must(
        "SELECT m.amname, format_type(c.opcintype, NULL) FROM pg_opclass c JOIN pg_am m ON m.oid = c.opcmethod WHERE c.oid "
        "IN " +
        members("pg_opclass") + " ORDER BY 1, 2");
    for (int i = 0; i < classes.rows(); ++i) indexes_[classes.value(i, 1)].push_back(classes.value(i, 0));
    const Result casts =
        session.must("SELECT format_type(casttarget, NULL) FROM pg_cast WHERE castsource = 'bytea'::regtype AND oid IN " +
                     members("pg_cast"));
    for (int i = 0; i < casts.rows(); ++i) from_bytea_.insert(casts.value(i, 0));
    // A state may be a type of the server; such types are attacked, too.
    for (const Aggregate& a : aggregates_)
      if (std::find(types_.begin(), types_.end(), a.state) == types_.end() && a.state != "internal") {
        types_.push_back(a.state);
        oids_[a.state] = static_cast<Oid>(session.number("SELECT " + quoted(a.state) + "::regtype::oid::int8"));
        foreign_.insert(a.state);
      }
  }

  const std::vector<std::string>& types() const { return types_; }
  Oid oid(const std::string& type) const { return oids_.at(type); }
  bool attacked(const std::string& type) const { return oids_.contains(type); }
  bool foreign(const std::string& type) const { return foreign_.contains(type); }
  bool from_bytea(const std::string& type) const { return from_bytea_.contains(type); }
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Operator>& operators() const { return operators_; }
  const std::vector<Aggregate>& aggregates() const { return aggregates_; }
  const std::vector<std::string>& indexes(const std::string& type) { return indexes_[type]; }
  int not_callable() const { return not_callable_; }

 private:
  static Function function_of(const Result& r, int i) {
    Function f{r.value(i, 0),
               r.value(i, 1),
               r.value(i, 2),
               split(r.value(i, 3), ';'),
               split(r.value(i, 4), ';'),
               static_cast<size_t>(r.number(i, 5)),
               r.value(i, 6) == "t",
               r.value(i, 7) == "t"};
    f.names.resize(std::max(f.names.size(), f.types.size()));
    return f;
  }

  std::vector<std::string> types_;
  std::map<std::string, Oid> oids_;
  std::set<std::string> foreign_;
  std::set<std::string> from_bytea_;
  std::vector<Function> functions_;
  std::vector<Operator> operators_;
  std::vector<Aggregate> aggregates_;
  std::map<std::string, std::vector<std::string>> indexes_;
  int not_callable_ = 0;
};

// A number that an attacker would try.
int64_t hostile_number(Rng& rng, int bits) {
  const int64_t most = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  switch (below(rng, 8)) {
    case 0: return most - static_cast<int64_t>(below(rng, 3));
    case 1: return -most - 1 + static_cast<int64_t>(below(rng, 3));
    case 2: return -static_cast<int64_t>(below(rng, 3));
    case 3:
      return std::min<int64_t>(
          most, (int64_t{1} << below(rng, static_cast<uint64_t>(bits - 1))) - static_cast<int64_t>(below(rng, 3)));
    case 4:
      return static_cast<int64_t>(rng() >>
                                  (64 - static_cast<unsigned>(bits) + 1 + below(rng, static_cast<uint64_t>(bits) - 2)));
    default: return static_cast<int64_t>(below(rng, 40));
  }
}

/// Expressions for arguments.
class Values {
 public:
  Values(Catalog& catalog, Rng& rng) : catalog_(catalog), rng_(rng) {}

  // An expression for a value of a type. For an attacked type, a row of its table.
  std::string of(const std::string& type, const std::string& parameter) {
    if (below(rng_, 16) == 0) return "NULL::" + concrete(type);
    if (catalog_.attacked(type) && !(type == "bytea" && below(rng_, 2) == 0)) return row_of(type);
    if (type.ends_with("[]") && catalog_.attacked(type.substr(0, type.size() - 2))) {
      const std::string of_element = type.substr(0, type.size() - 2);
      return "ARRAY[" + row_of(of_element) + ", " + row_of(of_element) + "]::" + type;
    }
    if (type == "smallint") return "(" + std::to_string(hostile_number(rng_, 16)) + ")::int2";
    if (type == "integer") return "(" + std::to_string(hostile_number(rng_, 32)) + ")::int4";
    if (type == "bigint") return bigint();
    if (type == "oid") return std::to_string(hostile_number(rng_, 31) & 0x7fffffff) + "::oid";
    if (type == "boolean") return below(rng_, 2) == 0 ? "true" : "false";
    if (type == "double precision") return any_of(rng_, kFloats) + "::float8";
    if (type == "interval") return any_of(rng_, kIntervals) + "::interval";
    if (type == "timestamp with time zone") return any_of(rng_, kTimes) + "::timestamptz";
    if (type == "timestamp without time zone" || type == "date") return any_of(rng_, kTimes) + "::" + type;
    if (type == "text") return words(parameter);
    if (type == "cstring") return quoted(printable()) + "::cstring";
    if (type == "cstring[]") return "ARRAY['" + std::to_string(hostile_number(rng_, 40)) + "']::cstring[]";
    if (type == "bytea") return quoted(hex(junk())) + "::bytea";
    if (parameter == "within" && below(rng_, 3) != 0) return any_of(rng_, kWindows);
    if (type == "anyelement") return any_of(rng_, kElements);
    if (type == "anyarray" || type == "anycompatiblearray") return any_of(rng_, kArrays);
    if (parameter.starts_with("gap") && below(rng_, 3) != 0)
      return (type == "interval[]" ? "ARRAY['0', '5 s']::" : "ARRAY[0, 5]::") + type;
    if (parameter.starts_with("episode") && below(rng_, 3) != 0)
      return (below(rng_, 2) == 0 ? "ARRAY[1, 2]::" : "ARRAY[ARRAY[1, 2], ARRAY[3, 1]]::") + type;
    if (type.ends_with("[]")) return array(type);
    return "NULL::" + concrete(type);
  }

  std::string call(const Function& f) {
    std::string out = f.name + "(";
    // After the first optional argument that is left out, arguments are given by name.
    bool by_name = false;
    bool first = true;
    for (size_t i = 0; i < f.types.size(); ++i) {
      if (i >= f.required && below(rng_, 3) != 0) {
        by_name = true;
        continue;
      }
      if (by_name && f.names[i].empty()) break;
      if (!first) out += ", ";
      first = false;
      if (by_name) out += identifier(f.names[i]) + " => ";
      if (f.variadic && i + 1 == f.types.size()) out += "VARIADIC ";
      out += of(f.types[i], f.names[i]);
    }
    return out + ")";
  }

  std::string junk() {
    std::string bytes;
    for (uint64_t i = below(rng_, 80); i > 0; --i) bytes += static_cast<char>(below(rng_, 3) == 0 ? rng_() : below(rng_, 4));
    return bytes;
  }

 private:
  static std::string concrete(const std::string& type) {
    return type == "anyelement" ? "text" : type == "anyarray" ? "text[]" : type;
  }

  std::string row_of(const std::string& type) {
    return "(SELECT v FROM " + identifier("m_" + type) + " WHERE id = " + std::to_string(below(rng_, kMutants + 4)) + ")";
  }

  std::string bigint() { return "(" + std::to_string(hostile_number(rng_, 63)) + ")::int8"; }

  std::string printable() {
    std::string out = any_of(rng_, kPrefixes);
    for (uint64_t i = below(rng_, 40); i > 0; --i) out += static_cast<char>(32 + below(rng_, 95));
    return out;
  }

  std::string words(const std::string& parameter) {
    if (parameter.find("query") != std::string::npos || below(rng_, 40) == 0) return quoted(any_of(rng_, kQueries));
    if (below(rng_, 6) == 0) return quoted(printable());
    return quoted(any_of(rng_, kWords));
  }

  std::string array(const std::string& type) {
    const std::string element = type.substr(0, type.size() - 2);
    if (below(rng_, 10) == 0) return "'{{1,2},{3,4}}'::" + type;
    std::string out = "ARRAY[";
    for (uint64_t i = below(rng_, 6), first = 1; i > 0; --i, first = 0) out += (first ? "" : ", ") + of(element, "");
    return out + "]::" + type;
  }

  Catalog& catalog_;
  Rng& rng_;
  inline static const std::vector<std::string> kFloats = {
      "0", "1", "-1", "0.5", "1e-300", "1e300", "'NaN'", "'Infinity'", "'-Infinity'", "4.9e-324", "100", "0.01"};
  inline static const std::vector<std::string> kIntervals = {
      "'0'",       "'1 second'", "'-1 second'", "'1 microsecond'", "'178000000 years'", "'-178000000 years'",
      "'1 month'", "'10 ms'"};
  inline static const std::vector<std::string> kTimes = {"'infinity'",     "'-infinity'",  "'4713-01-01 BC'",
                                                         "'294276-12-31'", "'2000-01-01'", "'2020-02-02 02:02:02.000001'"};
  inline static const std::vector<std::string> kElements = {"NULL::text",    "NULL::int4",   "NULL::float8",
                                                            "NULL::numeric", "NULL::int4[]", "NULL::timestamptz",
                                                            "NULL::bytea",   "NULL::bool",   "NULL::date"};
  inline static const std::vector<std::string> kWindows = {
      "0", "5", "9223372036854775807", "0.5", "'Infinity'::float8", "interval '5 s'", "interval '-1 s'"};
  inline static const std::vector<std::string> kArrays = {"ARRAY[0, 5]",
                                                          "ARRAY[3, 9]::int8[]",
                                                          "ARRAY[0.5, 2]::float8[]",
                                                          "ARRAY['0', '5 s']::interval[]",
                                                          "'{}'::int4[]",
                                                          "ARRAY[-1, 2147483647]",
                                                          "ARRAY['NaN', 'Infinity']::float8[]",
                                                          "ARRAY[[0, 5], [1, 2]]",
                                                          "ARRAY['x']",
                                                          "ARRAY[NULL, 5]::int4[]"};
  inline static const std::vector<std::string> kPrefixes = {
      "", "{", "batmap:", "{1,2,", "\\x", "batmap_relation:", "[0,", "{1}/"};
  inline static const std::vector<std::string> kWords = {"auto",
                                                         "horizontal",
                                                         "bitmap",
                                                         "merge",
                                                         "all",
                                                         "closed",
                                                         "maximal",
                                                         "generators",
                                                         "dfs",
                                                         "pbi",
                                                         "tbi",
                                                         "tracking",
                                                         "automaton",
                                                         "cpu",
                                                         "cuda",
                                                         "lift",
                                                         "confidence",
                                                         "jaccard",
                                                         "fishers_exact_test",
                                                         "chi_squared",
                                                         "leverage",
                                                         "conviction",
                                                         "support",
                                                         "",
                                                         "warning"};
  inline static const std::vector<std::string> kQueries = {
      "SELECT tid, item FROM rows",
      "SELECT tid::int8 * 3000000000, item FROM rows",
      "SELECT tid, item::text FROM rows",
      "SELECT item, tid FROM rows WHERE tid < 5",
      "SELECT 1, 2 WHERE false",
      "SELECT NULL::int4, NULL::int4",
      "SELECT tid, item, tid % 2 FROM rows",
      "SELECT id, s FROM sets",
      "SELECT tid, tid FROM rows",
      "SELECT 9223372036854775807, 9223372036854775807",
      "SELECT (-9223372036854775808)::int8, g FROM generate_series(1, 50) g",
      "SELECT now() + tid * interval '1 s', item FROM rows",
      "SELECT tid::float8 / 3, item FROM rows",
      "SELECT 1",
      "SELECT id, v FROM m_batmap",
      "DELETE FROM rows",
      "SELECT tid, item FROM nothing",
      "SELECT a, b FROM (VALUES ('NaN'::float8, 1), ('Infinity', 2)) v(a, b)",
      "SELECT tid, ARRAY[item] FROM rows"};
};

class Mutator {
 public:
  Mutator(Catalog& catalog, uint64_t seed) : catalog_(catalog), seed_(seed) {}

  int run(double seconds, int64_t only_round) {
    harvest();
    const Deadline deadline(seconds);
    int64_t round = only_round >= 0 ? only_round : 0;
    const int64_t begun = round;
    do {
      try {
        one_round(round);
      } catch (const std::exception& e) {
        findings_.add("the session broke", "round " + std::to_string(round) + ", after: " + last_ + ": " + e.what());
        session_.reset();
      }
      ++round;
    } while (only_round < 0 && !deadline.over());
    std::printf(
        "%ld rounds, %ld mutants sent, %ld accepted, %ld statements: %ld calls, %ld operators, %ld aggregates, %ld over "
        "states, %ld with indexes;"
        " %ld answered, %ld refused; %d functions take internal arguments\n",
        static_cast<long>(round - begun), sent_, accepted_, statements_, calls_, operators_, aggregates_, states_, indexed_,
        answered_, refused_, catalog_.not_callable());
    std::string never;
    for (const Function& f : catalog_.functions())
      if (!answered_by_.contains(f.signature)) never += "\n  " + f.signature;
    if (!never.empty()) std::printf("# functions that refused all calls:%s\n", never.c_str());
    std::printf("mutate: %zu findings\n", findings_.count());
    return findings_.any() ? 1 : 0;
  }

 private:
  // ---- statements

  Session& session() {
    if (session_ == nullptr || !session_->alive()) {
      session_ = connect();
      session_->must("SET search_path = hostile, public");
      session_->must("SET statement_timeout = " + std::to_string(timeout_ms_));
      session_->must("SET extra_float_digits = 3");
    }
    return *session_;
  }

  // Runs a statement that may fail, and judges its error.
  bool attempt(const std::string& sql, const std::vector<Param>& params = {}, const std::string& called = {}) {
    last_ = sql;
    ++statements_;
    Session& s = session();
    const auto start = Clock::now();
    const Result result = params.empty() ? s.exec(sql) : s.exec_params(sql, params);
    return judge(result, sql, params, called.empty() ? sql.substr(0, 80) : called, ms_since(start));
  }

  bool judge(const Result& result, const std::string& sql, const std::vector<Param>& params, const std::string& called,
             double ms) {
    std::string details = text("round %ld, %.0f ms: ", static_cast<long>(round_), ms) + sql;
    for (const Param& p : params) details += " -- " + hex(p.bytes);
    const std::string state = result.sqlstate();
    if (!session_->alive())
      findings_.add("connection lost: " + called, details);
    else if (state == "XX000" || state == "XX001" || state == "XX002")
      findings_.add("internal error: " + called + ": " + result.message(), details);
    else if (ms > timeout_ms_ + kLateMs)
      findings_.add("late: " + called, details);
    if (result.good()) {
      ++answered_;
      answered_by_.insert(called);
    } else {
      ++refused_;
    }
    return result.good();
  }

  // ---- sound values

  // The arguments of an aggregate for one row: the first differs from row to row, the second may, the others
  // are the same in all rows.
  std::string row_value(const std::string& type, size_t position, Rng& rng) {
    const bool varies = position == 0 || (position == 1 && below(rng, 4) != 0);
    const std::string k = std::to_string(1 + below(rng, 40));
    const std::string spread = std::to_string(uint64_t{1} << below(rng, 30));
    if (type == "smallint" || type == "integer" || type == "bigint") {
      const std::string cast = type == "smallint" ? "::int2" : type == "integer" ? "::int4" : "::int8";
      const std::string width = type == "smallint" ? "32767" : type == "integer" ? "2147483647" : "4398046511104";
      if (!varies) return std::to_string(1 + below(rng, 4)) + cast;
      return below(rng, 2) == 0 ? "(g % " + k + ")" + cast : "(g * " + spread + " % " + width + ")" + cast;
    }
    if (type == "double precision") return varies ? "(g * 0.5)" : "1.0::float8";
    if (type == "timestamp with time zone") return "'2000-01-01'::timestamptz + g * interval '1 s'";
    if (type == "timestamp without time zone") return "'2000-01-01'::timestamp + g * interval '1 s'";
    if (type == "date") return "'2000-01-01'::date + g::int4";
    if (type == "interval") return "interval '" + std::to_string(below(rng, 9)) + " s'";
    if (type == "bigint[]") return below(rng, 2) == 0 ? "'{1,2}'::int8[]" : "'{0,3,1}'::int8[]";
    if (type == "bytea" || catalog_.attacked(type))
      return "(SELECT v FROM " + identifier("s_" + type) + " ORDER BY hashint8(id + g * " + k + ") LIMIT 1)";
    return "NULL";
  }

  void harvest() {
    Session& s = session();
    s.must("SET statement_timeout = 0");
    s.must("DROP TABLE IF EXISTS rows, sets");
    s.must("CREATE TABLE rows AS SELECT g % 25 AS tid, (g * g / 3) % 17 AS item FROM generate_series(1, 300) g");
    for (const std::string& type : catalog_.types()) {
      s.must("DROP TABLE IF EXISTS " + identifier("s_" + type) + ", " + identifier("m_" + type));
      s.must("CREATE TABLE " + identifier("s_" + type) + " (id serial, v " + type + ")");
      s.must("CREATE TABLE " + identifier("m_" + type) + " (id int4, v " + type + ")");
    }
    int number = 0;
    for (const Aggregate& a : catalog_.aggregates()) {
      ++number;
      if (a.state == "internal") continue;
      std::string arguments;
      for (const std::string& t : a.function.types) arguments += (arguments.empty() ? "" : ", ") + t;
      const std::string n = std::to_string(number);
      s.exec("DROP AGGREGATE IF EXISTS state_" + n + "(" + arguments + ")");
      s.exec("CREATE AGGREGATE state_" + n + "(" + arguments + ") (SFUNC = " + a.trans + ", STYPE = " + a.state + ")");
      if (a.combine.empty()) continue;
      s.exec("DROP AGGREGATE IF EXISTS combine_" + n + "(" + a.state + ")");
      const Result made = s.exec("CREATE AGGREGATE combine_" + n + "(" + a.state + ") (SFUNC = " + a.combine +
                                 ", STYPE = " + a.state + (a.final.empty() ? "" : ", FINALFUNC = " + a.final) + ")");
      if (made.good())
        combining_[a.state].push_back({a.gives_array ? "cardinality(combine_" + n : "(combine_" + n, a.function.signature});
      else
        std::printf("# combine function of %s: %s\n", a.function.signature.c_str(), made.message().c_str());
    }
    // First aggregates over plain columns, then aggregates over their results.
    Rng rng(seed_);
    s.must("SET statement_timeout = '20s'");
    for (int pass = 0; pass < 2; ++pass) {
      number = 0;
      for (const Aggregate& a : catalog_.aggregates()) {
        ++number;
        const bool of_values = std::any_of(a.function.types.begin(), a.function.types.end(),
                                           [&](const std::string& t) { return catalog_.attacked(t); });
        if (of_values != (pass == 1)) continue;
        for (const int rows : {1, 2, 7, 40, 300, 1500}) {
          if (of_values && rows > 40) continue;
          std::string arguments;
          for (size_t i = 0; i < a.function.types.size(); ++i)
            arguments += (i == 0 ? "" : ", ") + row_value(a.function.types[i], i, rng);
          const std::string from = " FROM generate_series(1, " + std::to_string(rows) + ") g) q WHERE v IS NOT NULL";
          if (a.state != "internal")
            s.exec("INSERT INTO " + identifier("s_" + a.state) + " (v) SELECT v FROM (SELECT state_" +
                   std::to_string(number) + "(" + arguments + ") v" + from);
          for (const std::string& type : catalog_.types())
            if (!catalog_.foreign(type))
              s.exec("INSERT INTO " + identifier("s_" + type) + " (v) SELECT v FROM (SELECT " + a.function.name + "(" +
                     arguments + ") v" + from);
        }
      }
    }
    s.must("CREATE TABLE sets AS SELECT id::int8, v AS s FROM s_batmap");
    for (const std::string& type : catalog_.types()) {
      const Result sound = s.must("SELECT id FROM " + identifier("s_" + type) + " ORDER BY id");
      std::printf("# %d sound values of %s\n", sound.rows(), type.c_str());
      const Result bytes = s.exec_params("SELECT v FROM " + identifier("s_" + type) + " ORDER BY id", {}, true);
      for (int i = 0; i < bytes.rows(); ++i)
        if (bytes.value(i, 0).size() < 40000) seeds_[type].push_back(bytes.value(i, 0));
      const Result words =
          s.exec("SELECT v::text FROM " + identifier("s_" + type) + " WHERE length(v::text) < 40000 ORDER BY id");
      for (int i = 0; i < words.rows(); ++i) texts_[type].push_back(words.value(i, 0));
      if (seeds_[type].empty()) throw std::runtime_error("no sound value of type " + type + " was made");
    }
    session_.reset();
  }

  // ---- mutants

  std::string mutated(std::string bytes, const std::vector<std::string>& others, Rng& rng) {
    const auto offset = [&](size_t head) {
      return bytes.empty() ? size_t{0} : static_cast<size_t>(below(rng, std::min(bytes.size(), head)));
    };
    for (uint64_t times = 1 + below(rng, below(rng, 3) == 0 ? 8 : 2); times > 0; --times) {
      switch (below(rng, 10)) {
        case 0:
          if (!bytes.empty()) bytes[offset(SIZE_MAX)] ^= static_cast<char>(1 << below(rng, 8));
          break;
        case 1:
        case 2:
          if (!bytes.empty())
            bytes[offset(48)] =
                static_cast<char>(below(rng, 2) == 0 ? rng() : any_of(rng, std::vector<int>{0, 1, 2, 127, 128, 254, 255}));
          break;
        case 3:
        case 4: {  // overwrites a field of the header or of the data, in either byte order
          const int width = any_of(rng, std::vector<int>{2, 4, 8});
          std::string field;
          put_be(field, static_cast<uint64_t>(hostile_number(rng, 8 * width)), width);
          if (below(rng, 4) != 0) std::reverse(field.begin(), field.end());
          const size_t at = offset(below(rng, 4) == 0 ? SIZE_MAX : 64) / 4 * 4;
          for (size_t i = 0; i < field.size() && at + i < bytes.size(); ++i) bytes[at + i] = field[i];
          break;
        }
        case 5: bytes.resize(below(rng, bytes.size() + 1)); break;
        case 6: bytes.append(1 + below(rng, 24), static_cast<char>(rng())); break;
        case 7: {  // joins the head of one value with the tail of another
          const std::string& other = any_of(rng, others);
          bytes = bytes.substr(0, offset(SIZE_MAX)) + (other.empty() ? "" : other.substr(below(rng, other.size())));
          break;
        }
        case 8: {  // increases or decreases a field a little
          const size_t at = offset(64) / 4 * 4;
          if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] + (below(rng, 2) == 0 ? 1 : -1));
          break;
        }
        default: {  // repeats or removes a piece
          if (bytes.empty()) break;
          const size_t at = offset(SIZE_MAX);
          const size_t length = 1 + below(rng, std::min<size_t>(bytes.size() - at, 32));
          if (below(rng, 2) == 0)
            bytes.insert(at, bytes.substr(at, length));
          else
            bytes.erase(at, length);
        }
      }
    }
    if (bytes.size() > 200000) bytes.resize(200000);
    return bytes;
  }

  bool send(const std::string& type, int id, Rng& rng) {
    const std::string table = identifier("m_" + type);
    const std::string insert = "INSERT INTO " + table + " VALUES (" + std::to_string(id) + ", ";
    ++sent_;
    const std::string called = "input of " + type;
    switch (below(rng, 6)) {
      case 0:
        if (!texts_[type].empty()) {
          std::string words = mutated(any_of(rng, texts_[type]), texts_[type], rng);
          std::erase(words, '\0');
          for (char& c : words) c = static_cast<char>(c & 127);
          std::erase(words, '\0');
          return attempt(insert + "$1)", {{words, false, catalog_.oid(type)}}, called);
        }
        [[fallthrough]];
      case 1:
        if (catalog_.from_bytea(type))
          return attempt(insert + "$1::bytea::" + type + ")",
                         {{mutated(any_of(rng, seeds_[type]), seeds_[type], rng), true, 17}}, called);
        [[fallthrough]];
      case 2: {
        const std::string bytes = mutated(any_of(rng, seeds_[type]), seeds_[type], rng);
        std::string rows("PGCOPY\n\377\r\n\0", 11);
        put_be(rows, 0, 4);
        put_be(rows, 0, 4);
        put_be(rows, 2, 2);
        put_be(rows, 4, 4);
        put_be(rows, static_cast<uint64_t>(id), 4);
        put_be(rows, bytes.size(), 4);
        rows += bytes;
        put_be(rows, 0xffff, 2);
        const std::string sql = "COPY " + table + " FROM STDIN BINARY";
        last_ = sql;
        ++statements_;
        Session& s = session();
        const auto start = Clock::now();
        const Result result = s.copy_in(sql, rows);
        return judge(result, sql, {{bytes, true, 0}}, called, ms_since(start));
      }
      default:
        return attempt(insert + "$1)", {{mutated(any_of(rng, seeds_[type]), seeds_[type], rng), true, catalog_.oid(type)}},
                       called);
    }
  }

  // ---- a round

  void one_round(int64_t round) {
    round_ = round;
    Rng rng(seed_ * 1000003 + static_cast<uint64_t>(round));
    Values values(catalog_, rng);
    Session& s = session();
    // A tenth of the rounds discards all caches at every opportunity. That is slow, so these rounds
    // make fewer calls.
    const bool discard = below(rng, 10) == 0;
    s.exec(std::string("SET debug_discard_caches = ") + (discard ? "1" : "0"));
    timeout_ms_ = discard ? 4 * kTimeoutMs : kTimeoutMs;
    s.exec("SET statement_timeout = " + std::to_string(timeout_ms_));
    s.exec(std::string("SET batmap.threads = ") + (below(rng, 3) == 0 ? "3" : "1"));
    s.exec(std::string("SET batmap.work_mem = ") + (below(rng, 3) == 0 ? "'64kB'" : "-1"));
    s.exec(std::string("SET batmap.memory_limit = ") + (below(rng, 4) == 0 ? "'1MB'" : "'256MB'"));
    s.exec(std::string("SET max_parallel_workers_per_gather = ") + (below(rng, 4) == 0 ? "2" : "0"));
    for (const std::string& type : catalog_.types()) {
      const std::string table = identifier("m_" + type);
      s.must("TRUNCATE " + table);
      static const std::vector<std::string> storages = {"plain", "external", "extended", "main"};
      s.exec("ALTER TABLE " + table + " ALTER v SET STORAGE " + any_of(rng, storages));
      int id = 0;
      // Fewer values of other types than of the type of the round, so that functions of two types
      // get both kinds.
      const bool own = type == catalog_.types()[static_cast<size_t>(round) % catalog_.types().size()];
      for (int i = 0; i < (own ? 4 * kMutants : kMutants / 2) && id < kMutants; ++i) {
        if (send(type, id, rng)) {
          ++id;
          ++accepted_;
        }
      }
      for (; id < kMutants + 4; ++id)
        s.exec("INSERT INTO " + table + " SELECT " + std::to_string(id) + ", v FROM " + identifier("s_" + type) +
               " OFFSET " + std::to_string(below(rng, seeds_[type].size())) + " LIMIT 1");
    }
    const std::string& type = catalog_.types()[static_cast<size_t>(round) % catalog_.types().size()];
    const int repeats = discard ? 1 : 3;
    const auto takes = [&](const std::vector<std::string>& types) {
      return std::any_of(types.begin(), types.end(), [&](const std::string& t) { return t == type || t == type + "[]"; });
    };
    for (const Function& f : catalog_.functions()) {
      // Functions of plain arguments are called in a tenth of all rounds.
      if (!takes(f.types) && below(rng, discard ? 30 : 10) != 0) continue;
      for (int i = 0; i < repeats; ++i) {
        ++calls_;
        const std::string call = values.call(f);
        if (f.returns_set && below(rng, 2) == 0)
          attempt("SELECT left(q::text, 64) FROM " + call + " q LIMIT 200", {}, f.signature);
        else
          attempt("SELECT left(" + call + "::text, 64) LIMIT 200", {}, f.signature);
      }
    }
    for (const Operator& o : catalog_.operators()) {
      if (!takes({o.left, o.right})) continue;
      for (int i = 0; i < repeats; ++i) {
        ++operators_;
        const std::string left = o.left.empty() ? "" : values.of(o.left, "");
        attempt("SELECT left((" + left + " " + o.name + " " + values.of(o.right, "") + ")::text, 64)", {},
                o.left + o.name + o.right);
        attempt("SELECT count(*) FROM " + identifier("m_" + type) + " x WHERE x.v " + o.name + " " +
                    values.of(o.right == "" ? type : o.right, ""),
                {}, o.left + o.name + o.right);
      }
    }
    const std::string rows =
        " FROM " + identifier("m_" + type) + " x, generate_series(1, " + std::to_string(1 + below(rng, 3)) + ") g";
    for (const Aggregate& a : catalog_.aggregates()) {
      if (!takes(a.function.types) && below(rng, 20) != 0) continue;
      ++aggregates_;
      std::string arguments;
      for (size_t i = 0; i < a.function.types.size(); ++i)
        arguments +=
            (i == 0 ? "" : ", ") + (a.function.types[i] == type ? std::string("x.v") : values.of(a.function.types[i], ""));
      attempt("SELECT left(" + a.function.name + "(" + arguments + ")::text, 64)" + rows, {}, a.function.signature);
      attempt(
          "SELECT left((" + a.function.name + "(" + arguments + ") OVER (ORDER BY x.id ROWS 3 PRECEDING))::text, 64)" + rows,
          {}, a.function.signature);
    }
    for (const auto& [call, signature] : combining_[type]) {
      for (int i = 0; i < repeats; ++i) {
        ++states_;
        attempt("SELECT left(" + call + "(x.v ORDER BY hashint4(x.id + " + std::to_string(below(rng, 100)) +
                    ")))::text, 64) FROM " + identifier("m_" + type) + " x WHERE x.id % " +
                    std::to_string(1 + below(rng, 5)) + " = 0",
                {}, "states of " + signature);
      }
    }
    for (const std::string& method : catalog_.indexes(type)) {
      ++indexed_;
      const std::string table = identifier("m_" + type);
      attempt("DROP INDEX IF EXISTS by_v");
      attempt("CREATE INDEX by_v ON " + table + " USING " + method + " (v)", {}, "index of " + method);
      attempt("SET enable_seqscan = off");
      for (const Operator& o : catalog_.operators())
        if (o.left == type)
          attempt("SELECT count(*) FROM " + table + " x WHERE x.v " + o.name + " " + values.of(o.right, ""), {},
                  "index of " + method);
      attempt("SET enable_seqscan = on");
      attempt("DROP INDEX IF EXISTS by_v");
    }
    attempt("ANALYZE " + identifier("m_" + type), {}, "ANALYZE of " + type);
    attempt("SELECT count(*) FROM " + identifier("m_" + type) + " x GROUP BY x.v", {}, "grouping by " + type);
  }

  Catalog& catalog_;
  uint64_t seed_;
  int64_t round_ = 0;
  int timeout_ms_ = kTimeoutMs;  // of the round
  std::unique_ptr<Session> session_;
  std::string last_;
  Findings findings_;
  std::map<std::string, std::vector<std::string>> seeds_;
  std::map<std::string, std::vector<std::string>> texts_;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> combining_;  // beginning of a call, signature
  std::set<std::string> answered_by_;
  long sent_ = 0;
  long accepted_ = 0;
  long statements_ = 0;
  long calls_ = 0;
  long operators_ = 0;
  long aggregates_ = 0;
  long states_ = 0;
  long indexed_ = 0;
  long answered_ = 0;
  long refused_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = Arguments::read(argc, argv);
    std::printf("mutate: seed %llu\n", static_cast<unsigned long long>(arguments.seed));
    std::unique_ptr<Session> session = connect();
    Catalog catalog(*session);
    session.reset();
    return Mutator(catalog, arguments.seed).run(arguments.seconds, argc > 3 ? std::strtoll(argv[3], nullptr, 10) : -1);
  } catch (const std::exception& e) {
    std::printf("FINDING mutate broke off\n  %s\n", e.what());
    return 1;
  }
}
