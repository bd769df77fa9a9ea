// Whether the two columns of a relation look swapped: the tids stand in the column of the items, and the other way round. And whether
// the times and events of a query of events do. Guesses from sizes, for a notice.
//
// Usually transactions outnumber items, and each holds a few of them. Swapped, few transactions hold many items each. That is also what
// documents are, with their words. What they have, and swapped baskets have not, is items that are common: any language has words that
// are in a tenth of the documents, but no basket holds a tenth of what a shop sells. So the guess needs all of this.
//
// Times are to events what transactions are to items. Few days on which a shop sells many products look alike, so the guess about
// times needs one thing more: most events happen once. There is nothing to find in such data. Constant cost.
// Source: ours; test/unit/relation/swapped_columns_test.cpp has sizes of data sets of both kinds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace batmap {

/// The sizes of a relation.
struct RelationSizes {
  uint64_t rows;
  uint64_t transactions;
  uint64_t items;
  uint64_t most_item_rows;  // of the item with the most rows; 0: not known
};

namespace swapped_columns {
inline constexpr uint64_t kRows = 10'000;  // fewer rows are an example, or a small group
inline constexpr uint64_t kItemsATransaction = 20;
inline constexpr uint64_t kMeanBasket = 100;
inline constexpr uint64_t kCommonShare = 10;    // an item in a tenth of the transactions is common
inline constexpr uint64_t kMaxTimes = 100'000;  // more are not few, and are not counted
}  // namespace swapped_columns

constexpr bool columns_look_swapped(const RelationSizes& sizes) {
  using namespace swapped_columns;
  return sizes.rows >= kRows && sizes.transactions > 1 && sizes.items / kItemsATransaction >= sizes.transactions &&
         sizes.rows / kMeanBasket >= sizes.transactions && sizes.most_item_rows > 0 &&
         sizes.most_item_rows * kCommonShare < sizes.transactions;
}

/// The sizes of a query of events, all streams together.
struct EventSizes {
  uint64_t rows;
  uint64_t times;            // distinct ones
  uint64_t events;           // distinct ones
  uint64_t most_event_rows;  // of the event with the most rows
};

/// Whether times are worth counting: there are enough rows, and most events happen once, as the mean is below two rows.
constexpr bool times_may_be_swapped(uint64_t rows, uint64_t events) {
  return rows >= swapped_columns::kRows && rows / 2 < events;
}
/// More times than this never look swapped.
constexpr uint64_t max_swapped_times(uint64_t rows) {
  return std::min(rows / swapped_columns::kMeanBasket, swapped_columns::kMaxTimes);
}

constexpr bool times_look_swapped(const EventSizes& sizes) {
  return times_may_be_swapped(sizes.rows, sizes.events) && sizes.times <= max_swapped_times(sizes.rows) &&
         columns_look_swapped({sizes.rows, sizes.times, sizes.events, sizes.most_event_rows});
}

}  // namespace batmap
