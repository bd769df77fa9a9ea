// Gives the query of a table function the two columns that its reader takes: the transaction and the item. A query may have
// more columns, of which two are named. And a row may hold a whole basket, as an array: then each element becomes a row.
//
// For this the query becomes a subquery of another, which the planner pulls up, so that it costs nothing by itself.
#pragma once

#include "extension/input/inner_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The type of the items of a query, whatever it is: that of their column, or of the elements of its baskets.
/// @return InvalidOid if they are integers, or if the query does not have the columns, which shape_rows() tells
Oid own_item_type(const Query* query, const InnerQuery& given);

/// @param query       analysed; becomes part of the result if that is another
/// @param given       names the columns, or does not
/// @param item_type   of an _of form; else InvalidOid: items are integers, also those in a jsonb array
/// @raises 22023 if only one column is named; 42703 and 42702 for a name that the query does not have, or has twice
Query* shape_rows(Query* query, const InnerQuery& given, Oid item_type);

}  // namespace batmap::pg
