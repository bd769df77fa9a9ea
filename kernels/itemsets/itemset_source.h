// Where a stream takes the steps of a search from (itemset_stream.h): from threads that search ahead, or from a search of
// its own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "core/memory.h"
#include "core/options.h"
#include "itemsets/itemset_run.h"

namespace batmap {

class ItemsetSource {
 public:
  virtual ~ItemsetSource() = default;
  /// The next steps, at least one, in the order of the branches. @return nothing after the last ones
  /// @throws Error, std::bad_alloc; then the source cannot go on
  virtual std::optional<Buffer<ItemsetStep>> pull() = 0;
  virtual size_t branches_done() const = 0;
  /// No more steps are wanted.
  virtual void stop() {}
};

/// Threads take branches in order and put their steps into bounded queues, one for each branch. A thread whose queue is full
/// waits.
/// @param run, options  must outlive the source
/// @return nullptr if no thread is available
std::unique_ptr<ItemsetSource> search_in_threads(ItemsetRun& run, const ExecutionOptions& options);

/// Searches when it is asked. A search cannot be suspended, so a branch is searched in passes. Each pass keeps as many steps as
/// it has room for; the next one begins the branch again and skips what is known. A pass has room for four times as many
/// steps as the one before, up to a quarter of the free memory. So most branches take one pass, and a branch that fits
/// into memory costs at most a third more than with a thread.
/// @param run, options  must outlive the source
std::unique_ptr<ItemsetSource> search_in_passes(ItemsetRun& run, const ExecutionOptions& options);

}  // namespace batmap
