// Intersection and merging of sorted 16-bit arrays, eight elements of each at a time, for the files whose target region
// has SSE 4.2. To intersect, each element of one register is compared with all of the other; then the register with the
// smaller last element is replaced. To merge, a network sorts the elements of two registers; the lower half is written,
// and the next register comes from the array whose next element is smaller. Included inside a namespace and a target
// region, after compact_kernel_body.h.

constexpr size_t kLanes = 8;

/// Moves the lanes whose bit is set in the mask to the front.
struct LaneMoves {
  alignas(16) uint8_t bytes[256][16];
};
constexpr LaneMoves kLaneMoves = [] {
  LaneMoves moves{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    unsigned to = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      moves.bytes[mask][2 * to] = static_cast<uint8_t>(2 * lane);
      moves.bytes[mask][2 * to + 1] = static_cast<uint8_t>(2 * lane + 1);
      ++to;
    }
    for (unsigned byte = 2 * to; byte < 16; ++byte) moves.bytes[mask][byte] = 0x80;
  }
  return moves;
}();

__m128i load_lanes(const std::byte* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }

/// A bit for each element of x that is in y. Neither has the element 0, which would end it.
unsigned members(__m128i x, __m128i y) {
  constexpr int kMode = _SIDD_UWORD_OPS | _SIDD_CMP_EQUAL_ANY | _SIDD_BIT_MASK;
  return static_cast<unsigned>(_mm_cvtsi128_si32(_mm_cmpistrm(y, x, kMode)));
}

/// Two registers on their way through two arrays. The one with the smaller last element goes on; both if they are equal.
struct Lanes {
  const std::byte* a;
  size_t a_left;
  const std::byte* b;
  size_t b_left;

  /// Skips the element 0, which only the first place can have. @return whether both have it
  bool skip_zero() {
    const bool in_a = a_left > 0 && load_le<uint16_t>(a) == 0;
    const bool in_b = b_left > 0 && load_le<uint16_t>(b) == 0;
    a += in_a ? 2 : 0;
    a_left -= in_a;
    b += in_b ? 2 : 0;
    b_left -= in_b;
    return in_a && in_b;
  }
  bool full() const { return a_left >= kLanes && b_left >= kLanes; }
  void go_on() {
    const uint16_t last_a = load_le<uint16_t>(a + 2 * (kLanes - 1));
    const uint16_t last_b = load_le<uint16_t>(b + 2 * (kLanes - 1));
    // By arithmetic: which array goes on cannot be predicted, and compilers make branches of comparisons.
    const int ahead = last_b - last_a;
    const auto a_step = static_cast<size_t>(static_cast<int>(kLanes) & ~(ahead >> 31));
    const auto b_step = static_cast<size_t>(static_cast<int>(kLanes) & ~(-ahead >> 31));
    a += 2 * a_step;
    b += 2 * b_step;
    a_left -= a_step;
    b_left -= b_step;
  }
};

/// From so many elements of both on, two walks take turns: each waits for the address of its next registers.
constexpr size_t kTwoWalksFrom = 96;
bool pay_two_walks(const Lanes& at) { return at.a_left + at.b_left >= kTwoWalksFrom && at.a_left > 0; }

/// Leaves the elements from the middle one of a on. @return those below it
Lanes cut_in_two(Lanes& at) {
  const size_t a_half = at.a_left / 2;
  const uint16_t middle = load_le<uint16_t>(at.a + 2 * a_half);
  size_t b_half = 0;
  for (size_t left = at.b_left; left > 0;) {
    const size_t half = left / 2;
    const bool below = load_le<uint16_t>(at.b + 2 * (b_half + half)) < middle;
    b_half += below ? half + 1 : 0;
    left = below ? left - half - 1 : half;
  }
  const Lanes low{at.a, a_half, at.b, b_half};
  at = {at.a + 2 * a_half, at.a_left - a_half, at.b + 2 * b_half, at.b_left - b_half};
  return low;
}

size_t count_step(const Lanes& at) {
  return static_cast<unsigned>(__builtin_popcount(members(load_lanes(at.a), load_lanes(at.b))));
}

size_t count_common(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count) {
  Lanes at{a, a_count, b, b_count};
  size_t count = at.skip_zero();
  if (pay_two_walks(at)) {
    Lanes low = cut_in_two(at);
    size_t high_count = 0;
    for (; low.full() && at.full(); low.go_on(), at.go_on()) {
      count += count_step(low);
      high_count += count_step(at);
    }
    for (; low.full(); low.go_on()) count += count_step(low);
    count += high_count + count_rest(low.a, low.a_left, low.b, low.b_left);
  }
  for (; at.full(); at.go_on()) count += count_step(at);
  return count + count_rest(at.a, at.a_left, at.b, at.b_left);
}

/// Writes the lanes whose bit is set, and behind them anything. @return behind what was written
uint16_t* put_lanes(__m128i x, unsigned mask, uint16_t* to) {
  const __m128i moves = _mm_load_si128(reinterpret_cast<const __m128i*>(kLaneMoves.bytes[mask]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(x, moves));
  return to + __builtin_popcount(mask);
}

/// A walk that writes, and where it writes to.
struct KeepingCommon {
  Lanes at;
  uint16_t* to;

  bool full() const { return at.full(); }
  void step() {
    const __m128i x = load_lanes(at.a);
    to = put_lanes(x, members(x, load_lanes(at.b)), to);
    at.go_on();
  }
  void finish() {
    while (full()) step();
    to += keep_rest(at.a, at.a_left, at.b, at.b_left, to);
  }
};

/// Walks, by two walks if that pays: the second one writes further on, where the first one does not come, and what it wrote is
/// moved. @param to  room for the elements of a and 2 registers @return behind what was written
template <typename Keeping>
uint16_t* keep_by_walks(Lanes at, uint16_t* to) {
  if (!pay_two_walks(at)) {
    Keeping one{at, to};
    one.finish();
    return one.to;
  }
  Keeping low{cut_in_two(at), to};
  uint16_t* const middle = to + low.at.a_left + kLanes;
  Keeping high{at, middle};
  while (low.full() && high.full()) {
    low.step();
    high.step();
  }
  low.finish();
  high.finish();
  return std::copy(middle, high.to, low.to);
}

size_t keep_common(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  Lanes at{a, a_count, b, b_count};
  *out = 0;
  const bool has_zero = at.skip_zero();
  return static_cast<size_t>(keep_by_walks<KeepingCommon>(at, out + has_zero) - out);
}

/// A bit for each lane of a comparison that holds.
unsigned lane_mask(__m128i compared) {
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(compared, _mm_setzero_si128())));
}

struct KeepingMissing {
  static constexpr unsigned kAll = (1u << kLanes) - 1;
  Lanes at;
  uint16_t* to;
  unsigned found = 0;  // lanes of the current register of a that were found in b

  bool full() const { return at.full(); }
  void step() {
    const __m128i x = load_lanes(at.a);
    found |= members(x, load_lanes(at.b));
    const size_t left = at.a_left;
    at.go_on();
    // Every step writes, and stays there unless a goes on: whether it does cannot be predicted.
    const uint16_t* const end = put_lanes(x, ~found & kAll, to);
    const auto goes_on = static_cast<ptrdiff_t>((left - at.a_left) / kLanes);
    to += (end - to) & -goes_on;
    found &= static_cast<unsigned>(goes_on) - 1;
  }
  void finish() {
    while (full()) step();
    if (found != 0) {
      // b has fewer elements than a register; a has a register, some of which is done.
      uint16_t open[kLanes];
      const auto count = static_cast<size_t>(put_lanes(load_lanes(at.a), ~found & kAll, open) - open);
      to += keep_missing_rest(reinterpret_cast<const std::byte*>(open), count, at.b, at.b_left, to);
      at.a += 2 * kLanes;
      at.a_left -= kLanes;
    }
    to += keep_missing_rest(at.a, at.a_left, at.b, at.b_left, to);
  }
};

size_t keep_missing(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  Lanes at{a, a_count, b, b_count};
  *out = 0;
  const bool has_zero = a_count > 0 && load_le<uint16_t>(a) == 0;
  const bool both_have_it = at.skip_zero();
  return static_cast<size_t>(keep_by_walks<KeepingMissing>(at, out + (has_zero && !both_have_it)) - out);
}

/// Sorts a register that first rises and then falls, or a rotation of one. Source: Batcher 1968.
__m128i sort_bitonic(__m128i x) {
  __m128i y = _mm_shuffle_epi32(x, 0x4e);
  x = _mm_blend_epi16(_mm_min_epu16(x, y), _mm_max_epu16(x, y), 0xf0);
  y = _mm_shuffle_epi32(x, 0xb1);
  x = _mm_blend_epi16(_mm_min_epu16(x, y), _mm_max_epu16(x, y), 0xcc);
  y = _mm_shufflehi_epi16(_mm_shufflelo_epi16(x, 0xb1), 0xb1);
  return _mm_blend_epi16(_mm_min_epu16(x, y), _mm_max_epu16(x, y), 0xaa);
}

/// The eight smaller and the eight larger elements of two ascending registers.
struct Halves {
  __m128i low;
  __m128i high;
};
Halves merge_lanes(__m128i x, __m128i y) {
  const __m128i back = _mm_shuffle_epi8(y, _mm_setr_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1));
  return {sort_bitonic(_mm_min_epu16(x, back)), sort_bitonic(_mm_max_epu16(x, back))};
}

/// @param kKeepBoth  whether an element of both stays, once
template <bool kKeepBoth>
size_t merge_arrays(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  if (a_count < kLanes || b_count < kLanes) return merge_rest(a, a_count, b, b_count, kKeepBoth, out);
  uint16_t* to = out;
  __m128i before;  // the register that was written last
  const auto put = [&](__m128i x) {
    if constexpr (kKeepBoth) {
      to = put_lanes(x, ~lane_mask(_mm_cmpeq_epi16(x, _mm_alignr_epi8(x, before, 14))) & 0xff, to);
    } else {
      // One element later: it stays if neither neighbour is equal.
      const __m128i shifted = _mm_alignr_epi8(x, before, 14);
      const __m128i equal =
          _mm_or_si128(_mm_cmpeq_epi16(shifted, _mm_alignr_epi8(x, before, 12)), _mm_cmpeq_epi16(shifted, x));
      to = put_lanes(shifted, ~lane_mask(equal) & 0xff, to);
    }
    before = x;
  };
  Halves halves = merge_lanes(load_lanes(a), load_lanes(b));
  // Unlike the first element, and equal among themselves: none of them is written.
  before = _mm_set1_epi16(static_cast<int16_t>(_mm_extract_epi16(halves.low, 0) ^ 1));
  put(halves.low);
  size_t i = kLanes;
  size_t j = kLanes;
  while (i + kLanes <= a_count && j + kLanes <= b_count) {
    const bool from_a = load_le<uint16_t>(a + 2 * i) <= load_le<uint16_t>(b + 2 * j);
    const std::byte* const next = from_a ? a + 2 * i : b + 2 * j;
    i += from_a ? kLanes : 0;
    j += from_a ? 0 : kLanes;
    halves = merge_lanes(halves.high, load_lanes(next));
    put(halves.low);
  }

  // The last element that was written, or is yet to be; the upper half; and what is left of the array that has less than a
  // register: a sorted array, in which elements of both stand twice.
  uint16_t upper[1 + kLanes];
  upper[0] = static_cast<uint16_t>(_mm_extract_epi16(before, kLanes - 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(upper + 1), halves.high);
  const bool is_done = !kKeepBoth && upper[0] == static_cast<uint16_t>(_mm_extract_epi16(before, kLanes - 2));
  const uint16_t* const first = upper + is_done;
  if (kKeepBoth) --to;
  const bool a_ends = i + kLanes > a_count;
  const std::byte* const ending = a_ends ? a + 2 * i : b + 2 * j;
  const size_t ending_count = a_ends ? a_count - i : b_count - j;
  uint16_t last[2 * kLanes];
  size_t last_count = 0;
  size_t k = 0;
  for (const uint16_t* x = first; x != upper + 1 + kLanes || k < ending_count;) {
    const bool from_upper = k == ending_count || (x != upper + 1 + kLanes && *x <= load_le<uint16_t>(ending + 2 * k));
    const uint16_t y = from_upper ? *x++ : load_le<uint16_t>(ending + 2 * k++);
    if (last_count == 0 || last[last_count - 1] != y)
      last[last_count++] = y;
    else if (!kKeepBoth)
      --last_count;
  }
  const std::byte* const rest = a_ends ? b + 2 * j : a + 2 * i;
  to += merge_rest(reinterpret_cast<const std::byte*>(last), last_count, rest, a_ends ? b_count - j : a_count - i, kKeepBoth,
                   to);
  return static_cast<size_t>(to - out);
}

size_t keep_either(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  return merge_arrays<true>(a, a_count, b, b_count, out);
}

size_t keep_single(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  return merge_arrays<false>(a, a_count, b, b_count, out);
}

uint32_t count_array_runs(const uint16_t* elements, size_t count) {
  uint32_t runs = 1;
  size_t i = 1;
  for (; i + kLanes <= count; i += kLanes) {
    const __m128i next = _mm_add_epi16(load_lanes(reinterpret_cast<const std::byte*>(elements + i - 1)), _mm_set1_epi16(1));
    const __m128i is_next = _mm_cmpeq_epi16(load_lanes(reinterpret_cast<const std::byte*>(elements + i)), next);
    runs += static_cast<uint32_t>(kLanes) - static_cast<uint32_t>(__builtin_popcount(lane_mask(is_next)));
  }
  return runs + count_array_runs_from(elements, i, count);
}
