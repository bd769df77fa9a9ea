// Sums in a hash table. See itemset_spectrum.h.
#include "itemsets/answers/itemset_spectrum.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "core/polled.h"

namespace batmap {

namespace {

constexpr uint64_t kMax = INT64_MAX;

[[noreturn]] void throw_too_many() {
  throw Error(ErrorCode::kTooLarge, "more than " + std::to_string(kMax) + " itemsets of one length and support",
              "Raise the threshold or give max_length.");
}

/// The number of ways to take some of n. @throws Error{kTooLarge} above kMax: there may be many perfect extensions
uint64_t subsets_of(size_t n, size_t taken) {
  unsigned __int128 subsets = 1;
  for (size_t k = 1; k <= std::min(taken, n - taken); ++k) {
    subsets = subsets * (n - k + 1) / k;
    if (subsets > kMax) throw_too_many();
  }
  return static_cast<uint64_t>(subsets);
}

size_t slot_of(uint32_t length, uint32_t support, size_t slots) {
  const uint64_t key = (uint64_t{length} << 32 | support) * 0x9e3779b97f4a7c15u;
  return static_cast<size_t>(key >> 32) & (slots - 1);
}

}  // namespace

void ItemsetSpectrum::add(uint32_t length, uint32_t support, uint64_t itemsets) {
  if (2 * (used_ + 1) > slots_.size()) grow();
  size_t at = slot_of(length, support, slots_.size());
  for (; slots_[at].length != 0; at = (at + 1) & (slots_.size() - 1)) {
    SpectrumRow& row = slots_[at];
    if (row.length != length || row.support != support) continue;
    if (itemsets > kMax - row.itemsets) throw_too_many();
    row.itemsets += itemsets;
    return;
  }
  if (itemsets > kMax) throw_too_many();
  slots_[at] = {length, support, itemsets};
  ++used_;
}

void ItemsetSpectrum::grow() {
  Buffer<SpectrumRow> before = std::move(slots_);
  slots_ = Buffer<SpectrumRow>(*meter_, std::max<size_t>(1024, 2 * before.size()), Fill::kZero);
  used_ = 0;
  for (const SpectrumRow& row : before)
    if (row.length != 0) add(row.length, row.support, row.itemsets);
}

GrowingBuffer<SpectrumRow> ItemsetSpectrum::rows(const CancelToken& cancel) const {
  GrowingBuffer<SpectrumRow> rows(*meter_);
  for (const SpectrumRow& row : slots_)
    if (row.length != 0) rows.push_back(row);
  std::sort(rows.begin(), rows.end(), polled(cancel, [](const SpectrumRow& x, const SpectrumRow& y) {
              return std::tuple(x.length, y.support) < std::tuple(y.length, x.support);
            }));
  return rows;
}

void SpectrumVisitor::add(uint32_t length, uint32_t support, size_t min_extensions) {
  if (support > max_support_) return;
  const size_t first = std::max(min_extensions, size_t{lengths_.min > length ? lengths_.min - length : 0});
  for (size_t extensions = first; extensions <= perfect() && length + extensions <= lengths_.max; ++extensions)
    spectrum_.add(length + static_cast<uint32_t>(extensions), support, subsets_of(perfect(), extensions));
}

}  // namespace batmap
