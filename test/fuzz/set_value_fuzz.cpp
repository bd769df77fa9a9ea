// Stored sets from arbitrary bytes. If a value passes validation, all functions on it must agree.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "compact/compact_writer.h"
#include "core/error.h"
#include "require.h"
#include "set/set_builder.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"
#include "set/set_text.h"
#include "test/unit/shared/compact_text.h"

using namespace batmap;
using batmap::test::compact_text;
using batmap::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  try {
    validate(bytes);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kInvalidData, "a refusal is about the data");
    return 0;
  }
  const SetView set = SetView::open(bytes);
  GrowingBuffer<uint64_t> elements(meter);
  decode(set, elements, options);
  require(elements.size() == set.cardinality(), "cardinality");
  require(std::adjacent_find(elements.begin(), elements.end(), std::greater_equal<>()) == elements.end(), "ascending");
  for (const uint64_t x : elements) require(x < set.universe() && set.contains(x), "every element is a member");
  require(set_min(set) == (set.empty() ? std::optional<uint64_t>() : elements[0]), "least");
  require(set_max(set) == (set.empty() ? std::optional<uint64_t>() : elements[elements.size() - 1]), "greatest");

  // Our own encoding of the same set: elements may be at other positions, but nothing else may differ.
  // Of a compact set there are no others.
  SetEncoder encoder(options);
  std::vector<std::byte> own(encoder.prepare(elements.span(), set.width()));
  encoder.write(own.data());
  validate(own);
  CompactWriter writer(options);
  writer.add_elements(std::span<const uint64_t>(elements.span()));
  std::vector<std::byte> compact(writer.bytes());
  writer.write(compact.data());
  validate(compact);
  if (set.is_compact()) require(compact == bytes, "the one compact form");
  const SetView same = SetView::open(own);
  for (const SetKernel& kernel : set_kernels()) {
    if (find_set_kernel(kernel.name) == nullptr) continue;
    require(and_cardinality(set, same, kernel) == set.cardinality(), "meets its twin everywhere");
    require(equal(set, same, kernel), "equals its twin");
    require(equal(SetView::open(compact), set, kernel), "equals its compact twin");
  }
  require(compare(set, same, options) == 0 && hash(set, 1) == hash(same, 1), "compares and hashes like its twin");

  GrowingBuffer<uint64_t> again(meter);
  parse_set_text(compact_text(bytes), again, options);
  require(std::equal(again.begin(), again.end(), elements.begin(), elements.end()), "elements come back");
  return 0;
}
