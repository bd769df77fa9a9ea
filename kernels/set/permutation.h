// The three permutations of [0, 2^w) that place the elements of all sets of width w. Format version
// 1 fixes them for good.
//
//   three times:  x *= factor;  x ^= x >> s        mod 2^w, s = ceil(w / 2)
//
// A product carries a bit upwards only. The shift by half the width brings the upper half back down, so that each
// result bit depends on all input bits. Both steps can be undone: a shift by at least w / 2 is its own inverse, and
// an odd factor has an inverse mod 2^w. With two rounds, some arithmetic progressions in narrow universes get stashes
// of twenty elements, with three rounds none does (test/unit/set/set_builder_test.cpp, RegularSetsHaveShortStashes). The
// low w bits of a product depend only on the low w bits of its factors: for w <= 32, 32-bit arithmetic (`Word` =
// uint32_t), which vector units and GPUs have, gives the same values. Constexpr, also for device code. Source: ours,
// after the finaliser of MurmurHash3; FORMAT.md says where the factors come from.
#pragma once

#include <cstdint>

namespace batmap {

inline constexpr int kRounds = 3;

/// Odd. [table][round]
inline constexpr uint64_t kPermutationFactors[3][kRounds] = {
    {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x2545f4914f6cdd1d},
    {0xff51afd7ed558ccd, 0x94d049bb133111eb, 0xd1342543de82ef95},
    {0xd6e8feb86659fd93, 0xbf58476d1ce4e5b9, 0xaf251af3b0f025b5},
};

/// Inverse of an odd number mod 2^64. Newton's method: 3 bits are right at first, and every step doubles their number.
constexpr uint64_t odd_inverse(uint64_t a) {
  uint64_t inverse = a;
  for (int i = 0; i < 5; ++i) inverse *= 2 - a * inverse;
  return inverse;
}

struct InverseFactors {
  uint64_t of[3][kRounds];  // in the order of use: the last round is undone first
};
inline constexpr InverseFactors kInverseFactors = [] {
  InverseFactors inverses{};
  for (int table = 0; table < 3; ++table)
    for (int i = 0; i < kRounds; ++i) inverses.of[table][i] = odd_inverse(kPermutationFactors[table][kRounds - 1 - i]);
  return inverses;
}();

/// pi_t of one width. @tparam Word  uint64_t, or uint32_t if width <= 32
template <typename Word = uint64_t>
struct Permutation {
  Word mask;
  Word factors[kRounds];
  Word inverses[kRounds];
  int shift;

  constexpr Permutation(int table, int width)
      : mask(static_cast<Word>((uint64_t{1} << width) - 1)), factors{}, inverses{}, shift((width + 1) / 2) {
    for (int i = 0; i < kRounds; ++i) {
      factors[i] = static_cast<Word>(kPermutationFactors[table][i]);
      inverses[i] = static_cast<Word>(kInverseFactors.of[table][i]);
    }
  }

  /// pi(x). @param x < 2^width
  constexpr Word forward(Word x) const {
    for (const Word factor : factors) {
      x = (x * factor) & mask;
      x ^= x >> shift;
    }
    return x;
  }

  /// The x for which pi(x) = y.
  constexpr Word inverse(Word y) const {
    for (const Word factor : inverses) {
      y ^= y >> shift;
      y = (y * factor) & mask;
    }
    return y;
  }
};

/// pi_table(x) for a table that is known at compile time. Single look-ups need no set-up of factors.
/// @param x < 2^width
template <int kTable>
constexpr uint64_t image_of(uint64_t x, int width) {
  static_assert(kRounds == 3);
  // Values, not references into the array: device code cannot read an array of the host.
  constexpr uint64_t kFirst = kPermutationFactors[kTable][0];
  constexpr uint64_t kSecond = kPermutationFactors[kTable][1];
  constexpr uint64_t kThird = kPermutationFactors[kTable][2];
  const uint64_t mask = (uint64_t{1} << width) - 1;
  const int shift = (width + 1) / 2;
  x = (x * kFirst) & mask;
  x ^= x >> shift;
  x = (x * kSecond) & mask;
  x ^= x >> shift;
  x = (x * kThird) & mask;
  return x ^ x >> shift;
}

}  // namespace batmap
