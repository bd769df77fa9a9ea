// The fetched sets of one calling expression, by toast pointer. set_argument.h explains why sets are
// kept and for how long. The stores of a backend share one budget. When it is used up, each store drops
// its own values.
//
// Values are dropped by second chance. A hit leaves a mark in the cache line of the value itself. Room is
// made from the cold end of a list; marked values found there move to the other end. Once the budget is used
// up, a new value is put at the cold end and stays there until it is used again. So a nested loop over more
// sets than fit finds the part that fits in every round, while a plain LRU list would find nothing. (Bimodal
// insertion: Qureshi et al., "Adaptive insertion policies for high performance caching", 2007.)
//
// A compact set that is counted against others again and again is prepared: that pays from some number of meetings on, which
// follows from its size and its blocks. Both forms are kept, because a prepared set meets only prepared ones.
//
// A set inside its row has no toast pointer, and its address says nothing. It is known by a hash over some of its words, and
// compared in full with what was kept. Until it has met often enough to be prepared, only the meetings of its hash are counted,
// in a table of fixed size: a scan that meets each set once keeps nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "set/set_view.h"

#include "extension/server/pg.h"

struct stored_hash;

namespace batmap::pg {

/// A toast pointer that the expression has seen, and its value if that was fetched; or a value inside its row. It is one
/// allocation, with the data at its end. The members that a hit needs come first.
struct StoredSet {
  uint64_t key;   // of the toast pointer, or a hash of the value
  uint64_t call;  // the last call that used it
  SetView view;
  SetView prepared;     // of a compact set that has met others often enough; no data: not yet
  void* prepared_room;  // where that lies; nullptr: not yet
  uint32_t meetings;    // of a compact set, so far
  uint32_t worth_from;  // the number of meetings from which on preparing pays; kNeverPrepared
  uint64_t seen_call;   // `call` when room was last made; used since if they differ
  uint64_t probes;      // probes answered by slices so far
  size_t charged;
  bool is_inline;  // the value was inside its row
  dlist_node node;

  bool complete() const { return view.span().data() != nullptr; }
  bool is_prepared() const { return prepared_room != nullptr; }
};

/// How often sets with this hash have met others.
struct InlineMeetings {
  uint64_t key;
  uint32_t meetings;    // 0: free
  uint32_t worth_from;  // 0: not known yet
};

class SetStore {
 public:
  /// Whether a compact set inside its row takes so long to count that finding a kept copy may be faster. O(1).
  static bool may_keep_inline(const SetView& set);

  /// Starts a call: values used from now on stay until the next call starts.
  void begin_call() { ++call_; }
  /// @param argument  0 or 1: the value that it had in the last call is found fastest
  StoredSet* find(int argument, const struct varlena* pointer);
  /// Remembers that the value was asked for. @pre find() does not know it
  StoredSet* note(const struct varlena* pointer);
  /// Fetches the value and keeps it. Drops other values to make room.
  StoredSet* fetch(int argument, const struct varlena* pointer);
  /// A compact set inside its row is about to be counted against another one. Keeps a copy once it has met often enough.
  /// @return nullptr if it is not kept
  StoredSet* find_inline(int argument, SetView set);
  /// Two compact sets are about to be counted against each other. Prepares those that have met often enough, if there is room.
  /// @return whether both are prepared, for one width, and counted faster so
  bool meet(StoredSet* a, StoredSet* b);
  /// Counts a probe of a value that is not kept. @param seen  its entry, or nullptr @return whether to
  /// fetch the value
  bool worth_fetching(StoredSet* seen, const struct varlena* pointer);

 private:
  friend SetStore* set_store(FunctionCallInfo fcinfo);
  StoredSet* insert(uint64_t key, size_t bytes, size_t alignment);
  void drop(StoredSet* set);
  void prepare(StoredSet* set);
  void enlist(StoredSet* set);
  /// The meetings of a hash. @return nullptr if there is no room for them
  InlineMeetings* inline_meetings(uint64_t key);

  MemoryContext context_;
  MemoryContextCallback at_end_;  // of context_
  stored_hash* sets_;
  stored_hash* inline_sets_;  // nullptr until there are some
  InlineMeetings* meetings_;  // of sets that are not kept; nullptr until there were some calls
  uint32_t inline_calls_;     // that found no kept set
  dlist_head by_use_;         // the cold end is the tail
  size_t used_;
  size_t budget_;  // for all stores together
  uint64_t call_;
  int width_;         // that compact sets are prepared for; it grows with them
  uint32_t crowded_;  // values fetched since the budget was used up
  StoredSet* latest_[2];
};

/// The store of the calling expression, in fn_extra, made by its second call. @return nullptr if nothing
/// is to be kept
SetStore* set_store(FunctionCallInfo fcinfo);

}  // namespace batmap::pg
