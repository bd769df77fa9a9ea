// Orders pairs by row. See counted_pairs.h.
#include "pairs/counts/counted_pairs.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/poll.h"
#include "core/polled.h"
#include "core/thread_team.h"

namespace batmap {

CountedPairs::CountedPairs(std::span<GrowingBuffer<PairCount>> found, size_t items, const ExecutionOptions& options)
    : row_begin(*options.memory, items + 1, Fill::kZero) {
  size_t count = 0;
  Poll poll(options.cancel);
  for (const GrowingBuffer<PairCount>& pairs : found) {
    count += pairs.size();
    for (const PairCount& pair : pairs.span()) {
      poll.after(1);
      ++row_begin[pair.a + 1];
    }
  }
  std::partial_sum(row_begin.begin(), row_begin.end(), row_begin.begin());
  partners = Buffer<uint64_t>(*options.memory, count);
  for (GrowingBuffer<PairCount>& pairs : found) {
    for (const PairCount& pair : pairs.span()) {
      poll.after(1);
      partners[row_begin[pair.a]++] = uint64_t{pair.b} << 32 | pair.count;
    }
    pairs.reset();
  }
  // Each entry is now the end of its row: move them up by one.
  std::move_backward(row_begin.begin(), row_begin.end() - 1, row_begin.end());
  row_begin[0] = 0;
  constexpr size_t kRowsATask = 256;
  parallel_for(options, (items + kRowsATask - 1) / kRowsATask, [&](size_t task, int) {
    for (size_t row = task * kRowsATask; row < std::min((task + 1) * kRowsATask, items); ++row)
      std::sort(partners.begin() + row_begin[row], partners.begin() + row_begin[row + 1],
                polled(options.cancel, std::less<uint64_t>()));
  });
}

}  // namespace batmap
