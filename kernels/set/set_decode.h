// From a stored set back to its elements, sorted or as they lie.
#pragma once

#include <optional>
#include <span>

#include "core/options.h"
#include "set/set_kernel.h"
#include "set/set_view.h"

namespace batmap {

/// Elements that a chunk can hold.
inline constexpr size_t kChunkElements = 512;

/// Walks over a set in chunks of at most 512 elements, in the order of the container: arrays and bitmaps ascending, batmaps
/// by position. No allocation. Looks at the token every few tens of kilobytes, so that who walks need not.
class SetReader {
 public:
  explicit SetReader(SetView set, const SetKernel& kernel = best_set_kernel(), const CancelToken& cancel = {})
      : set_(set), kernel_(&kernel), cancel_(cancel) {}

  /// Fills `out`. @param out room for 512 @return how many; 0 at the end only @throws Error{kCancelled}
  size_t next(uint64_t* out);

 private:
  size_t next_of_array(uint64_t* out);
  size_t next_of_bitmap(uint64_t* out);
  size_t next_of_batmap(uint64_t* out);

  SetView set_;
  const SetKernel* kernel_;
  CancelToken cancel_;
  uint32_t chunks_ = 0;
  uint64_t at_ = 0;  // arrays: element; bitmaps: word; batmaps: stash elements, then blocks
};

/// Calls visit(x) for every element, in the order of SetReader. @throws Error{kCancelled}
template <typename Visit>
void for_each_element(SetView set, const CancelToken& cancel, Visit visit) {
  SetReader reader(set, best_set_kernel(), cancel);
  uint64_t chunk[kChunkElements];
  while (const size_t count = reader.next(chunk))
    for (size_t i = 0; i < count; ++i) visit(chunk[i]);
}

/// Appends the elements, ascending. @throws Error{kMemoryLimit}, Error{kCancelled}
void decode(SetView set, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options);

/// Smallest and largest element; nothing for the empty set. Batmaps: one pass over the value.
/// @throws Error{kCancelled}
std::optional<uint64_t> set_min(SetView set, const CancelToken& cancel = {});
std::optional<uint64_t> set_max(SetView set, const CancelToken& cancel = {});

}  // namespace batmap
