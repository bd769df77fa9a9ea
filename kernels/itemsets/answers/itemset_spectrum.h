// The number of itemsets of each length and support. Subsets of perfect extensions are counted by binomials, so
// a spectrum costs as much as the search, however many itemsets it counts.
#pragma once

#include <cstdint>
#include <span>

#include "core/options.h"
#include "itemsets/answers/itemset_sink.h"
#include "itemsets/answers/itemset_writer.h"

namespace batmap {

struct SpectrumRow {
  uint32_t length;
  uint32_t support;
  uint64_t itemsets;
};

/// Numbers of itemsets by length and support: a hash table of 32 to 64 bytes for each (length, support).
class ItemsetSpectrum {
 public:
  explicit ItemsetSpectrum(MemoryMeter& meter) : meter_(&meter) {}

  /// @throws Error{kTooLarge} beyond 2^63 - 1 itemsets of one length and support
  void add(uint32_t length, uint32_t support, uint64_t itemsets);
  /// Ascending by length, then descending by support.
  GrowingBuffer<SpectrumRow> rows(const CancelToken& cancel) const;

 private:
  void grow();

  MemoryMeter* meter_;
  Buffer<SpectrumRow> slots_;  // open addressing; length 0: free
  size_t used_ = 0;
};

/// Adds what a search visits to a spectrum.
class SpectrumVisitor final : public ItemsetVisitor {
 public:
  SpectrumVisitor(ItemsetSpectrum& spectrum, const ItemsetLengths& lengths, uint32_t max_support)
      : spectrum_(spectrum), lengths_(lengths), max_support_(max_support) {}

  void visit(Rank, uint32_t length, uint32_t support) override {
    if (support != 0) add(length, support, 0);
  }
  void visit_perfect(uint32_t support) override { add(0, support, 1); }

 private:
  void push(Rank) override {}
  void shrink(size_t) override {}
  /// Adds the itemsets that have `min_extensions` or more of the perfect extensions.
  void add(uint32_t length, uint32_t support, size_t min_extensions);

  ItemsetSpectrum& spectrum_;
  ItemsetLengths lengths_;
  uint32_t max_support_;
};

/// Adds a search's steps to a spectrum, one by one: for searches that list their answers.
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
