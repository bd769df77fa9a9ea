// Intersection of sorted 16-bit arrays, eight elements of each at a time, for the files whose target region has
// SSE 4.2. Each element of one register is compared with all of the other; then the register with the smaller last
// element is replaced. Included inside a namespace and a target region, after compact_kernel_body.h.

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
    const size_t a_step = last_a <= last_b ? kLanes : 0;
    const size_t b_step = last_b <= last_a ? kLanes : 0;
    a += 2 * a_step;
    b += 2 * b_step;
    a_left -= a_step;
    b_left -= b_step;
  }
};

size_t count_common(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count) {
  Lanes at{a, a_count, b, b_count};
  size_t count = at.skip_zero();
  for (; at.full(); at.go_on())
    count += static_cast<unsigned>(__builtin_popcount(members(load_lanes(at.a), load_lanes(at.b))));
  return count + count_rest(at.a, at.a_left, at.b, at.b_left);
}

size_t keep_common(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  Lanes at{a, a_count, b, b_count};
  uint16_t* to = out;
  *to = 0;
  to += at.skip_zero();
  for (; at.full(); at.go_on()) {
    const __m128i x = load_lanes(at.a);
    const unsigned mask = members(x, load_lanes(at.b));
    const __m128i moves = _mm_load_si128(reinterpret_cast<const __m128i*>(kLaneMoves.bytes[mask]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(x, moves));
    to += __builtin_popcount(mask);
  }
  to += keep_rest(at.a, at.a_left, at.b, at.b_left, to);
  return static_cast<size_t>(to - out);
}
