// Makes the n-th allocation, mmap, thread start, temporary write or interrupt check of a backend fail while
// it runs one of the statements below, for every n up to the number of such events. The statement must end
// with the error of that fault, or with its usual answer. The backend must survive with one thread and
// without a temporary file. Then the statement must give its usual answer, and memory must not grow from
// fault to fault. Needs the server and the library of check-hostile.
//
// usage: inject SECONDS SEED [KIND]
//
// If the time does not suffice for every n of a statement, the tries are spread over its length. The table at
// the end shows how many n out of how many were tried.

#include "hostile.h"

using namespace hostile;

namespace {

constexpr long kMemoryMarginKb =
    24 * 1024;  // heaps and the quarantine of AddressSanitizer may add this much during the faults of a statement

struct Statement {
  const char* name;
  std::vector<std::string> settings;
  std::string sql;
};

struct Kind {
  const char* name;
  std::set<std::string> states;  // the errors in which a fault of this kind may end
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"palloc", {"53200"}}, {"mmap", {"53200"}}, {"thread", {}}, {"temp write", {"53100"}}, {"interrupt", {"57014"}}};
  return all;
}

const char* const kPrepare[] = {
    "DROP SCHEMA IF EXISTS inject CASCADE",
    "CREATE SCHEMA inject",
    "SET search_path = inject, public",
    "CREATE TABLE t AS SELECT g % 300 AS tid, (g * g / 7) % 41 AS item FROM generate_series(1, 3000) g",
    "CREATE TABLE wide AS SELECT (g % 300)::int8 * 5000000000 AS tid, ((g * g / 7) % 41)::text AS item FROM "
    "generate_series(1, 3000) g",
    "CREATE TABLE events AS SELECT g * 3 AS \"time\", (g * g / 5) % 7 AS event, g % 2 AS stream FROM generate_series(1, "
    "1500) g",
    "CREATE TABLE sets (id int8, s batmap)",
    "INSERT INTO sets SELECT g, (SELECT batmap_agg(x * g, 1000000) FROM generate_series(1, 20 + g * 7) x) FROM "
    "generate_series(1, 60) g",
    "CREATE TABLE relations AS SELECT batmap_relation_agg(tid, item) r FROM t",
    "CREATE TABLE counts AS SELECT batmap_pair_counts_agg(tid, item) c FROM t",
    "ANALYZE",
};

std::vector<Statement> statements() {
  const std::string query = "'SELECT tid, item FROM t'";
  const std::vector<std::string> threads = {"batmap.threads = 3"};
  const std::vector<std::string> spill = {"batmap.work_mem = '64kB'", "batmap.threads = 2"};
  const std::vector<std::string> parallel = {"parallel_setup_cost = 0", "parallel_tuple_cost = 0",
                                             "min_parallel_table_scan_size = 0", "max_parallel_workers_per_gather = 2"};
  const std::vector<std::string> node = {"enable_hashjoin = off", "enable_mergejoin = off", "enable_nestloop = off"};
  const auto of = [](const std::string& call) {
    return "SELECT count(*), sum(hashtext(q::text)::int8) FROM " + call + " q";
  };
  const std::string join =
      "SELECT count(*), sum(n), sum(a * b % 1009) FROM (SELECT x.item a, y.item b, count(*) n FROM t x JOIN t y USING (tid)"
      " GROUP BY x.item, y.item HAVING count(*) > 2) q";
  std::vector<Statement> all = {
      {"pairs", threads, of("batmap_pairs(" + query + ", min_count => 2)")},
      {"pairs, horizontal", threads, of("batmap_pairs(" + query + ", min_count => 2, method => 'horizontal')")},
      {"pairs, bitmap", threads, of("batmap_pairs(" + query + ", min_count => 2, method => 'bitmap')")},
      {"pairs, merge", threads, of("batmap_pairs(" + query + ", min_count => 2, method => 'merge')")},
      {"pairs, top", threads, of("batmap_pairs(" + query + ", top_k => 20, per_item_top_k => 3)")},
      {"pairs, parallel", parallel, of("batmap_pairs(" + query + ", min_count => 2)")},
      {"pairs through files", spill, of("batmap_pairs(" + query + ", min_count => 2)")},
      {"pairs of text", threads, of("batmap_pairs_of('SELECT tid, item FROM wide', min_count => 2)")},
      {"pairs of a relation", threads,
       "SELECT count(*), sum(hashtext(q::text)::int8) FROM relations, batmap_pairs(r, min_count => 2) q"},
      {"pairs of pair counts", threads,
       "SELECT count(*), sum(hashtext(q::text)::int8) FROM counts, batmap_pairs(c, min_count => 2) q"},
      {"pairs in the select list", threads, "SELECT batmap_pairs(r, min_count => 9)::text FROM relations LIMIT 20"},
      {"itemsets", threads, of("batmap_itemsets(" + query + ", min_count => 4)")},
      {"itemsets, closed", threads, of("batmap_itemsets(" + query + ", min_count => 4, target => 'closed')")},
      {"itemsets, pbi", threads, of("batmap_itemsets(" + query + ", min_count => 6, algorithm => 'pbi')")},
      {"itemsets, best", threads, of("batmap_itemsets(" + query + ", top_k => 30)")},
      {"itemsets of text", threads, of("batmap_itemsets_of('SELECT tid, item FROM wide', min_count => 6)")},
      {"spectrum", threads, of("batmap_itemset_spectrum(" + query + ", min_count => 4)")},
      {"estimate", threads, of("batmap_itemset_estimate(" + query + ", min_count => 6)")},
      {"rules", threads, of("batmap_rules(" + query + ", min_count => 4, min_confidence => 0.3)")},
      {"recommend", threads, of("batmap_recommend('{1,2,4}', " + query + ")")},
      {"episodes", threads,
       of("batmap_episodes('SELECT \"time\", event, stream FROM events', ARRAY[0, 10], min_count => 5, max_length => 4)")},
      {"episodes by streams, in steps", threads,
       of("batmap_episodes('SELECT \"time\", event, stream FROM events', ARRAY[0, 10], min_count => 1, max_length => 3, "
          "counting => "
          "'streams', same_time => true)")},
      {"pairs within a window", threads,
       of("batmap_window_pairs('SELECT \"time\", event, stream FROM events', 10, min_count => 1, counting => "
          "'occurrences')")},
      {"episode counts", threads,
       of("batmap_episode_count('SELECT \"time\", event, stream FROM events', ARRAY[ARRAY[1,2],ARRAY[0,3]], ARRAY[0, 10])")},
      {"occurrences",
       {},
       of("batmap_episode_occurrences('SELECT \"time\", event FROM events', ARRAY[1,2]::int8[], ARRAY[0, 10])")},
      {"spikes", {}, "SELECT count(*) FROM batmap_generate_spikes(1)"},
      {"join_project", threads, of("batmap_join_project('SELECT item, tid FROM t', 'SELECT tid, item FROM t')")},
      {"join_project through files", spill, of("batmap_join_project('SELECT item, tid FROM t', 'SELECT tid, item FROM t')")},
      {"join_project of text", threads,
       of("batmap_join_project_of('SELECT item, tid FROM wide', 'SELECT tid, item FROM wide')")},
      {"all pairs", threads, of("batmap_all_pairs('SELECT id, s FROM sets', min_count => 3)")},
      {"node", node, join},
      {"node, parallel", parallel, join},
      {"node through files",
       {"batmap.work_mem = '64kB'", "enable_hashjoin = off", "enable_mergejoin = off", "enable_nestloop = off"},
       join},
      {"batmap_relation_agg", {}, "SELECT md5(_batmap_relation_send(batmap_relation_agg(tid, item))) FROM t"},
      {"batmap_relation_agg, parallel", parallel,
       "SELECT md5(_batmap_relation_send(batmap_relation_agg(tid, item))) FROM t"},
      {"aggregates of pairs and itemsets",
       {},
       "SELECT md5(batmap_pairs_agg(tid, item, 3)::text), md5(batmap_itemsets_agg(tid, item, 9, 2)::text) FROM t"},
      {"batmap_pair_counts_agg", {}, "SELECT md5(_batmap_pair_counts_send(batmap_pair_counts_agg(tid, item))) FROM t"},
      {"sum of pair counts",
       {},
       "SELECT md5(_batmap_pair_counts_send(sum(c))) FROM (SELECT c FROM counts, generate_series(1, 3)) q"},
      {"batmap_episode_count_agg", {}, "SELECT batmap_episode_count_agg(\"time\"::int8, event, '{1,2}', 0, 10) FROM events"},
      {"batmap_join_project_agg", {}, "SELECT md5(batmap_join_project_agg(item, tid, item)::text) FROM t"},
      {"aggregates of sets",
       {},
       "SELECT batmap_cardinality(batmap_or_agg(s)), batmap_and_cardinality_agg(s), batmap_xor_cardinality_agg(s), "
       "md5(batmap_agg(id)::text) FROM sets"},
      {"operators of sets",
       {},
       "SELECT sum(batmap_cardinality((x.s & y.s) | (x.s - y.s) # y.s)), count(*) FILTER (WHERE x.s && y.s) FROM sets x, "
       "sets y WHERE x.id < 9 AND y.id < 9"},
      {"forms of sets",
       {},
       "SELECT md5(string_agg(s::text::batmap::bytea::text || batmap_to_roaring(s)::text, '')) FROM sets"},
      {"GIN index",
       {"enable_seqscan = off"},
       "CREATE INDEX sets_s ON sets USING gin (s); SELECT count(*) FROM sets WHERE s && batmap_range(100, 200); DROP INDEX "
       "sets_s"},
      {"ANALYZE of sets", {}, "ANALYZE sets; SELECT 1"},
      {"EXPLAIN ANALYZE",
       {},
       "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) SELECT * FROM batmap_pairs(" + query +
           ", min_count => 2) LIMIT 5"},
      {"a cursor left half-way", threads,
       "DECLARE c CURSOR FOR SELECT q::text FROM batmap_pairs(" + query +
           ", min_count => 2) q; MOVE 3 FROM c; CLOSE c; SELECT 1"},
      {"COPY out and in",
       {},
       "DROP TABLE IF EXISTS copied; CREATE TEMP TABLE copied (LIKE sets); INSERT INTO copied SELECT * FROM sets; "
       "SELECT md5(string_agg(s::text, '' ORDER BY id)) FROM copied"},
  };
  return all;
}

std::string answer_of(const Result& result) {
  std::string out;
  for (int row = 0; row < result.rows(); ++row)
    for (int column = 0; column < result.columns(); ++column)
      out += (result.null(row, column) ? "null" : result.value(row, column)) + "|";
  return out;
}

class Injector {
 public:
  Injector(uint64_t seed, const std::string& only) : rng_(seed), only_(only) {}

  int run(double seconds) {
    prepare();
    std::vector<Statement> all = statements();
    std::vector<const Kind*> wanted;
    for (const Kind& kind : kinds())
      if (only_.empty() || only_ == kind.name) wanted.push_back(&kind);
    const Deadline deadline(seconds);
    size_t left = all.size() * wanted.size();
    // Kinds with few events come first: the time that they do not use is left for the others.
    std::stable_sort(wanted.begin(), wanted.end(), [](const Kind* a, const Kind* b) { return rank(*a) < rank(*b); });
    for (const Kind* kind : wanted)
      for (const Statement& statement : all) {
        const Deadline share(std::max(deadline.left(), 0.0) / static_cast<double>(left--));
        try {
          walk(statement, *kind, share);
        } catch (const std::exception& e) {
          findings_.add(std::string(statement.name) + ", " + kind->name + ": the session broke", e.what());
          connect_control();
        }
      }
    for (const Kind* kind : wanted) {
      const Sum& sum = sums_[kind->name];
      std::printf("%-10s %8ld events in %zu statements, %7ld faults injected: %ld errors, %ld answers\n", kind->name,
                  sum.events, all.size(), sum.faults, sum.errors, sum.answers);
    }
    std::printf("inject: %zu findings\n", findings_.count());
    return findings_.any() ? 1 : 0;
  }

 private:
  struct Sum {
    long events = 0;
    long faults = 0;
    long errors = 0;
    long answers = 0;
  };

  static int rank(const Kind& kind) {
    return std::string(kind.name) == "palloc" ? 1 : std::string(kind.name) == "interrupt" ? 2 : 0;
  }

  // Anew, too: a process that crashed takes all sessions with it.
  void connect_control() {
    control_ = connect();
    control_->must("SET search_path = inject, public");
  }

  void prepare() {
    control_ = connect();
    for (const char* sql : kPrepare) control_->must(sql);
    control_->must("CREATE FUNCTION fault_arm(text, int8, int4) RETURNS void AS 'fault_control' LANGUAGE C STRICT");
    control_->must("CREATE FUNCTION fault_disarm() RETURNS int8 AS 'fault_control' LANGUAGE C STRICT");
  }

  void open(const Statement& statement) {
    session_ = connect();
    session_->must("SET search_path = inject, public");
    session_->must("SET statement_timeout = '60s'");
    for (const std::string& setting : statement.settings) session_->must("SET " + setting);
  }

  // Runs a statement; its n-th event fails (n = 0: none). @return the result, and the number of events,
  // negative if one failed
  std::pair<Result, int64_t> attempt(const Statement& statement, const Kind& kind, int64_t nth) {
    session_->must("BEGIN");
    control_->must("SELECT fault_arm(" + quoted(kind.name) + ", " + std::to_string(nth) + ", " +
                   std::to_string(session_->pid()) + ")");
    Result result = session_->exec(statement.sql);
    const int64_t counted = control_->number("SELECT fault_disarm()");
    if (session_->alive()) session_->exec("ROLLBACK");
    return {std::move(result), counted};
  }

  void walk(const Statement& statement, const Kind& kind, const Deadline& share) {
    open(statement);
    attempt(statement, kind, 0);  // fills caches
    auto [first, events] = attempt(statement, kind, 0);
    const std::string what = std::string(statement.name) + ", " + kind.name;
    if (!first.good()) {
      findings_.add(what + ": fails without a fault", first.sqlstate() + " " + first.message());
      return;
    }
    const std::string expected = answer_of(first);
    Sum& sum = sums_[kind.name];
    sum.events += events;
    long before_kb = 0;
    int64_t tried = 0;
    // n visits 1 ... events + 1 in steps that are coprime to that length, so that any part of the walk is
    // spread over it.
    const int64_t length = events + 1;
    int64_t step = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(length) * 0.618));
    while (std::gcd(step, length) != 1) ++step;
    int64_t at = 0;
    for (; tried < length && (!share.over() || tried == 0); ++tried) {
      at = (at + step) % length;
      const int64_t nth = at + 1;
      auto [result, counted] = attempt(statement, kind, nth);
      const std::string where =
          "n = " + std::to_string(nth) + " of " + std::to_string(events) + ": " + result.sqlstate() + " " + result.message();
      if (!session_->alive()) {
        findings_.add(what + ": the backend is gone", where);
        connect_control();
        open(statement);
        continue;
      }
      if (counted < 0) {
        ++sum.faults;
        ++(result.good() ? sum.answers : sum.errors);
      }
      if (result.good()) {
        if (answer_of(result) != expected)
          findings_.add(what + ": another answer", where + " " + answer_of(result) + " instead of " + expected);
      } else if (!kind.states.contains(result.sqlstate())) {
        findings_.add(what + ": error " + result.sqlstate() + " " + result.message(), where);
      }
      if (look_at(session_->pid()).threads != 1) findings_.add(what + ": threads are left", where);
      if (tried % 16 == 0 || tried + 1 == length) {
        check_remains(what, where);
        const Result again = session_->exec(statement.sql);
        if (!again.good() || answer_of(again) != expected)
          findings_.add(what + ": no right answer afterwards", where + "; then " + again.sqlstate() + " " + again.message());
      }
      if (tried == 32) before_kb = look_at(session_->pid()).rss_anon_kb;
    }
    const long after_kb = look_at(session_->pid()).rss_anon_kb;
    if (before_kb > 0 && after_kb > before_kb + kMemoryMarginKb)
      findings_.add(what + ": memory grows",
                    text("%ld kB after 32 faults, %ld kB after %ld", before_kb, after_kb, static_cast<long>(tried)));
    if (tried < length)
      std::printf("# %s: %ld of %ld tried\n", what.c_str(), static_cast<long>(tried), static_cast<long>(length));
    session_.reset();
  }

  void check_remains(const std::string& what, const std::string& where) {
    const std::string files = control_->value("SELECT count(*) FROM pg_ls_tmpdir() WHERE name LIKE 'pgsql_tmp" +
                                              std::to_string(session_->pid()) + ".%'");
    if (files != "0") findings_.add(what + ": " + files + " temporary files are left", where);
  }

  Rng rng_;
  std::string only_;
  Findings findings_;
  std::unique_ptr<Session> control_;
  std::unique_ptr<Session> session_;
  std::map<std::string, Sum> sums_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = Arguments::read(argc, argv);
    std::printf("inject: seed %llu\n", static_cast<unsigned long long>(arguments.seed));
    return Injector(arguments.seed, argc > 3 ? argv[3] : "").run(arguments.seconds);
  } catch (const std::exception& e) {
    std::printf("FINDING inject broke off\n  %s\n", e.what());
    return 1;
  }
}
