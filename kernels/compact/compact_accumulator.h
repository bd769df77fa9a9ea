// The union, intersection or symmetric difference of many compact sets, which come one after the other. Its blocks are
// changed in place, so that a set costs its own blocks and not those of all sets so far. The compact form is written once,
// at the end.
//
// A block of a union is a log or a bitmap. A log has the 16 low bits of elements as they came; it is sorted when its room is used
// up, and at the end. The first set is copied whole, and its blocks lie in the copy until they change. Cost: about 1 ns an
// element of an array, a copy of 8 KB for a bitmap; memory at most 8 KB a key. Source: lazy union as in Roaring (Lemire,
// Ssi-Yan-Kai, Kaser 2016, "fast aggregation"); logs are ours.
#pragma once

#include "compact/compact_operations.h"
#include "core/memory_source.h"

namespace batmap {

/// Needs no destructor: all memory is of the source. Not thread-safe. After an exception it must not be used.
class CompactAccumulator {
 public:
  /// @param operation  kAnd, kOr or kXor @param kernel  must outlive it, as must the source
  CompactAccumulator(SetCombination operation, const CompactKernel& kernel, MemorySource& source, const CancelToken& cancel)
      : operation_(operation), kernel_(&kernel), source_(&source), pool_(source), cancel_(cancel) {}

  /// One more set. Nothing of it is kept. @throws Error{kMemoryLimit, kCancelled}
  void add(const CompactView& set);

  /// Whether no further set can change the result: an intersection that is empty.
  bool is_settled() const { return operation_ == SetCombination::kAnd && has_set_ && size_ == 0; }

  /// Replaces what `out` has by the result. @throws Error{kMemoryLimit, kCancelled}
  void write(CompactWriter& out) const;

  /// The number of elements of the result. @throws Error{kCancelled}
  uint64_t cardinality() const;

 private:
  enum class Kind : uint8_t {
    kArray,   // ascending and distinct
    kLog,     // in any order, elements may occur more than once
    kBitmap,  // lies at any address if it has no room of its own
    kRuns,
  };
  struct Entry {
    uint64_t key;
    std::byte* data;
    uint32_t count;  // of an array or log; elements of runs
    uint16_t units;  // of runs
    Kind kind;
    uint8_t room;  // class of the piece that has the data; 0: it lies in the copy of the first set
  };
  static_assert(sizeof(Entry) == 24);

  static Entry entry_of(const CompactBlock& block, std::byte* data, unsigned room);
  static CompactBlock block_of(const Entry& entry);
  static size_t room_bytes(const Entry& entry);
  void adopt(const CompactView& set);
  void unite(const CompactView& set);
  void intersect(const CompactView& set);
  size_t find(size_t from, uint64_t key) const;
  Entry copied(const CompactBlock& block);
  void merge_fresh(size_t count);
  void unite(Entry& entry, const CompactBlock& block);
  void append(Entry& entry, const CompactBlock& block);
  void make_room(Entry& entry, uint32_t more);
  uint32_t sorted(const Entry& entry, uint16_t* out) const;
  void settle(Entry& entry);
  void to_bitmap(Entry& entry);
  void change_bitmap(Entry& entry, const CompactBlock& block);
  void unite_bitmaps(Entry& entry, const CompactBlock& block);
  void replace(Entry& entry, unsigned room);
  bool intersect(Entry& entry, const CompactBlock& block);
  bool keep_array(Entry& entry, const uint16_t* elements, size_t count);
  bool keep_bitmap(Entry& entry);
  Entry* grown(Entry* entries, size_t size, size_t& capacity, size_t needed);

  SetCombination operation_;
  const CompactKernel* kernel_;
  MemorySource* source_;
  PiecePool pool_;
  CancelToken cancel_;
  bool has_set_ = false;
  Entry* entries_ = nullptr;  // ascending keys
  size_t size_ = 0;
  size_t capacity_ = 0;
  Entry* fresh_ = nullptr;  // of keys that are new with the current set
  size_t fresh_capacity_ = 0;
};

}  // namespace batmap
