// Pair counts from arbitrary bytes, as they arrive by text or message. If a value passes validation, reading,
// writing, adding and look-ups must succeed and agree. If the first byte is odd, the rest is a list of
// operations on two states, which must hold the sums of plain maps. Items that are texts are called by their positions.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "pairs/counts/pair_counts.h"
#include "pairs/counts/pair_counts_build.h"
#include "pairs/counts/pair_counts_run.h"
#include "require.h"

namespace {

using namespace batmap;
using batmap::test::require;
using Bytes = std::vector<std::byte>;

/// Counts by item pair; (item, item) holds the support.
using Counts = std::map<std::pair<int64_t, int64_t>, uint64_t>;

/// Copied to a block of the exact size, so that a sanitizer detects an access one byte past the end.
Bytes exact(const GrowingBuffer<std::byte>& buffer) { return {buffer.begin(), buffer.end()}; }

Counts read(const Bytes& value) {
  std::vector<int64_t> values;
  for (PairCountsItems items(value.data()); items.next();) values.push_back(items.item());
  require(values.size() == pair_counts_header(value.data()).items, "the header knows the items");
  Counts counts;
  for (PairCountsItems items(value.data()); items.next();) {
    counts[{items.item(), items.item()}] = items.support();
    for (PairCountsRow row = items.row(); row.next();) counts[{items.item(), values[row.index()]}] = row.count();
  }
  return counts;
}

Bytes written(const Bytes& value, const ExecutionOptions& options) {
  PairCountsWriter writer(options);
  for (PairCountsItems items(value.data()); items.next();) {
    if (pair_counts_header(value.data()).has_texts())
      writer.add_text(items.text(), items.support());
    else
      writer.add_item(items.item(), items.support());
    for (PairCountsRow row = items.row(); row.next();) writer.add_pair(row.index(), row.count());
  }
  GrowingBuffer<std::byte> out(*options.memory);
  writer.finish(pair_counts_header(value.data()).total, out);
  return exact(out);
}

Bytes added(const std::vector<const std::byte*>& values, const ExecutionOptions& options) {
  GrowingBuffer<std::byte> out(*options.memory);
  add_pair_counts(values, out, options);
  Bytes sum = exact(out);
  validate_pair_counts(sum, options);  // throws, and the fuzzer reports that
  return sum;
}

void check_value(const uint8_t* data, size_t size, const ExecutionOptions& options) {
  Bytes value(size);
  if (size > 0) std::memcpy(value.data(), data, size);
  try {
    validate_pair_counts(value, options);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kInvalidData, "a refusal is about the data");
    return;
  }
  require(is_pair_counts(value, value.size()), "a value has a sound header");
  require(written(value, options) == value, "equal counts have equal bytes");
  const Counts counts = read(value);
  std::vector<std::string_view> texts;
  for (PairCountsItems items(value.data()); items.next();) texts.push_back(items.text());
  const auto found = [&](int64_t a, int64_t b) {
    if (!pair_counts_header(value.data()).has_texts()) return pair_count(value.data(), a, b);
    return pair_count(value.data(), texts[static_cast<size_t>(a)], texts[static_cast<size_t>(b)]);
  };
  for (const auto& [pair, count] : counts)
    if (counts.size() < 200) require(found(pair.second, pair.first) == count, "a count is found");
  PairQuery query;
  query.min_count = 1;
  PairCountsRun run(value.data(), query, options);
  uint64_t rows = 0;
  for (PairBatch batch; run.next(batch); rows += batch.size())
    for (const PairRow& row : batch) {
      require(counts.at({row.item_a, row.item_b}) == row.support, "a row has its count");
      require(counts.at({row.item_a, row.item_a}) == row.support_a, "and its support");
      require(counts.at({row.item_b, row.item_b}) == row.support_b, "and the other");
    }
  require(rows == pair_counts_header(value.data()).pairs, "all pairs are answers");
  if (pair_counts_header(value.data()).total > INT64_MAX / 2) return;
  Counts twice = counts;
  for (auto& [pair, count] : twice) count *= 2;
  require(read(added({value.data(), value.data()}, options)) == twice, "twice a value is twice its counts");
}

struct State {
  Bytes bytes;
  Counts counts;
  uint64_t total = 0;
};

Bytes counted(const std::vector<TidItem>& rows, const ExecutionOptions& options) {
  Bytes chunk(kChunkMaxBytes);
  std::vector<ChunkView> chunks;
  if (!rows.empty()) {
    write_chunk(rows, chunk.data());
    chunks.push_back(read_chunk(chunk.data()));
  }
  GrowingBuffer<std::byte> out(*options.memory);
  count_pairs_of(std::move(chunks), 0, {}, out, options);
  return exact(out);
}

void check_operations(const uint8_t* data, size_t size, const ExecutionOptions& options) {
  State left{counted({}, options), {}, 0};
  State right = left;
  const uint8_t* const end = data + size;
  while (data + 2 <= end) {
    const uint8_t operation = *data++;
    const uint8_t argument = *data++;
    switch (operation % 4) {
      case 0: {  // one transaction: each of the next bytes is an item
        std::vector<int64_t> items;
        std::vector<TidItem> rows;
        for (int k = 0; k < argument % 16 && data < end; ++k, ++data)
          items.push_back(operation & 4 ? *data : int64_t{*data - 128} << 56);
        std::sort(items.begin(), items.end());
        items.erase(std::unique(items.begin(), items.end()), items.end());
        for (const int64_t item : items) rows.push_back({7, item});
        const Bytes value = counted(rows, options);
        left.bytes.resize(left.bytes.size() + value.size());
        pair_counts_append(left.bytes.data(), value.data());
        for (size_t a = 0; a < items.size(); ++a)
          for (size_t b = a; b < items.size(); ++b) ++left.counts[{items[a], items[b]}];
        left.total += !items.empty();
        break;
      }
      case 1:
        if (left.total > UINT64_MAX / 8 || left.bytes.size() > 1 << 16) break;
        left.bytes.resize(left.bytes.size() + right.bytes.size());
        pair_counts_append(left.bytes.data(), right.bytes.data());
        for (const auto& [pair, count] : right.counts) left.counts[pair] += count;
        left.total += right.total;
        break;
      case 2: left.bytes = added({left.bytes.data()}, options); break;
      default: std::swap(left, right); break;
    }
    if (left.total > INT64_MAX) return;
  }
  const Bytes sum = added({left.bytes.data()}, options);
  require(read(sum) == left.counts, "all counts are there");
  require(pair_counts_header(sum.data()).total == left.total, "and all transactions");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  MemoryMeter meter(size_t{1} << 30);
  const ExecutionOptions options{1, &meter, {}};
  if (data[0] % 2 == 0)
    check_value(data + 1, size - 1, options);
  else
    check_operations(data + 1, size - 1, options);
  return 0;
}
