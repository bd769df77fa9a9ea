// The rows of a relation in parts, each with a range of tid codes. Parts serve threads and caches: an array
// indexed by tid is written by one thread only and needs no locks, and the piece of it that a part uses can
// fit into a cache. A part reads all blocks that have tids of its range. If rows arrive by tid, or nearly so,
// these are its share of the blocks; if they arrive in no order, every part reads all blocks and skips the
// rows of the others. Source: ours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/options.h"
#include "relation/encoded_relation.h"

namespace batmap {

/// Rows of a part whose piece of an array by tid fits into a cache: the phase `transactions` of bench/relation_bench.cpp.
constexpr uint64_t kRowsInCache = 1 << 17;

class TidParts {
 public:
  /// @param relation, options  must outlive this object
  /// @param max_parts          maximum number of parts. They have about equal rows if rows are
  /// spread evenly within blocks
  TidParts(const EncodedRelation& relation, size_t max_parts, const ExecutionOptions& options);

  /// The maximum number of parts before most blocks are read by several of them.
  static size_t max_narrow(const EncodedRelation& relation);

  const EncodedRelation& relation() const { return relation_; }
  size_t size() const { return blocks_.size(); }
  /// The range of a part is [first_tid(part), first_tid(part + 1)). Its first tid code is a multiple of 64.
  uint32_t first_tid(size_t part) const { return begin_[part]; }

  /// Calls visit(tid codes, item codes, number of rows) for the rows of a part, in order of arrival, at most
  /// 4,096 at a time. The arrays are scratch and may be overwritten.
  /// @throws Error{kCancelled}
  /// @note thread-safe
  template <typename Visit>
  void visit(size_t part, Visit visit) const {
    const uint32_t first = begin_[part];
    const uint32_t size = begin_[part + 1] - first;
    uint32_t tids[kChunkRows];
    uint32_t items[kChunkRows];
    for (const uint32_t block : blocks_[part]) {
      options_.cancel.throw_if_requested();
      uint32_t rows = relation_.decode(block, tids, items);
      if (!is_within(block, first, size)) {
        uint32_t own = 0;
        for (uint32_t k = 0; k < rows; ++k) {
          const uint32_t tid = tids[k];
          tids[own] = tid;
          items[own] = items[k];
          own += tid - first < size;
        }
        rows = own;
      }
      visit(tids, items, rows);
    }
  }
  /// The same for the tid codes alone.
  template <typename Visit>
  void visit_tids(size_t part, Visit visit) const {
    const uint32_t first = begin_[part];
    const uint32_t size = begin_[part + 1] - first;
    uint32_t tids[kChunkRows];
    for (const uint32_t block : blocks_[part]) {
      options_.cancel.throw_if_requested();
      uint32_t* end = tids + relation_.decode_tids(block, tids);
      if (!is_within(block, first, size)) end = std::remove_if(tids, end, [&](uint32_t tid) { return tid - first >= size; });
      visit(tids, static_cast<uint32_t>(end - tids));
    }
  }

 private:
  bool is_within(uint32_t block, uint32_t first, uint32_t size) const {
    const TidSpan span = relation_.tid_span(block);
    return span.first >= first && span.last - first < size;
  }
  void cut(size_t max_parts);

  const EncodedRelation& relation_;
  const ExecutionOptions& options_;
  std::vector<uint32_t> begin_;                // [parts + 1] tid codes
  std::vector<std::vector<uint32_t>> blocks_;  // [parts] blocks that may have rows of the part
};

}  // namespace batmap
