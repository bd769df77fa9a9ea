// Sessions that end in the middle of a run: the backend is terminated, or the client's socket is closed,
// while the backend reads, counts with several threads, or answers. The backend and its parallel workers must
// disappear soon; the server must not restart after a crash; other sessions must not notice; memory and
// temporary files of the server must be as before. If the run ends before it is stopped, the try proves
// nothing: the run is measured again, at the current speed of the machine, and the try is repeated.

#include <sys/socket.h>

#include "client.h"

using namespace client;

namespace {

constexpr double kTerminatedMs = 1000;  // limit for a terminated backend to disappear
constexpr double kWatchedMs = 1500;     // limit for a backend that checks its client every 100 ms
constexpr double kUnwatchedMs = 5000;   // limit after the end of the run for a backend that notices only then
constexpr double kPatienceMs = 120000;  // for all tries that come too late
constexpr long kServerMarginKb = 16 * 1024;

enum class Death { kTerminated, kSocketClosedWatched, kSocketClosed };
const Death kDeaths[] = {Death::kTerminated, Death::kSocketClosedWatched, Death::kSocketClosed};

const char* name_of(Death death) {
  switch (death) {
    case Death::kTerminated: return "backend terminated";
    case Death::kSocketClosedWatched: return "socket closed, client_connection_check_interval on";
    default: return "socket closed";
  }
}

struct Target {
  const char* name;
  const char* setting;
  std::string sql;
  Phase phase;
  double from_ms = 0;  // the span of the phase, from the last full run
  double to_ms = 0;
  double whole_ms = 0;
};

// Runs a target to its end in a separate session and finds the span of its phase.
void measure(Tap& tap, Target& target) {
  pid_t pid = 0;
  {
    Session session;
    pid = session.pid();
    session.must(std::string("SET ") + target.setting);
    const auto start = Clock::now();
    session.must(target.sql);
    target.whole_ms = target.to_ms = ms_since(start);
    const Timeline t = last_run(session);
    if (target.phase != Phase::kWhole) std::tie(target.from_ms, target.to_ms) = t.span(target.phase);
    tap.note(text("%s: %.0f ms; %s", target.name, target.whole_ms, t.line().c_str()));
  }
  wait_gone(pid, 5000);
}

// Identifies the processes of the server and this session; a crash restart would change them.
std::string server_identity(Session& session) {
  return std::to_string(look_at(session.pid()).parent) + " " + std::to_string(session.pid()) + " " +
         session.value("SELECT pg_postmaster_start_time()::text") + " " +
         session.value(
             "SELECT string_agg(backend_type || ' ' || pid, ', ' ORDER BY backend_type) FROM pg_stat_activity"
             " WHERE backend_type NOT IN ('client backend', 'parallel worker', 'autovacuum worker', 'io worker')");
}

// The query that another session runs all the time.
const char* const kBystander =
    "SELECT count(*) || ' ' || sum(support_count) FROM batmap_pairs('SELECT tid, item FROM doomed WHERE tid <= 500', "
    "min_count => 3)";

// Ends a session `at` ms into the run of a target and checks what is left. @return false, without a check, if
// the run had already ended
bool kill_at(Tap& tap, const Target& target, Death death, double at, Session& bystander, const std::string& expected,
             Session& control) {
  Session session;
  session.must(std::string("SET ") + target.setting);
  session.must(std::string("SET client_connection_check_interval = ") +
               (death == Death::kSocketClosedWatched ? "'100ms'" : "0"));
  const pid_t pid = session.pid();
  session.send(target.sql);
  sleep_ms(at);
  const int threads = look_at(pid).threads;
  // Asked from outside, because the answer to this client must pile up unread.
  if (control.value(text("SELECT state FROM pg_stat_activity WHERE pid = %d", pid)) != "active") return false;
  bystander.send(kBystander);
  double limit = kTerminatedMs;
  const auto start = Clock::now();
  if (death == Death::kTerminated) {
    control.must(text("SELECT pg_terminate_backend(%d)", pid));
  } else {
    ::shutdown(PQsocket(session.raw()), SHUT_RDWR);
    limit = death == Death::kSocketClosed ? target.whole_ms + kUnwatchedMs : kWatchedMs;
  }
  const double gone = wait_gone(pid, limit) < 0 ? -1 : ms_since(start);
  const Result meanwhile = bystander.finish();
  const bool well_meanwhile = meanwhile.good() && meanwhile.value(0, 0) == expected;
  const int64_t workers =
      control.number(text("SELECT count(*) FROM pg_stat_activity WHERE leader_pid = %d AND pid <> %d", pid, pid));
  std::string error;
  if (death == Death::kTerminated) {
    const Result r = session.finish();
    if (r.good()) return false;  // it ended after the check and before the kill
    error = r.sqlstate();
  }
  // A backend that cannot send its rows cannot send an error either: the connection just ends.
  const bool told = death != Death::kTerminated || error == "57P01" || target.phase == Phase::kWhole;
  tap.ok(gone >= 0 && workers == 0 && well_meanwhile && told,
         text("%s, %s at %.0f ms (%d threads): gone after %.0f ms, limit %.0f; %lld workers left; others %s %s", target.name,
              name_of(death), at, threads, gone, limit, (long long)workers, well_meanwhile ? "answer" : "do not answer",
              error.c_str()));
  return true;
}

void run(Tap& tap) {
  Rng rng = seeded(tap, 15);
  Session bystander;
  Session control;
  create_drawn_table(bystander, "doomed", 12500, 200, 4000);
  bystander.must("DROP TABLE IF EXISTS doomed_relation, doomed_part");
  bystander.must("CREATE TABLE doomed_relation AS SELECT batmap_relation_agg(tid, item) AS r FROM doomed");
  bystander.must("CREATE TABLE doomed_part AS SELECT batmap_relation_agg(tid, item) AS r FROM doomed WHERE item < 700");
  bystander.must("ANALYZE doomed_relation, doomed_part");
  const std::string expected = bystander.value(
      "WITH d AS MATERIALIZED (SELECT DISTINCT tid, item FROM doomed WHERE tid <= 500)"
      " SELECT count(*) || ' ' || sum(n) FROM (SELECT count(*) AS n FROM d a JOIN d b USING (tid)"
      " WHERE a.item < b.item GROUP BY a.item, b.item HAVING count(*) >= 3) q");
  tap.ok(bystander.value(kBystander) == expected, "another session answers: " + expected);

  Target targets[] = {
      {"read, stream", "max_parallel_workers_per_gather = 0",
       "SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM doomed', min_count => 200)", Phase::kRead},
      {"read, parallel scan", "parallel_setup_cost = 0",
       "SELECT count(*) FROM batmap_pairs('SELECT tid, item FROM doomed', min_count => 200)", Phase::kRead},
      {"count, 4 threads", "batmap.threads = 4",
       "SELECT count(*) FROM doomed_part, LATERAL batmap_pairs(r, min_count => 200, method => 'merge')", Phase::kCount},
      {"answer, kept on the server", "work_mem = '4MB'",
       "SELECT count(*) FROM doomed_relation, LATERAL batmap_pairs(r, min_count => 32)", Phase::kAnswer},
      {"answer, sent to the client", "work_mem = '4MB'",
       "SELECT p.* FROM doomed_relation, LATERAL batmap_pairs(r, min_count => 35) p", Phase::kWhole},
  };

  const pid_t postmaster = look_at(control.pid()).parent;
  const std::string identity = server_identity(bystander);
  bool measured = false;
  long before_kb = 0;
  size_t before_processes = 0;

  double late_ms = 0;
  for (Target& target : targets) {
    measure(tap, target);
    if (!measured) {
      before_kb = server_rss_anon_kb(postmaster);
      before_processes = children_of(postmaster).size();
      measured = true;
    }
    for (const Death death : kDeaths) {
      for (;;) {
        const auto tried = Clock::now();
        const double at = target.from_ms + (target.to_ms - target.from_ms) * (0.2 + 0.5 * fraction(rng));
        if (kill_at(tap, target, death, at, bystander, expected, control)) break;
        late_ms += ms_since(tried);
        if (late_ms > kPatienceMs) throw std::runtime_error(std::string(target.name) + " ends before its session each time");
        measure(tap, target);
      }
    }
  }

  tap.ok(server_identity(bystander) == identity,
         "the same server, its processes and the other session all along: " + identity);
  for (int i = 0; i < 50 && children_of(postmaster).size() > before_processes; ++i) sleep_ms(100);
  const long after_kb = server_rss_anon_kb(postmaster);
  const size_t after_processes = children_of(postmaster).size();
  tap.ok(after_kb <= before_kb + kServerMarginKb && after_processes <= before_processes,
         text("private memory of the server: %ld kB before, %ld kB after, margin %ld kB; %zu and %zu processes", before_kb,
              after_kb, kServerMarginKb, before_processes, after_processes));
  tap.ok(control.number("SELECT count(*) FROM pg_ls_tmpdir()") == 0, "no temporary file is left");
  tap.ok(control.number("SELECT count(*) FROM pg_locks WHERE relation = 'doomed'::regclass") == 0, "no lock is left");
  control.must("DROP TABLE doomed, doomed_relation, doomed_part");
}

}  // namespace

int main() { return run_tests(run); }
