// Intersection and merging of sorted 16-bit arrays, eight elements of each at a time, for the files whose target region
// has SSE 4.2. To intersect, each element of one register is compared with all of the other; then the register with the
// smaller last element is replaced. To merge, a network sorts the elements of two registers; the lower half is written,
// and the next register comes from the array whose next element is smaller. Included inside a namespace and a target
// region, after compact_kernel_body.h.

constexpr size_t kLanes = 8;
constexpr uint32_t kGallopFrom = 256;  // a walk over many registers of one array is well predicted

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

/// An array, register by register. The last one may have fewer elements; then its other lanes are 0.
struct LaneCursor {
  __m128i lanes;
  unsigned size;  // elements of the register
  uint16_t last;  // the last one
  const std::byte* next;
  size_t left;  // elements from there on
  size_t count;

  LaneCursor(const std::byte* array, size_t elements) : next(array), left(elements), count(elements) {}

  unsigned mask() const { return (1u << size) - 1; }
  /// Skips the element 0, which only the first place can have. @return whether it is there
  bool skip_zero() {
    const bool is_there = left > 0 && load_le<uint16_t>(next) == 0;
    next += is_there ? 2 : 0;
    left -= is_there;
    return is_there;
  }
  bool go_on() {
    if (left >= kLanes) {
      lanes = load_lanes(next);
      size = kLanes;
      last = load_le<uint16_t>(next + 2 * (kLanes - 1));
      next += 2 * kLanes;
      left -= kLanes;
      return true;
    }
    if (left == 0) return false;
    size = static_cast<unsigned>(left);
    last = load_le<uint16_t>(next + 2 * (left - 1));
    if (count >= kLanes) {
      // The last elements of the array, those that are left in front.
      alignas(16) static constexpr uint8_t kMoves[32] = {0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,
                                                         11,   12,   13,   14,   15,   0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                                         0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
      const __m128i moves = load_lanes(reinterpret_cast<const std::byte*>(kMoves) + 2 * (kLanes - left));
      lanes = _mm_shuffle_epi8(load_lanes(next - 2 * (kLanes - left)), moves);
    } else {
      uint16_t few[kLanes] = {};
      std::memcpy(few, next, 2 * left);
      lanes = load_lanes(reinterpret_cast<const std::byte*>(few));
    }
    next += 2 * left;
    left = 0;
    return true;
  }
};

/// Calls meet() for the registers of two arrays that may have common elements. The one with the smaller last element goes on;
/// both if they are equal. That is a branch: a prediction, though often wrong, is faster than to wait for both elements.
template <typename Meet>
void walk_lanes(LaneCursor& x, LaneCursor& y, Meet meet) {
  if (!x.go_on() || !y.go_on()) return;
  for (;;) {
    meet();
    const uint16_t x_last = x.last;
    const uint16_t y_last = y.last;
    if (x_last <= y_last && !x.go_on()) return;
    if (y_last <= x_last && !y.go_on()) return;
  }
}

size_t count_common(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count) {
  LaneCursor x(a, a_count);
  LaneCursor y(b, b_count);
  const bool x_has_zero = x.skip_zero();
  size_t count = y.skip_zero() && x_has_zero;
  walk_lanes(x, y, [&] { count += static_cast<unsigned>(__builtin_popcount(members(x.lanes, y.lanes))); });
  return count;
}

/// Writes the lanes whose bit is set, and behind them anything. @return behind what was written
uint16_t* put_lanes(__m128i x, unsigned mask, uint16_t* to) {
  const __m128i moves = _mm_load_si128(reinterpret_cast<const __m128i*>(kLaneMoves.bytes[mask]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(x, moves));
  return to + __builtin_popcount(mask);
}

size_t keep_common(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  LaneCursor x(a, a_count);
  LaneCursor y(b, b_count);
  const bool x_has_zero = x.skip_zero();
  *out = 0;
  uint16_t* to = out + (y.skip_zero() && x_has_zero);
  walk_lanes(x, y, [&] { to = put_lanes(x.lanes, members(x.lanes, y.lanes), to); });
  return static_cast<size_t>(to - out);
}

size_t keep_missing(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  LaneCursor x(a, a_count);
  LaneCursor y(b, b_count);
  const bool x_has_zero = x.skip_zero();
  *out = 0;
  uint16_t* to = out + (!y.skip_zero() && x_has_zero);
  bool y_is_there = y.go_on();
  while (x.go_on()) {
    unsigned missing = x.mask();
    while (y_is_there) {
      missing &= ~members(x.lanes, y.lanes);
      if (y.last > x.last) break;
      y_is_there = y.go_on();
    }
    to = put_lanes(x.lanes, missing, to);
  }
  return static_cast<size_t>(to - out);
}

/// A bit for each lane of a comparison that holds.
unsigned lane_mask(__m128i compared) {
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(compared, _mm_setzero_si128())));
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
