// Why the plan node leaves a block of a query alone: one table of reasons and hints.
#pragma once

namespace batmap::pg {

/// In the order in which they are found: of several ways to divide a block, the one that got farthest is reported.
enum class Refusal : int {
  kNone,
  kNotGrouped,
  kOneRelation,
  kManyRelations,
  kGroupingSets,
  kSetReturning,
  kDistinctOn,
  kLateral,
  kPlaceholder,
  kPseudoConstant,
  kNoRows,
  kNoDivision,
  kRowsChange,
  kPlannedOnce,
  kVolatileClause,
  kGroupReadsBoth,
  kGroupEquality,
  kGroupVolatile,
  kClause,
  kOneCall,
  kKeyEquality,
  kNoKey,
  kSubplan,
  kOutput,
  kAggregate,
  kAggregateInput,
  kSumInput,
  kSumFails,
  kDistinctValues,
  kTwoCountings,
  kFinerSums,
  kFinerKeys,
  kVolatileHaving,
  kNoCounts,
  kCost,
  kItemsetClause,
  kItemsetOrder,
  kItemsetAggregate,
  kListedClause,
  kListedOutput,
  kListedAggregate,
  kDisabled,
  kCount  // number of reasons
};

struct RefusalText {
  const char* reason;
  const char* hint;  // nullptr: there is no other way to write it
};

const RefusalText& text_of(Refusal refusal);

}  // namespace batmap::pg
