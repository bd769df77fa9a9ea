// Text forms of sets from arbitrary bytes: either refused, or a set whose printed text reads back as
// the same set.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/error.h"
#include "require.h"
#include "set/set_text.h"

using namespace batmap;
using batmap::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  GrowingBuffer<uint64_t> elements(meter);
  try {
    parse_set_text({reinterpret_cast<const char*>(data), size}, elements, options);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kInvalidData || error.code() == ErrorCode::kInvalidParameter,
            "a refusal is about the text");
    return 0;
  }
  require(std::adjacent_find(elements.begin(), elements.end(), std::greater_equal<>()) == elements.end(), "ascending");
  for (const uint64_t x : elements) require(x < universe_of(kMaxWidth), "in range");
  GrowingBuffer<char> text(meter);
  print_set_text(elements.span(), text);
  GrowingBuffer<uint64_t> again(meter);
  parse_set_text({text.begin(), text.size()}, again, options);
  require(std::equal(again.begin(), again.end(), elements.begin(), elements.end()), "the print reads the same");
  return 0;
}
