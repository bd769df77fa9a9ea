// Shared by the aggregates over (tid, item) rows.
#pragma once

#include <cstdint>
#include <string_view>

#include "extension/server/pg.h"

namespace batmap::pg {

/// Argument 0, the state, in a form that may be changed (flat_value.h). A new state if the argument is NULL.
struct varlena* relation_state(FunctionCallInfo fcinfo);

/// Appends one pair. @return the state, which may have moved
struct varlena* relation_append(struct varlena* state, int64_t tid, int64_t item);

/// The threshold of an aggregate over rows. @throws an error of the server, if it is NULL or below 1
int64_t min_count_argument(FunctionCallInfo fcinfo, int index);

/// Merges `other` into the state in argument 0; `tid_shift` is added to its tids. @return the state, which
/// may have moved
struct varlena* relation_merge(FunctionCallInfo fcinfo, struct varlena* other, int64_t tid_shift);

/// The same for relations of text items (agg_text_relation.cpp).
/// @raises 42804 if the state has rows with integer items
struct varlena* text_state(FunctionCallInfo fcinfo);
struct varlena* append_text_row(struct varlena* state, int64_t tid, std::string_view text);
/// Merges `other` into argument 0, where one of them has text items and the other may be empty. @return a state if an
/// aggregate runs; else a finished relation
struct varlena* merge_texts(FunctionCallInfo fcinfo, struct varlena* other);

}  // namespace batmap::pg
