// Relations of text items from arbitrary bytes. If the first byte is even, the rest is a value from outside: if it passes
// validation, it must decode, finish, merge and validate again with its rows unchanged. If the first byte is odd, the
// rest is a list of appends, merges and packings; the relation must then hold exactly the rows of a plain list.

#include <cstdint>
#include <cstring>
#include <string>

#include "core/error.h"
#include "require.h"
#include "test/unit/shared/text_relations.h"

namespace {

using namespace batmap::test;

void validate(const TextBytes& value) {
  batmap::MemoryMeter meter;
  batmap::text_relation_validate(value, meter, {});
}

void check_value(const uint8_t* data, size_t size) {
  TextBytes value(size);
  if (size > 0) std::memcpy(value.data(), data, size);
  if (!batmap::has_text_items(value)) return;
  try {
    validate(value);
  } catch (const batmap::Error& error) {
    require(error.code() == batmap::ErrorCode::kInvalidData, "a refusal is about the data");
    return;
  }
  require(batmap::is_text_relation(value) && batmap::is_finished_text_relation(value), "a value has a sound header");
  require(batmap::has_numbers_of_texts(value), "all items have texts");
  TextRows rows = rows_of_texts(value);
  require(finished_text_relation(value) == value, "a finished value is finished already");

  TextBytes merged = text_state_of({{1, "b"}});
  merge_text_state(merged, value);
  merge_text_state(merged, value);
  const TextBytes finished = finished_text_relation(merged);
  validate(finished);  // throws, and the fuzzer reports that
  TextRows expected = rows;
  expected.insert(expected.end(), rows.begin(), rows.end());
  expected.emplace_back(1, "b");
  require(sorted_rows(rows_of_texts(finished)) == sorted_rows(expected), "merging keeps all rows");
}

void check_operations(const uint8_t* data, size_t size) {
  TextBytes left = empty_text_state();
  TextBytes right = empty_text_state();
  TextRows left_rows;
  TextRows right_rows;
  const uint8_t* const end = data + size;
  while (data + 2 <= end) {
    const uint8_t operation = *data++;
    const uint8_t argument = *data++;
    switch (operation % 6) {
      case 0: {  // a text of the input
        const size_t length = std::min<size_t>(argument, static_cast<size_t>(end - data));
        const std::string text(reinterpret_cast<const char*>(data), length);
        data += length;
        append_text(left, operation, text);
        left_rows.emplace_back(operation, text);
        break;
      }
      case 1:
      case 2:  // many rows
        if (left_rows.size() > 20000) break;
        for (int i = 0; i < argument * 20; ++i) {
          const std::string text = std::to_string(i * (operation + 1) % (argument * 3 + 1));
          const int64_t tid = int64_t{i} << (operation % 48);
          append_text(left, tid, text);
          left_rows.emplace_back(tid, text);
        }
        break;
      case 3:
        if (left_rows.size() > 20000) break;
        merge_text_state(left, right);
        left_rows.insert(left_rows.end(), right_rows.begin(), right_rows.end());
        break;
      case 4:
        if (!left_rows.empty()) left = finished_text_relation(left);
        break;
      default:
        std::swap(left, right);
        std::swap(left_rows, right_rows);
        break;
    }
    require(batmap::is_text_relation(left), "a state has a sound header");
  }
  if (left_rows.empty()) return;
  const TextBytes finished = finished_text_relation(left);
  validate(finished);
  require(sorted_rows(rows_of_texts(finished)) == sorted_rows(left_rows), "all rows are there");
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
