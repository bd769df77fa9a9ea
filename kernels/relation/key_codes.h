// Codes for 64-bit keys: small integers that index arrays.
//
// There are two ways, and the range of the keys decides. If the range is not much wider than the number of rows,
// the code is the distance from the smallest key and nothing is stored. Else an open-addressing hash table gives
// codes by first appearance (40 to 80 bytes a distinct key). Source: both are textbook; the choice is ours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/memory.h"
#include "core/options.h"

namespace batmap {

class KeyCodes {
 public:
  /// @param base, range  the keys lie in [base, base + range]
  /// @param rows         how many keys will be looked up, duplicates included
  KeyCodes(const ExecutionOptions& options, int64_t base, uint64_t range, uint64_t rows);
  /// Whether the codes of such keys are direct.
  static bool are_direct(uint64_t range, uint64_t rows);

  /// Whether codes are distances from the smallest key. Some codes in [0, size()) may then be unused.
  bool direct() const { return direct_; }
  int64_t base() const { return base_; }
  /// All codes lie in [0, size()). Direct: range + 1. @note fits 32 bits
  uint64_t size() const { return direct_ ? direct_size_ : keys_.size(); }
  int64_t key(uint32_t code) const {
    return direct_ ? static_cast<int64_t>(static_cast<uint64_t>(base_) + code) : keys_[code];
  }

  /// Hashed codes only: the code of a key, which is new if the key has none yet.
  /// @throws Error{kTooLarge} for more than 2^32 - 2 distinct keys; Error{kMemoryLimit, kCancelled}
  uint32_t insert(int64_t key) {
    size_t at = slot_of(key);
    for (; slots_[at].code != kFree; at = (at + 1) & mask_)
      if (slots_[at].key == key) return slots_[at].code;
    return insert_at(at, key);
  }

  static constexpr uint32_t kNone = UINT32_MAX;
  /// The code of a key, or kNone. Direct codes: every key in range has one.
  uint32_t find(int64_t key) const;

 private:
  struct Slot {
    int64_t key;
    uint32_t code;
    uint32_t unused;
  };
  static constexpr uint32_t kFree = UINT32_MAX;

  size_t slot_of(int64_t key) const {
    uint64_t x = static_cast<uint64_t>(key);
    x ^= x >> 32;
    x *= 0x9e3779b97f4a7c15u;
    return (x >> 20 ^ x >> 44) & mask_;
  }
  uint32_t insert_at(size_t at, int64_t key);
  void rehash(size_t slots);

  MemoryMeter* meter_;
  CancelToken cancel_;
  int64_t base_;
  uint64_t direct_size_ = 0;
  bool direct_;
  Buffer<Slot> slots_;
  size_t mask_ = 0;
  GrowingBuffer<int64_t> keys_;
};

}  // namespace batmap
