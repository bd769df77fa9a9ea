// The table of reasons. See refusals.h.
#include "extension/plan/query/refusals.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr RefusalText kTexts[] = {
    {"BatmapJoinProject answers it", nullptr},
    {"it groups no rows, or takes DISTINCT of groups", nullptr},
    {"it reads one relation", "The node answers joins. Pairs within one table are found by joining it with itself."},
    {"it joins more than 8 relations", "Join the others to the result, in an outer query."},
    {"it has grouping sets", "Write one query for each set, and unite them with UNION ALL."},
    {"its select list contains functions that return sets", "Call them in FROM of an outer query."},
    {"it has DISTINCT ON", "Use GROUP BY, or DISTINCT ON in an outer query."},
    {"a relation refers to another one (LATERAL), and is not one of two equal calls of a function that returns a set",
     "Write both calls alike, without WITH ORDINALITY and outer joins, or expand arrays in a subquery of each side."},
    {"an outer join computes an expression below it", "Use columns of the outer-joined relation as they are."},
    {"a condition is checked once for the whole query", nullptr},
    {"the join has no rows, or other code than the planner made its paths", nullptr},
    {"the relations do not fall into two sides",
     "Each grouped expression must read one side, each side must have one, outer joins must stay within a side, and the "
     "sides must be joined by an equality."},
    {"a relation may have other rows each time it is read", "Materialize it (WITH ... AS MATERIALIZED) before the join."},
    {"a subquery reads a table with partitions or children, unites several, or locks rows, so that it cannot be planned "
     "twice",
     "Materialize it (WITH ... AS MATERIALIZED) before the join."},
    {"a condition is volatile or contains a subquery", "Compute it before the join, in a materialized subquery."},
    {"a grouped expression reads both sides", "Group by an expression of each side; compute the rest in an outer query."},
    {"a grouped expression has no equality that can be hashed, or a nondeterministic collation",
     "Group by the expression in another type or collation."},
    {"a grouped expression is volatile or contains a subquery", "Compute it before the join, in a materialized subquery."},
    {"a condition between the sides is neither an equality nor a comparison of two values",
     "Move it to an outer query, or into a subquery of one side."},
    {"a condition is on one of two calls of a function only, and cannot be checked on the groups",
     "Group by elements as they are, or give both calls the condition."},
    {"an equality between the sides is not the default one of its type, or its collation is nondeterministic",
     "Cast both sides to one type."},
    {"no equality joins the two sides", "Join the sides by a key: ON a.key = b.key."},
    {"the select list contains a subquery", "Move it to an outer query."},
    {"an expression of the select list can be computed from single rows only", "Move it to an outer query."},
    {"the node does not know the aggregate", "Compute it in a query of its own, and join the two."},
    {"the argument or condition of an aggregate is volatile or contains a subquery",
     "Compute it before the join, in a materialized subquery."},
    {"a sum is answered if its argument reads one side, or is a product of integers or numerics of one side each, and "
     "each condition of FILTER reads one side",
     "Compute it from such sums in the select list."},
    {"the argument of a sum, or its condition, may fail for rows that join with nothing, for which the plain plan does not "
     "compute it",
     "Compute it before the join, in a materialized subquery."},
    {"count(DISTINCT ...) is answered for the join key only", nullptr},
    {"rows and distinct keys are counted in one query", "Write a query for each."},
    {"sums cannot be added up over groups that a comparison has made finer", "Group by what is compared, too."},
    {"distinct keys cannot be added up over groups that a comparison or another aggregate has made finer",
     "Group by what is compared, too, or write a query for each aggregate."},
    {"HAVING is volatile", nullptr},
    {"the planner's own path does not have the columns of the node", nullptr},
    {"the plain plan is estimated to be cheaper", "ANALYZE the tables if the estimates are wrong."},
    {"it joins three or more copies of the same rows, but a condition between them is not a comparison of grouped items by "
     "< or >",
     "Put the items in an order: a.item < b.item AND b.item < c.item."},
    {"it joins three or more copies of the same rows, but comparisons do not put these two items in an order",
     "Compare them, too: a.item < b.item AND b.item < c.item."},
    {"the node only counts the itemsets of three or more copies", "Join the result with the items, in an outer query."},
    {"a third relation lists the pairs to be counted, but a condition needs columns of several relations",
     "Write it with columns of one relation."},
    {"a third relation lists the pairs to be counted, but the query returns or groups by a value that its rows do not have",
     "Use columns of that relation, and join the result with others in an outer query."},
    {"of pairs that a third relation lists, the node counts rows; distinct keys only where the two items are the groups",
     "Count in a query of its own, and join the two."},
    {"batmap.enable_join_project is off", "SET batmap.enable_join_project = on."},
};
static_assert(sizeof kTexts / sizeof *kTexts == static_cast<int>(Refusal::kCount));

}  // namespace

const RefusalText& text_of(Refusal refusal) { return kTexts[static_cast<int>(refusal)]; }

}  // namespace batmap::pg
