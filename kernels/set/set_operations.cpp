// One merge serves all operations but set_and. See set_operations.h.
#include "set/set_operations.h"

#include <algorithm>
#include <utility>

#include "set/set_builder.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"

namespace batmap {

namespace {

constexpr size_t kPollEvery = 65536;

/// Which parts of the Venn diagram an operation keeps.
struct Parts {
  bool only_a;
  bool both;
  bool only_b;
};

void merge(SetView a, SetView b, Parts keep, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options) {
  GrowingBuffer<uint64_t> x(*options.memory);
  GrowingBuffer<uint64_t> y(*options.memory);
  decode(a, x, options);
  decode(b, y, options);
  const uint64_t* p = x.begin();
  const uint64_t* q = y.begin();
  const auto append = [&](const uint64_t* from, const uint64_t* end) {
    uint64_t* to = out.room(static_cast<size_t>(end - from));
    out.add(static_cast<size_t>(std::copy(from, end, to) - to));
  };
  while (p != x.end() && q != y.end()) {
    options.cancel.throw_if_requested();
    uint64_t* const room = out.room(kPollEvery);
    uint64_t* to = room;
    for (size_t steps = kPollEvery; steps > 0 && p != x.end() && q != y.end(); --steps) {
      // Every step writes, and arithmetic decides whether the element stays: a branch would be unpredictable.
      const bool from_a = *p <= *q;
      const bool from_b = *q <= *p;
      *to = from_a ? *p : *q;
      to += from_a && from_b ? keep.both : from_a ? keep.only_a : keep.only_b;
      p += from_a;
      q += from_b;
    }
    out.add(static_cast<size_t>(to - room));
  }
  if (keep.only_a) append(p, x.end());
  if (keep.only_b) append(q, y.end());
}

}  // namespace

void set_and(SetView a, SetView b, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options) {
  if (a.cardinality() > b.cardinality()) std::swap(a, b);
  const size_t before = out.size();
  SetReader reader(a, best_set_kernel(), options.cancel);
  for (;;) {
    uint64_t* chunk = out.room(kChunkElements);
    const size_t count = reader.next(chunk);
    if (count == 0) break;
    out.add(keep_members(b, {chunk, count}));
  }
  if (a.container() == Container::kBatmap) sort_elements({out.begin() + before, out.size() - before}, options);
}

void set_or(SetView a, SetView b, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options) {
  merge(a, b, {true, true, true}, out, options);
}

void set_andnot(SetView a, SetView b, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options) {
  merge(a, b, {true, false, false}, out, options);
}

void set_xor(SetView a, SetView b, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options) {
  merge(a, b, {true, false, true}, out, options);
}

}  // namespace batmap
