// Intersection of sorted 16-bit arrays, eight elements of each at a time, for the files whose target region has SSE 4.2.
// Each element of one register is compared with all of the other; then the register with the smaller last element is
// replaced. Included inside a namespace and a target region, after compact_kernel_body.h.

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
