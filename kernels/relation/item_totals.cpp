// Adds up rows by item. See item_totals.h.
#include "relation/item_totals.h"

#include <algorithm>

namespace batmap {

void ItemTotals::add(const EncodedRelation& relation) {
  for (uint32_t own = 0; own < relation.item_codes(); ++own) {
    const uint64_t rows = relation.item_rows(ItemCode{own});
    if (rows == 0) continue;
    const int64_t value = relation.item_value(ItemCode{own});
    const uint32_t code = codes_.direct() ? codes_.find(value) : codes_.insert(value);
    if (const size_t size = rows_.size(); code >= size) {
      const size_t more = std::max<size_t>(code + 1 - size, codes_.direct() ? codes_.size() - size : 0);
      std::fill_n(rows_.room(more), more, 0);
      rows_.add(more);
    }
    items_ += rows_[code] == 0;
    rows_[code] += rows;
    most_item_rows_ = std::max(most_item_rows_, rows_[code]);
  }
}

}  // namespace batmap
