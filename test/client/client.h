// Shared by the client programs: TAP lines, a session over libpq that closes itself, binary parameters and
// results, COPY in both directions, figures of a server process from /proc, and the timeline of a run from
// batmap_last_run(). A program connects by PGHOST, PGPORT, PGUSER and PGDATABASE. It expects the extension in
// that database and must run on the machine of the server (it reads /proc/<backend pid>).
#pragma once

#include <libpq-fe.h>
#include <poll.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace client {

using Clock = std::chrono::steady_clock;
using Rng = std::mt19937_64;

inline double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

inline double ms_since(Clock::time_point from) { return ms_between(from, Clock::now()); }

inline void sleep_ms(double ms) { std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms)); }

// printf into a string.
[[gnu::format(printf, 1, 2)]] inline std::string text(const char* format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, format, args);
  va_end(args);
  std::string out(static_cast<size_t>(length), '\0');
  std::vsnprintf(out.data(), out.size() + 1, format, again);
  va_end(again);
  return out;
}

// A number below `bound`, and a fraction in [0, 1). The same seed gives the same numbers with
// every standard library.
inline uint64_t below(Rng& rng, uint64_t bound) { return rng() % bound; }
inline double fraction(Rng& rng) { return static_cast<double>(rng() >> 11) * 0x1p-53; }

// -- TAP ------------------------------------------------------------------------------------------------------

class Tap {
 public:
  bool ok(bool passed, const std::string& what) {
    std::printf("%s %d - %s\n", passed ? "ok" : "not ok", ++number_, what.c_str());
    std::fflush(stdout);
    ++(passed ? passed_ : failed_);
    return passed;
  }

  void note(const std::string& line) {
    std::printf("# %s\n", line.c_str());
    std::fflush(stdout);
  }

  // Prints the plan and the totals. @return the exit status of the program
  int finish() const {
    std::printf("1..%d\n%d passed, %d failed\n", number_, passed_, failed_);
    return failed_ == 0 && passed_ > 0 ? 0 : 1;
  }

 private:
  int number_ = 0;
  int passed_ = 0;
  int failed_ = 0;
};

// Runs the body of a program. An exception (a lost connection, a failed preparation) counts as a failure.
template <class Body>
int run_tests(Body body) {
  Tap tap;
  try {
    body(tap);
  } catch (const std::exception& e) {
    tap.ok(false, std::string("the program ran to its end: ") + e.what());
  }
  return tap.finish();
}

// Whether the program tries its whole grid (`make check-reference`) or a sample of it (`make check`).
inline bool full_grid() {
  const char* grid = std::getenv("BATMAP_TEST_GRID");
  return grid != nullptr && std::string(grid) == "full";
}

// The seed of a program: BATMAP_TEST_SEED, or the fixed one. It is always printed.
inline Rng seeded(Tap& tap, uint64_t fixed) {
  const char* wanted = std::getenv("BATMAP_TEST_SEED");
  const uint64_t seed = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : fixed;
  tap.note(text("seed %llu", static_cast<unsigned long long>(seed)));
  return Rng(seed);
}

// -- Network byte order -----------------------------------------------------------------------------------------

inline void put_be(std::string& out, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

inline uint64_t get_be(const char* at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = (value << 8) | static_cast<unsigned char>(at[i]);
  return value;
}

// -- Sessions ---------------------------------------------------------------------------------------------------

constexpr Oid kInt8Oid = 20;
constexpr Oid kTextOid = 25;

// One parameter of a query: bytes in text or binary format. Its type is `type`, or the one that the server
// infers if that is 0.
struct Param {
  std::string bytes;
  bool binary = false;
  Oid type = 0;
};

inline Param int8_param(int64_t value) {
  Param p{{}, true, kInt8Oid};
  put_be(p.bytes, static_cast<uint64_t>(value), 8);
  return p;
}

class Result {
 public:
  explicit Result(PGresult* result) : result_(result, PQclear) {}

  bool good() const {
    const auto status = PQresultStatus(result_.get());
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_COPY_IN || status == PGRES_COPY_OUT ||
           status == PGRES_SINGLE_TUPLE;
  }
  // Five characters; empty if there is no error, or if the error does not come from the server.
  std::string sqlstate() const { return field(PG_DIAG_SQLSTATE); }
  std::string message() const { return field(PG_DIAG_MESSAGE_PRIMARY); }
  std::string hint() const { return field(PG_DIAG_MESSAGE_HINT); }

  int rows() const { return PQntuples(result_.get()); }
  int columns() const { return PQnfields(result_.get()); }
  bool null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  std::string value(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column), static_cast<size_t>(PQgetlength(result_.get(), row, column))};
  }
  // An integer of a text result.
  int64_t number(int row, int column) const { return std::strtoll(PQgetvalue(result_.get(), row, column), nullptr, 10); }
  // An int8 of a binary result.
  int64_t binary_int8(int row, int column) const {
    if (PQgetlength(result_.get(), row, column) != 8) throw std::runtime_error("a binary int8 is not 8 bytes long");
    return static_cast<int64_t>(get_be(PQgetvalue(result_.get(), row, column), 8));
  }
  PGresult* raw() const { return result_.get(); }

 private:
  std::string field(int code) const {
    const char* at = PQresultErrorField(result_.get(), code);
    return at != nullptr ? at : "";
  }

  std::unique_ptr<PGresult, void (*)(PGresult*)> result_;
};

class Session {
 public:
  Session() : conn_(PQconnectdb("application_name=batmap_client"), PQfinish) {
    if (PQstatus(conn_.get()) != CONNECTION_OK) {
      throw std::runtime_error(std::string("cannot connect: ") + PQerrorMessage(conn_.get()));
    }
    PQsetNoticeProcessor(
        conn_.get(), [](void*, const char*) {}, nullptr);
  }

  PGconn* raw() const { return conn_.get(); }
  pid_t pid() const { return PQbackendPID(conn_.get()); }
  bool alive() const { return PQstatus(conn_.get()) == CONNECTION_OK; }

  // Runs a statement and returns any result.
  Result exec(const std::string& sql) { return Result(PQexec(conn_.get(), sql.c_str())); }

  Result exec_params(const std::string& sql, const std::vector<Param>& params, bool binary_result = false) {
    std::vector<Oid> types;
    std::vector<const char*> values;
    std::vector<int> lengths;
    std::vector<int> formats;
    for (const Param& p : params) {
      types.push_back(p.type);
      values.push_back(p.bytes.c_str());
      lengths.push_back(static_cast<int>(p.bytes.size()));
      formats.push_back(p.binary ? 1 : 0);
    }
    return Result(PQexecParams(conn_.get(), sql.c_str(), static_cast<int>(params.size()), types.data(), values.data(),
                               lengths.data(), formats.data(), binary_result ? 1 : 0));
  }

  // Runs a statement that must succeed; throws the message of the server if it fails.
  Result must(const std::string& sql) { return checked(exec(sql), sql); }
  Result must_params(const std::string& sql, const std::vector<Param>& params, bool binary_result = false) {
    return checked(exec_params(sql, params, binary_result), sql);
  }

  // Resets one setting of the session, or all. A short statement timeout that is still set may stop this
  // statement, so it is tried again.
  void reset(const std::string& setting = "ALL") { persist("RESET " + setting); }
  void set(const std::string& assignment) { persist("SET " + assignment); }

  /// Runs a statement that a timeout, or a cancel that comes late, may end: again, until it has run.
  void persist(const std::string& sql) {
    constexpr int kTries = 20;
    for (int tries = 1; tries < kTries; ++tries) {
      const Result r = exec(sql);
      if (r.good()) return;
      if (r.sqlstate() != "57014") break;
    }
    must(sql);
  }

  std::string value(const std::string& sql) { return must(sql).value(0, 0); }
  int64_t number(const std::string& sql) { return must(sql).number(0, 0); }

  void send(const std::string& sql) {
    if (PQsendQuery(conn_.get(), sql.c_str()) == 0) fail("cannot send");
  }

  // Waits at most `ms` until the answer begins to arrive. @return whether it arrived
  bool wait_ready(double ms) {
    const auto start = Clock::now();
    for (;;) {
      if (PQconsumeInput(conn_.get()) == 0 || PQisBusy(conn_.get()) == 0) return true;
      const double left = ms - ms_since(start);
      if (left <= 0) return false;
      pollfd fd{PQsocket(conn_.get()), POLLIN, 0};
      ::poll(&fd, 1, std::max(1, static_cast<int>(left)));
    }
  }

  // Waits for the last result of the statements that were sent (the first error if there is one).
  Result finish() {
    Result last(nullptr);
    bool seen_error = false;
    while (PGresult* next = PQgetResult(conn_.get())) {
      Result result(next);
      if (!seen_error) {
        seen_error = !result.good();
        last = std::move(result);
      }
    }
    return last;
  }

  // COPY ... FROM STDIN: sends the bytes. @return the result of the command
  Result copy_in(const std::string& sql, const std::string& bytes) {
    Result start = exec(sql);
    if (PQresultStatus(start.raw()) != PGRES_COPY_IN) return start;
    if (PQputCopyData(conn_.get(), bytes.data(), static_cast<int>(bytes.size())) != 1 ||
        PQputCopyEnd(conn_.get(), nullptr) != 1) {
      fail("cannot copy in");
    }
    return finish();
  }

  // COPY ... TO STDOUT: all bytes.
  std::string copy_out(const std::string& sql) {
    must(sql);
    std::string all;
    char* chunk = nullptr;
    int length = 0;
    while ((length = PQgetCopyData(conn_.get(), &chunk, 0)) > 0) {
      all.append(chunk, static_cast<size_t>(length));
      PQfreemem(chunk);
    }
    checked(finish(), sql);
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + ": " + PQerrorMessage(conn_.get()));
  }
  Result checked(Result result, const std::string& sql) const {
    if (!result.good()) fail(sql.substr(0, 200));
    return result;
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> conn_;
};

// Cancels the statement of a session. Returns when the request has been sent to the backend.
class Canceller {
 public:
  explicit Canceller(const Session& session) : cancel_(PQgetCancel(session.raw()), PQfreeCancel) {}

  void cancel() {
    char error[256];
    if (PQcancel(cancel_.get(), error, sizeof error) == 0) {
      throw std::runtime_error(std::string("cannot cancel: ") + error);
    }
  }

 private:
  std::unique_ptr<PGcancel, void (*)(PGcancel*)> cancel_;
};

// -- Processes ------------------------------------------------------------------------------------------------

struct Process {
  bool exists = false;
  long rss_anon_kb = 0;
  int threads = 0;
  pid_t parent = 0;
};

// Reads /proc/<pid>/status. A zombie has no memory lines and counts as gone.
inline Process look_at(pid_t pid) {
  Process p;
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  std::string key;
  while (status >> key) {
    if (key == "RssAnon:") {
      status >> p.rss_anon_kb;
      p.exists = true;
    } else if (key == "Threads:") {
      status >> p.threads;
    } else if (key == "PPid:") {
      status >> p.parent;
    }
    status.ignore(4096, '\n');
  }
  return p;
}

// The threads besides the main one that a backend has left behind. The kernel lists a thread for some microseconds after
// it was joined, so this waits until there is none, or it is certain that they stay.
inline int threads_left(pid_t pid) {
  constexpr double kPatienceMs = 1000;
  for (const auto start = Clock::now();;) {
    const int left = look_at(pid).threads - 1;
    if (left == 0 || ms_since(start) > kPatienceMs) return left;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// How late the end of a statement is: the time since this was made, in ms. Other processes of the machine may keep a backend
// from running, so the processor time of all its threads counts where that is less; but no more than a second is forgiven.
class Lateness {
 public:
  explicit Lateness(pid_t pid) {
    if (clock_getcpuclockid(pid, &processor_) != 0) throw std::runtime_error("no clock for the backend");
    used_before_ = used_ms();
  }
  double ms() const {
    const double wall = ms_since(start_);
    return std::max(std::min(wall, used_ms() - used_before_), wall - kForgivenMs);
  }

 private:
  static constexpr double kForgivenMs = 1000;
  double used_ms() const {
    timespec used{};
    if (clock_gettime(processor_, &used) != 0) throw std::runtime_error("the backend has no processor time");
    return 1e3 * static_cast<double>(used.tv_sec) + 1e-6 * static_cast<double>(used.tv_nsec);
  }
  clockid_t processor_{};
  double used_before_ = 0;
  Clock::time_point start_ = Clock::now();
};

// Waits until a process is gone. @return the ms that it took, or -1 if it still exists after `limit_ms`
inline double wait_gone(pid_t pid, double limit_ms) {
  const auto start = Clock::now();
  while (look_at(pid).exists) {
    if (ms_since(start) > limit_ms) return -1;
    sleep_ms(2);
  }
  return ms_since(start);
}

// The children of a process.
inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && look_at(pid).parent == parent) out.push_back(pid);
  }
  return out;
}

// Anonymous memory of a server: of the postmaster and all its children.
inline long server_rss_anon_kb(pid_t postmaster) {
  long sum = look_at(postmaster).rss_anon_kb;
  for (const pid_t pid : children_of(postmaster)) sum += look_at(pid).rss_anon_kb;
  return sum;
}

// -- Tables and runs ------------------------------------------------------------------------------------------

// Makes the unlogged table `name` (tid int4, item int4): `tids` transactions of `per_tid` random items below
// `items`; a few rows repeat. The server draws them from a fixed seed.
inline void create_drawn_table(Session& session, const std::string& name, int tids, int per_tid, int items) {
  session.must("DROP TABLE IF EXISTS " + name);
  session.must("CREATE UNLOGGED TABLE " + name + " (tid int4, item int4)");
  session.must("SELECT setseed(0.25)");
  session.must(text("INSERT INTO %s SELECT t, (random() * %d)::int4 FROM generate_series(1, %d) t, generate_series(1, %d)",
                    name.c_str(), items - 1, tids, per_tid));
  session.must("VACUUM ANALYZE " + name);
}

// The counting methods except auto, from the hint that an unknown method gets.
inline std::vector<std::string> counting_methods(Session& session) {
  const std::string hint =
      session.exec("SELECT * FROM batmap_pairs('SELECT 1, 2', min_count => 1, method => 'none of them')").hint();
  std::vector<std::string> methods;
  std::string word;
  for (const char c : hint.substr(std::min(hint.find(':'), hint.size()))) {
    if (c >= 'a' && c <= 'z') {
      word += c;
    } else if (!word.empty()) {
      if (word != "auto") methods.push_back(word);
      word.clear();
    }
  }
  for (const char* known : {"horizontal", "bitmap", "merge"}) {
    if (std::find(methods.begin(), methods.end(), known) == methods.end()) {
      throw std::runtime_error(std::string("the hint does not name the method ") + known + ": " + hint);
    }
  }
  return methods;
}

enum class Phase { kRead, kGroup, kCount, kAnswer, kWhole };

// The phases of the last run, in ms, from batmap_last_run().
struct Timeline {
  std::string method;
  std::string kernel;
  std::string input;
  int threads = 0;
  double read = 0;
  double group = 0;
  double count = 0;
  double answer = 0;
  int64_t results = 0;

  // Start and end of a phase, in ms from the start of the run.
  std::pair<double, double> span(Phase phase) const {
    switch (phase) {
      case Phase::kRead: return {0, read};
      case Phase::kGroup: return {read, read + group};
      case Phase::kCount: return {read + group, read + group + count};
      case Phase::kAnswer: return {read + group + count, read + group + count + answer};
      default: return {0, read + group + count + answer};
    }
  }
  std::string line() const {
    return text("method %s (%s), input %s, %d threads: read %.0f, group %.0f, count %.0f, answer %.0f ms, %lld rows",
                method.c_str(), kernel.c_str(), input.c_str(), threads, read, group, count, answer,
                static_cast<long long>(results));
  }
};

inline Timeline last_run(Session& session) {
  const Result r = session.must(
      "SELECT method, kernel, input, threads, read_ms, group_ms, count_ms, answer_ms, results FROM batmap_last_run()");
  if (r.rows() != 1) throw std::runtime_error("batmap_last_run() has no row");
  const auto ms = [&](int column) { return std::strtod(r.value(0, column).c_str(), nullptr); };
  return {r.value(0, 0), r.value(0, 1), r.value(0, 2), static_cast<int>(r.number(0, 3)), ms(4), ms(5),
          ms(6),         ms(7),         r.number(0, 8)};
}

}  // namespace client
