// Limits what a source hands over. See itemset_stream.h.
#include "itemsets/itemset_stream.h"

namespace batmap {

ItemsetStream::ItemsetStream(ItemsetRun& run, const ExecutionOptions& options)
    : run_(run), cancel_(options.cancel), limit_(run.query().max_results, run.query().timeout_ms), options_(options) {
  options_.cancel = {[](void* self) {
                       const auto* const stream = static_cast<const ItemsetStream*>(self);
                       return stream->cancel_.requested() || stream->limit_.time_is_up();
                     },
                     this};
  source_ = search_in_threads(run, options_);
  if (source_ == nullptr) source_ = search_in_passes(run, options_);
}

std::optional<Buffer<ItemsetStep>> ItemsetStream::pull() {
  try {
    return source_->pull();
  } catch (const Error& error) {
    if (limit_.was_ended_by_time(error, cancel_)) return std::nullopt;
    throw;
  }
}

bool ItemsetStream::next(std::vector<ItemsetStep>& batch) {
  batch.clear();
  if (limit_.is_cut_off()) return false;
  cancel_.throw_if_requested();
  const std::optional<Buffer<ItemsetStep>> pulled = pull();
  if (!pulled) return false;
  for (const ItemsetStep& step : *pulled) {
    if (step.support != 0 && limit_.take(1) == 0) {
      source_->stop();
      break;
    }
    batch.push_back(step);
  }
  return !batch.empty();
}

RunRecord ItemsetStream::record() const {
  RunRecord record = run_.record();
  record.results = results();
  record.tasks = tasks();
  record.tasks_done = tasks_done();
  record.truncation = truncation();
  return record;
}

}  // namespace batmap
