// Fetched sets of one calling expression, by toast pointer. See set_argument.h for why and for how long.
#pragma once

#include <cstddef>
#include <cstdint>

#include "set/set_view.h"

#include "extension/pg.h"

struct stored_hash;

namespace batmap::pg {

/// One toast pointer that the expression has seen; `complete` where the value has been fetched. One allocation, the data
/// behind it.
struct StoredSet {
  uint64_t key;
  dlist_node recency;
  size_t charged;
  uint64_t call;    // the last that used it
  uint64_t probes;  // answered by slices so far
  bool complete;
  SetView view;
};

class SetStore {
 public:
  /// What is used from here on stays until the next call begins.
  void begin_call() { ++call_; }
  /// @param argument  0 or 1: the value that it had in the last call is found at once
  StoredSet* find(int argument, const struct varlena* pointer);
  /// Fetches the value and keeps it, dropping what was not used for longest.
  StoredSet* fetch(int argument, const struct varlena* pointer);
  /// Counts one probe of a value that is not kept (`seen` where its pointer is known). @return whether to fetch it
  bool worth_fetching(StoredSet* seen, const struct varlena* pointer);

 private:
  friend SetStore* set_store(FunctionCallInfo fcinfo);
  StoredSet* insert(uint64_t key, size_t bytes, size_t alignment);
  void drop(StoredSet* set);

  MemoryContext context_;
  stored_hash* sets_;
  dlist_head recency_;  // last used first
  size_t used_;
  size_t budget_;
  uint64_t call_;
  StoredSet* latest_[2];
};

/// The store of the calling expression, in fn_extra; made at first use. @return nullptr where nothing may be kept
SetStore* set_store(FunctionCallInfo fcinfo);

}  // namespace batmap::pg
