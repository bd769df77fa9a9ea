// A run of the engine for a join-project: it reads the inputs, counts, and returns the pairs.
#pragma once

#include <optional>

#include "extension/input/key_encoder.h"
#include "extension/plan/join/join_project_path.h"
#include "extension/streams/row_stream.h"
#include "pairs/best_pairs.h"

#include "extension/server/pg.h"

namespace batmap::pg {

struct JoinProjectBounds {
  int64_t min_count = 1;
  std::optional<int64_t> best;  // only this many pairs with the largest counts are wanted, and ties with the last
};

struct JoinProjectInputs {
  const JoinProjectSpec& spec;
  const List* lists;  // JoinProjectList
  PlanState* parent;
  PlanState* plans[2];
  PlanState* lookups[JoinProjectSpec::kLookups];  // nullptr: none of its own
  KeyEncoder* items[2];                           // output: of codes
  TupleCodes* found[JoinProjectSpec::kLookups];   // output: what the lookups say, by group
};

/// Makes the encoders of the keys and the items of an input; those of the items are an output, too.
/// @param[in,out] encoders  both inputs share the numbers of keys
void make_encoders(JoinProjectInputs& inputs, int number, MemoryContext context, MemoryMeter& meter, KeyEncoder encoders[2]);

/// Why a run gave up that could not read its inputs. @return for RunNode::why_plain
const char* why_not_read(const JoinProjectInputs& inputs);

/// The pairs as codes, or as groups of codes. A self-join without groups returns each pair once, its items in either
/// order; otherwise the left item comes first.
struct JoinProjectRows {
  RowStream* stream;       // its block counts the pairs, and has no columns; nullptr: memory was too small
  const PairBatch* batch;  // the pairs of the block
};

/// @return no stream if memory is too small
JoinProjectRows open_join_project(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context);

}  // namespace batmap::pg
