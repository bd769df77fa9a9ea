// Fetched sets of one calling expression, by toast pointer. See set_argument.h for why and for how long. The stores of a
// backend share one budget, each dropping its own values where it is used up.
//
// What was not used for longest goes, by second chance: a hit leaves a mark in the value's own cache line, and room is made
// from the cold end of a list, where marked values go back to the other end. Once the budget is used up a new value waits at
// the cold end until it is used again: a nested loop over more sets than fit then finds the part that fits, every time
// around, where a plain list of recency would find nothing. (Bimodal insertion: Qureshi et al., "Adaptive insertion policies
// for high performance caching", 2007.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "set/set_view.h"

#include "extension/server/pg.h"

struct stored_hash;

namespace batmap::pg {

/// One toast pointer that the expression has seen, and its value where that has been fetched. One allocation, the data
/// behind it. What a hit needs comes first.
struct StoredSet {
  uint64_t key;
  uint64_t call;  // the last that used it
  SetView view;
  uint64_t seen_call;  // `call` when the list was last looked at: used since where they differ
  uint64_t probes;     // answered by slices so far
  size_t charged;
  dlist_node place;

  bool complete() const { return view.span().data() != nullptr; }
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
  void enlist(StoredSet* set);

  MemoryContext context_;
  MemoryContextCallback at_end_;  // of context_
  stored_hash* sets_;
  dlist_head places_;  // cold end last
  size_t used_;
  size_t budget_;  // of all stores together
  uint64_t call_;
  uint32_t crowded_;  // values fetched since the budget was used up
  StoredSet* latest_[2];
};

/// The store of the calling expression, in fn_extra; made at first use. @return nullptr where nothing may be kept
SetStore* set_store(FunctionCallInfo fcinfo);

}  // namespace batmap::pg
