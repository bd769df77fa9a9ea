// Sessions change a kept table at random, at the three isolation levels, with savepoints and rollbacks, merge its counts and
// ask. Every answer must equal the recount in its own snapshot, which is asked for in the same statement. Nothing may
// deadlock: each transaction takes its tids in ascending order and locks those whose rows it changes, rows that get another tid
// get one that nobody changes (else an old snapshot would see them in another order), and merges run in transactions of their own.
//
// Then the same over a partitioned table, whose transactions lie in several partitions. There a session also attaches and
// detaches a partition, which it changes in between, and truncates another one; deadlocks with it are none of ours.
//
// Three seconds each with 16 sessions; BATMAP_KEPT_SECONDS sets another time.

#include <atomic>
#include <mutex>

#include "client.h"

using namespace client;

namespace {

constexpr int kSessions = 16;
constexpr int kTids = 60;
constexpr int kItems = 25;

double run_seconds() {
  const char* const given = std::getenv("BATMAP_KEPT_SECONDS");
  return given != nullptr ? std::atof(given) : 3;
}

struct Tally {
  std::atomic<int> questions = 0, wrong = 0, merges = 0, commits = 0, rollbacks = 0, conflicts = 0, deadlocks = 0,
                   others = 0, partitions = 0;
  std::mutex lock;
  std::string first_wrong;

  void note(const std::string& what) {
    const std::lock_guard guard(lock);
    if (first_wrong.empty()) first_wrong = what;
  }
};

// One statement, so one snapshot at every isolation level.
std::string question(Rng& rng) {
  const uint64_t kind = below(rng, 4);
  if (kind == 0)
    return "WITH kept AS (SELECT * FROM batmap_pairs('kept_lines'::regclass, 1)), counted AS (SELECT * FROM "
           "batmap_pairs((SELECT batmap_pair_counts_agg(tid, item) FROM kept_lines), 1)) "
           "SELECT NOT EXISTS (SELECT * FROM kept EXCEPT SELECT * FROM counted) AND"
           " NOT EXISTS (SELECT * FROM counted EXCEPT SELECT * FROM kept)";
  if (kind == 1)
    return "SELECT batmap_kept_counts('kept_lines')::text IS NOT DISTINCT FROM "
           "coalesce((SELECT batmap_pair_counts_agg(tid, item) FROM kept_lines), batmap_kept_counts('kept_lines'))::text";
  const auto item = static_cast<int>(below(rng, kItems));
  return text(
      "WITH kept AS (SELECT * FROM batmap_partners('kept_lines'::regclass, 1, items => ARRAY[%d], top_k => 1000, measure => "
      "'lift')),"
      " counted AS (SELECT * FROM batmap_partners((SELECT batmap_pair_counts_agg(tid, item) FROM kept_lines), 1, items => "
      "ARRAY[%d],"
      " top_k => 1000, measure => 'lift'))"
      " SELECT NOT EXISTS (SELECT * FROM kept EXCEPT SELECT * FROM counted) AND"
      " NOT EXISTS (SELECT * FROM counted EXCEPT SELECT * FROM kept)",
      item, item);
}

// A change of the rows of one tid.
std::string change(Rng& rng, int tid) {
  const auto item = static_cast<int>(below(rng, kItems));
  switch (below(rng, 8)) {
    case 0:
    case 1:
    case 2:
      return text("INSERT INTO kept_lines SELECT %d, (%d + g * g) %% %d FROM generate_series(0, %d) g", tid, item, kItems,
                  static_cast<int>(below(rng, 4)));
    case 3:
      return text("INSERT INTO kept_lines VALUES (%d, NULL), (NULL, %d), (%d, %d), (%d, %d)", tid, item, tid, item, tid,
                  item);
    case 4: return text("UPDATE kept_lines SET item = (item + %d) %% %d WHERE tid = %d", item, kItems, tid);
    case 5:
      return text("UPDATE kept_lines SET tid = %d WHERE tid = %d AND item < %d",
                  2 * kTids + static_cast<int>(below(rng, kTids)), tid, item);
    case 6: return text("DELETE FROM kept_lines WHERE tid = %d AND item > %d", tid, item);
    default: return text("DELETE FROM kept_lines WHERE tid = %d", tid);
  }
}

// @return whether the transaction can go on
bool ran(Tally& tally, const Result& result, const std::string& sql) {
  if (result.good()) return true;
  const std::string state = result.sqlstate();
  // 25001: new partitions are merged at READ COMMITTED only.
  if (state == "40001" || state == "25001") {
    ++tally.conflicts;
  } else if (state == "40P01") {
    ++tally.deadlocks;
  } else {
    ++tally.others;
    tally.note(sql + ": " + result.message());
  }
  return false;
}

bool ask(Tally& tally, Session& session, Rng& rng) {
  const std::string sql = question(rng);
  const Result answer = session.exec(sql);
  if (!ran(tally, answer, sql)) return false;
  ++tally.questions;
  if (answer.value(0, 0) == "t") return true;
  ++tally.wrong;
  tally.note("wrong answer: " + sql);
  return true;
}

void change_and_ask(Tally& tally, Session& session, Rng& rng) {
  static constexpr const char* kLevels[] = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"};
  session.must(text("BEGIN ISOLATION LEVEL %s", kLevels[below(rng, 3)]));
  bool good = below(rng, 2) == 0 || ask(tally, session, rng);
  int tid = static_cast<int>(below(rng, kTids / 2));
  bool has_savepoint = false;
  for (uint64_t steps = 1 + below(rng, 4); good && steps > 0; --steps) {
    if (below(rng, 4) == 0) {
      session.must("SAVEPOINT s");
      has_savepoint = true;
    }
    const std::string sql = change(rng, tid);
    // Two statements may find the rows of one tid in different orders.
    if (sql.rfind("INSERT", 0) != 0) session.must(text("SELECT pg_advisory_xact_lock(%d)", tid));
    good = ran(tally, session.exec(sql), sql);
    tid += static_cast<int>(below(rng, kTids / 6));
    if (good && below(rng, 2) == 0) good = ask(tally, session, rng);
    if (good && has_savepoint && below(rng, 2) == 0) {
      session.must("ROLLBACK TO s");
      if (below(rng, 2) == 0) good = ask(tally, session, rng);
    }
  }
  const bool commits = good && below(rng, 5) != 0;
  const Result end = session.exec(commits ? "COMMIT" : "ROLLBACK");
  if (!ran(tally, end, "COMMIT")) return;
  ++(commits ? tally.commits : tally.rollbacks);
}

void merge(Tally& tally, Session& session, Rng& rng) {
  static constexpr const char* kLevels[] = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"};
  const std::string sql = "SELECT batmap_merge_kept('kept_lines')";
  session.must(text("BEGIN ISOLATION LEVEL %s", kLevels[below(rng, 3)]));
  bool good = ran(tally, session.exec(sql), sql);
  if (good && below(rng, 2) == 0) good = ask(tally, session, rng);
  if (ran(tally, session.exec(good && below(rng, 4) != 0 ? "COMMIT" : "ROLLBACK"), "COMMIT") && good) ++tally.merges;
}

// The lock lets no question begin that was planned with other partitions than it finds.
void change_partitions(Tally& tally, Session& session, Rng& rng) {
  session.must("BEGIN");
  std::vector<std::string> steps = {"LOCK TABLE kept_lines"};
  if (below(rng, 4) == 0) {
    steps.push_back("TRUNCATE kept_middle");
  } else if (session.value("SELECT count(*) FROM pg_inherits WHERE inhrelid = 'kept_side'::regclass") == "1") {
    steps.push_back("ALTER TABLE kept_lines DETACH PARTITION kept_side");
  } else {
    const auto tid = static_cast<int>(below(rng, kTids));
    steps.push_back(text("DELETE FROM kept_side WHERE tid = %d", tid));
    steps.push_back(text("INSERT INTO kept_side SELECT %d + g, 1000 + %d FROM generate_series(1, 5) g", tid, tid % 7));
    steps.push_back("ALTER TABLE kept_lines ATTACH PARTITION kept_side FOR VALUES FROM (1000) TO (2000)");
  }
  bool good = true;
  for (const std::string& step : steps) good = good && ran(tally, session.exec(step), step);
  if (good && below(rng, 2) == 0) good = ask(tally, session, rng);
  if (ran(tally, session.exec(good && below(rng, 4) != 0 ? "COMMIT" : "ROLLBACK"), "COMMIT") && good) ++tally.partitions;
}

void make_table(Session& control, bool is_partitioned) {
  control.must("DROP TABLE IF EXISTS kept_lines, kept_side");
  control.must(text("CREATE TABLE kept_lines (tid int, item int)%s", is_partitioned ? " PARTITION BY RANGE (item)" : ""));
  control.must("CREATE INDEX ON kept_lines (tid)");
  if (!is_partitioned) return;
  control.must("CREATE TABLE kept_low PARTITION OF kept_lines FOR VALUES FROM (0) TO (9)");
  control.must("CREATE TABLE kept_middle (item int, tid int)");
  control.must("ALTER TABLE kept_lines ATTACH PARTITION kept_middle FOR VALUES FROM (9) TO (17)");
  control.must("CREATE TABLE kept_others PARTITION OF kept_lines DEFAULT");
  control.must("CREATE TABLE kept_side (tid int, item int)");
}

void run_over(Tap& tap, Rng& rng, bool is_partitioned) {
  Session control;
  make_table(control, is_partitioned);
  control.must(text("INSERT INTO kept_lines SELECT g %% %d, g * g %% %d FROM generate_series(1, 300) g", kTids, kItems));
  control.must("SELECT batmap_keep('kept_lines', 'tid', 'item')");

  Tally tally;
  const double ms = run_seconds() * 1000;
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  for (int n = 0; n < kSessions; ++n)
    threads.emplace_back([&, n, seed = rng()] {
      try {
        Session session;
        Rng own(seed);
        while (ms_since(start) < ms && tally.wrong == 0) {
          if (is_partitioned && n == 0 && below(own, 4) == 0)
            change_partitions(tally, session, own);
          else if (below(own, n < 2 ? 2 : 40) == 0)
            merge(tally, session, own);
          else
            change_and_ask(tally, session, own);
        }
      } catch (const std::exception& error) {
        ++tally.others;
        tally.note(error.what());
      }
    });
  for (std::thread& thread : threads) thread.join();

  tap.note(text("%d questions, %d merges, %d commits, %d rollbacks, %d conflicts of snapshots", tally.questions.load(),
                tally.merges.load(), tally.commits.load(), tally.rollbacks.load(), tally.conflicts.load()));
  if (!tally.first_wrong.empty()) tap.note(tally.first_wrong);
  tap.ok(tally.wrong == 0,
         text("%d of %d answers differ from the recount in their snapshot", tally.wrong.load(), tally.questions.load()));
  tap.ok(tally.questions > 20 && tally.merges > 2 && tally.commits > 20, "there were questions, merges and commits");
  if (is_partitioned)
    tap.ok(tally.partitions > 2,
           text("%d changes of partitions, %d deadlocks", tally.partitions.load(), tally.deadlocks.load()));
  else
    tap.ok(tally.deadlocks == 0, text("%d deadlocks", tally.deadlocks.load()));
  tap.ok(tally.others == 0, text("%d other errors", tally.others.load()));
  if (!is_partitioned)
    tap.ok(control.value("SELECT batmap_check_kept('kept_lines')") == "t", "at the end the counts are those of the rows");
  control.must("SELECT batmap_merge_kept('kept_lines')");
  tap.ok(control.value("SELECT batmap_check_kept('kept_lines')") == "t", "and after a merge");
  control.must("DROP TABLE kept_lines");
}

void run(Tap& tap) {
  Rng rng = seeded(tap, 51);
  for (const bool is_partitioned : {false, true}) run_over(tap, rng, is_partitioned);
}

}  // namespace

int main() { return run_tests(run); }
