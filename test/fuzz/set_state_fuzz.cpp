// Bytes as a flat set state: either refused, or compacting, finishing and merging give the set
// of its elements.
#include <cstring>
#include <set>
#include <vector>

#include "set/set_state.h"

namespace {

using namespace batmap;

/// The set that the elements of a state represent, computed the slow way.
std::set<uint64_t> meaning(const std::byte* bytes) {
  std::set<uint64_t> set;
  for (const uint64_t x : state_elements(bytes))
    if (!set.insert(x).second && state_header(bytes).kind == StateKind::kSymmetricDifference) set.erase(x);
  return set;
}

void require(bool condition) {
  if (!condition) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // At 4 modulo 8, as in a varlena, with room for a second copy of the elements.
  std::vector<uint64_t> words(2 * size / 8 + 8);
  auto* const bytes = reinterpret_cast<std::byte*>(words.data()) + 4;
  std::memcpy(bytes, data, size);
  try {
    state_validate({bytes, size});
  } catch (const Error&) {
    return 0;
  }
  require(is_set_state({bytes, size}));
  const std::set<uint64_t> expected = meaning(bytes);
  MemoryMeter meter;
  GrowingBuffer<uint64_t> out(meter);
  state_finish(bytes, out, {});
  require(std::vector<uint64_t>(out.begin(), out.end()) == std::vector<uint64_t>(expected.begin(), expected.end()));

  std::vector<uint64_t> copy_words = words;
  auto* const copy = reinterpret_cast<std::byte*>(copy_words.data()) + 4;
  state_compact(copy, {});
  require(meaning(copy) == expected && state_header(copy).count == expected.size());
  state_validate({copy, state_used(state_header(copy))});

  require(state_merge(bytes, words.size() * 8 - 4, copy));
  const std::set<uint64_t> merged = meaning(bytes);
  require(state_header(bytes).kind == StateKind::kSymmetricDifference ? merged.empty() : merged == expected);
  return 0;
}
