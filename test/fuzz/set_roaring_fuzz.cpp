// Roaring bytes from outside, in 64-bit form if the first byte is odd: either refused, or a set that is the
// same after writing and reading.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "core/error.h"
#include "require.h"
#include "set/roaring_format.h"

using namespace batmap;
using batmap::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const RoaringForm form = data[0] % 2 == 0 ? RoaringForm::k32 : RoaringForm::k64;
  MemoryMeter meter(size_t{256} << 20);  // eight bytes of runs may demand 65,536 elements
  const ExecutionOptions options{1, &meter, {}};
  std::vector<std::byte> bytes(size - 1);
  if (size > 1) std::memcpy(bytes.data(), data + 1, size - 1);
  GrowingBuffer<uint64_t> elements(meter);
  try {
    read_roaring(bytes, form, elements, options);
  } catch (const Error& error) {
    require(error.code() != ErrorCode::kCancelled && error.code() != ErrorCode::kTooLarge, "a refusal is about the data");
    return 0;
  }
  require(std::adjacent_find(elements.begin(), elements.end(), std::greater_equal<>()) == elements.end(), "ascending");
  GrowingBuffer<std::byte> written(meter);
  write_roaring(elements.span(), form, written, options);
  GrowingBuffer<uint64_t> again(meter);
  read_roaring(written.span(), form, again, options);
  require(std::equal(again.begin(), again.end(), elements.begin(), elements.end()), "written and read again");
  return 0;
}
