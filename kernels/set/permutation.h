// The three permutations of [0, 2^w) by which all sets of width w are placed. Fixed for good by format version 1.
//
//   x ^= x >> s;  x *= A_t;  x ^= x >> s;  x *= B_t;  x ^= x >> s      all mod 2^w, s = ceil(w / 2)
//
// A product carries a bit upwards only; the shift by half the width brings the upper half back down, so after two rounds
// each result bit depends on all input bits. A shift by at least w / 2 is its own inverse, an odd factor has an inverse mod
// 2^w. The low w bits of a product need the low w bits of its factors only: for w <= 32 the same values come out of 32-bit
// arithmetic (`Word` = uint32_t), which vectors and GPUs have. Constexpr, also for device code. Source: ours; the shape is
// that of MurmurHash3's finaliser, the factors are digits of mathematical constants, see FORMAT.md.
#pragma once

#include <cstdint>

namespace batmap {

struct PermutationFactors {
  uint64_t first;
  uint64_t second;
};

inline constexpr PermutationFactors kPermutationFactors[3] = {
    {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f},
    {0xff51afd7ed558ccd, 0x94d049bb133111eb},
    {0xd6e8feb86659fd93, 0xbf58476d1ce4e5b9},
};

/// Inverse of an odd number mod 2^64 (Newton: every step doubles the number of right bits).
constexpr uint64_t odd_inverse(uint64_t a) {
  uint64_t inverse = a;  // right to 3 bits
  for (int i = 0; i < 5; ++i) inverse *= 2 - a * inverse;
  return inverse;
}

inline constexpr PermutationFactors kInverseFactors[3] = {
    {odd_inverse(kPermutationFactors[0].first), odd_inverse(kPermutationFactors[0].second)},
    {odd_inverse(kPermutationFactors[1].first), odd_inverse(kPermutationFactors[1].second)},
    {odd_inverse(kPermutationFactors[2].first), odd_inverse(kPermutationFactors[2].second)},
};

/// pi_t of one width. @tparam Word uint64_t, or uint32_t where width <= 32
template <typename Word = uint64_t>
struct Permutation {
  Word mask;
  Word first, second;                  // factors
  Word inverse_first, inverse_second;  // their inverses
  int shift;

  constexpr Permutation(int table, int width)
      : mask(static_cast<Word>((uint64_t{1} << width) - 1)),
        first(static_cast<Word>(kPermutationFactors[table].first)),
        second(static_cast<Word>(kPermutationFactors[table].second)),
        inverse_first(static_cast<Word>(kInverseFactors[table].first)),
        inverse_second(static_cast<Word>(kInverseFactors[table].second)),
        shift((width + 1) / 2) {}

  /// pi(x). @param x < 2^width
  constexpr Word forward(Word x) const {
    x ^= x >> shift;
    x = (x * first) & mask;
    x ^= x >> shift;
    x = (x * second) & mask;
    return x ^ (x >> shift);
  }

  /// The x with pi(x) = y.
  constexpr Word inverse(Word y) const {
    y ^= y >> shift;
    y = (y * inverse_second) & mask;
    y ^= y >> shift;
    y = (y * inverse_first) & mask;
    return y ^ (y >> shift);
  }
};

}  // namespace batmap
