// Joins of arbitrary rows under arbitrary options, by every method, compared with sets and loops. Input
// bytes: the options; then each row has one byte for the side and b, and one for a or c.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "pairs/join_run.h"
#include "test/unit/shared/shapes.h"

namespace {

using namespace batmap;

[[noreturn]] void fail(const char* method, const char* what) {
  std::fprintf(stderr, "%s: %s\n", method, what);
  std::abort();
}

using Answer = std::map<std::pair<int64_t, int64_t>, uint64_t>;

constexpr size_t kOptionBytes = 4;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kOptionBytes || size > 2048) return 0;
  JoinQuery query;
  query.distinct_only = data[0] & 1;
  if (data[0] & 2) query.min_count = 1 + data[1] % 16;
  const int threads = 1 + (data[0] >> 2 & 1);
  const bool scattered = data[0] & 8;
  const uint64_t pieces = data[2];
  const uint8_t copies = data[3] % 4;
  const auto key = [&](uint8_t byte) { return scattered ? test::scattered_key(byte) : int64_t{byte} - 100; };

  std::vector<TidItem> rows[2];
  std::map<int64_t, std::set<int64_t>> items[2];
  for (size_t at = kOptionBytes; at + 2 <= size; at += 2) {
    const int side = data[at] & 1;
    const TidItem pair{key(data[at] >> 1), key(data[at + 1])};
    for (int copy = 0; copy <= (data[at] % 8 == 0 ? copies : 0); ++copy) rows[side].push_back(pair);
    items[side][pair.tid].insert(pair.item);
  }
  Answer expected;
  for (const auto& [b, lefts] : items[0])
    if (items[1].contains(b))
      for (const int64_t a : lefts)
        for (const int64_t c : items[1].at(b)) ++expected[{a, c}];
  const auto min_count = static_cast<uint64_t>(query.min_count.value_or(1));
  std::erase_if(expected, [&](const auto& entry) { return entry.second < min_count; });
  if (query.distinct_only)
    for (auto& [pair, count] : expected) count = min_count;

  const test::PackedRows left(rows[0], pieces);
  const test::PackedRows right(rows[1], pieces);
  for (const PairMethodName& entry : kPairMethodNames) {
    query.method = entry.method;
    MemoryMeter meter;
    {
      const ExecutionOptions options{.threads = threads, .memory = &meter, .cancel = {}};
      JoinRun run(join_relations({left.chunks(), {}}, {right.chunks(), {}}, options), query, options);
      Answer found;
      PairBatch batch;
      while (run.next(batch))
        for (const PairRow& row : batch)
          if (!found.emplace(std::pair(row.item_a, row.item_b), row.support).second) fail(entry.name, "a pair twice");
      if (found != expected) fail(entry.name, "wrong answer");
    }
    if (meter.current() != 0) fail(entry.name, "memory is still charged");
  }
  return 0;
}
