// Bytes as a flat set state: either refused, or finishing it and adding to it, flat and in place, give the set of its elements.
#include <cstring>
#include <set>
#include <vector>

#include "compact/compact_accumulator.h"
#include "require.h"
#include "set/set_decode.h"
#include "set/set_state.h"

using namespace batmap;
using batmap::test::require;

namespace {

using Bytes = std::vector<std::byte>;
using Set = std::set<uint64_t>;

class Heap final : public MemorySource {
 public:
  std::byte* take(size_t size) override {
    blocks_.emplace_back(size / sizeof(uint64_t) + 1);
    return reinterpret_cast<std::byte*>(blocks_.back().data());
  }
  void give(std::byte*, size_t) noexcept override {}

 private:
  std::vector<std::vector<uint64_t>> blocks_;
};

Bytes written(const CompactWriter& writer) {
  Bytes bytes(writer.bytes());
  writer.write(bytes.data());
  return bytes;
}

/// Adds an element as the kind of state does.
void join(Set& set, uint64_t x, StateKind kind) {
  if (!set.insert(x).second && kind == StateKind::kSymmetricDifference) set.erase(x);
}

/// The set that a state represents, computed the slow way.
Set meaning(const std::byte* bytes) {
  Set set;
  if (state_header(bytes).compact > 0)
    for_each_element(SetView::open(state_compact(bytes)), {}, [&](uint64_t x) { set.insert(x); });
  for (const uint64_t x : state_pending(bytes)) join(set, x, state_header(bytes).kind);
  return set;
}

Bytes compact(const Set& set, const ExecutionOptions& options) {
  const std::vector<uint64_t> elements(set.begin(), set.end());
  CompactWriter writer(options);
  writer.add_elements(std::span<const uint64_t>(elements));
  return written(writer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // At 4 modulo 8, as in a varlena.
  std::vector<uint64_t> words(size / 8 + 8);
  auto* const bytes = reinterpret_cast<std::byte*>(words.data()) + 4;
  if (size > 0) std::memcpy(bytes, data, size);
  try {
    state_validate({bytes, size});
  } catch (const Error&) {
    return 0;
  }
  require(is_set_state({bytes, size}), "a valid state has a sound header");
  MemoryMeter meter;
  const ExecutionOptions options{1, &meter, {}};
  const CompactKernel& kernel = *best_set_kernel().compact;
  const StateKind kind = state_header(bytes).kind;
  Set expected = meaning(bytes);
  if (expected.size() > 300000) return 0;
  CompactWriter result(options);
  state_result(bytes, kernel, result, options);
  require(written(result) == compact(expected, options), "the set of its elements");

  // One more set: a few elements of the state, and others.
  Set more;
  for (const uint64_t x : expected)
    if (more.size() < 100 && x % 3 == 0) more.insert(x + x % 2);
  const Bytes added = compact(more, options);
  state_combine(bytes, CompactView::open(added), kernel, result, options);
  if (kind == StateKind::kIntersection)
    std::erase_if(expected, [&](uint64_t x) { return !more.contains(x); });
  else
    for (const uint64_t x : more) join(expected, x, kind);
  require(written(result) == compact(expected, options), "with one more set");

  Heap heap;
  GrowingBuffer<std::byte> state_room(meter);
  CompactAccumulator sum(operation_of(kind), kernel, heap, {});
  sum.add(state_set(bytes, kernel, result, state_room, options));
  sum.add(CompactView::open(added));
  sum.write(result);
  require(written(result) == compact(expected, options), "with one more set in place");
  require(sum.cardinality() == expected.size(), "counted in place");

  std::vector<uint64_t> room(state_bytes(result.bytes(), 0) / 8 + 2);
  auto* const other = reinterpret_cast<std::byte*>(room.data()) + 4;
  set_state_header(other, state_header(bytes));
  state_assign(other, result);
  state_validate({other, state_used(state_header(other))});
  require(meaning(other) == expected, "assigned");
  return 0;
}
