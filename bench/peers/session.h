// A peer as a session over pipes, for bench/peers/run.sh, which alternates it with a psql session.
//
// It reads one statement a line from standard input: "load FILE" reads rows "tid TAB item"; "version" prints
// the version; "\echo WORD" prints WORD, as psql does. Every other line goes to the peer, which counts all
// pairs. After each it prints "CPU: MILLISECONDS ms" and "Time: MILLISECONDS ms", the times of the counting.
#pragma once

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace batmap::bench {

/// A relation of distinct rows. Tids and items are numbered from 0 without gaps, in the order of their values.
struct Rows {
  std::vector<uint64_t> tids, items;  // [rows]
  uint64_t transactions = 0, distinct_items = 0;
};

/// The number of pairs of items that share a transaction, and the sum over them of the number of
/// transactions that they share.
struct Answer {
  uint64_t pairs = 0, support = 0;
};

/// Times a peer's count only. What a peer needs before it (parsing a statement, blocks of a matrix) is not in its time.
class Stopwatch {
 public:
  void start() { wall_ = -now(CLOCK_MONOTONIC), cpu_ = -now(CLOCK_PROCESS_CPUTIME_ID); }
  void stop() { wall_ += now(CLOCK_MONOTONIC), cpu_ += now(CLOCK_PROCESS_CPUTIME_ID); }
  double wall_ms() const { return wall_; }
  double cpu_ms() const { return cpu_; }

 private:
  static double now(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
  }
  double wall_ = 0, cpu_ = 0;
};

/// Replaces values by their ranks. @return the number of distinct values
inline uint64_t number_from_zero(std::vector<uint64_t>& values) {
  std::vector<uint64_t> distinct = values;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (uint64_t& value : values)
    value = static_cast<uint64_t>(std::lower_bound(distinct.begin(), distinct.end(), value) - distinct.begin());
  return distinct.size();
}

inline Rows read_rows(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Rows rows;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    uint64_t tid = 0, item = 0;
    const auto after_tid = std::from_chars(at, end, tid);
    const auto after_item = std::from_chars(std::min(after_tid.ptr + 1, end), end, item);
    if (after_tid.ec != std::errc() || after_item.ec != std::errc())
      throw std::runtime_error("not two numbers a line: " + path);
    rows.tids.push_back(tid);
    rows.items.push_back(item);
    at = after_item.ptr + 1;
  }
  rows.transactions = number_from_zero(rows.tids);
  rows.distinct_items = number_from_zero(rows.items);
  return rows;
}

/// `Peer` must have load(const Rows&), count(const std::string& statement, Stopwatch&) -> Answer and
/// version() -> std::string.
template <typename Peer>
int run_session(Peer& peer) try {
  for (std::string line; std::getline(std::cin, line);) {
    Stopwatch watch;
    if (line.starts_with("\\echo ")) {
      std::printf("%s\n", line.c_str() + 6);
      std::fflush(stdout);
      continue;
    }
    if (line.starts_with("load ")) {
      peer.load(read_rows(line.substr(5)));
    } else if (line == "version") {
      std::printf("%s\n", peer.version().c_str());
    } else {
      const Answer answer = peer.count(line, watch);
      std::printf("%llu|%llu\n", static_cast<unsigned long long>(answer.pairs),
                  static_cast<unsigned long long>(answer.support));
    }
    std::printf("CPU: %.3f ms\nTime: %.3f ms\n", watch.cpu_ms(), watch.wall_ms());
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

}  // namespace batmap::bench
