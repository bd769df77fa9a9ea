// Small relations and queries from arbitrary bytes: all methods and kernels must give the answer of the
// oracle, or all must refuse. Input bytes: 12 of options, 3 of lists, then two per row (tid, item).

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"
#include "pairs/pair_run.h"
#include "test/unit/shared/oracle.h"
#include "test/unit/shared/shapes.h"

namespace {

using namespace batmap;

constexpr size_t kOptionBytes = 15;

int64_t key(uint8_t small, uint8_t form) {
  switch (form % 4) {
    case 0: return small;
    case 1: return int64_t{small} * 3 - 400;
    case 2: return test::scattered_key(small);
    default: return small < 128 ? INT64_MIN + small : INT64_MAX - (255 - small);
  }
}

[[noreturn]] void fail(const PairQuery& query, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", test::describe(query).c_str(), what.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kOptionBytes || size > 4000) return 0;
  const uint8_t given = data[0];
  const uint8_t forms = data[1];
  PairQuery query;
  // Signed, so that invalid values occur, too.
  if (given & 1) query.min_count = static_cast<int8_t>(data[2]);
  if (given & 2) query.min_support = (data[3] + data[4] * 256.0 - 1000) / 64000;
  if (given & 4) query.top_k = static_cast<int8_t>(data[5]);
  if (given & 8) query.per_item_top_k = static_cast<int8_t>(data[6]);
  if (given & 16) query.max_results = static_cast<int8_t>(data[7]);
  const uint8_t item_form = forms >> 2;
  if (given & 32)
    query.include = std::vector<int64_t>{key(data[8], item_form), key(data[9], item_form), key(data[12], item_form)};
  if (given & 64) query.exclude = std::vector<int64_t>{key(data[10], item_form), key(data[11], item_form)};
  const int threads = 1 + (given >> 7);
  const uint64_t pieces = data[13];
  const uint8_t copies = data[14] % 4;

  std::vector<TidItem> rows;
  for (size_t at = kOptionBytes; at + 2 <= size; at += 2)
    for (int copy = 0; copy <= (data[at] % 8 == 0 ? copies : 0); ++copy)
      rows.push_back({key(data[at], forms), key(data[at + 1], item_form)});
  const test::PackedRows packed(rows, pieces);

  bool refused = false;
  try {
    query.check();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidParameter) fail(query, "refused with a strange code");
    refused = true;
  }
  const test::OracleAnswer expected = refused ? test::OracleAnswer{} : test::oracle_pairs(rows, query);

  std::vector<std::optional<PairMethod>> methods{std::nullopt};
  for (const PairMethodName& entry : kPairMethodNames) methods.push_back(entry.method);
  for (const std::optional<PairMethod>& method : methods)
    for (const AndPopcountKernel& kernel : and_popcount_kernels()) {
      if (find_and_popcount(kernel.name) == nullptr) continue;
      query.method = method;
      query.kernels.bits = &kernel;
      MemoryMeter meter;
      std::vector<PairRow> found;
      const std::string name = std::string(method ? pair_method_name(*method) : "auto") + ", " + kernel.name + ": ";
      try {
        PairRun run(packed.chunks(), {}, query, {.threads = threads, .memory = &meter, .cancel = {}});
        if (refused) fail(query, name + "ran although the question is to be refused");
        PairBatch batch;
        while (run.next(batch)) found.insert(found.end(), batch.begin(), batch.end());
        if (run.record().truncated() != expected.truncated) fail(query, name + "truncated or not");
        if (run.record().transactions != expected.total) fail(query, name + "wrong total");
        if (query.min_count_among(expected.total) != expected.threshold) fail(query, name + "wrong threshold");
      } catch (const Error& error) {
        if (!refused || error.code() != ErrorCode::kInvalidParameter) fail(query, name + error.what());
        continue;
      }
      const std::string wrong = test::difference(found, expected.rows);
      if (!wrong.empty()) fail(query, name + wrong);
      if (meter.current() != 0) fail(query, name + "memory is still charged");
    }
  return 0;
}
