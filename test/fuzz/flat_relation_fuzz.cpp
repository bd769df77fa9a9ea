// Flat relations from arbitrary bytes. If the first byte is even, the rest is a value from outside: if it
// passes validation, it must decode, finish, merge and validate again with its rows unchanged. If the first
// byte is odd, the rest is a list of appends, packings and merges; the relation must then hold exactly the
// rows of a plain list.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "relation/flat_relation.h"
#include "require.h"

namespace {

using batmap::test::require;

using batmap::TidItem;
using Bytes = std::vector<std::byte>;
using Rows = std::vector<std::tuple<int64_t, int64_t>>;

Rows sorted(Rows rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

Rows rows_of(const Bytes& finished) {
  Rows rows;
  for (const batmap::ChunkView& chunk : batmap::flat_chunks(finished.data())) {
    std::vector<TidItem> pairs(chunk.rows);
    batmap::decode_chunk(chunk, pairs.data());
    for (const TidItem& pair : pairs) rows.emplace_back(pair.tid, pair.item);
  }
  return rows;
}

Bytes finish(const Bytes& state) {
  Bytes out(batmap::flat_finished_capacity(batmap::flat_header(state.data())));
  out.resize(batmap::flat_finish(state.data(), out.data()));
  batmap::flat_validate(out);  // throws, and the fuzzer reports that
  return out;
}

/// Copied to a block of the exact size, so that a sanitizer detects an access one byte past the end.
Bytes merge(const Bytes& into, const Bytes& other) {
  const batmap::FlatHeader header = batmap::flat_header(into.data());
  Bytes out(std::max(batmap::flat_merged_capacity(header, other.data()), batmap::flat_used(header)));
  std::memcpy(out.data(), into.data(), batmap::flat_used(header));
  batmap::flat_merge(out.data(), out.size(), other.data(), {});
  return out;
}

void append(Bytes& state, TidItem pair) {
  const size_t needed = batmap::flat_used(batmap::flat_header(state.data())) + sizeof(TidItem) + batmap::kFlatSlack;
  if (state.size() < needed) {
    require(!batmap::flat_append(state.data(), state.size(), pair), "an append without room is refused");
    state.resize(needed);
  }
  require(batmap::flat_append(state.data(), state.size(), pair), "an append with room succeeds");
}

Bytes empty() {
  Bytes state(batmap::kFlatHeaderBytes);
  batmap::flat_init(state.data());
  return state;
}

void check_value(const uint8_t* data, size_t size) {
  Bytes value(size);
  if (size > 0) std::memcpy(value.data(), data, size);
  try {
    batmap::flat_validate(value);
  } catch (const batmap::Error& error) {
    require(error.code() == batmap::ErrorCode::kInvalidData, "a refusal is about the data");
    return;
  }
  require(batmap::is_flat_relation(value), "a value has a sound header");
  const Rows rows = rows_of(value);
  require(rows.size() == batmap::flat_header(value.data()).rows(), "the header knows the rows");
  require(finish(value) == value, "a finished value is finished already");

  Bytes merged = empty();
  append(merged, {1, 2});
  merged = merge(merged, value);
  merged = merge(merged, value);
  Rows expected = rows;
  expected.insert(expected.end(), rows.begin(), rows.end());
  expected.emplace_back(1, 2);
  require(sorted(rows_of(finish(merged))) == sorted(expected), "merging keeps all rows");
}

void check_operations(const uint8_t* data, size_t size) {
  Bytes left = empty();
  Bytes right = empty();
  Rows left_rows;
  Rows right_rows;
  uint64_t seed = 1;
  const uint8_t* const end = data + size;
  while (data + 3 <= end) {
    const uint8_t operation = *data++;
    uint16_t argument;
    std::memcpy(&argument, data, 2);
    data += 2;
    switch (operation % 8) {
      case 0: {  // few rows, small keys
        const TidItem pair{argument & 0xff, argument >> 8};
        append(left, pair);
        left_rows.emplace_back(pair.tid, pair.item);
        break;
      }
      case 1: {  // extreme keys
        const TidItem pair{argument % 2 == 0 ? INT64_MIN + argument : INT64_MAX - argument,
                           -int64_t{argument} << (argument % 48)};
        append(left, pair);
        left_rows.emplace_back(pair.tid, pair.item);
        break;
      }
      case 2:
      case 3:  // many rows
        if (left_rows.size() > 20000) break;
        for (int i = 0; i < argument % 5000; ++i) {
          seed = seed * 6364136223846793005u + argument;
          const TidItem pair{static_cast<int64_t>(seed >> (operation % 64)), static_cast<int64_t>(seed >> 40)};
          append(left, pair);
          left_rows.emplace_back(pair.tid, pair.item);
        }
        break;
      case 4:
        left.resize(std::max(left.size(), batmap::flat_used(batmap::flat_header(left.data())) + batmap::kFlatSlack));
        batmap::flat_seal(left.data());
        break;
      case 5:
        if (left_rows.size() > 20000) break;
        left = merge(left, right);
        left_rows.insert(left_rows.end(), right_rows.begin(), right_rows.end());
        break;
      case 6: left = finish(left); break;
      default:
        std::swap(left, right);
        std::swap(left_rows, right_rows);
        break;
    }
    require(batmap::flat_header(left.data()).rows() == left_rows.size(), "rows are counted");
  }
  require(sorted(rows_of(finish(left))) == sorted(left_rows), "all rows are there");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  if (data[0] % 2 == 0)
    check_value(data + 1, size - 1);
  else
    check_operations(data + 1, size - 1);
  return 0;
}
