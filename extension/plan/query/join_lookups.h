// Lookups: relations that only say what a side's items mean, or what a key's values are. The node reads them apart and
// counts without them.
//
//   SELECT p.name, q.name, count(*) FROM t a JOIN t b USING (tid) JOIN products p ON p.id = a.item
//     JOIN products q ON q.id = b.item WHERE a.item < b.item GROUP BY 1, 2
//
// The engine counts pairs of a.item and b.item, which are numbers. Since p.id is unique, an item has one name. The node
// reads the names once for each product instead of once for each row of t, and adds up the counts of items with the
// same name. An item that is not in the lookup is in no row of the join. In the same way, a column that the key of the
// join determines (the country of an order) is read once for each key. A relation of which no column is returned, but
// that leaves out keys (the orders of a day), is a lookup without values.
#pragma once

#include "extension/plan/query/join_project_query.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// @param query  recognised by recognize_join_project()
/// @param apart  the same query with lookups, if it returns true
/// @return whether some relations of the query can be read apart
bool read_lookups_apart(PlannerInfo* root, UpperRelationKind stage, const JoinProjectQuery& query, JoinProjectQuery& apart);

/// Are the lookups of both sides copies of one another, so that one is enough?
bool has_one_lookup(PlannerInfo* root, const JoinProjectQuery& query);

}  // namespace batmap::pg
