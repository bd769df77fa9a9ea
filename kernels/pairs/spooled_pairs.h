// Answers that wait in a temporary file until all of them are known, for a caller that must get all answers or
// none. Handing them over needs no memory but the batch. Supports of items are not kept. Cost: 24 bytes of the file an answer.
// Source: ours.
#pragma once

#include <cstdint>
#include <vector>

#include "core/temp_files.h"
#include "pairs/pair_batch.h"

namespace batmap {

class SpooledPairs {
 public:
  /// @param files  must outlive this object
  explicit SpooledPairs(TempFiles& files) : file_(&files.create()) {}

  /// @throws what the files throw; so does next()
  void append(const PairBatch& batch);
  /// Reads the answers from the first on, in order; append() must not be called any more.
  /// @return false after the last; `batch` is then empty
  bool next(PairBatch& batch);

 private:
  TempFile* file_;
  uint64_t appended_ = 0;
  uint64_t handed_over_ = 0;
  std::vector<ItemPair> read_;
};

}  // namespace batmap
