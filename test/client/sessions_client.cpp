// Many sessions run batmap_pairs on the same table at once, each with its own method, threads, input and
// selection, for several rounds. Every answer must equal the selection that this program makes from the
// pairs of a plain self-join. The runs must really overlap. No thread may outlive its run. After the last
// round the memory of the backends must be the same as after the second (the heap of a process grows during
// its first runs).
//
// There are 50 sessions with BATMAP_TEST_GRID=full (`make check-reference`), and 24 otherwise.

#include <map>
#include <numeric>

#include "client.h"

using namespace client;

namespace {

const int kSessions = full_grid() ? 50 : 24;
constexpr int kRounds = 3;
constexpr long kGrowthKb = 2 * 1024;  // growth allowed for a backend from the second round to the last, on average

struct PairRow {
  int64_t item_a, item_b, support, support_a, support_b, total;
  auto operator<=>(const PairRow&) const = default;
};

// The arguments of one session; 0 and an empty list mean "not given".
struct Selection {
  int64_t min_count = 0;
  double min_support = 0;
  int64_t top_k = 0;
  int per_item_top_k = 0;
  std::vector<int64_t> include;
  std::vector<int64_t> exclude;

  std::string arguments() const {
    std::string out;
    const auto add = [&](const char* name, const std::string& value) { out += text(", %s => %s", name, value.c_str()); };
    const auto array = [](const std::vector<int64_t>& items) {
      std::string list = "ARRAY[";
      for (const int64_t item : items) list += std::to_string(item) + ",";
      list.back() = ']';
      return list + "::int8[]";
    };
    if (min_count > 0) add("min_count", std::to_string(min_count));
    if (min_support > 0) add("min_support", text("%.17g", min_support));
    if (top_k > 0) add("top_k", std::to_string(top_k));
    if (per_item_top_k > 0) add("per_item_top_k", std::to_string(per_item_top_k));
    if (!include.empty()) add("include", array(include));
    if (!exclude.empty()) add("exclude", array(exclude));
    return out;
  }
};

bool holds(const std::vector<int64_t>& items, int64_t item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

// Rows (support, tie-breaker, position). Gives the positions of the k best.
using Ranked = std::vector<std::tuple<int64_t, std::vector<int64_t>, size_t>>;
std::vector<size_t> best(Ranked ranked, size_t k) {
  std::sort(ranked.begin(), ranked.end());
  std::vector<size_t> positions;
  for (size_t i = 0; i < ranked.size() && i < k; ++i) positions.push_back(std::get<2>(ranked[i]));
  return positions;
}

// Applies the selection to all pairs, slowly and simply.
std::vector<PairRow> select(const std::vector<PairRow>& all, const Selection& s) {
  std::vector<PairRow> rows;
  for (const PairRow& p : all) {
    if (p.support < s.min_count) continue;
    if (s.min_support > 0 && static_cast<double>(p.support) < s.min_support * static_cast<double>(p.total)) continue;
    if (!s.include.empty() && !holds(s.include, p.item_a) && !holds(s.include, p.item_b)) continue;
    if (holds(s.exclude, p.item_a) || holds(s.exclude, p.item_b)) continue;
    rows.push_back(p);
  }
  std::vector<bool> kept(rows.size(), true);
  if (s.top_k > 0) {
    Ranked ranked;
    for (size_t i = 0; i < rows.size(); ++i) ranked.push_back({-rows[i].support, {rows[i].item_a, rows[i].item_b}, i});
    kept.assign(rows.size(), false);
    for (const size_t i : best(ranked, static_cast<size_t>(s.top_k))) kept[i] = true;
  }
  if (s.per_item_top_k > 0) {
    std::map<int64_t, Ranked> partners;
    for (size_t i = 0; i < rows.size(); ++i) {
      partners[rows[i].item_a].emplace_back(-rows[i].support, std::vector<int64_t>(1, rows[i].item_b), i);
      partners[rows[i].item_b].emplace_back(-rows[i].support, std::vector<int64_t>(1, rows[i].item_a), i);
    }
    kept.assign(rows.size(), false);
    for (const auto& [item, ranked] : partners) {
      for (const size_t i : best(ranked, static_cast<size_t>(s.per_item_top_k))) kept[i] = true;
    }
  }
  std::vector<PairRow> out;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (kept[i]) out.push_back(rows[i]);
  }
  return out;
}

std::vector<PairRow> rows_of(const Result& r) {
  std::vector<PairRow> rows;
  for (int i = 0; i < r.rows(); ++i) {
    rows.push_back({r.number(i, 0), r.number(i, 1), r.number(i, 2), r.number(i, 3), r.number(i, 4), r.number(i, 5)});
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<PairRow> plain_pairs(Session& session) {
  return rows_of(
      session.must("WITH d AS MATERIALIZED (SELECT DISTINCT tid, item FROM shared_pairs),"
                   " s AS MATERIALIZED (SELECT item, count(*) AS n FROM d GROUP BY item),"
                   " p AS (SELECT a.item AS item_a, b.item AS item_b, count(*) AS n FROM d a JOIN d b USING (tid)"
                   "       WHERE a.item < b.item GROUP BY 1, 2)"
                   " SELECT item_a, item_b, p.n, sa.n, sb.n, (SELECT count(DISTINCT tid) FROM d)"
                   " FROM p JOIN s sa ON sa.item = item_a JOIN s sb ON sb.item = item_b"));
}

Selection selection_of(int n, Rng& rng) {
  Selection s;
  switch (n % 6) {
    case 0: s.min_count = 1 + static_cast<int64_t>(below(rng, 40)); break;
    case 1:
      // Half-way between two counts of 10,000 transactions, so that rounding cannot change the threshold.
      s.min_support = (static_cast<double>(1 + below(rng, 100)) + 0.5) / 10000;
      break;
    case 2: s.top_k = 1 + static_cast<int64_t>(below(rng, 3000)); break;
    case 3: s.per_item_top_k = 1 + static_cast<int>(below(rng, 20)); break;
    case 4:
      s.min_count = 2;
      for (int i = 0; i < 8; ++i) s.include.push_back(static_cast<int64_t>(below(rng, 300)));
      break;
    default:
      s.min_count = 5;
      for (int i = 0; i < 8; ++i) s.exclude.push_back(static_cast<int64_t>(below(rng, 300)));
  }
  return s;
}

long sum_rss_kb(const std::vector<Session>& sessions) {
  return std::accumulate(sessions.begin(), sessions.end(), 0L,
                         [](long sum, const Session& s) { return sum + look_at(s.pid()).rss_anon_kb; });
}

void run(Tap& tap) {
  Rng rng = seeded(tap, 50);
  Session control;
  create_drawn_table(control, "shared_pairs", 10000, 30, 300);
  control.must("DROP TABLE IF EXISTS shared_relation");
  control.must("CREATE TABLE shared_relation AS SELECT batmap_relation_agg(tid, item) AS r FROM shared_pairs");
  control.must("ANALYZE shared_relation");
  const std::vector<PairRow> all = plain_pairs(control);
  tap.note(text("%s rows, %zu pairs", control.value("SELECT count(*) FROM shared_pairs").c_str(), all.size()));

  const pid_t postmaster = look_at(control.pid()).parent;
  const size_t processes = children_of(postmaster).size();
  const long server_before = server_rss_anon_kb(postmaster);
  std::vector<Session> sessions(kSessions);
  std::vector<std::string> methods = {"NULL"};
  for (const std::string& method : counting_methods(control)) methods.push_back("'" + method + "'");
  const int threads[] = {0, 1, 2, 4};
  long after_second = 0;

  const std::string columns = "item_a, item_b, support_count, count_a, count_b, total";
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::vector<PairRow>> expected;
    std::vector<std::string> queries;
    for (int n = 0; n < kSessions; ++n) {
      const Selection selection = selection_of(n + round, rng);
      expected.push_back(select(all, selection));
      const std::string arguments =
          selection.arguments() + ", method => " + methods[static_cast<size_t>(n / 6 + round) % methods.size()];
      queries.push_back(
          n % 3 == 0 ? "SELECT " + columns + " FROM shared_relation, LATERAL batmap_pairs(r" + arguments + ") p"
                     : "SELECT " + columns + " FROM batmap_pairs('SELECT tid, item FROM shared_pairs'" + arguments + ")");
      sessions[n].must(text("SET batmap.threads = %d", threads[(n / 4 + round) % 4]));
    }

    const auto start = Clock::now();
    for (int n = 0; n < kSessions; ++n) sessions[n].send(queries[n]);
    int64_t most = 0;
    bool all_ready = false;
    while (!all_ready) {
      most = std::max(most, control.number("SELECT count(*) FROM pg_stat_activity"
                                           " WHERE application_name = 'batmap_client' AND state = 'active'"
                                           " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"));
      all_ready = true;
      for (Session& session : sessions) all_ready &= session.wait_ready(0);
    }
    std::vector<Result> results;
    for (Session& session : sessions) results.push_back(session.finish());
    const double took = ms_since(start);

    int wrong = 0;
    for (int n = 0; n < kSessions; ++n) {
      if (results[n].good() && rows_of(results[n]) == expected[n]) continue;
      ++wrong;
      tap.note(text("session %d: %d rows for %zu: %s %s", n, results[n].rows(), expected[n].size(),
                    results[n].message().c_str(), queries[n].c_str()));
    }
    tap.ok(wrong == 0, text("round %d: %d answers right, %d wrong, in %.0f ms", round + 1, kSessions - wrong, wrong, took));
    tap.ok(most >= kSessions / 2, text("round %d: %lld sessions were seen running at once", round + 1, (long long)most));
    int with_threads = 0;
    for (const Session& session : sessions) with_threads += threads_left(session.pid()) != 0 ? 1 : 0;
    tap.ok(with_threads == 0, text("round %d: every backend is back to one thread (%d are not)", round + 1, with_threads));
    if (round == 1) after_second = sum_rss_kb(sessions);
  }

  const long after_last = sum_rss_kb(sessions);
  tap.ok(after_last - after_second <= kSessions * kGrowthKb,
         text("memory of the %d backends: %ld kB after the second round, %ld kB after the last; allowed growth %ld kB each",
              kSessions, after_second, after_last, kGrowthKb));
  std::vector<pid_t> pids;
  for (const Session& session : sessions) pids.push_back(session.pid());
  sessions.clear();
  for (const pid_t pid : pids) wait_gone(pid, 10000);
  sleep_ms(100);
  const size_t processes_after = children_of(postmaster).size();
  const long server_after = server_rss_anon_kb(postmaster);
  tap.ok(processes_after <= processes + 1 && server_after <= server_before + 16 * 1024,
         text("the server before and after: %zu and %zu processes, %ld and %ld kB of private memory", processes,
              processes_after, server_before, server_after));
  control.must("DROP TABLE shared_pairs, shared_relation");
}

}  // namespace

int main() { return run_tests(run); }
