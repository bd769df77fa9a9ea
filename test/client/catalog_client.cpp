// Checks cancelling for every function, aggregate and operator of the extension in the catalog, with
// adversarial input. A call must end within 100 ms of a cancel and of a `statement_timeout`, clean-up included:
// the time is taken until the server is ready for the next statement. After that no thread and no temporary
// file may be left, and the memory must be released.
//
// Functions are not listed here. Arguments are made by type: extreme numbers, large sets, relations and
// pair counts, texts of queries over tables whose answers take long, states of aggregates (taken by
// aggregates without a final function). The words that a parameter accepts are read from the hint that a
// wrong word gets. A type without values fails the test. Functions that only the server can call (with an
// argument of type internal) need a statement in kServed that makes the server call them; a function
// without one fails the test.
//
// A statement may end by itself, with rows or with an error. The machine may be busy: time in which the backend did not run
// does not count (Lateness), and a late statement is run again, up to four times in four seconds, with its cancel at the same
// moment, and the best of them counts.
//
// With BATMAP_TEST_GRID=full (`make check-reference`) a function gets three times as many statements, every timeout is
// 500 ms, and cancels come up to 300 ms late. Otherwise the timeouts are drawn from 50 to 200 ms, and cancels come up to
// 120 ms late.
//
// BATMAP_TEST_SEED draws other arguments, BATMAP_GATE_CALLS (a factor) draws more of them, BATMAP_GATE_ONLY
// (a part of the names) selects functions.

#include <cmath>
#include <map>
#include <set>

#include "client.h"

using namespace client;

namespace {

constexpr double kLatencyMs = 100;
constexpr double kShortestTimeoutMs = 50;  // drawn evenly on a logarithmic scale
constexpr double kLongestTimeoutMs = 200;
constexpr double kGridTimeoutMs = 500;
constexpr double kTimeoutLatencyMs = 100;
constexpr int kTries = 5;
constexpr double kFirstPauseMs = 100;  // before a late statement is run again; each pause is three times the one before
constexpr double kEarliestMs = 4;      // of a cancel; drawn evenly on a logarithmic scale
constexpr double kLatestMs = 120;
constexpr double kGridLatestMs = 300;
constexpr long kMemoryMarginKb = 48 * 1024;  // caches of the server

constexpr int64_t kCounts[] = {0,
                               1,
                               73,
                               1000000,
                               2147483648,
                               94900000000000,
                               189800000000000,
                               4503599627370496,
                               9007199254740993,
                               4611686018427387903,
                               INT64_MAX};

struct Argument {
  std::string name;  // may be empty
  std::string type;
  bool variadic = false;
};

struct Function {
  std::string signature;  // as regprocedure or regoperator
  std::string name;
  char kind = 'f';  // of pg_proc; 'o': an operator
  bool returns_set = false;
  bool only_server = false;  // an argument or the result has type internal
  int defaults = 0;
  std::vector<Argument> arguments;
};

// A statement, with a binary parameter if `type` is not 0.
struct Statement {
  std::string sql;
  std::vector<std::string> settings = {};
  std::string bytes = {};
  Oid type = 0;
};

// Statements that make the server call functions that users cannot call.
struct Served {
  const char* function;
  const char* sql;
};
const std::string kPlanned =
    "EXPLAIN SELECT * FROM batmap_pairs('SELECT tid, item FROM dense', min_count => 1) p,"
    " batmap_itemsets('SELECT tid, item FROM dense', min_count => 1) i, batmap_rules('SELECT tid, item FROM dense', "
    "min_count => 1) r,"
    " batmap_recommend('{1,2}', 'SELECT tid, item FROM dense') m,"
    " batmap_episodes('SELECT time_us, neuron FROM spikes', '{0,100}'::int4[], min_count => 1) e,"
    " batmap_window_pairs('SELECT time_us, neuron FROM spikes', 100, min_count => 1) w,"
    " batmap_join_project('SELECT tid, item FROM dense', 'SELECT item, tid FROM dense') j,"
    " batmap_all_pairs('SELECT id, s FROM sets', min_count => 1) a,"
    " batmap_all_pairs_of('SELECT id::text, s FROM sets', min_count => 1) o,"
    " batmap_similar('{1,2}', 'SELECT id, s FROM sets') y,"
    " batmap_partners('SELECT tid, item FROM dense') n,"
    " sets, batmap_unnest(s) u, counts, batmap_pairs(c, min_count => 1) c";
const Served kServed[] = {
    {"_batmap_typanalyze", "ANALYZE sets"},
    {"_batmap_sel",
     "EXPLAIN SELECT * FROM sets WHERE s && (SELECT s FROM sets WHERE id = 2) AND s @> '{1,2,3}'::batmap AND s @> 7::int8"},
    {"_batmap_joinsel", "EXPLAIN SELECT * FROM sets a JOIN sets b ON a.s && b.s JOIN sets c ON c.s @> b.s"},
    // The server sorts the keys of one set without a look at interrupts: sets of few elements.
    {"_batmap_gin_extract_value", "CREATE INDEX gate_gin ON sets USING gin (s) WHERE id NOT IN (3, 4, 5)"},
    {"_batmap_gin_extract_query", "SELECT count(*) FROM indexed WHERE s && (SELECT s FROM sets WHERE id = 5)"},
    {"_batmap_gin_consistent", "SELECT count(*) FROM indexed WHERE s @> (SELECT s FROM sets WHERE id = 5)"},
    {"_batmap_gin_triconsistent", "SELECT count(*) FROM indexed WHERE s <@ (SELECT s FROM sets WHERE id = 4)"},
    {"_batmap_pairs_support", nullptr},
    {"_batmap_pairs_counts_support", nullptr},
    {"_batmap_itemsets_counts_support", nullptr},
    {"_batmap_episodes_counts_support", nullptr},
    {"_batmap_rules_counts_support", nullptr},
    {"_batmap_partners_support", nullptr},
    {"_batmap_itemsets_support", nullptr},
    {"_batmap_rules_support", nullptr},
    {"_batmap_recommend_support", nullptr},
    {"_batmap_episodes_support", nullptr},
    {"_batmap_window_pairs_support", nullptr},
    {"_batmap_join_project_support", nullptr},
    {"_batmap_join_project_counts_support", nullptr},
    {"_batmap_all_pairs_support", nullptr},
    {"_batmap_distance_support", "SELECT id FROM indexed ORDER BY s <%> (SELECT s FROM sets WHERE id = 5) LIMIT 100000"},
    {"_batmap_similar_support", nullptr},
    {"_batmap_count_pairs_support", nullptr},
    {"_batmap_edge_triangles_support", nullptr},
    {"_batmap_set_unnest_support", nullptr},
    {"_batmap_stream_support", "SELECT * FROM batmap_estimate('SELECT tid, item FROM dense', min_count => 2)"},
};  // nullptr: kPlanned. Receive functions get what the send functions of their types send.

// The tables: rows with few items in many common transactions, rows with many items, events, sets, and values
// of the types.
void create_tables(Session& session) {
  session.must(
      "DROP TABLE IF EXISTS dense, wide, spikes, sets, indexed, relations, counts, itemset_counts, episode_counts, "
      "join_counts, counts_states, kept_wide, "
      "kept_texts "
      "CASCADE");
  session.must(
      "CREATE TABLE dense AS SELECT t::int8 AS tid, i::int8 AS item FROM generate_series(1, 12000) t, generate_series(1, "
      "50) i"
      " WHERE abs(hashint4(t * 64 + i)::int8) % 100 < 35");
  create_drawn_table(session, "wide", 8000, 120, 3000);
  session.must("CREATE TABLE spikes AS SELECT * FROM batmap_generate_spikes(60)");
  session.must("CREATE TABLE sets (id int8, s batmap)");
  session.must(
      "INSERT INTO sets VALUES (1, '{}'), (2, '{1,2,3}'), (3, batmap_range(0, 20000000)),"
      " (4, (SELECT batmap_agg((hashint8(g)::int8 + 2147483648) * 1) FROM generate_series(1, 500000) g)),"
      " (5, (SELECT batmap_agg(g::int8 * 37) FROM generate_series(1, 400000) g)),"
      " (6, (SELECT batmap_agg(hashint8(g)::int8 + 2147483648, 4294967296) FROM generate_series(1, 3000) g))");
  session.must(
      "INSERT INTO sets SELECT 10 + t, batmap_agg(item::int8) FROM (SELECT tid AS t, item FROM wide WHERE tid < 3000) w "
      "GROUP BY t");
  session.must("CREATE TABLE indexed AS SELECT * FROM sets WHERE id > 9 AND id < 1000");
  session.must("CREATE INDEX ON indexed USING gin (s)");
  session.must("CREATE TABLE relations AS SELECT 1 AS id, batmap_relation_agg(tid, item) AS r FROM dense");
  session.must("INSERT INTO relations SELECT 2, batmap_relation_agg(tid, item) FROM wide");
  session.must("INSERT INTO relations SELECT 3, batmap_relation_agg(tid, item::text) FROM wide");
  session.must("CREATE TABLE counts AS SELECT 1 AS id, batmap_pair_counts_agg(tid, item) AS c FROM wide");
  session.must("INSERT INTO counts SELECT 2, batmap_pair_counts_agg(tid, item::text) FROM wide");
  session.must("DROP AGGREGATE IF EXISTS by_tid_rows(int4, int4)");
  session.must(
      "CREATE AGGREGATE by_tid_rows(int4, int4) (SFUNC = _batmap_pair_counts_by_tid_trans, STYPE = "
      "batmap_pair_counts_state)");
  session.must("CREATE TABLE counts_states AS SELECT id, c::text::batmap_pair_counts_state AS c FROM counts WHERE id = 1");
  session.must("INSERT INTO counts_states SELECT 2, by_tid_rows(tid::int4, item::int4) FROM wide");
  session.must(
      "CREATE TABLE join_counts AS SELECT batmap_join_counts_from('SELECT item, tid FROM wide', 'SELECT tid, item FROM "
      "wide', 3) AS c");
  session.must(
      "CREATE TABLE itemset_counts AS SELECT batmap_itemset_candidates('SELECT tid, item FROM wide', 3, max_length => 2) AS "
      "c");
  session.must(
      "CREATE TABLE episode_counts AS SELECT batmap_episode_counts_from('SELECT time_us, neuron FROM spikes', ARRAY[0, "
      "10000], 20, max_length => 2) AS c");
  session.must("CREATE TABLE kept_wide AS SELECT * FROM wide WHERE tid < 2000 AND item < 600");
  session.must("CREATE INDEX ON kept_wide (tid)");
  session.must("CREATE TABLE kept_texts AS SELECT tid, item::text FROM kept_wide");
  session.must("CREATE INDEX ON kept_texts (tid)");
  session.must("CREATE INDEX ON dense (tid)");
  session.must("SELECT batmap_keep('kept_wide', 'tid', 'item'), batmap_keep('kept_texts', 'tid', 'item')");
  session.must("UPDATE kept_wide SET item = item + 1 WHERE tid % 3 = 0");
  session.must("UPDATE kept_texts SET item = item || 'x' WHERE tid % 3 = 0");
  session.must(
      "ANALYZE dense, wide, spikes, indexed, relations, counts, itemset_counts, join_counts, counts_states, kept_wide, "
      "kept_texts");
}

const std::vector<std::string> kQueries = {
    "'SELECT tid, item FROM dense'",
    "'SELECT tid, item FROM wide'",
    "'SELECT time_us, neuron FROM spikes'",
    "'SELECT id, s FROM sets WHERE id > 9'",
    "'SELECT id::text, s FROM sets'",
    "'SELECT id, s FROM sets'",
    "'SELECT tid, item::text FROM wide'",
    "'SELECT a::int8 * 4611686018427387, b::int8 FROM generate_series(1, 3000) a, generate_series(1, 3000) b'",
    "'SELECT time_us::float8, neuron::text FROM spikes'",
    "'SELECT timestamptz ''2000-01-01'' + time_us * interval ''1 us'', neuron FROM spikes'",
    "'SELECT time_us, neuron, time_us / 100000 FROM spikes'",
    "'SELECT date ''2000-01-01'' + (time_us / 1000)::int4, neuron, time_us / 100000 FROM spikes'",
    "'SELECT timestamp ''2000-01-01'' + time_us * interval ''1 us'', neuron::text, time_us % 50 FROM spikes'",
    "'SELECT 1, 2 FROM generate_series(1, 100000000)'",
};

class Pool {
 public:
  Pool(Tap& tap, Session& session) : session_(session) {
    values_["regclass"] = {"'kept_wide'::regclass", "'kept_texts'::regclass", "'dense'::regclass", "'pg_class'::regclass"};
    values_["name"] = {"'tid'::name", "'item'::name", "'none'::name"};
    values_["smallint"] = {"0::int2", "1::int2", "(-1)::int2", "32767::int2", "(-32768)::int2"};
    values_["integer"] = {"1", "2", "5", "0", "(-1)", "64", "1000", "2147483647", "(-2147483648)"};
    values_["bigint"] = {"1::int8",
                         "2::int8",
                         "30::int8",
                         "100000::int8",
                         "0::int8",
                         "(-1)::int8",
                         "2147483648",
                         "4503599627370496",
                         "9007199254740993",
                         "94900000000000",
                         "4611686018427387903",
                         "9223372036854775807",
                         "(-9223372036854775808)::int8"};
    values_["double precision"] = {"0.001::float8", "0.5::float8",      "1::float8",       "1e-9::float8",
                                   "0::float8",     "(-1)::float8",     "'NaN'::float8",   "'Infinity'::float8",
                                   "1000::float8",  "4.9e-324::float8", "1.7e308::float8", "'-Infinity'::float8",
                                   "1e9::float8",   "2.5::float8",      "2.2e-308::float8"};
    values_["boolean"] = {"true", "false"};
    values_["oid"] = {"0::oid", "23::oid", "4294967295::oid"};
    values_["interval"] = {"interval '1 hour'",  "interval '100000 years'",   "interval '1 us'",
                           "interval '-1 day'",  "interval '10 s'",           "interval '0'",
                           "interval '1 month'", "interval '178000000 years'"};
    values_["timestamp with time zone"] = {"now()", "'infinity'::timestamptz", "'-infinity'::timestamptz",
                                           "'294276-12-31'::timestamptz"};
    values_["timestamp without time zone"] = {"now()::timestamp", "'infinity'::timestamp", "'294276-12-31'::timestamp"};
    values_["date"] = {"'2000-01-01'::date", "'-infinity'::date", "'5874897-12-31'::date"};
    values_["text"] = kQueries;
    values_["name"] = {"'tid'::name", "'item'::name", "'no such column'::name", "''::name"};
    values_["record"] = {"ROW(1)", "ROW(1, 'x')", "ROW()", "ROW(NULL, now(), ROW(1))"};
    values_["cstring"] = {"'{}'::cstring",
                          "'{1,2,3}'::cstring",
                          "'2147483647'::cstring",
                          "''::cstring",
                          "'x'::cstring",
                          "('{' || repeat('1,', 2000000) || '1}')::cstring",
                          "('{' || repeat('9', 2000000) || '}')::cstring",
                          "(SELECT s::text::cstring FROM sets WHERE id = 5)",
                          "(SELECT r::text::cstring FROM relations WHERE id = 2)",
                          "(SELECT r::text::cstring FROM relations WHERE id = 3)",
                          "(SELECT c::text::cstring FROM counts WHERE id = 1)",
                          "(SELECT c::text::cstring FROM counts WHERE id = 2)",
                          "(SELECT c::text::cstring FROM itemset_counts)",
                          "(SELECT c::text::cstring FROM episode_counts)",
                          "(SELECT c::text::cstring FROM join_counts)"};
    for (const std::string type : {"json", "jsonb"})
      for (const char* const text :
           {"[]", "[1, 5, 9]", "[4611686018427387904]", "[null]", "[[1]]", "[1.5]", "{}", "null", "7", "\"{1}\""})
        values_[type].push_back("'" + std::string(text) + "'::" + type);
    values_["json"].push_back("(SELECT s::json FROM sets WHERE id = 4)");
    values_["bytea"] = {"'\\x'::bytea",
                        "decode(repeat('00', 1000), 'hex')",
                        "decode(repeat('ff', 5000000), 'hex')",
                        "(SELECT batmap_to_roaring64(s) FROM sets WHERE id = 4)",
                        "(SELECT batmap_to_roaring(s) FROM sets WHERE id = 5)",
                        "(SELECT s::bytea FROM sets WHERE id = 4)",
                        "(SELECT substr(s::bytea, 1, 1000000) FROM sets WHERE id = 4)"};
    values_["batmap"] = {"(SELECT s FROM sets WHERE id = 3)", "(SELECT s FROM sets WHERE id = 4)",
                         "(SELECT s FROM sets WHERE id = 5)", "(SELECT s FROM sets WHERE id = 6)",
                         "(SELECT s FROM sets WHERE id = 1)", "(SELECT s FROM sets WHERE id = 2)"};
    for (const std::string& set : values_["batmap"])
      values_["_batmap_array"].push_back("(" + set + "::int8[])::_batmap_array");
    values_["uuid"] = {"'00000000-0000-0000-0000-000000000000'::uuid", "md5('1')::uuid"};
    values_["batmap_relation"] = {"(SELECT r FROM relations WHERE id = 1)", "(SELECT r FROM relations WHERE id = 2)",
                                  "(SELECT r FROM relations WHERE id = 3)", "'\\x'::batmap_relation"};
    values_["batmap_pair_counts"] = {"(SELECT c FROM counts WHERE id = 1)", "(SELECT c + c FROM counts WHERE id = 1)",
                                     "(SELECT c FROM counts WHERE id = 2)", "(SELECT c + c FROM counts WHERE id = 2)"};
    values_["batmap_pair_counts_state"] = {"(SELECT c FROM counts_states WHERE id = 1)",
                                           "(SELECT c FROM counts_states WHERE id = 2)"};
    values_["batmap_join_counts"] = {"(SELECT c FROM join_counts)", "(SELECT c + c FROM join_counts)",
                                     "'j1:'::batmap_join_counts"};
    values_["batmap_itemset_counts"] = {"(SELECT c FROM itemset_counts)", "(SELECT c + c FROM itemset_counts)",
                                        "'i1:'::batmap_itemset_counts"};
    values_["batmap_episode_counts"] = {"(SELECT c FROM episode_counts)", "(SELECT c + c FROM episode_counts)",
                                        "'e1:'::batmap_episode_counts"};
    arrays_["bigint"] = arrays_["integer"] =
        arrays_["smallint"] = {"(SELECT array_agg(i) FROM generate_series(1, 40) i)",
                               "(SELECT array_agg(i * 2) FROM generate_series(0, 300000) i)",
                               "(SELECT array_agg(0) FROM generate_series(0, 300000) i)",
                               "ARRAY[0, 2147483647]",
                               "ARRAY[0, 100, 20000]",
                               "ARRAY[2147483647, 0]",
                               "ARRAY[ARRAY[1, 2, 3], ARRAY[4, 5, 6]]",
                               "ARRAY[1, NULL]"};
    arrays_["double precision"] = {"(SELECT array_agg(i / 7.0) FROM generate_series(0, 3000) i)",
                                   "ARRAY[0, 1e308]",
                                   "ARRAY[4.9e-324, 1e-300]",
                                   "ARRAY[0, 'Infinity']",
                                   "ARRAY['NaN'::float8, 1]",
                                   "ARRAY[0, 0.005, 0.02]"};
    arrays_["interval"] = {"ARRAY[interval '0', '10 ms']", "ARRAY[interval '0', '178000000 years']",
                           "ARRAY[interval '1 month', '2 months']"};
    arrays_["text"] = {"(SELECT array_agg(i::text) FROM generate_series(1, 40) i)", "ARRAY['1', '2', 'x']",
                       "(SELECT array_agg(i::text) FROM generate_series(1, 300000) i)"};
    take_states(tap);
  }

  bool has(const std::string& type) const {
    if (is_polymorphic(type)) return true;
    if (type.ends_with("[]")) return has(element_of(type));
    return values_.contains(type);
  }

  // An expression for a value of a type; for a polymorphic type, a value of type `any`. Half of the values
  // come from the first few, which make long runs.
  std::string draw(const std::string& type, const std::string& any, Rng& rng) const {
    if (below(rng, 40) == 0) return "NULL::" + concrete(type, any);
    if (is_polymorphic(type)) return draw(concrete(type, any), any, rng);
    if (type.ends_with("[]")) return draw_array(element_of(type), rng);
    const std::vector<std::string>& values = values_.at(type);
    const size_t first = std::min<size_t>(values.size(), below(rng, 2) == 0 ? 4 : values.size());
    return values[below(rng, first)];
  }

 private:
  static bool is_polymorphic(const std::string& type) { return type.starts_with("any"); }
  static std::string element_of(const std::string& type) { return type.substr(0, type.size() - 2); }
  static std::string concrete(const std::string& type, const std::string& any) {
    return !is_polymorphic(type) ? type : type.ends_with("array") ? any + "[]" : any;
  }

  std::string draw_array(const std::string& element, Rng& rng) const {
    const auto own = arrays_.find(element);
    if (own != arrays_.end() && below(rng, 3) != 0)
      return "(" + own->second[below(rng, own->second.size())] + ")::" + element + "[]";
    std::string list;
    for (uint64_t left = below(rng, 4); left > 0; --left) list += (list.empty() ? "" : ", ") + draw(element, element, rng);
    return "ARRAY[" + list + "]::" + element + "[]";
  }

  // Takes states of the aggregates, one of each type over many rows: by an aggregate of the same functions
  // that returns its state.
  void take_states(Tap& tap) {
    session_.must("CREATE TABLE IF NOT EXISTS gate_states (id int)");
    const Result r = session_.must(
        "SELECT DISTINCT ON (a.aggtranstype) format_type(a.aggtranstype, NULL), a.aggtransfn::text,"
        "  pg_get_function_identity_arguments(p.oid),"
        "  (SELECT string_agg(format_type(t, NULL), ',' ORDER BY n) FROM unnest(p.proargtypes) WITH ORDINALITY u(t, n))"
        " FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid"
        " JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'"
        " JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'batmap'"
        " ORDER BY a.aggtranstype, p.oid");
    for (int i = 0; i < r.rows(); ++i) {
      const std::string type = r.value(i, 0);
      const std::string arguments = r.value(i, 3);
      session_.must("DROP AGGREGATE IF EXISTS gate_state(" + arguments + ")");
      session_.must("CREATE AGGREGATE gate_state(" + arguments + ") (SFUNC = " + r.value(i, 1) + ", STYPE = " + type + ")");
      const std::string column = "state_" + std::to_string(i);
      session_.must("ALTER TABLE gate_states ADD COLUMN " + column + " " + type);
      std::string values;
      size_t number = 0;
      for (size_t at = 0; at <= arguments.size(); ++number) {
        const size_t comma = std::min(arguments.find(',', at), arguments.size());
        const std::string argument = arguments.substr(at, comma - at);
        at = comma + 1;
        values += values.empty() ? "" : ", ";
        if (argument == "batmap")
          values += "(SELECT s FROM sets WHERE id = 11)";
        else if (argument == "bigint[]")
          values += "ARRAY[1, 2]::int8[]";
        else if (argument == "timestamp with time zone")
          values += "to_timestamp(g)";
        else if (argument == "timestamp without time zone" || argument == "date")
          values += "to_timestamp(g)::" + argument;
        else if (argument == "interval")
          values += "interval '1 s'";
        else if (values_.contains(argument) && argument.starts_with("batmap"))
          values += values_[argument][0];
        else
          values += "(" + std::string(number == 0 ? "g % 32768" : number == 1 ? "g % 1000" : "5") + ")::" + argument;
      }
      const Result made =
          session_.exec("INSERT INTO gate_states (" + column + ") SELECT gate_state(" + values +
                        ") FROM generate_series(1, " + (arguments.starts_with("batmap") ? "3" : "50000") + ") g");
      session_.must("DROP AGGREGATE gate_state(" + arguments + ")");
      if (made.good())
        values_[type].push_back("(SELECT " + column + " FROM gate_states WHERE " + column + " IS NOT NULL)");
      else
        tap.note("no state of " + type + ": " + made.message());
    }
  }

  Session& session_;
  std::map<std::string, std::vector<std::string>> values_;
  std::map<std::string, std::vector<std::string>> arrays_;
};

std::vector<Function> functions_of_the_extension(Session& session) {
  std::vector<Function> functions;
  const std::string members =
      "pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass AND"
      " d.deptype = 'e' AND e.extname = 'batmap'";
  const Result r = session.must(
      "SELECT p.oid::regprocedure, p.proname, p.prokind, p.proretset, p.pronargdefaults, p.proargnames[n], format_type(t, "
      "NULL),"
      "  p.provariadic <> 0 AND n = p.pronargs, n, p.prorettype = 'internal'::regtype"
      " FROM " +
      members +
      " JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass"
      " LEFT JOIN LATERAL unnest(p.proargtypes) WITH ORDINALITY u(t, n) ON true ORDER BY 1::text, p.oid, n");
  for (int i = 0; i < r.rows(); ++i) {
    if (functions.empty() || functions.back().signature != r.value(i, 0)) {
      functions.push_back({r.value(i, 0),
                           r.value(i, 1),
                           r.value(i, 2)[0],
                           r.value(i, 3) == "t",
                           r.value(i, 9) == "t",
                           static_cast<int>(r.number(i, 4)),
                           {}});
    }
    if (r.null(i, 6)) continue;
    functions.back().arguments.push_back({r.value(i, 5), r.value(i, 6), r.value(i, 7) == "t"});
    functions.back().only_server |= r.value(i, 6) == "internal";
  }
  const Result o = session.must(
      "SELECT o.oid::regoperator, o.oprname, format_type(nullif(oprleft, 0), NULL), format_type(oprright, NULL)"
      " FROM " +
      members +
      " JOIN pg_operator o ON o.oid = d.objid AND"
      " d.classid = 'pg_operator'::regclass ORDER BY 1::text");
  for (int i = 0; i < o.rows(); ++i) {
    functions.push_back({o.value(i, 0), o.value(i, 1), 'o', false, false, 0, {}});
    for (const int column : {2, 3})
      if (!o.null(i, column)) functions.back().arguments.push_back({"", o.value(i, column), false});
  }
  return functions;
}

class Gate {
 public:
  Gate(Tap& tap, Rng& rng, Session& control, const Pool& pool) : tap_(tap), rng_(rng), control_(control), pool_(pool) {
    const char* factor = std::getenv("BATMAP_GATE_CALLS");
    if (factor != nullptr) calls_factor_ = std::atof(factor);
    warm_up();
  }

  void check(const Function& function) {
    late_ = ended_ = cancelled_ = left_ = 0;
    slowest_ms_ = 0;
    answered_ = false;
    std::vector<Statement> statements;
    if (function.only_server) {
      statements = served(function);
    } else {
      for (const Argument& argument : function.arguments) {
        if (pool_.has(argument.type)) continue;
        tap_.ok(false, function.signature + ": no value of type " + argument.type + " to call it with");
        return;
      }
      learn_words(function);
      const double calls = is_quick(function) ? 400 : 4 + 2.0 * static_cast<double>(function.arguments.size());
      for (int i = 0; i < calls * calls_factor_; ++i) statements.push_back(draw(function));
    }
    if (statements.empty()) {
      tap_.ok(false, function.signature + ": only the server can call it, and kServed has no statement for it");
      return;
    }
    const auto start = Clock::now();
    for (const Statement& statement : statements) fire(statement);
    const bool timed_out = time_out();
    tap_.ok(late_ == 0 && left_ == 0 && timed_out,
            text("%s: %zu statements, %d cancelled, the slowest after %.1f ms; %d late, %d left something%s (%.1f s)",
                 function.signature.c_str(), statements.size(), cancelled_, slowest_ms_, late_, left_,
                 answered_ ? "" : "; none was answered", ms_since(start) / 1000));
    if (!answered_ && cancelled_ == 0) unanswered_.push_back(function.signature);
  }

  void finish() {
    tap_.note(text("%d statements in all, %d cancelled, %d by timeout", statements_, all_cancelled_, timeouts_));
    std::string list;
    for (const std::string& name : unanswered_) list += " " + name + ";";
    tap_.note("only refused:" + list);
  }

 private:
  // From plain values to one value: only a loop over numbers can take long there, and only for some numbers.
  static bool is_quick(const Function& function) {
    return function.kind == 'f' && !function.returns_set &&
           std::all_of(function.arguments.begin(), function.arguments.end(), [](const Argument& argument) {
             return argument.type == "bigint" || argument.type == "integer" || argument.type == "double precision" ||
                    argument.type == "text";
           });
  }

  // A statement that calls a function: with all required arguments, and some of the others by name.
  Statement draw(const Function& function) {
    Statement statement;
    const std::string any = below(rng_, 2) == 0 ? "bigint" : "text";
    if (below(rng_, 4) == 0) statement.settings.push_back("batmap.work_mem = 0");
    const char* threads[] = {"0", "1", "4"};
    statement.settings.push_back(std::string("batmap.threads = ") + threads[below(rng_, 3)]);
    if (function.kind == 'o') {
      const std::string right = pool_.draw(function.arguments.back().type, any, rng_);
      const std::string left = function.arguments.size() == 2 ? pool_.draw(function.arguments[0].type, any, rng_) : "";
      statement.sql = "SELECT (" + left + " OPERATOR(public." + function.name + ") " + right + ") IS NULL";
      return statement;
    }
    // Counts are often subsets of each other, so every other time numbers ascend.
    std::vector<int64_t> ascending;
    if (below(rng_, 2) == 0)
      for (const Argument& argument : function.arguments)
        if (is_count(argument)) ascending.push_back(kCounts[below(rng_, std::size(kCounts))]);
    std::sort(ascending.rbegin(), ascending.rend());
    std::string list;
    const size_t required = function.arguments.size() - static_cast<size_t>(function.defaults);
    for (size_t i = 0; i < function.arguments.size(); ++i) {
      const Argument& argument = function.arguments[i];
      if (i >= required && below(rng_, 3) != 0 && !(is_threshold(argument) && below(rng_, 4) != 0)) continue;
      list += list.empty() ? "" : ", ";
      if (i >= required) list += argument.name + " => ";
      if (argument.variadic) list += "VARIADIC ";
      if (is_count(argument) && !ascending.empty()) {
        list += std::to_string(ascending.back());
        ascending.pop_back();
        continue;
      }
      list += value_for(function, argument, any);
    }
    const std::string call = "public.\"" + function.name + "\"(" + list + ")";
    if (function.kind == 'a') {
      statement.sql = "SELECT " + call + " IS NULL FROM generate_series(1, 10000000) g";
    } else if (function.returns_set) {
      statement.sql = "SELECT count(*) FROM " + call;
    } else {
      statement.sql = "SELECT " + call + " IS NULL";
    }
    return statement;
  }

  static bool is_count(const Argument& argument) { return argument.type == "bigint" && argument.name.starts_with("n_"); }

  // Most calls need a threshold to be accepted; a call without one is valid, too.
  static bool is_threshold(const Argument& argument) { return argument.name.starts_with("min_count"); }

  std::string value_for(const Function& function, const Argument& argument, const std::string& any) {
    // Sometimes the arguments of an aggregate change from row to row.
    if (function.kind == 'a' && below(rng_, 3) != 0) {
      if (argument.type == "smallint") return "(g % 32768)::int2";
      if (argument.type == "integer" || argument.type == "bigint" || argument.type == "double precision")
        return (below(rng_, 2) == 0 ? "(g::int8 * 7919 % 100003)::" : "(g % 1000)::") + argument.type;
      if (argument.type == "timestamp with time zone") return "to_timestamp(g)";
      if (argument.type == "timestamp without time zone" || argument.type == "date")
        return "to_timestamp(g)::" + argument.type;
    }
    if (argument.name == "within") {
      constexpr const char* kTypes[] = {"bigint", "double precision", "interval"};
      return pool_.draw(kTypes[below(rng_, 3)], any, rng_);
    }
    const auto words = words_.find(argument.name);
    if (argument.type == "text" && words != words_.end() && below(rng_, 8) != 0) {
      auto word = words->second.begin();
      std::advance(word, static_cast<ptrdiff_t>(below(rng_, words->second.size())));
      return "'" + *word + "'";
    }
    return pool_.draw(argument.type, any, rng_);
  }

  // Learns the words that a parameter accepts from the hint that a wrong one gets.
  void learn_words(const Function& function) {
    const size_t required = function.arguments.size() - static_cast<size_t>(function.defaults);
    for (const Argument& wanted : function.arguments) {
      if (wanted.type != "text" || wanted.name.empty() || words_.contains(wanted.name)) continue;
      std::string list;
      for (size_t i = 0; i < function.arguments.size(); ++i) {
        const Argument& argument = function.arguments[i];
        const bool is_wanted = argument.name == wanted.name;
        if (i >= required && !is_wanted && !is_threshold(argument)) continue;
        list += (list.empty() ? "" : ", ") + (i >= required ? argument.name + " => " : std::string());
        list += is_wanted ? "'none of them'" : argument.type == "text" ? kQueries[0] : "1::" + argument.type;
      }
      session_.set("statement_timeout = 200");
      const Result r = session_.exec("SELECT count(*) FROM " + function.name + "(" + list + ")");
      session_.reset("statement_timeout");
      if (r.message().find("none of them") == std::string::npos) continue;
      std::string word;
      for (const char c : r.hint().substr(std::min(r.hint().find(':'), r.hint().size())) + " ") {
        if ((c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9')) {
          word += c;
        } else if (!word.empty()) {
          words_[wanted.name].insert(word);
          word.clear();
        }
      }
    }
  }

  std::vector<Statement> served(const Function& function) {
    std::vector<Statement> statements;
    for (const Served& served : kServed) {
      if (function.name != served.function) continue;
      for (int i = 0; i < 4; ++i) statements.push_back({served.sql != nullptr ? served.sql : kPlanned});
    }
    // A receive function gets the bytes of the send function of its type.
    const Result type = control_.must("SELECT t.oid, t.typname, t.typsend::text FROM pg_type t WHERE t.typreceive = '" +
                                      function.signature + "'::regprocedure");
    for (int i = 0; i < type.rows(); ++i)
      for (int shots = 0, draws = 0; shots < 4 && draws < 100; ++draws) {
        // Some drawn expressions are not values of the type.
        const Result bytes = control_.exec_params(
            "SELECT " + type.value(i, 2) + "(" + pool_.draw(type.value(i, 1), "", rng_) + ")", {}, true);
        if (!bytes.good()) continue;
        ++shots;
        statements.push_back({"SELECT $1 IS NULL", {}, bytes.value(0, 0), static_cast<Oid>(type.number(i, 0))});
      }
    return statements;
  }

  void send(const Statement& statement) {
    if (statement.type == 0) return session_.send(statement.sql);
    const char* values[] = {statement.bytes.data()};
    const int lengths[] = {static_cast<int>(statement.bytes.size())};
    const int formats[] = {1};
    if (PQsendQueryParams(session_.raw(), statement.sql.c_str(), 1, &statement.type, values, lengths, formats, 0) == 0)
      throw std::runtime_error("cannot send");
  }

  void prepare(const Statement& statement) {
    session_.reset();
    session_.must("SET jit = off");  // compiling takes the server 0.1 s, in which it does not check for a cancel
    for (const std::string& setting : statement.settings) session_.must("SET " + setting);
  }

  static void pause_before(int attempt) {
    if (attempt > 0) sleep_ms(kFirstPauseMs * std::pow(3, attempt - 1));
  }

  // Cancels a statement once, or up to kTries times if it is late.
  void fire(const Statement& statement) {
    ++statements_;
    const double latest = full_grid() ? kGridLatestMs : kLatestMs;
    const double at = kEarliestMs * std::pow(latest / kEarliestMs, fraction(rng_));
    double best = 1e9;
    int hits = 0;
    for (int attempt = 0; attempt < kTries && best > kLatencyMs; ++attempt) {
      pause_before(attempt);
      prepare(statement);
      send(statement);
      if (session_.wait_ready(at)) {
        answered_ |= session_.finish().good();
        check_alive(statement);
        if (attempt > 0) continue;
        ++ended_;
        return;
      }
      const Lateness lateness(session_.pid());
      canceller_.cancel();
      answered_ |= session_.finish().good();
      check_alive(statement);
      ++hits;
      const double latency = lateness.ms();
      best = std::min(best, latency);
      if (latency > kLatencyMs) tap_.note(text("%.1f ms after a cancel at %.1f: ", latency, at) + described(statement));
      look_for_leavings(statement);
    }
    // It was late when it was slow, and ended before its cancel each time after that.
    if (best > kLatencyMs && hits == 1) return;
    ++cancelled_;
    ++all_cancelled_;
    if (best > slowest_ms_) slowest_ms_ = best;
    if (best > kLatencyMs) ++late_;
    long_ones_.push_back(statement);
  }

  // Runs one of the statements that had to be cancelled, under a timeout.
  bool time_out() {
    if (long_ones_.empty()) return true;
    const Statement statement = long_ones_[below(rng_, long_ones_.size())];
    long_ones_.clear();
    ++timeouts_;
    const double timeout =
        full_grid() ? kGridTimeoutMs
                    : std::round(kShortestTimeoutMs * std::pow(kLongestTimeoutMs / kShortestTimeoutMs, fraction(rng_)));
    for (int attempt = 0; attempt < kTries; ++attempt) {
      pause_before(attempt);
      prepare(statement);
      session_.set(text("statement_timeout = %d", static_cast<int>(timeout)));
      send(statement);
      // From here on, because the server reads a message, a long parameter too, without looking for interrupts.
      const bool ended = session_.wait_ready(timeout);
      const Lateness lateness(session_.pid());
      session_.finish();
      check_alive(statement);
      const double latency = ended ? 0 : lateness.ms();
      look_for_leavings(statement);
      if (latency <= kTimeoutLatencyMs) return true;
      tap_.note(text("%.1f ms after a timeout of %.0f: ", latency, timeout) + described(statement));
    }
    return false;
  }

  void look_for_leavings(const Statement& statement) {
    const int threads = threads_left(session_.pid());
    const Process process = look_at(session_.pid());
    const int64_t files = control_.number("SELECT count(*) FROM pg_ls_tmpdir()");
    const bool is_large = process.rss_anon_kb > cold_kb_ + kMemoryMarginKb;
    if (threads == 0 && files == 0 && !is_large) return;
    ++left_;
    tap_.note(text("left %d threads, %lld files, %ld kB more memory: ", threads, (long long)files,
                   process.rss_anon_kb - cold_kb_) +
              described(statement));
  }

  void check_alive(const Statement& statement) {
    if (session_.alive()) return;
    tap_.note("the connection was lost: " + described(statement));
    throw std::runtime_error("the connection was lost");
  }

  static std::string described(const Statement& statement) {
    std::string out;
    for (const std::string& setting : statement.settings) out += "SET " + setting + "; ";
    return out + statement.sql.substr(0, 600);
  }

  void warm_up() {
    session_.must("SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM dense', min_count => 1)");
    session_.must("SELECT 1 FROM pg_proc, pg_operator LIMIT 1");
    cold_kb_ = look_at(session_.pid()).rss_anon_kb;
  }

  Tap& tap_;
  Rng& rng_;
  Session& control_;
  const Pool& pool_;
  Session session_;
  Canceller canceller_{session_};
  double calls_factor_ = full_grid() ? 1 : 0.3;
  long cold_kb_ = 0;
  std::map<std::string, std::set<std::string>> words_;  // of each parameter
  std::vector<Statement> long_ones_;                    // of the current function
  std::vector<std::string> unanswered_;
  int late_ = 0, ended_ = 0, cancelled_ = 0, left_ = 0;
  double slowest_ms_ = 0;
  bool answered_ = false;
  int statements_ = 0, all_cancelled_ = 0, timeouts_ = 0;
};

void run(Tap& tap) {
  Rng rng = seeded(tap, 600);
  Session control;
  const auto start = Clock::now();
  create_tables(control);
  tap.note(text("tables made in %.1f s", ms_since(start) / 1000));
  const Pool pool(tap, control);
  tap.note(text("tables made in %.1f s", ms_since(start) / 1000));
  const std::vector<Function> functions = functions_of_the_extension(control);
  const char* only = std::getenv("BATMAP_GATE_ONLY");
  Gate gate(tap, rng, control, pool);
  for (const Function& function : functions)
    if (only == nullptr || function.signature.find(only) != std::string::npos) gate.check(function);
  gate.finish();
  tap.note(text("took %.1f s", ms_since(start) / 1000));
  control.must("DROP TABLE dense, wide, spikes, sets, indexed, relations, counts, kept_wide, kept_texts, gate_states");
}

}  // namespace

int main() { return run_tests(run); }
