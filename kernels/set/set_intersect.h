// Counts the common elements of two or more stored sets, and answers the relations that follow from counts.
// All pairs of containers and all widths work. Nothing here allocates. Functions with a token poll it
// every few tens of microseconds and throw Error{kCancelled}; shorter calls do not poll.
//
// Two compact sets meet block by block (compact/compact_operations.h). Two batmaps of equal width are compared plane by plane,
// folded if their ranges differ; a much smaller one probes the other instead (`probing_is_cheaper`). Two bitmaps are ANDed. Else
// each element of the smaller set is looked up in the other one. Source: Amossen & Pagh 2011 II, III-C; the choice is ours.
#pragma once

#include <span>

#include "core/options.h"
#include "set/set_kernel.h"
#include "set/set_view.h"

namespace batmap {

/// A comparison of two batmaps reads about so many planes of a block before nothing can match any more.
constexpr uint64_t kPlanesRead = 10;

/// The bytes of a set that one comparison reads; of a compact set, once it is prepared for this width.
double compared_bytes(const SetView& set, int width);

/// The number of meetings from which on preparing a compact set is expected to pay, if it has already met so many and will
/// probably meet as many again. A set whose compact form is as fast: kNeverPrepared.
/// @param more_ns  what a meeting takes longer if both sets are prepared, besides counting
inline constexpr uint32_t kNeverPrepared = UINT32_MAX;
uint32_t meetings_worth_preparing(const SetView& set, double more_ns = 0);

/// Whether two compact sets that have been prepared are counted faster in that form. A batmap and a bitmap are not, where the
/// compact form has bitmaps, too: reading the elements of a batmap takes longer than those of a compact set
/// (bench/set_peers.cpp, 1 : 1000 at density 0.5).
bool is_faster_prepared(const SetView& a, Container a_prepared, const SetView& b, Container b_prepared);

/// |a AND b|.
uint64_t and_cardinality(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel = {});

/// |AND of all|. Compact sets meet key by key, bitmaps are ANDed; else the smallest set is walked and the others are probed. For no
/// sets: 0.
uint64_t and_cardinality(std::span<const SetView> sets, const SetKernel& kernel, const CancelToken& cancel = {});

/// Whether there is a common element. Ends at the first part of the sets that has one.
bool intersects(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel = {});

/// Whether every element of a is in b.
bool is_subset(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel = {});

/// Whether both have the same elements. Their widths may differ.
bool equal(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel = {});

/// Compares the ascending sequences of elements as int8[] does; a prefix is smaller. Looks for the smallest
/// element that only one set has: linear, without sorting.
/// @return < 0, 0, > 0
int compare(SetView a, SetView b, const ExecutionOptions& options);

/// A hash of the set, not of its bytes: equal sets of different width have the same hash.
uint64_t hash(SetView set, uint64_t seed, const CancelToken& cancel = {});

/// Keeps the elements that the set holds, in their order. Look-ups are batched, so that cache misses overlap.
/// @return how many are left, at the front of `elements`
size_t keep_members(SetView set, std::span<uint64_t> elements);

/// The same for any number of elements. After Error{kCancelled} the contents of `elements` are unspecified.
size_t keep_members(SetView set, std::span<uint64_t> elements, const CancelToken& cancel);

/// The two ways for two batmaps of equal width, and whether and_cardinality() probes. For tests and benchmarks.
/// @param a  the one with fewer slots, or as many
uint64_t and_cardinality_by_scan(SetView a, SetView b, const SetKernel& kernel);
uint64_t and_cardinality_by_probe(SetView a, SetView b, const SetKernel& kernel, const CancelToken& cancel = {});
bool probing_is_cheaper(SetView a, SetView b);

}  // namespace batmap
