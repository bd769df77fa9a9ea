// Writes answers to a file as they lie in memory, and reads them back. See spooled_pairs.h.
#include "pairs/spooled_pairs.h"

#include <algorithm>
#include <span>

namespace batmap {

void SpooledPairs::append(const PairBatch& batch) {
  file_->write(std::as_bytes(batch.pairs()));
  appended_ += batch.size();
}

bool SpooledPairs::next(PairBatch& batch) {
  read_.resize(std::min(kBatchRows, appended_ - handed_over_));
  file_->read(std::as_writable_bytes(std::span(read_)));
  handed_over_ += read_.size();
  batch = PairBatch(read_);
  return !batch.empty();
}

}  // namespace batmap
