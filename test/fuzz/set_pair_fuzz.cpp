// Two sets from arbitrary bytes, prepared, each with its own width, or compact, compared with std::set: round trip, counts by
// every kernel, algebra, order. Input bytes: two widths, the spread, then 2 per element; the lowest bit selects the
// set, and the next bit puts the element into both.

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "require.h"
#include "set/set_builder.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"
#include "set/set_operations.h"

namespace {

using namespace batmap;
using batmap::test::require;
using Elements = std::vector<uint64_t>;

std::vector<std::byte> compact(const CompactWriter& writer) {
  std::vector<std::byte> bytes(writer.bytes());
  writer.write(bytes.data());
  validate(bytes);
  return bytes;
}

/// In compact form if the width is an odd one, else prepared.
std::vector<std::byte> encode(const Elements& elements, int width, const ExecutionOptions& options) {
  if (width % 2 == 1) {
    CompactWriter writer(options);
    writer.add_elements(std::span<const uint64_t>(elements));
    return compact(writer);
  }
  SetEncoder encoder(options);
  std::vector<std::byte> bytes(encoder.prepare(elements, width));
  encoder.write(bytes.data());
  validate(bytes);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  const int widths[2] = {data[0] % (kMaxWidth + 1), data[1] % (kMaxWidth + 1)};
  std::set<uint64_t> members[2];
  for (size_t i = 3; i + 2 <= size; i += 2) {
    const uint64_t raw = data[i] | uint64_t{data[i + 1]} << 8;
    // Two bytes may stand for a run of elements, so that short inputs produce batmaps and bitmaps, too.
    const uint64_t run = data[2] % 4 == 0 ? 1 : data[2] % 4 == 1 ? 40 : 400;
    const uint64_t factor = data[2] % 8 < 4 ? 1 : 0x9e3779b97f4a7c15;
    for (uint64_t k = 0; k < run; ++k) {
      const uint64_t x = ((raw >> 2) * 401 + k) * factor;
      for (int side = 0; side < 2; ++side)
        if ((raw & 1) == static_cast<uint64_t>(side) || (raw & 2) != 0)
          members[side].insert(x & (universe_of(widths[side]) - 1));
    }
    if (members[0].size() + members[1].size() > 6000) break;
  }
  const Elements a(members[0].begin(), members[0].end());
  const Elements b(members[1].begin(), members[1].end());
  const std::vector<std::byte> a_bytes = encode(a, widths[0], options);
  const std::vector<std::byte> b_bytes = encode(b, widths[1], options);
  const SetView x = SetView::open(a_bytes);
  const SetView y = SetView::open(b_bytes);

  const auto check = [&](auto operation, auto oracle, const char* what) {
    Elements expected;
    oracle(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
    CompactWriter wanted(options);
    wanted.add_elements(std::span<const uint64_t>(expected));
    for (const SetKernel& kernel : set_kernels()) {
      if (find_set_kernel(kernel.name) == nullptr) continue;
      CompactWriter out(options);
      combine_sets(x, y, operation, *kernel.compact, out, options);
      require(compact(out) == compact(wanted), what);
    }
    return expected.size();
  };
#define ORACLE(name) [](auto... arguments) { return std::name(arguments...); }
  const size_t common = check(SetCombination::kAnd, ORACLE(set_intersection), "and");
  check(SetCombination::kOr, ORACLE(set_union), "or");
  check(SetCombination::kAndNot, ORACLE(set_difference), "andnot");
  check(SetCombination::kXor, ORACLE(set_symmetric_difference), "xor");
#undef ORACLE
  for (const SetKernel& kernel : set_kernels()) {
    if (find_set_kernel(kernel.name) == nullptr) continue;
    require(and_cardinality(x, y, kernel) == common, "count");
    require(intersects(x, y, kernel) == (common > 0), "intersects");
    require(is_subset(x, y, kernel) == (common == a.size()), "subset");
    require(equal(x, y, kernel) == (a == b), "equal");
  }
  const int order = compare(x, y, options);
  require((order < 0) == (a < b) && (order > 0) == (b < a), "order");
  require((hash(x, 3) == hash(y, 3)) == (a == b), "hash");
  return 0;
}
