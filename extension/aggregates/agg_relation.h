// Shared by the aggregates over (tid, item) rows.
#pragma once

#include <cstdint>
#include <string_view>

#include "extension/input/arguments.h"
#include "extension/types/text_items.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Argument 0, the state, in a form that may be changed (flat_value.h). A new state if the argument is NULL.
struct varlena* relation_state(FunctionCallInfo fcinfo);

/// A state without rows.
struct varlena* new_relation_state();

/// Appends one pair. @return the state, which may have moved
struct varlena* relation_append(struct varlena* state, int64_t tid, int64_t item);

/// The threshold of an aggregate over rows. @throws an error of the server, if it is NULL or below 1
int64_t min_count_argument(FunctionCallInfo fcinfo, int index);

/// Merges `other` into the state in argument 0; `tid_shift` is added to its tids. @return the state, which
/// may have moved
struct varlena* relation_merge(FunctionCallInfo fcinfo, struct varlena* other, int64_t tid_shift);
/// The same into a state that may be changed. @param state  nullptr: the result is a copy of `other`
struct varlena* merged_relation(struct varlena* state, struct varlena* other, int64_t tid_shift);

/// The number that a state carries with its rows. A merge keeps the larger one.
int64_t carried_number(struct varlena* state);
void carry_number(struct varlena* state, int64_t number);

/// The same for relations of text items (agg_text_relation.cpp).
/// @raises 42804 if the state has rows with integer items
struct varlena* text_state(FunctionCallInfo fcinfo);
struct varlena* append_text_row(struct varlena* state, int64_t tid, std::string_view text);
/// Merges `other` into argument 0, where one of them has text items and the other may be empty. @return a state if an
/// aggregate runs; else a finished relation
struct varlena* merge_texts(FunctionCallInfo fcinfo, struct varlena* other);

/// Appends the row in arguments 1 and 2, which are not NULL, to the state in argument 0. @return the state, which may
/// have moved @raises 42804 if the state has items of the other kind
using RowAppender = struct varlena* (*)(FunctionCallInfo fcinfo);

template <typename Tid, typename Item>
struct varlena* with_integer_row(FunctionCallInfo fcinfo) {
  return relation_append(relation_state(fcinfo), integer_argument<Tid>(fcinfo, 1), integer_argument<Item>(fcinfo, 2));
}

template <typename Tid>
struct varlena* with_text_row(FunctionCallInfo fcinfo) {
  const std::string_view item = text_argument(fcinfo, 2);
  return append_text_row(text_state(fcinfo), integer_argument<Tid>(fcinfo, 1), item);
}

/// The item is the canonical text of the uuid.
template <typename Tid>
struct varlena* with_uuid_row(FunctionCallInfo fcinfo) {
  const UuidText item(PG_GETARG_UUID_P(2));
  return append_text_row(text_state(fcinfo), integer_argument<Tid>(fcinfo, 1), item.view());
}

}  // namespace batmap::pg
