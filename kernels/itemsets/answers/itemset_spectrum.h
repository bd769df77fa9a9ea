// How many itemsets there are of each length and support. Subsets of perfect extensions are counted by binomials, so that
// a spectrum costs what the search costs, however many itemsets it sums up.
#pragma once

#include <cstdint>
#include <vector>

#include "core/options.h"
#include "itemsets/answers/itemset_sink.h"
#include "itemsets/answers/itemset_writer.h"

namespace batmap {

struct SpectrumRow {
  uint32_t length;
  uint32_t support;
  uint64_t itemsets;
};

/// Sums of itemsets by length and support. 16 bytes and a third a sum.
class ItemsetSpectrum {
 public:
  explicit ItemsetSpectrum(MemoryMeter& meter) : meter_(&meter) {}

  /// @throws Error{kTooLarge} beyond 2^63 - 1 itemsets of one kind
  void add(uint32_t length, uint32_t support, uint64_t itemsets);
  /// Ascending by length, then descending by support.
  GrowingBuffer<SpectrumRow> rows(const CancelToken& cancel) const;

 private:
  void grow();

  MemoryMeter* meter_;
  Buffer<SpectrumRow> slots_;  // open addressing; length 0: free
  size_t used_ = 0;
};

/// A search's answers to a spectrum.
class SpectrumVisitor final : public ItemsetVisitor {
 public:
  SpectrumVisitor(ItemsetSpectrum& spectrum, const ItemsetLengths& lengths, uint32_t max_support)
      : spectrum_(spectrum), lengths_(lengths), max_support_(max_support) {}

  void visit(uint32_t, uint32_t length, uint32_t support) override {
    if (support != 0) add(length, support, 0);
  }
  void visit_perfect(uint32_t support) override { add(0, support, 1); }

 private:
  void push(uint32_t) override {}
  void shrink(size_t) override {}
  /// An itemset with `least` or more of the perfect extensions.
  void add(uint32_t length, uint32_t support, size_t least);

  ItemsetSpectrum& spectrum_;
  ItemsetLengths lengths_;
  uint32_t max_support_;
};

/// A search's steps to a spectrum, one by one: for targets that a search does not count.
class SpectrumSink final : public ItemsetSink {
 public:
  explicit SpectrumSink(ItemsetSpectrum& spectrum) : spectrum_(spectrum) {}
  void take(std::span<const ItemsetStep> steps) override {
    for (const ItemsetStep& step : steps)
      if (step.support != 0) spectrum_.add(step.length, step.support, 1);
  }

 private:
  ItemsetSpectrum& spectrum_;
};

}  // namespace batmap
