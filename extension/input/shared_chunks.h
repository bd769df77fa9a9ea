// Chunks on their way from parallel workers to the leader. A chunk has ten kilobytes and more, and the server's queue of rows
// has room for 64 kB: there each chunk is copied three times, and the two sides wake each other for every one. So a worker has
// slots in memory that it shares with the leader. It fills a slot with chunks and sends a row that names the slot; the leader
// reads the chunks and frees the slot. A worker never waits for a free slot: without one it sends a chunk as a row, through
// the queue, which knows how to wait and how to end. A worker has 262 kB of slots. Source: ours.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>

#include "relation/chunk.h"

namespace batmap::pg {

class SharedChunks {
 public:
  /// What a row names: a slot, and how much of it is filled. It is shorter than any chunk.
  struct Filled {
    uint32_t slot;
    uint32_t bytes;
  };
  static_assert(sizeof(Filled) < kChunkHeaderBytes);

  static constexpr size_t kSlotBytes = 2 * kChunkMaxBytes;

  static size_t bytes_for(int workers) { return sizeof(SharedChunks) + slots_of(workers) * sizeof(Slot); }

  /// In `bytes_for(workers)` bytes of shared memory, aligned to 8 bytes.
  static SharedChunks* create(void* memory, int workers) {
    auto* const chunks = new (memory) SharedChunks(static_cast<uint32_t>(slots_of(workers)));
    for (uint32_t i = 0; i < chunks->slots_; ++i) new (&chunks->slot(i)) Slot;
    return chunks;
  }

  /// A slot of a worker, in which nothing is. @param turn  how many it has filled before. Each is taken in its turn
  std::optional<uint32_t> free_slot(int worker, uint32_t turn) {
    const uint32_t number = static_cast<uint32_t>(worker) * kSlotsAWorker + turn % kSlotsAWorker;
    if (number >= slots_ || slot(number).is_full.load(std::memory_order_acquire)) return std::nullopt;
    return number;
  }
  std::byte* bytes_of(uint32_t number) { return slot(number).bytes; }
  /// Before the row that names it is sent.
  void note_full(uint32_t number) { slot(number).is_full.store(true, std::memory_order_relaxed); }

  /// @return empty unless the slot is one
  std::span<const std::byte> contents(Filled filled) {
    if (filled.slot >= slots_ || filled.bytes > kSlotBytes) return {};
    return {slot(filled.slot).bytes, filled.bytes};
  }
  void free(uint32_t number) { slot(number).is_full.store(false, std::memory_order_release); }

 private:
  static constexpr uint32_t kSlotsAWorker = 2;

  struct Slot {
    std::atomic<bool> is_full{false};
    alignas(8) std::byte bytes[kSlotBytes];
  };
  static_assert(std::atomic<bool>::is_always_lock_free);

  explicit SharedChunks(uint32_t slots) : slots_(slots) {}
  static size_t slots_of(int workers) { return static_cast<size_t>(workers) * kSlotsAWorker; }
  Slot& slot(uint32_t number) { return reinterpret_cast<Slot*>(this + 1)[number]; }

  alignas(8) uint32_t slots_;
};

}  // namespace batmap::pg
