// Counting sort of occurrences by item. See occurrence_lists.h.
#include "itemsets/forms/occurrence_lists.h"

#include "core/poll.h"

namespace batmap {

namespace {

/// @param visit  calls its argument with (list, occurrence) for every occurrence, in the same order each time
template <typename Visit>
void sort_by_list(size_t lists, Visit visit, MemoryMeter& meter, Buffer<uint64_t>& begin,
                  Buffer<ItemOccurrence>& occurrences) {
  begin = Buffer<uint64_t>(meter, size_t{lists} + 1, Fill::kZero);
  visit([&](uint32_t list, ItemOccurrence) { ++begin[list + 1]; });
  for (size_t list = 0; list < lists; ++list) begin[list + 1] += begin[list];
  occurrences = Buffer<ItemOccurrence>(meter, begin[lists]);
  visit([&](uint32_t list, ItemOccurrence occurrence) { occurrences[begin[list]++] = occurrence; });
  // Filling turned beginnings into ends. Turn them back.
  for (size_t list = lists; list > 0; --list) begin[list] = begin[list - 1];
  begin[0] = 0;
}

}  // namespace

OccurrenceLists::OccurrenceLists(const TransactionLists<RootItem>& lists, RootItem end, const ExecutionOptions& options) {
  Poll poll(options.cancel);
  const auto visit = [&](auto take) {
    for (const MergedTransaction& t : lists.transactions()) {
      const uint32_t list_end = t.begin + t.length;
      for (uint32_t at = t.begin; at < list_end && lists.data()[at] < end; ++at)
        take(index_of(lists.data()[at]), ItemOccurrence{t.begin, at, list_end, t.weight});
      poll.after(t.length);
    }
  };
  sort_by_list(index_of(end), visit, *options.memory, begin_, occurrences_);
}

OccurrenceLists::OccurrenceLists(const TransactionLists<RootItem>& lists, std::span<const ItemOccurrence> others,
                                 std::span<const uint32_t> index, size_t wanted, const ExecutionOptions& options) {
  Poll poll(options.cancel);
  const auto visit = [&](auto take) {
    for (const ItemOccurrence& other : others) {
      for (uint32_t at = other.at + 1; at < other.end; ++at)
        if (const uint32_t list = index[index_of(lists.data()[at])]; list != 0)
          take(list - 1, ItemOccurrence{other.begin, at, other.end, other.weight});
      poll.after(other.end - other.at);
    }
  };
  sort_by_list(wanted, visit, *options.memory, begin_, occurrences_);
}

OccurrenceLists::OccurrenceLists(std::span<const ItemOccurrence> others, std::span<const ListedOccurrence> listed,
                                 size_t wanted, const ExecutionOptions& options) {
  const auto visit = [&](auto take) {
    const ListedOccurrence* next = listed.data();
    const ListedOccurrence* const end = next + listed.size();
    for (const ItemOccurrence& other : others)
      for (; next != end && next->at > other.at && next->at < other.end; ++next)
        take(next->list, ItemOccurrence{other.begin, next->at, other.end, other.weight});
  };
  sort_by_list(wanted, visit, *options.memory, begin_, occurrences_);
}

}  // namespace batmap
