// Whether the two columns of a relation look swapped: the tids stand in the column of the items, and the other way round. A guess from
// sizes, for a notice.
//
// Usually transactions outnumber items, and each holds a few of them. Swapped, few transactions hold many items each. That is also what
// documents are, with their words. What they have, and swapped baskets have not, is items that are common: any language has words that
// are in a tenth of the documents, but no basket holds a tenth of what a shop sells. So the guess needs all of this. Constant cost.
// Source: ours; test/unit/relation/swapped_columns_test.cpp has sizes of data sets of both kinds.
#pragma once

#include <cstdint>

namespace batmap {

/// The sizes of a relation.
struct RelationSizes {
  uint64_t rows;
  uint64_t transactions;
  uint64_t items;
  uint64_t most_item_rows;  // of the item with the most rows; 0: not known
};

constexpr bool columns_look_swapped(const RelationSizes& sizes) {
  constexpr uint64_t kRows = 10'000;  // fewer rows are an example, or a small group
  constexpr uint64_t kItemsATransaction = 20;
  constexpr uint64_t kMeanBasket = 100;
  constexpr uint64_t kCommonShare = 10;  // an item in a tenth of the transactions is common
  return sizes.rows >= kRows && sizes.transactions > 1 && sizes.items / kItemsATransaction >= sizes.transactions &&
         sizes.rows / kMeanBasket >= sizes.transactions && sizes.most_item_rows > 0 &&
         sizes.most_item_rows * kCommonShare < sizes.transactions;
}

}  // namespace batmap
