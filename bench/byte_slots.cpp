// Builds and compares byte slots. See byte_slots.h.
#include "bench/byte_slots.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/cpu.h"
#include "set/permutation.h"
#include "set/set_format.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace byte_slots {

namespace {

using batmap::kTables;
using batmap::Permutation;

constexpr uint64_t kChunk = 64;
constexpr uint64_t kCodes = 127;  // 128 values less the empty slot
constexpr int kMaxLoop = 200;

/// Permutations of [0, universe): those of the next power of two, repeated until the value is inside.
struct Images {
  uint64_t universe;
  Permutation<> pi[kTables];

  explicit Images(uint64_t m)
      : universe(m), pi{{0, batmap::width_for(m)}, {1, batmap::width_for(m)}, {2, batmap::width_for(m)}} {}

  uint64_t of(int table, uint64_t x) const {
    do x = pi[table].forward(x);
    while (x >= universe);
    return x;
  }
};

/// How many low bits are dropped; the position implies them. All sets over one universe drop equally many.
int dropped_bits(uint64_t universe) { return batmap::width_for((universe + kCodes - 1) / kCodes); }

size_t index_of(int table, uint64_t position) {
  return (position / kChunk * kTables + static_cast<uint64_t>(table)) * kChunk + position % kChunk;
}

int before(int table) { return table == 0 ? 2 : table - 1; }

/// The cuckoo procedure of the paper. Elements are named by their number.
class Nests {
 public:
  Nests(std::span<const uint64_t> elements, const Images& images, uint64_t range)
      : elements_(elements), images_(images), range_(range), nests_(kTables * range, kEmpty) {}

  static constexpr uint32_t kEmpty = UINT32_MAX;

  void place(uint32_t x) {
    for (int copy = 0; copy < 2; ++copy) {
      uint32_t nestless = insert(x);
      if (nestless == kEmpty) continue;
      give_up(x);
      while (nestless != x) {
        x = nestless;
        if ((nestless = insert(x)) == kEmpty) break;
        give_up(x);
      }
      return;
    }
  }

  size_t slot_of(uint32_t x, int table) const { return index_of(table, images_.of(table, elements_[x]) & (range_ - 1)); }
  uint32_t at(size_t slot) const { return nests_[slot]; }
  const std::vector<uint32_t>& failed() const { return failed_; }

 private:
  uint32_t insert(uint32_t x) {
    for (int loop = 0; loop < kMaxLoop; ++loop)
      for (int table = 0; table < kTables; ++table) {
        std::swap(x, nests_[slot_of(x, table)]);
        if (x == kEmpty) return kEmpty;
      }
    return x;
  }
  void give_up(uint32_t x) {
    for (int table = 0; table < kTables; ++table)
      if (uint32_t& nest = nests_[slot_of(x, table)]; nest == x) nest = kEmpty;
    failed_.push_back(x);
  }

  std::span<const uint64_t> elements_;
  const Images& images_;
  uint64_t range_;
  std::vector<uint32_t> nests_;
  std::vector<uint32_t> failed_;
};

bool in_tables(const Value& set, uint64_t x) {
  const Images images(set.universe);
  for (int table = 0; table < 2; ++table) {
    const uint64_t image = images.of(table, x);
    if ((set.slots[index_of(table, image & (set.range - 1))] & 0x7f) == (image >> dropped_bits(set.universe)) + 1)
      return true;
  }
  return false;
}

bool failed_in(const Value& set, uint64_t x) { return std::binary_search(set.failed.begin(), set.failed.end(), x); }

using CountBytes = uint64_t (*)(const uint8_t* a, const uint8_t* b, size_t bytes);

/// The formula of the paper, on eight slots at a time.
uint64_t count_bytes_plain(const uint8_t* a, const uint8_t* b, size_t bytes) {
  constexpr uint64_t kTop = 0x8080808080808080;
  uint64_t count = 0;
  for (size_t at = 0; at < bytes; at += 8) {
    uint64_t x, y;
    std::memcpy(&x, a + at, 8);
    std::memcpy(&y, b + at, 8);
    const uint64_t differ = ((x ^ y) | kTop) - kTop / 128;
    count += static_cast<uint64_t>(std::popcount(~differ & (x | y) & kTop));
  }
  return count;
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) uint64_t count_bytes_avx2(const uint8_t* a, const uint8_t* b, size_t bytes) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i low = _mm256_set1_epi8(0x7f);
  const __m256i top = _mm256_set1_epi8(-128);
  __m256i sums = zero;
  for (size_t at = 0; at < bytes;) {
    // Two vectors of byte counters, 64 slots a step; a counter holds at most 255.
    const size_t end = std::min(bytes, at + 255 * 64);
    __m256i counts[2] = {zero, zero};
    for (; at < end; at += 64)
      for (size_t half = 0; half < 2; ++half) {
        const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + at + 32 * half));
        const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + at + 32 * half));
        // A byte is zero where the codes agree and an indicator is set.
        const __m256i differ =
            _mm256_or_si256(_mm256_and_si256(_mm256_xor_si256(x, y), low), _mm256_andnot_si256(_mm256_or_si256(x, y), top));
        counts[half] = _mm256_sub_epi8(counts[half], _mm256_cmpeq_epi8(differ, zero));
      }
    sums = _mm256_add_epi64(sums, _mm256_add_epi64(_mm256_sad_epu8(counts[0], zero), _mm256_sad_epu8(counts[1], zero)));
  }
  alignas(32) uint64_t parts[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(parts), sums);
  return parts[0] + parts[1] + parts[2] + parts[3];
}

__attribute__((target("avx512f,avx512bw,popcnt"))) uint64_t count_bytes_avx512(const uint8_t* a, const uint8_t* b,
                                                                               size_t bytes) {
  const __m512i low = _mm512_set1_epi8(0x7f);
  uint64_t count = 0;
  for (size_t at = 0; at < bytes; at += 64) {
    const __m512i x = _mm512_loadu_si512(a + at);
    const __m512i y = _mm512_loadu_si512(b + at);
    // XOR where the mask has ones, NOR where it has zeros: a byte is 0 where the codes agree and an indicator is set.
    const __m512i differ = _mm512_ternarylogic_epi64(x, y, low, 0x29);
    count += static_cast<uint64_t>(__builtin_popcountll(_mm512_testn_epi8_mask(differ, differ)));
  }
  return count;
}

#endif

CountBytes best_count_bytes() {
#if defined(__x86_64__)
  if (batmap::cpu_features() & batmap::kCpuAvx512) return count_bytes_avx512;
  if (batmap::cpu_features() & batmap::kCpuAvx2) return count_bytes_avx2;
#endif
  return count_bytes_plain;
}

}  // namespace

uint64_t range_for(uint64_t cardinality, uint64_t universe) {
  return std::max({std::bit_ceil(2 * cardinality), uint64_t{1} << dropped_bits(universe), kChunk});
}

Value build(std::span<const uint64_t> elements, uint64_t universe) {
  Value value{universe, range_for(elements.size(), universe), {}, {}};
  const Images images(universe);
  Nests nests(elements, images, value.range);
  for (uint32_t x = 0; x < elements.size(); ++x) nests.place(x);

  value.slots.resize(kTables * value.range);
  for (uint32_t x = 0; x < elements.size(); ++x) {
    bool holds[kTables];
    for (int table = 0; table < kTables; ++table) holds[table] = nests.at(nests.slot_of(x, table)) == x;
    for (int table = 0; table < kTables; ++table)
      if (holds[table])
        value.slots[nests.slot_of(x, table)] = static_cast<uint8_t>(
            ((images.of(table, elements[x]) >> dropped_bits(universe)) + 1) | (holds[before(table)] ? 0x80 : 0));
  }
  for (const uint32_t x : nests.failed()) value.failed.push_back(elements[x]);
  std::sort(value.failed.begin(), value.failed.end());
  return value;
}

uint64_t and_cardinality(const Value& a, const Value& b) {
  static const CountBytes count_bytes = best_count_bytes();
  const Value& small = a.range <= b.range ? a : b;
  const Value& large = a.range <= b.range ? b : a;
  uint64_t count = 0;
  for (size_t at = 0; at < large.slots.size(); at += small.slots.size())
    count += count_bytes(small.slots.data(), large.slots.data() + at, small.slots.size());
  for (const uint64_t x : a.failed) count += in_tables(b, x) || failed_in(b, x);
  for (const uint64_t x : b.failed) count += in_tables(a, x);
  return count;
}

}  // namespace byte_slots
