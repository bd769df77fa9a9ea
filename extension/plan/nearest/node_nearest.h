// The plan node "BatmapNearest": the rows of a table in the order of tags <%> query, by a GIN index over the elements of tags.
//
// Exact, without a number of rows or a threshold that must be known: rows come as they are asked for. First those that
// share an element with the query, found by the index (NearestSearch); then the others, which all have the distance 1 and are
// read from the table; last those whose set is NULL. If the search gives up, because nothing is like the query or for want of
// memory, or if the query has more elements than an index is searched for, all rows are compared instead, as often as is
// necessary to return the nearest first in the memory that there is.
#pragma once

namespace batmap::pg {

/// Called once, from _PG_init.
void install_nearest_node();

}  // namespace batmap::pg
