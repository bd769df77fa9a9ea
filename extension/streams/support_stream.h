// The answers of batmap_pairs, batmap_partners and batmap_count_pairs: pairs, the counts of their items, and the measures that
// follow from these. Only the columns that are wanted are made.
#pragma once

#include <cmath>
#include <limits>
#include <span>

#include "extension/streams/pair_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The columns of batmap_pairs.
enum PairColumn {
  kItemA,
  kItemB,
  kSupportCount,
  kCountA,
  kCountB,
  kTotal,
  kSupport,
  kConfidence,
  kConfidenceBa,
  kLift,
  kScore,
  kPairColumns
};

/// The columns of batmap_partners.
enum PartnerColumn { kItem, kPartner, kRank, kPartnerCount, kPartnerScore };

/// Are the counts of the single items needed for the wanted columns?
inline bool needs_supports(ColumnSet wanted, bool partners) {
  // The rank of a partner follows from the scores.
  if (partners) return (wanted & (one(kRank) | one(kPartnerScore))) != 0;
  return (wanted & ~(one(kItemA) | one(kItemB) | one(kSupportCount) | one(kTotal) | one(kSupport))) != 0;
}

/// The answers of one call: the items, their counts, and what follows from these.
template <typename Call>
class SupportStream : public PairRowStream<Call> {
 public:
  using PairRowStream<Call>::PairRowStream;
  using PairRowStream<Call>::call;

  /// A measure that nobody named has no values.
  int null_columns() const override { return call().query.measure ? 0 : 1; }

  /// To be called before the run is made.
  void want(const WantedRows& wanted) {
    wanted_ = wanted.columns;
    call().query.supports = needs_supports(wanted.columns, call().query.partners);
    this->set_nan_is_null(call().query.partners ? one(kPartnerScore) : call().query.measure ? one(kScore) : 0);
  }

 protected:
  /// What all answers share. To be called once the run is there. @param items  their values; nullptr: items are int8
  void set_input(const Dictionary* items, uint64_t total) {
    items_ = items;
    total_ = static_cast<int64_t>(total);
  }

 private:
  void show() final {
    if (call().query.partners)
      show_partners();
    else
      show_measured_pairs();
  }

  void show_measured_pairs() {
    this->show_pairs(items_, items_);
    const std::span<const PairSupports> supports = call().batch.supports();
    show_if(supports.empty() ? nullptr : &supports[0].a, sizeof(PairSupports));
    show_if(supports.empty() ? nullptr : &supports[0].b, sizeof(PairSupports));
    this->show_column(&total_, 0);
    show_measure(kSupport, PairMeasure::kSupport);
    show_measure(kConfidence, PairMeasure::kConfidence);
    show_measure(kConfidenceBa, PairMeasure::kConfidence, true);
    show_measure(kLift, PairMeasure::kLift);
    show_measure(kScore, call().query.measure.value_or(PairMeasure::kSupport));
  }

  void show_partners() {
    this->show_item_columns(items_, items_);
    const double* const scores = measured(kPartnerScore, *call().query.measure, false);
    show_if(scores == nullptr ? nullptr : rank(scores), sizeof(int64_t));
    this->show_support();
    show_if(scores, sizeof(double));
  }

  void show_measure(int column, PairMeasure measure, bool turned = false) {
    const bool has_values = (wanted_ & one(column)) != 0 && (column != kScore || call().query.measure);
    show_if(has_values ? measured(column, measure, turned) : nullptr, sizeof(double));
  }

  void show_if(const void* first, size_t stride) {
    if (first != nullptr)
      this->show_column(first, stride);
    else
      this->show_nothing();
  }

  /// The values of a measure in the batch. @return nullptr if they cannot be computed, because they are not wanted
  const double* measured(int column, PairMeasure measure, bool turned) {
    const PairBatch& batch = call().batch;
    // The support of a pair does not depend on the counts of its items.
    static constexpr PairSupports kNoSupports{};
    const bool has_supports = !batch.supports().empty();
    if (!has_supports && measure != PairMeasure::kSupport) return nullptr;
    const PairSupports& supports = has_supports ? batch.supports()[0] : kNoSupports;
    const size_t stride = has_supports ? sizeof(PairSupports) / sizeof(uint64_t) : 0;
    double*& values = values_[column];
    if (values == nullptr) values = room<double>();
    pair_measures(measure,
                  {.both = {&batch.pairs()[0].support, sizeof(ItemPair) / sizeof(uint64_t)},
                   .a = {turned ? &supports.b : &supports.a, stride},
                   .b = {turned ? &supports.a : &supports.b, stride},
                   .total = static_cast<double>(total_)},
                  batch.size(), values);
    return values;
  }

  /// The place of each partner among those of its item. Equal scores have equal ranks.
  const int64_t* rank(const double* scores) {
    if (ranks_ == nullptr) ranks_ = room<int64_t>();
    const std::span<const ItemPair> pairs = call().batch.pairs();
    for (size_t k = 0; k < pairs.size(); ++k) {
      const double score = std::isnan(scores[k]) ? -std::numeric_limits<double>::infinity() : scores[k];
      const bool is_first = place_ == 0 || pairs[k].item_a != item_;
      place_ = is_first ? 1 : place_ + 1;
      if (is_first || score != score_) rank_ = place_;
      item_ = pairs[k].item_a;
      score_ = score;
      ranks_[k] = rank_;
    }
    return ranks_;
  }

  template <typename Value>
  Value* room() const {
    return static_cast<Value*>(MemoryContextAlloc(this->context(), kBatchRows * sizeof(Value)));
  }

  const Dictionary* items_ = nullptr;
  int64_t total_ = 0;
  ColumnSet wanted_ = kAllColumns;
  double* values_[kPairColumns] = {};  // [kBatchRows] each
  int64_t* ranks_ = nullptr;           // [kBatchRows]
  // Of the last partner:
  int64_t item_ = 0;
  int64_t place_ = 0;  // 0: there was none
  int64_t rank_ = 0;
  double score_ = 0;
};

}  // namespace batmap::pg
