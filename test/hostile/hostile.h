// Shared by the programs of check-hostile: a deadline, a session that reconnects after a crash of the server,
// findings, and reading the catalog. A program gets `SECONDS SEED` and ends with a line of counts. Its status
// is 1 if there are findings.
#pragma once

#include "../client/client.h"

#include <map>
#include <numeric>
#include <set>

namespace hostile {

using namespace client;

struct Arguments {
  double seconds = 60;
  uint64_t seed = 1;

  static Arguments read(int argc, char** argv) {
    Arguments out;
    if (argc > 1) out.seconds = std::strtod(argv[1], nullptr);
    if (argc > 2) out.seed = std::strtoull(argv[2], nullptr, 10);
    return out;
  }
};

class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool over() const { return Clock::now() >= end_; }
  double left() const { return std::chrono::duration<double>(end_ - Clock::now()).count(); }

 private:
  Clock::time_point end_;
};

/// Prints each finding once; equal ones are counted.
class Findings {
 public:
  void add(const std::string& what, const std::string& details) {
    if (++seen_[what] > 3) return;
    std::printf("FINDING %s\n  %s\n", what.c_str(), details.c_str());
    std::fflush(stdout);
  }
  size_t count() const { return seen_.size(); }
  bool any() const { return !seen_.empty(); }

 private:
  std::map<std::string, int> seen_;
};

/// Connects; waits for a server that is restarting.
inline std::unique_ptr<Session> connect() {
  for (int attempt = 0;; ++attempt) {
    try {
      return std::make_unique<Session>();
    } catch (const std::exception&) {
      if (attempt > 600) throw;
      sleep_ms(100);
    }
  }
}

inline std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

inline std::string identifier(const std::string& word) {
  std::string out = "\"";
  for (const char c : word) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

inline std::string hex(const std::string& bytes, size_t most = 4096) {
  static const char digits[] = "0123456789abcdef";
  std::string out = "\\x";
  for (size_t i = 0; i < bytes.size() && i < most; ++i) {
    out += digits[static_cast<unsigned char>(bytes[i]) >> 4];
    out += digits[bytes[i] & 15];
  }
  return bytes.size() > most ? out + "..." : out;
}

template <class Choices>
const auto& any_of(Rng& rng, const Choices& choices) {
  return choices[below(rng, choices.size())];
}

}  // namespace hostile
