// The bytes of a set in compact form, format version 2: constants, and the choice of a block's kind. FORMAT.md in
// kernels/set explains them. Source: blocks of 2^16 in three kinds as in Roaring (Chambi, Lemire, Kaser, Godin 2016;
// Lemire, Ssi-Yan-Kai, Kaser 2016); headers, directory and the rule for the kind are ours.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace batmap {

/// How the elements of a block are written: their 16 low bits in a list, a bit for each, or the ends of runs.
enum class BlockKind : uint8_t { kArray = 0, kBitmap = 1, kRuns = 2 };

inline constexpr int kCompactVersion = 2;
inline constexpr int kBlockShift = 16;  // a block has the elements of one key: the bits from here up
inline constexpr uint32_t kBlockSpan = uint32_t{1} << kBlockShift;
inline constexpr size_t kBitmapBlockBytes = kBlockSpan / 8;
inline constexpr size_t kBitmapBlockWords = kBitmapBlockBytes / 8;
inline constexpr uint32_t kMaxUnits = kBitmapBlockBytes / 2;  // a unit is 16 bits; no kind takes more than a bitmap
inline constexpr uint64_t kMaxKey = (uint64_t{1} << (62 - kBlockShift)) - 1;

// The low nibble of the first byte: the width of keys, with a flag; or this much more than the number of blocks, if that is
// at most 3 and keys have 2 bytes.
inline constexpr unsigned kLongHeader = 1;
inline constexpr unsigned kKeysOf6 = 2;
inline constexpr unsigned kKeysOf3 = 8;
inline constexpr unsigned kFewBlocks = 4;
inline constexpr size_t kMaxFewBlocks = 3;

/// Bytes of each key: the fewest that are enough for the last one, of three widths.
constexpr size_t key_bytes_for(uint64_t last_key) { return last_key >> 16 == 0 ? 2 : last_key >> 24 == 0 ? 3 : 6; }
constexpr unsigned key_code(size_t key_bytes) { return key_bytes == 2 ? 0 : key_bytes == 3 ? kKeysOf3 : kKeysOf6; }
constexpr bool has_few_blocks(unsigned codes) { return codes >= kFewBlocks && codes <= kFewBlocks + kMaxFewBlocks; }
constexpr size_t key_bytes_of(unsigned codes) {
  return has_few_blocks(codes) || codes < kKeysOf6 ? 2 : codes >= kKeysOf3 ? 3 : 6;
}

inline constexpr size_t kLongFrom = 192;  // blocks; fewer have a short header
inline constexpr size_t kLongHeaderBytes = 24;
inline constexpr size_t kBlocksPerOffset = 64;  // a long header has the offset of every 64th block
/// The first bytes of a value: header and directory if the header is short, the fixed part of a long header otherwise.
/// One TOAST chunk has them.
inline constexpr size_t kCompactHeadBytes = 2 + 10 * (kLongFrom - 1);

/// Units of a block's data in each kind. @param runs  of consecutive elements
constexpr uint32_t runs_units(uint32_t runs) { return runs == 1 ? 1 : 2 * runs; }
struct BlockShape {
  BlockKind kind;
  uint32_t units;
  bool operator==(const BlockShape&) const = default;
};
/// The kind that takes the fewest units; of equal ones the first: array, bitmap, runs.
constexpr BlockShape block_shape(uint32_t count, uint32_t runs) {
  const BlockShape plain =
      count < kMaxUnits ? BlockShape{BlockKind::kArray, count} : BlockShape{BlockKind::kBitmap, kMaxUnits};
  return runs_units(runs) < plain.units ? BlockShape{BlockKind::kRuns, runs_units(runs)} : plain;
}

/// Unaligned little-endian loads and stores. The engine runs on little-endian machines only.
static_assert(std::endian::native == std::endian::little);
template <typename T>
inline T load_le(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
inline void store_le(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace batmap
