// Writes answers to a file as they lie in memory, and reads them back. See spooled_pairs.h.
#include "pairs/spooled_pairs.h"

#include <algorithm>
#include <span>

namespace batmap {

void SpooledPairs::append(const std::vector<PairRow>& batch) {
  file_->write(std::as_bytes(std::span(batch)));
  appended_ += batch.size();
}

bool SpooledPairs::next(std::vector<PairRow>& batch) {
  batch.resize(std::min(kBatchRows, appended_ - handed_over_));
  file_->read(std::as_writable_bytes(std::span(batch)));
  handed_over_ += batch.size();
  return !batch.empty();
}

}  // namespace batmap
