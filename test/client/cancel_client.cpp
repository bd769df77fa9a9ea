// Stops runs half-way. Many cancels hit every phase of batmap_pairs (read, group, count by
// each method, answer), itemsets, rules, recommendations, episodes, and the other long functions; so do
// statement timeouts. A run must stop at once with SQLSTATE 57014. After that its threads must be gone, its
// memory released and the session usable. Interrupts that are no cancel (a request for memory figures, a
// check of the client's connection, a DROP DATABASE in another session) must neither stop a run nor wait
// for its end.
//
// How the phases are hit: each target first runs to its end. batmap_last_run() tells how long its phases
// took, and the moment of a cancel is drawn from the span of its phase (5 to 95 %). If a run ends before its
// cancel, it serves as a new measurement at the current speed of the machine, and the next try uses that.
// Counting is made long by taking enough items: its cost grows with the square of their number, and is
// measured with few items first. Latency is the time from the call that requests the cancel (the server forks
// a process for it) to the error in the client, or the processor time of the backend in it if that is less (Lateness).
//
// BATMAP_TEST_GRID=full (`make check-reference`) fires all shots of a target. Otherwise it fires kFewShots.

#include <cmath>

#include "client.h"

using namespace client;

namespace {

const int kTids = full_grid() ? 25000 : 15000;
constexpr int kPerTid = 200;
constexpr int kItems = 4000;
constexpr int kFewItems = 400;
constexpr int kFewShots = 2;
constexpr double kCountMs = 300;        // wanted length of a counting phase
constexpr double kIntoCountMs = 1000;   // into a run of minutes: after its read and group phases
constexpr double kLatencyMs = 100;      // a cancel takes at most this long ...
constexpr double kLateShare = 0.01;     // ... except for this share, or one, on a busy machine ...
constexpr double kHardLatencyMs = 500;  // ... and never longer than this
constexpr double kPatienceMs = 300000;  // for all runs together that end before their cancel
constexpr long kMemoryMarginKb = 16 * 1024;
constexpr int64_t kContextMargin = 1 << 20;

// Counts what happened to the cancels of a target.
struct Tally {
  std::vector<double> latencies;  // of the cancels that hit
  int late = 0;                   // came after the end of the run
  int wrong = 0;                  // ended with another error than 57014
  int threads_left = 0;
};

struct Target {
  std::string name;
  std::vector<std::string> settings;  // undone by RESET ALL
  std::string sql;
  Phase phase = Phase::kWhole;
  int shots = 0;
  bool has_timeline = true;  // false: batmap_last_run() does not record it
  double from_ms = 0;        // the span of the phase, from the last full run
  double to_ms = 0;
  Tally tally = {};
};

std::string pairs_of_query(const std::string& where, const std::string& arguments) {
  return "SELECT count(*), sum(support_count) FROM batmap_pairs('SELECT tid, item FROM big" + where + "', " + arguments +
         ")";
}

std::string pairs_of_relation(const std::string& name, const std::string& arguments) {
  return "SELECT count(*), sum(p.support_count) FROM " + name + ", LATERAL batmap_pairs(r, " + arguments + ") p";
}

struct Shot {
  std::string target;
  double at_ms;
  double latency_ms;
};

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::ceil(p * static_cast<double>(values.size()))) - 1];
}

std::vector<double> latencies(const std::vector<Shot>& shots) {
  std::vector<double> out;
  for (const Shot& s : shots) out.push_back(s.latency_ms);
  return out;
}

// Checks the median, the 99th percentile and the maximum against the limits above.
void judge_latencies(Tap& tap, const std::vector<Shot>& shots, const std::string& what) {
  const auto ms = latencies(shots);
  const auto late = std::count_if(ms.begin(), ms.end(), [](double l) { return l > kLatencyMs; });
  const double worst = percentile(ms, 1);
  for (const Shot& s : shots) {
    if (s.latency_ms > kLatencyMs)
      tap.note(text("late: %s at %.0f ms took %.1f ms", s.target.c_str(), s.at_ms, s.latency_ms));
  }
  tap.ok(!ms.empty() && static_cast<double>(late) <= std::max(1.0, kLateShare * static_cast<double>(ms.size())) &&
             worst <= kHardLatencyMs,
         text("%zu %s: median %.1f, p99 %.1f, max %.1f ms; %ld over %.0f ms", ms.size(), what.c_str(), percentile(ms, 0.5),
              percentile(ms, 0.99), worst, (long)late, kLatencyMs));
}

class Range {
 public:
  Range(Tap& tap, Session& session, Rng& rng) : tap_(tap), session_(session), rng_(rng), canceller_(session) {}

  // Runs a target to its end and finds the span of its phase.
  void aim(Target& target) {
    prepare(target);
    const auto start = Clock::now();
    session_.must(target.sql);
    const double ms = ms_since(start);
    const std::string phases = learn(target, ms);
    tap_.note(text("%s: %.0f ms, then %ld kB%s", target.name.c_str(), ms, private_kb(), phases.c_str()));
  }

  // Cancels a target at random moments of its span until `shots` cancels in all have hit it.
  void fire(Target& target, int shots) {
    const int threads[] = {0, 1, 4};
    for (int i = 0; static_cast<int>(target.tally.latencies.size()) < shots && late_ms_ < kPatienceMs; ++i) {
      prepare(target);
      session_.must(text("SET batmap.threads = %d", threads[i % 3]));
      const double at = moment(target);
      const auto start = Clock::now();
      session_.send(target.sql);
      const bool ended = session_.wait_ready(at);
      const Lateness lateness(session_.pid());
      if (!ended) canceller_.cancel();
      const Result r = session_.finish();
      const double latency = lateness.ms();
      // The run ended before the cancel reached it. A run that goes on for longer than a cancel may take
      // has ignored it.
      if (r.good() && latency <= kLatencyMs) {
        ++target.tally.late;
        came_late(target, ms_since(start));
        continue;
      }
      target.tally.latencies.push_back(latency);
      cancels_.push_back({target.name, at, latency});
      if (ended || (!r.good() && r.sqlstate() != "57014")) {
        ++target.tally.wrong;
        tap_.note(r.sqlstate() + " " + r.message());
      }
      target.tally.threads_left += threads_left(session_.pid()) != 0 ? 1 : 0;
    }
  }

  void judge(const Target& target) {
    tap_.ok(static_cast<int>(target.tally.latencies.size()) >= target.shots && target.tally.wrong == 0 &&
                target.tally.threads_left == 0 && works(),
            text("%s: %zu cancels from %.0f to %.0f ms (%d came too late), median %.1f, max %.1f ms; %d other errors,"
                 " %d times a thread was left",
                 target.name.c_str(), target.tally.latencies.size(), target.from_ms, target.to_ms, target.tally.late,
                 percentile(target.tally.latencies, 0.5), percentile(target.tally.latencies, 1), target.tally.wrong,
                 target.tally.threads_left));
  }

  // Stops a target by statement_timeout.
  void time_out(Target& target) {
    while (late_ms_ < kPatienceMs) {
      prepare(target);
      const double at = std::max(1.0, std::floor(moment(target)));
      session_.set(text("statement_timeout = %d", static_cast<int>(at)));
      const auto start = Clock::now();
      session_.send(target.sql);
      const bool ended = session_.wait_ready(at);
      const Lateness lateness(session_.pid());
      const Result r = session_.finish();
      const double latency = ended ? 0 : lateness.ms();
      session_.reset("statement_timeout");
      if (r.good() && latency <= kLatencyMs) {
        came_late(target, ms_since(start));
        continue;
      }
      timeouts_.push_back({target.name, at, latency});
      const int left = threads_left(session_.pid());
      if ((!r.good() && r.sqlstate() != "57014") || left != 0)
        bad_timeouts_ += text("; %s: %d threads left, ", target.name.c_str(), left) + r.sqlstate() + " " + r.message();
      return;
    }
  }

  // Checks that a small run in the same session works.
  bool works() {
    const Result r = session_.exec(
        "SELECT sum(support_count) FROM batmap_pairs('SELECT * FROM (VALUES (1, 1), (1, 2), (2, 1), (2, 2)) v',"
        " min_count => 1)");
    return r.good() && r.number(0, 0) == 2;
  }

  long private_kb() const { return look_at(session_.pid()).rss_anon_kb; }

  const std::vector<Shot>& cancels() const { return cancels_; }
  const std::vector<Shot>& timeouts() const { return timeouts_; }
  const std::string& bad_timeouts() const { return bad_timeouts_; }

 private:
  void prepare(const Target& target) {
    session_.reset();
    session_.must("SET jit = off");  // compiling takes the server 0.1 s, in which it does not check for a cancel
    for (const std::string& setting : target.settings) session_.must("SET " + setting);
  }

  // Sets the span of the phase of a target from the run that just ended. @return the phases of that
  // run in words
  std::string learn(Target& target, double ms) {
    target.to_ms = ms;
    if (!target.has_timeline) return "";
    const Timeline t = last_run(session_);
    if (target.phase != Phase::kWhole) std::tie(target.from_ms, target.to_ms) = t.span(target.phase);
    return "; " + t.line();
  }

  void came_late(Target& target, double ms) {
    learn(target, ms);
    late_ms_ += ms;
  }

  double moment(const Target& target) {
    return target.from_ms + (target.to_ms - target.from_ms) * (0.05 + 0.9 * fraction(rng_));
  }

  Tap& tap_;
  Session& session_;
  Rng& rng_;
  Canceller canceller_;
  std::vector<Shot> cancels_;
  std::vector<Shot> timeouts_;
  std::string bad_timeouts_;
  double late_ms_ = 0;
};

// Makes the relation `name` of the items below `items` of table big. It is analyzed, because otherwise its
// one row is estimated as a thousand, and the server compiles every query.
void make_relation(Session& session, const std::string& name, int items) {
  session.must("DROP TABLE IF EXISTS " + name);
  session.must(
      text("CREATE TABLE %s AS SELECT batmap_relation_agg(tid, item) AS r FROM big WHERE item < %d", name.c_str(), items));
  session.must("ANALYZE " + name);
}

// The same with so many items that counting with these arguments takes about kCountMs. @return the run over
// few_relation that was measured
Timeline make_countable(Tap& tap, Session& session, const std::string& name, const std::string& setting,
                        const std::string& arguments) {
  session.reset();
  if (!setting.empty()) session.must("SET " + setting);
  session.must(pairs_of_relation("few_relation", arguments));
  const Timeline few = last_run(session);
  const int items = std::min(kItems, static_cast<int>(kFewItems * std::sqrt(kCountMs / std::max(0.1, few.count))));
  make_relation(session, name, items);
  tap.note(text("%s: %d items (%d took %.1f ms)", name.c_str(), items, kFewItems, few.count));
  return few;
}

// Every item is kept (in a twentieth of the transactions), and hardly any pair is frequent (in a 400th), so the time goes
// into counting.
const std::string kFew = ", min_count => 300";

// One target for each method, and another without vector instructions if the method uses a kernel.
std::vector<Target> counting_targets(Tap& tap, Session& session) {
  std::vector<Target> targets;
  make_relation(session, "few_relation", kFewItems);
  for (const std::string& method : counting_methods(session)) {
    const std::string arguments = "method => '" + method + "'" + kFew;
    const std::string name = "for_" + method;
    const bool uses_kernel = !make_countable(tap, session, name, "", arguments).kernel.empty();
    targets.push_back({"count by " + method, {}, pairs_of_relation(name, arguments), Phase::kCount, 10});
    if (!uses_kernel) continue;
    const std::string scalar = "batmap.cpu_kernel = 'scalar'";
    make_countable(tap, session, name + "_scalar", scalar, arguments);
    targets.push_back(
        {"count by " + method + ", scalar", {scalar}, pairs_of_relation(name + "_scalar", arguments), Phase::kCount, 6});
  }
  return targets;
}

int64_t context_bytes(Session& session) { return session.number("SELECT sum(total_bytes) FROM pg_backend_memory_contexts"); }

// Interrupts that are no cancel, in the middle of counting, must not change the answer. Runs until enough of
// them have come.
void harmless_interrupts(Tap& tap, Session& session, Session& control, const std::string& sql) {
  session.reset();
  const std::string undisturbed = session.value(sql);
  session.must("SET client_connection_check_interval = '20ms'");
  int looks = 0;
  bool same = true;
  std::string message;
  for (const auto start = Clock::now(); same && looks < 5 && ms_since(start) < kPatienceMs;) {
    session.send(sql);
    while (!session.wait_ready(40)) {
      control.must(text("SELECT pg_log_backend_memory_contexts(%d), pg_reload_conf()", session.pid()));
      ++looks;
    }
    const Result r = session.finish();
    same = r.good() && r.value(0, 0) == undisturbed;
    message = r.message();
  }
  session.reset();
  tap.ok(same && looks >= 5,
         text("%d looks at its memory and a watched connection do not disturb a run %s", looks, message.c_str()));
}

// DROP DATABASE in another session waits until every backend has absorbed a barrier. It must not wait for the
// end of a run.
void barrier(Tap& tap, Session& session, Session& control, const std::string& sql) {
  session.reset();
  control.must("DROP DATABASE IF EXISTS batmap_short_lived");
  control.must("CREATE DATABASE batmap_short_lived");
  control.must("CHECKPOINT");  // DROP DATABASE makes a checkpoint, too, and there may be much to write
  session.must("SET batmap.threads = 1");
  session.must("SET statement_timeout = '60s'");
  session.send(sql);
  const bool started = !session.wait_ready(kIntoCountMs);
  const auto start = Clock::now();
  control.must("DROP DATABASE batmap_short_lived");
  const double took = ms_since(start);
  const bool still_running = !session.wait_ready(0);
  Canceller(session).cancel();
  session.finish();
  session.reset();
  tap.ok(started && still_running, text("DROP DATABASE of another session takes %.0f ms, not until the run ends", took));
}

// Runs that the surrounding query stops half-way.
void left_half_way(Tap& tap, Session& session, const std::string& relation) {
  session.reset();
  session.must("BEGIN");
  session.must("DECLARE c CURSOR FOR SELECT p.* FROM " + relation + ", LATERAL batmap_pairs(r, min_count => 1) p");
  const int rows = session.must("FETCH 10 FROM c").rows();
  session.must("CLOSE c");
  session.must("COMMIT");
  const int limited = session.must("SELECT batmap_pairs(r, min_count => 1) FROM " + relation + " LIMIT 10").rows();
  tap.ok(rows == 10 && limited == 10 && threads_left(session.pid()) == 0,
         "a closed cursor and a LIMIT leave no thread behind");
}

// A block of PL/pgSQL catches a cancel: the transaction goes on and can run again.
void caught(Tap& tap, Session& session, const std::string& sql) {
  session.reset();
  session.must("BEGIN");
  session.send("DO $$ BEGIN PERFORM * FROM (" + sql +
               ") q; RAISE 'ran to its end'; EXCEPTION WHEN query_canceled THEN PERFORM "
               "set_config('batmap_test.caught', 'yes', true);"
               " END $$");
  const bool early = session.wait_ready(kIntoCountMs);
  if (!early) Canceller(session).cancel();
  const Result r = session.finish();
  const int threads = threads_left(session.pid());
  const Result flag = session.exec("SELECT current_setting('batmap_test.caught', true)");
  const Result again =
      session.exec("SELECT count(*) FROM batmap_pairs('SELECT * FROM (VALUES (1, 1), (1, 2)) v', min_count => 1)");
  tap.ok(!early && r.good() && threads == 0 && flag.good() && flag.value(0, 0) == "yes" && again.good() &&
             again.number(0, 0) == 1,
         "a cancel caught inside a transaction leaves it able to run again " + r.message() + again.message());
  session.must("ROLLBACK");
}

std::vector<Target> pair_targets() {
  const std::string serial = "max_parallel_workers_per_gather = 0";
  const std::string horizontal = pairs_of_query("", "method => 'horizontal'" + kFew);
  const std::string millions = text("min_count => %d", kTids / 400);  // two fifths of the 8 million pairs are frequent
  const auto relation = [](const std::string& arguments) { return pairs_of_relation("big_relation", arguments); };
  return {
      {"read, stream", {serial}, horizontal, Phase::kRead, 12},
      {"read, parallel scan", {}, horizontal, Phase::kRead, 12},
      {"group after a stream", {serial}, horizontal, Phase::kGroup, 6},
      {"group of a relation, for bitmap", {}, relation("method => 'bitmap'" + kFew), Phase::kGroup, 6},
      // Pairs of one item only: counting all pairs by merge would take minutes.
      {"group of a relation, for merge", {}, relation("include => '{1}', method => 'merge'" + kFew), Phase::kGroup, 6},
      {"answer of millions, bitmap", {}, relation(millions + ", method => 'bitmap'"), Phase::kAnswer, 5},
      {"answer of millions, horizontal", {}, relation(millions + ", method => 'horizontal'"), Phase::kAnswer, 5},
      {"answer in the select list",
       {},
       "SELECT count(*) FROM (SELECT batmap_pairs(r, " + millions + ") FROM big_relation) q",
       Phase::kWhole,
       4},
      {"answer to the client",
       {},
       text("SELECT p.* FROM big_relation, LATERAL batmap_pairs(r, min_count => %d) p", kTids / 400 + 6),
       Phase::kWhole,
       4},
      {"top_k", {}, pairs_of_relation("half_relation", "top_k => 500000"), Phase::kWhole, 4},
      {"per_item_top_k", {}, pairs_of_relation("half_relation", "per_item_top_k => 300"), Phase::kWhole, 4},
      {"items of text",
       {},
       "SELECT count(*), sum(support_count) FROM batmap_pairs_of('SELECT tid, item::text FROM big WHERE item < "
       "1500'" +
           kFew + ")",
       Phase::kWhole,
       5},
  };
}

// Itemsets, rules and recommendations of a table with few items that occur together in many transactions.
std::vector<Target> itemset_targets() {
  const auto of_dense = [](const std::string& function, const std::string& arguments) {
    return "SELECT count(*) FROM " + function + "('SELECT tid, item FROM dense', " + arguments + ")";
  };
  const std::string basket =
      "SELECT item FROM batmap_recommend((SELECT array_agg(i) FROM generate_series(1, 20) i), 'SELECT tid, item"
      " FROM dense', max_lhs => 5)";
  return {
      {"itemsets", {}, of_dense("batmap_itemsets", "min_count => 60"), Phase::kWhole, 8},
      {"itemsets to the client",
       {},
       "SELECT itemset, support_count FROM batmap_itemsets('SELECT tid, item FROM dense', min_count => 120)",
       Phase::kWhole,
       4},
      {"closed itemsets", {}, of_dense("batmap_itemsets", "min_count => 100, target => 'closed'"), Phase::kWhole, 5},
      {"the best itemsets", {}, of_dense("batmap_itemsets", "top_k => 100000"), Phase::kWhole, 5},
      {"itemsets by pbi", {}, of_dense("batmap_itemsets", "min_count => 200, algorithm => 'pbi'"), Phase::kWhole, 4},
      {"itemsets by tbi", {}, of_dense("batmap_itemsets", "min_count => 200, algorithm => 'tbi'"), Phase::kWhole, 4},
      {"itemsets by dfs", {}, of_dense("batmap_itemsets", "min_count => 120, algorithm => 'dfs'"), Phase::kWhole, 4},
      {"spectrum", {}, of_dense("batmap_itemset_spectrum", "min_count => 30"), Phase::kWhole, 5},
      {"rules", {}, of_dense("batmap_rules", "min_count => 120, max_rhs => 3"), Phase::kWhole, 6},
      {"the best rules", {}, of_dense("batmap_rules", "min_count => 120, max_rhs => 3, top_k => 100000"), Phase::kWhole, 5},
      {"recommendations", {}, basket, Phase::kWhole, 5},
  };
}

// Episodes of a simulated network: frequent ones level by level, and given ones.
std::vector<Target> episode_targets() {
  const auto of_spikes = [](const std::string& function, const std::string& arguments) {
    return "SELECT count(*), sum(support_count) FROM " + function + "('SELECT time_us, neuron FROM spikes', " + arguments +
           ")";
  };
  const std::string given =
      "(SELECT array_agg(ARRAY[i % 64, i / 7 % 64, i / 3 % 64, i % 61]) FROM generate_series(1, 3000) i), ARRAY[0, 20000]";
  return {
      {"episodes",
       {},
       of_spikes("batmap_episodes", "ARRAY[5000, 10000], min_count => 240, max_length => 5"),
       Phase::kWhole,
       6},
      {"episodes by tracking",
       {},
       of_spikes("batmap_episodes", "ARRAY[5000, 10000], min_count => 300, max_length => 3, algorithm => 'tracking'"),
       Phase::kWhole,
       4},
      {"the best episodes",
       {},
       of_spikes("batmap_episodes", "ARRAY[5000, 10000], top_k => 3000, max_length => 4"),
       Phase::kWhole,
       4},
      {"episodes by streams, in steps",
       {},
       "SELECT count(*), sum(support_count) FROM batmap_episodes('SELECT time_us / 2000, neuron, time_us / 100000 FROM "
       "spikes', "
       "ARRAY[0, 20], min_count => 200, max_length => 4, counting => 'streams', same_time => true)",
       Phase::kWhole,
       4},
      {"pairs within a window",
       {},
       of_spikes("batmap_window_pairs", "10000000, min_count => 1, counting => 'occurrences'"),
       Phase::kWhole,
       4},
      {"given episodes", {}, of_spikes("batmap_episode_count", given), Phase::kWhole, 4},
      {"given episodes by automaton",
       {},
       of_spikes("batmap_episode_count", given + ", algorithm => 'automaton'"),
       Phase::kWhole,
       4},
  };
}

// Other long functions, which batmap_last_run() does not record.
std::vector<Target> relation_targets() {
  const std::string aggregate = "SELECT length(_batmap_relation_send(batmap_relation_agg(tid, item))) FROM big";
  return {
      {"batmap_relation_agg", {"max_parallel_workers_per_gather = 0"}, aggregate, Phase::kWhole, 4, false},
      {"batmap_relation_agg in parallel", {}, aggregate, Phase::kWhole, 4, false},
      {"batmap_unnest", {}, "SELECT count(*) FROM big_relation, LATERAL batmap_unnest(r) u", Phase::kWhole, 4, false},
  };
}

void run(Tap& tap) {
  Rng rng = seeded(tap, 57014);
  Session control;
  auto start = Clock::now();
  create_drawn_table(control, "big", kTids, kPerTid, kItems);
  make_relation(control, "big_relation", kItems);
  make_relation(control, "half_relation", kItems / 2);
  control.must("DROP TABLE IF EXISTS dense");
  control.must(
      "CREATE TABLE dense AS SELECT t AS tid, i AS item FROM generate_series(1, 12000) t, generate_series(1, 50) i"
      " WHERE abs(hashint4(t * 64 + i)::int8) % 100 < 35");
  control.must("DROP TABLE IF EXISTS spikes");
  control.must("CREATE TABLE spikes AS SELECT * FROM batmap_generate_spikes(30)");
  std::vector<Target> targets = pair_targets();
  for (Target& target : itemset_targets()) targets.push_back(std::move(target));
  for (Target& target : episode_targets()) targets.push_back(std::move(target));
  for (Target& target : counting_targets(tap, control)) targets.push_back(std::move(target));
  if (!full_grid())
    for (Target& target : targets) target.shots = std::min(target.shots, kFewShots);
  tap.note(text("tables made in %.1f s", ms_since(start) / 1000));

  Session session;
  Range range(tap, session, rng);
  range.works();
  const long cold_kb = range.private_kb();
  start = Clock::now();
  for (Target& target : targets) range.aim(target);
  session.reset();
  const long warm_kb = range.private_kb();
  tap.note(text("full runs took %.1f s", ms_since(start) / 1000));

  // Two rounds. A process keeps some freed memory (glibc: up to twice the largest block below 32 MB, besides
  // its heap). The first round fills that; a leak grows in the second.
  start = Clock::now();
  for (Target& target : targets) range.fire(target, target.shots / 2);
  session.reset();
  context_bytes(session);
  const int64_t contexts_before = context_bytes(session);
  const long before_kb = range.private_kb();
  const size_t before = range.cancels().size();
  for (Target& target : targets) range.fire(target, target.shots);
  session.reset();
  context_bytes(session);
  const int64_t contexts_after = context_bytes(session);
  const long after_kb = range.private_kb();
  for (const Target& target : targets) range.judge(target);
  tap.ok(
      after_kb <= before_kb + kMemoryMarginKb,
      text("private memory of the backend: %ld kB at first, %ld kB after full runs, %ld kB after %zu cancels, %ld kB after"
           " %zu; margin %ld kB",
           cold_kb, warm_kb, before_kb, before, after_kb, range.cancels().size(), kMemoryMarginKb));
  tap.ok(contexts_after <= contexts_before + kContextMargin,
         text("memory contexts: %lld bytes, %lld after the second round; margin %lld", (long long)contexts_before,
              (long long)contexts_after, (long long)kContextMargin));

  for (Target& target : relation_targets()) {
    range.aim(target);
    range.fire(target, target.shots);
    range.judge(target);
  }
  tap.note(text("cancels took %.1f s", ms_since(start) / 1000));
  judge_latencies(tap, range.cancels(), "cancels");
  const size_t wanted = full_grid() ? 100 : 70;
  tap.ok(range.cancels().size() >= wanted, text("%zu cancels hit a run", range.cancels().size()));

  for (Target& target : targets) range.time_out(target);
  judge_latencies(tap, range.timeouts(), "statement timeouts");
  tap.ok(range.timeouts().size() == targets.size() && range.bad_timeouts().empty() && range.works(),
         text("%zu statement timeouts, none with another error or a thread left", range.timeouts().size()) +
             range.bad_timeouts());
  tap.ok(control.number("SELECT count(*) FROM pg_ls_tmpdir()") == 0, "no temporary file is left");

  // Minutes of counting: both functions need a run that does not end on any machine before they are done.
  const std::string endless = pairs_of_relation("big_relation", "method => 'merge'" + kFew);
  caught(tap, session, endless);
  barrier(tap, session, control, endless);
  left_half_way(tap, session, "for_merge");
  harmless_interrupts(tap, session, control, pairs_of_relation("for_merge", "min_count => 60, method => 'merge'"));
  tap.ok(range.works(), "the session works at the end");
  control.must("DROP TABLE big, big_relation, half_relation, few_relation, dense, spikes");
  for (const std::string& method : counting_methods(control)) {
    control.must("DROP TABLE IF EXISTS for_" + method + ", for_" + method + "_scalar");
  }
}

}  // namespace

int main() { return run_tests(run); }
