// Reads the elements of a stored set back, sorted or in the order of the container. Source: ours.
#pragma once

#include <optional>
#include <span>

#include "core/options.h"
#include "set/set_kernel.h"
#include "set/set_view.h"

namespace batmap {

/// Most elements of a chunk.
inline constexpr size_t kChunkElements = 512;

/// Walks over a set in chunks of at most 512 elements, in the order of the container: batmaps by position, all others
/// ascending. As many elements come as the set says that it has, whatever its bytes. Does not allocate. Polls the token every few
/// tens of kilobytes, so the caller need not.
class SetReader {
 public:
  explicit SetReader(SetView set, const SetKernel& kernel = best_set_kernel(), const CancelToken& cancel = {})
      : set_(set), kernel_(&kernel), cancel_(cancel), left_(set.cardinality()) {
    if (set.is_compact()) compact_.emplace(set.compact(), cancel);
  }

  /// Reads the next chunk.
  /// @tparam Element  uint64_t, or uint32_t for the lowest bits of each
  /// @param out  room for 512
  /// @return the number of elements; 0 means the end
  /// @throws Error{kCancelled}, Error{kInvalidData} if there are fewer than the set says
  template <typename Element>
  size_t next(Element* out);

 private:
  size_t read(uint64_t* out);
  size_t read(uint32_t* out);
  size_t next_of_array(uint64_t* out);
  size_t next_of_bitmap(uint64_t* out);
  size_t next_of_batmap(uint64_t* out);

  SetView set_;
  const SetKernel* kernel_;
  CancelToken cancel_;
  uint64_t left_;
  uint32_t chunks_ = 0;
  // position of the reader: element of an array, word of a bitmap; of a batmap, stash elements then blocks
  uint64_t at_ = 0;
  std::optional<CompactReader> compact_;
};

/// For elements that become places in memory. @throws Error{kInvalidData} unless all are below a bound
void check_elements(std::span<const uint64_t> elements, uint64_t bound);

/// Calls visit(x) for every element, in the order of SetReader. @throws Error{kCancelled}
template <typename Visit>
void for_each_element(SetView set, const CancelToken& cancel, Visit visit) {
  SetReader reader(set, best_set_kernel(), cancel);
  uint64_t chunk[kChunkElements];
  while (const size_t count = reader.next(chunk))
    for (size_t i = 0; i < count; ++i) visit(chunk[i]);
}

/// Walks over a set in ascending chunks. Only a batmap is decoded as a whole before. The bytes of the set and
/// `options.memory` must outlive the reader.
class AscendingReader {
 public:
  /// @throws Error{kMemoryLimit}, Error{kCancelled}
  AscendingReader(SetView set, const ExecutionOptions& options);

  /// As SetReader::next().
  size_t next(uint64_t* out);

 private:
  SetReader reader_;
  CancelToken cancel_;
  GrowingBuffer<uint64_t> sorted_;  // of a batmap
  bool is_batmap_;
  uint64_t at_ = 0;  // of them
};

/// Appends the elements, ascending. @throws Error{kMemoryLimit}, Error{kCancelled}, Error{kInvalidData} as SetReader::next()
void decode(SetView set, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options);

/// Smallest and largest element; nothing for the empty set. A batmap costs one pass over the value.
/// @throws Error{kCancelled}
std::optional<uint64_t> set_min(SetView set, const CancelToken& cancel = {});
std::optional<uint64_t> set_max(SetView set, const CancelToken& cancel = {});

}  // namespace batmap
