// Merging of sorted 16-bit arrays by a network over two registers, and what else looks at neighbours in an array. The file
// that includes this has a type Lanes (below) of as many elements as its instruction set takes. The network sorts the
// elements of two registers; the lower half is written, without what is equal to its neighbour, and the next register comes
// from the array whose next element is smaller. An array's last register is filled up with 0xffff, which comes last wherever
// the elements end. Included inside a namespace and a target region, after compact_kernel_body.h.
//
// Lanes has: kCount; Register; load(from), load_part(from, count) that fills up with 0xffff; merge(x, y), which leaves the
// smaller half in x and the larger one in y, both ascending; shifted(x, before), in which each element has moved up by one
// lane and the last one of `before` comes first; equal(x, y), a bit for each lane; put(x, mask, to), which writes the lanes
// whose bit is set, and behind them anything, and returns the end of what was written.

using Register = Lanes::Register;

/// An array that is read register by register.
struct MergeCursor {
  const std::byte* next;
  size_t left;

  uint16_t first() const { return load_le<uint16_t>(next); }
  bool is_full() const { return left >= Lanes::kCount; }
  Register take() {
    const std::byte* const from = next;
    const size_t count = left < Lanes::kCount ? left : Lanes::kCount;
    next += 2 * count;
    left -= count;
    return count == Lanes::kCount ? Lanes::load(from) : Lanes::load_part(from, count);
  }
};

/// @param kKeepBoth  whether an element of both stays, once
template <bool kKeepBoth>
size_t merge_arrays(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  constexpr size_t kFewElements = 12;  // of both together: one by one is faster
  constexpr uint16_t kFill = 0xffff;
  if (a_count == 0 || b_count == 0 || a_count + b_count <= kFewElements)
    return merge_rest(a, a_count, b, b_count, kKeepBoth, out);

  // Only the last element can be as large as what fills up.
  const bool a_has_fill = load_le<uint16_t>(a + 2 * (a_count - 1)) == kFill;
  const bool b_has_fill = load_le<uint16_t>(b + 2 * (b_count - 1)) == kFill;
  MergeCursor x{a, a_count - a_has_fill};
  MergeCursor y{b, b_count - b_has_fill};
  uint16_t* to = out;

  if (x.left > 0 && y.left > 0) {
    // Unlike the first element, and equal among themselves: none of them is written.
    Register before = Lanes::all(static_cast<uint16_t>((x.first() < y.first() ? x.first() : y.first()) ^ 1));
    Register low = x.take();
    Register high = y.take();
    Lanes::merge(low, high);
    unsigned was_equal = 1;  // whether the last element that was looked at is equal to the one before it
    const auto put = [&](Register lanes) __attribute__((always_inline)) {
      const Register shifted = Lanes::shifted(lanes, before);
      const uint32_t equal = Lanes::equal(lanes, shifted);
      if constexpr (kKeepBoth) {
        to = Lanes::put(lanes, ~equal, to);
      } else {
        // One element later: it stays if neither neighbour is equal.
        to = Lanes::put(shifted, ~(equal | equal << 1 | was_equal), to);
        was_equal = equal >> (Lanes::kCount - 1);
      }
      before = lanes;
    };
    put(low);
    while (x.is_full() && y.is_full()) {
      // By arithmetic: a branch would be unpredictable.
      const size_t from_x = x.first() <= y.first();
      const size_t from_y = 1 - from_x;
      low = Lanes::load(from_x != 0 ? x.next : y.next);
      x.next += 2 * Lanes::kCount * from_x;
      y.next += 2 * Lanes::kCount * from_y;
      x.left -= Lanes::kCount * from_x;
      y.left -= Lanes::kCount * from_y;
      Lanes::merge(low, high);
      put(low);
    }
    while (x.left > 0 && y.left > 0) {
      low = x.first() <= y.first() ? x.take() : y.take();
      Lanes::merge(low, high);
      put(low);
    }
    MergeCursor& rest = x.left > 0 ? x : y;
    while (rest.left > 0 && rest.first() <= Lanes::last(high)) {
      low = rest.take();
      Lanes::merge(low, high);
      put(low);
    }
    put(high);
    if (!kKeepBoth && was_equal == 0) *to++ = Lanes::last(high);
    if (to != out && to[-1] == kFill) --to;  // what filled up
    x = rest;
    y.left = 0;
  }
  to = Rest{y.next, y.left}.copy_to(Rest{x.next, x.left}.copy_to(to));
  if (kKeepBoth ? a_has_fill || b_has_fill : a_has_fill != b_has_fill) *to++ = kFill;
  // Of damaged bytes, what filled up may be left anywhere.
  const auto count = static_cast<size_t>(to - out);
  return count < a_count + b_count ? count : a_count + b_count;
}

size_t keep_either(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  return merge_arrays<true>(a, a_count, b, b_count, out);
}

size_t keep_single(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  return merge_arrays<false>(a, a_count, b, b_count, out);
}

uint32_t count_array_runs(const uint16_t* elements, size_t count) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(elements);
  uint32_t runs = 1;
  size_t i = 1;
  for (; i + Lanes::kCount <= count; i += Lanes::kCount) {
    const uint32_t next = Lanes::equal(Lanes::load(bytes + 2 * i), Lanes::next(Lanes::load(bytes + 2 * (i - 1))));
    runs += static_cast<uint32_t>(Lanes::kCount) - static_cast<uint32_t>(__builtin_popcount(next));
  }
  return runs + count_array_runs_from(elements, i, count);
}
