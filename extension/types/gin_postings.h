// Reads the list of an element from a GIN index page by page, as it lies there.
//
// The server's own scan decides for every single row whether it is an answer, and puts it into a bitmap. That takes some hundred
// nanoseconds a row. A search for one key needs no decision, so a page can be decoded in one go. Locks and pins are those of the
// server's startScanEntry() and entryLoadMoreItems(): a page is locked while it is decoded, and stays pinned
// until the next one is locked.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// Can lists be read this way? Not while rows wait to be put into the index, and not where reads must be noted for
/// serializable transactions.
bool can_read_postings(Relation index);

/// Receives the rows of a page in ascending order. It may raise errors.
using VisitPostings = void (*)(void* arg, const ItemPointerData* rows, int count);

/// Visits the rows that a key has. A row that is deleted may be among them.
/// @param state    of the index, made by initGinState()
/// @param column   of the index, from 1
void read_postings(GinState* state, int column, Datum key, Snapshot snapshot, VisitPostings visit, void* arg);

}  // namespace batmap::pg
