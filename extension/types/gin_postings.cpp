// Reads lists of a GIN index. See gin_postings.h.
#include "extension/types/gin_postings.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// The rows of a leaf page of a posting tree that come after `last`.
void visit_leaf(Page page, ::Buffer buffer, ItemPointerData& last, VisitPostings visit, void* arg) {
  int count;
  ItemPointer const rows = GinDataLeafPageGetItems(page, &count, last);
  LockBuffer(buffer, GIN_UNLOCK);
  // The server decodes whole segments, which may begin earlier.
  int first = 0;
  while (first < count && ItemPointerCompare(rows + first, &last) <= 0) ++first;
  if (first < count) {
    visit(arg, rows + first, count - first);
    last = rows[count - 1];
  }
  if (rows != nullptr) pfree(rows);  // VACUUM leaves empty leaves behind
}

/// Visits the leaves of a posting tree from left to right.
void read_tree(Relation index, BlockNumber root, Snapshot snapshot, VisitPostings visit, void* arg) {
  GinBtreeData tree;
  GinBtreeStack* const stack = begin_posting_tree(&tree, index, root, snapshot);
  ::Buffer buffer = stack->buffer;
  IncrBufferRefCount(buffer);
  ItemPointerData last;
  ItemPointerSetMin(&last);
  visit_leaf(BufferGetPage(buffer), buffer, last, visit, arg);
  freeGinBtreeStack(stack);
  for (;;) {
    CHECK_FOR_INTERRUPTS();
    LockBuffer(buffer, GIN_SHARE);
    if (GinPageRightMost(BufferGetPage(buffer))) break;
    buffer = ginStepRight(buffer, index, GIN_SHARE);
    Page const page = BufferGetPage(buffer);
    // Locked, as the start of the loop expects it to be unlocked.
    if ((GinPageGetOpaque(page)->flags & GIN_DELETED) != 0)
      LockBuffer(buffer, GIN_UNLOCK);
    else
      visit_leaf(page, buffer, last, visit, arg);
  }
  UnlockReleaseBuffer(buffer);
}

}  // namespace

bool can_read_postings(Relation index) {
  if (IsolationIsSerializable()) return false;
  GinStatsData statistics;
  ginGetStats(index, &statistics);
  return statistics.nPendingPages == 0;
}

void read_postings(GinState* state, int column, Datum key, Snapshot snapshot, VisitPostings visit, void* arg) {
  GinBtreeData tree;
  ginPrepareEntryScan(&tree, static_cast<OffsetNumber>(column), key, GIN_CAT_NORM_KEY, state);
  GinBtreeStack* const stack = find_gin_leaf(&tree, snapshot);
  Page const page = BufferGetPage(stack->buffer);
  BlockNumber root = InvalidBlockNumber;
  ItemPointer rows = nullptr;
  int count = 0;
  if (tree.findItem(&tree, stack)) {
    IndexTuple const entry = reinterpret_cast<IndexTuple>(PageGetItem(page, PageGetItemId(page, stack->off)));
    if (GinIsPostingTree(entry))
      root = GinGetPostingTree(entry);
    else if (GinGetNPosting(entry) > 0)
      rows = ginReadTuple(state, static_cast<OffsetNumber>(column), entry, &count);
  }
  // The page must not stay locked while the tree is read. A root is never removed.
  LockBuffer(stack->buffer, GIN_UNLOCK);
  freeGinBtreeStack(stack);
  if (root != InvalidBlockNumber) {
    read_tree(state->index, root, snapshot, visit, arg);
  } else if (count > 0) {
    visit(arg, rows, count);
    pfree(rows);
  }
}

}  // namespace batmap::pg
