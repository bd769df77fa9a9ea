// Builds the counter of a coded relation: sizes for the chooser, then the form that the method counts. Cost:
// that of the form (kernels/relation). Source: ours.
#pragma once

#include <memory>

#include "bits/and_popcount.h"
#include "core/options.h"
#include "pairs/choose.h"
#include "pairs/counters/pair_counter.h"
#include "relation/encoded_relation.h"
#include "relation/kept_items.h"
#include "relation/transactions.h"
#include "set/set_kernel.h"

namespace batmap {

/// The kernels for bits and for sets.
struct PairKernels {
  const AndPopcountKernel* bits = &best_and_popcount();
  const SetKernel* sets = &best_set_kernel();

  /// The name of the kernel that the method uses; empty if it uses none.
  const char* name(PairMethod method) const;
};

/// The sizes of a job: the kept items of a relation. @param pair_instances  see TransactionLengths
PairJob describe_job(const EncodedRelation& relation, const KeptItems& kept, uint64_t pair_instances,
                     const PairKernels& kernels, const ExecutionOptions& options);

/// Chooses a method. Where a much faster one would fit if others gave back the memory that they hold, it waits for that, for less
/// time than it may save, and at most five seconds. @throws Error{kCancelled}
PairChoice choose_with_patience(PairJob job, const ExecutionOptions& options);

/// @param options  must outlive the counter
/// @throws Error{kMemoryLimit, kCancelled}, std::bad_alloc
std::unique_ptr<PairCounter> build_counter(const EncodedRelation& relation, const KeptItems& kept,
                                           const TransactionLengths& lengths, PairMethod method, const PairKernels& kernels,
                                           const ExecutionOptions& options);

}  // namespace batmap
