// Cuts the tid codes into ranges by what the block headers say. See tid_parts.h.
#include "relation/tid_parts.h"

#include <algorithm>
#include <bit>

namespace batmap {

namespace {
constexpr uint64_t kMinTids = 64;                  // of a part: parts do not share 64-bit words of bits
constexpr uint64_t kMaxSteps = uint64_t{1} << 16;  // a part can begin at one of at most this many steps
}  // namespace

size_t TidParts::max_narrow(const EncodedRelation& relation) {
  double tids = 0;
  for (size_t block = 0; block < relation.blocks(); ++block) {
    const TidSpan span = relation.tid_span(block);
    tids += span.last - span.first + 1.0;
  }
  const double spans = relation.tid_slots() * static_cast<double>(relation.blocks()) / tids;
  return spans > 2 ? static_cast<size_t>(spans / 2) : 1;
}

TidParts::TidParts(const EncodedRelation& relation, size_t max_parts, const ExecutionOptions& options)
    : relation_(relation), options_(options), begin_{0} {
  if (max_parts > 1) cut(max_parts);
  begin_.push_back(relation.tid_slots());
  blocks_.resize(begin_.size() - 1);
  for (size_t block = 0; block < relation.blocks(); ++block) {
    const TidSpan span = relation.tid_span(block);
    size_t part =
        static_cast<size_t>(std::upper_bound(begin_.begin() + 1, begin_.end() - 1, span.first) - begin_.begin()) - 1;
    for (; part < blocks_.size() && begin_[part] <= span.last; ++part) blocks_[part].push_back(static_cast<uint32_t>(block));
  }
}

void TidParts::cut(size_t max_parts) {
  const uint64_t slots = relation_.tid_slots();
  const uint64_t step = std::max<uint64_t>(kMinTids, std::bit_ceil(slots / kMaxSteps));
  const size_t steps = (slots + step - 1) / step;
  // Rows of each step, as differences. The rows of a block are assumed to be spread evenly over
  // the steps that it spans.
  std::vector<double> change(steps + 1, 0.0);
  for (size_t block = 0; block < relation_.blocks(); ++block) {
    const TidSpan span = relation_.tid_span(block);
    const size_t first = span.first / step;
    const size_t last = span.last / step;
    const double rows = relation_.block_rows(block) / static_cast<double>(last - first + 1);
    change[first] += rows;
    change[last + 1] -= rows;
  }
  const double share = static_cast<double>(relation_.rows()) / static_cast<double>(max_parts);
  double rows = 0;
  double before = 0;
  for (size_t at = 0; at + 1 < steps; ++at) {
    rows += change[at];
    before += rows;
    if (before < share * static_cast<double>(begin_.size())) continue;
    begin_.push_back(static_cast<uint32_t>((at + 1) * step));
    if (begin_.size() == max_parts) return;
  }
}

}  // namespace batmap
