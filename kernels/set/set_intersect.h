// Counting what two or more stored sets have in common, and the relations that follow from it. All nine combinations of
// containers and all widths. Nothing here allocates. All look at the token every few tens of microseconds, not within less,
// and throw Error{kCancelled}.
//
// Two batmaps of equal width are compared plane by plane, folded where their ranges differ; one that is much smaller probes
// the other instead (`probing_is_cheaper`). Two bitmaps are ANDed. Everything else walks the smaller set in chunks and keeps
// what the other holds. Source: Amossen & Pagh 2011 II, III-C; the choice is ours.
#pragma once

#include <span>

#include "core/options.h"
#include "set/set_kernel.h"
#include "set/set_view.h"

namespace batmap {

/// |a AND b|.
uint64_t and_cardinality(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel = {});

/// |AND of all|: the smallest is walked, the others are probed; all bitmaps are ANDed. No sets: 0.
uint64_t and_cardinality(std::span<const SetView> sets, const SetKernel& kernel, const CancelToken& cancel = {});

/// Is there a common element? Ends at the first chunk that has one.
bool intersects(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel = {});

/// Is every element of a in b?
bool is_subset(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel = {});

/// The same elements; widths may differ.
bool equal(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel = {});

/// Order of the ascending element sequences, as int8[] has it; a prefix is smaller. @return < 0, 0, > 0
/// Linear, without sorting: looks for the smallest element that only one of the two has.
int compare(SetView a, SetView b, const ExecutionOptions& options);

/// Of the set, not of its bytes: equal sets of different width hash equally.
uint64_t hash(SetView set, uint64_t seed, const CancelToken& cancel = {});

/// Keeps those elements that the set holds, in their order; batched, so that cache misses overlap.
/// @return how many are left at the front of `elements`
size_t keep_members(SetView set, std::span<uint64_t> elements);

/// The same for any number of elements; cancelled, they are in no order.
size_t keep_members(SetView set, std::span<uint64_t> elements, const CancelToken& cancel);

/// The two ways for two batmaps of equal width, and which of them and_cardinality takes; for tests and benchmarks.
/// @param a  the one with fewer slots
uint64_t and_cardinality_by_scan(SetView a, SetView b, const SetKernel& kernel);
uint64_t and_cardinality_by_probe(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel = {});
bool probing_is_cheaper(SetView a, SetView b);

}  // namespace batmap
