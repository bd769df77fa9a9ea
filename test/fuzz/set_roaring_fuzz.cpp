// Roaring bytes from outside, in 64-bit form if the first byte is odd: either refused, or a set that is the
// same after writing and reading.

#include <cstdint>
#include <cstring>
#include <vector>

#include "compact/roaring_format.h"
#include "core/error.h"
#include "require.h"
#include "set/set_kernel.h"

using namespace batmap;
using batmap::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const RoaringForm form = data[0] % 2 == 0 ? RoaringForm::k32 : RoaringForm::k64;
  MemoryMeter meter(size_t{256} << 20);  // eight bytes of runs may demand 65,536 elements
  const ExecutionOptions options{1, &meter, {}};
  std::vector<std::byte> bytes(size - 1);
  if (size > 1) std::memcpy(bytes.data(), data + 1, size - 1);
  const CompactKernel& kernel = *best_set_kernel().compact;
  CompactWriter set(options);
  try {
    read_roaring(bytes, form, kernel, set, options);
  } catch (const Error& error) {
    require(error.code() != ErrorCode::kCancelled && error.code() != ErrorCode::kTooLarge, "a refusal is about the data");
    return 0;
  }
  std::vector<std::byte> value(set.bytes());
  set.write(value.data());
  validate_compact(value);
  GrowingBuffer<std::byte> roaring(meter);
  write_roaring(CompactView::open(value), form, roaring, options);
  CompactWriter again(options);
  read_roaring(roaring.span(), form, kernel, again, options);
  std::vector<std::byte> same(again.bytes());
  again.write(same.data());
  require(same == value, "written and read again");
  return 0;
}
