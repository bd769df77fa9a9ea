// Links transactions part by part (tid_parts.h); parts are small enough for the cache where possible. The
// rows of a part are sorted by item. Items are then added to their transactions from the last rank to the
// first, so that the partners of an item are in place when it comes. A row is a duplicate if its item is the
// last one added. See transactions.h.
#include "relation/transactions.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>
#include <vector>

#include "core/thread_team.h"
#include "relation/kept_rows.h"

namespace batmap {

namespace {

constexpr uint64_t kRowsAPoll = 1 << 16;
constexpr uint32_t kRowsAhead = 16;       // rows between a prefetch and its use
constexpr uint64_t kRowsAnOffset = 4;     // for parts that threads need: bench/join_shapes.h, `sparse`
constexpr uint32_t kNoTail = UINT32_MAX;  // the length of unused tails, which remain if rows repeat

template <typename Item>
class Linker {
 public:
  /// @param out  link() writes the tails and supports of its part
  Linker(const TidParts& parts, RowOffsets& offsets, const KeptItems& kept, const TransactionLengths& lengths,
         const ExecutionOptions& options, Transactions& out)
      : parts_(parts), offsets_(offsets), kept_(kept), lengths_(lengths), options_(options), out_(out) {
    uint32_t rows = 0;
    uint32_t tids = 0;
    first_offset_.push_back(0);
    for (size_t part = 0; part < parts.size(); ++part) {
      const std::span<const uint32_t> own = lengths_of(part);
      first_offset_.push_back(std::accumulate(own.begin(), own.end(), first_offset_.back()));
      rows = std::max(rows, first_offset_[part + 1] - first_offset_[part]);
      tids = std::max(tids, static_cast<uint32_t>(own.size()));
    }
    items_ = Buffer<Item>(*options.memory, first_offset_.back());
    const size_t workers = std::min(static_cast<size_t>(options.threads), parts.size());
    for (size_t worker = 0; worker < workers; ++worker)
      scratch_.push_back({Buffer<uint32_t>(*options.memory, rows), Buffer<uint32_t>(*options.memory, kept.size),
                          Buffer<Room>(*options.memory, tids)});
  }

  void link(size_t part, int worker) {
    Scratch& scratch = scratch_[static_cast<size_t>(worker)];
    open_rooms(part, scratch);
    sort_rows(part, scratch);
    uint32_t end = first_offset_[part + 1] - first_offset_[part];
    uint64_t polled = 0;
    for (uint32_t item = kept_.size; item-- > 0;) {
      const uint32_t rows = offsets_.of_part(part + 1)[item] - offsets_.of_part(part)[item];
      const std::span<const uint32_t> tids = scratch.tids.span().subspan(end - rows, rows);
      end -= rows;
      deal(part, item, tids, scratch);
      if ((polled += rows + 1) < kRowsAPoll) continue;
      polled = 0;
      options_.cancel.throw_if_requested();
    }
  }

  Buffer<Item> take_items() { return std::move(items_); }

 private:
  /// Where one transaction lies in `items_`; it is filled from its end.
  struct Room {
    uint32_t begin;
    uint32_t end;
    uint32_t last;  // the item that was added last
  };
  struct Scratch {
    Buffer<uint32_t> tids;  // [rows of a part] tids by item, counted from the first tid of the part
    Buffer<uint32_t> next;  // [items] where the next tid of each item goes
    Buffer<Room> rooms;     // [tids of a part]
  };

  std::span<const uint32_t> lengths_of(size_t part) const {
    return lengths_.length.span().subspan(parts_.first_tid(part), parts_.first_tid(part + 1) - parts_.first_tid(part));
  }

  void open_rooms(size_t part, Scratch& scratch) const {
    uint32_t end = first_offset_[part];
    Room* room = scratch.rooms.data();
    for (const uint32_t length : lengths_of(part)) {
      end += length;
      *room++ = {end, end, index_of(KeptItems::kDropped)};
    }
  }

  void sort_rows(size_t part, Scratch& scratch) {
    uint32_t* const next = scratch.next.data();
    uint32_t begin = 0;
    for (uint32_t item = 0; item < kept_.size; ++item) {
      next[item] = begin;
      begin += offsets_.of_part(part + 1)[item] - offsets_.of_part(part)[item];
    }
    const uint32_t first = parts_.first_tid(part);
    uint32_t* const sorted = scratch.tids.data();
    visit_kept_rows(parts_, part, kept_, [&](const uint32_t* tids, const uint32_t* items, uint32_t rows) {
      for (uint32_t k = 0; k < rows; ++k) {
        if (k + 2 * kRowsAhead < rows) {
          __builtin_prefetch(next + items[k + 2 * kRowsAhead], 1);
          __builtin_prefetch(sorted + next[items[k + kRowsAhead]], 1);
        }
        sorted[next[items[k]]++] = tids[k] - first;
      }
    });
  }

  /// Adds one item to its transactions. @param tids  of its rows, counted from the first tid of the part
  void deal(size_t part, uint32_t item, std::span<const uint32_t> tids, Scratch& scratch) {
    const WantedPairs& pairs = kept_.pairs;
    Room* const rooms = scratch.rooms.data();
    Item* const items = items_.data();
    uint32_t repeated = 0;
    if (item >= pairs.leading) {
      const auto name = static_cast<Item>(item - pairs.first_column);
      for (const uint32_t tid : tids) {
        Room& room = rooms[tid];
        repeated += room.last == item;
        if (room.last != item) items[--room.begin] = name;
        room.last = item;
      }
    } else {
      Tail* tail = out_.tails.data() + offsets_.of_part(part)[item];
      for (const uint32_t tid : tids) {
        Room& room = rooms[tid];
        if (room.last == item) continue;
        *tail++ = {room.begin, room.end - room.begin};
        if (!pairs.rectangle()) items[--room.begin] = static_cast<Item>(item);
        room.last = item;
      }
      Tail* const end = out_.tails.data() + offsets_.of_part(part + 1)[item];
      repeated = static_cast<uint32_t>(end - tail);
      std::fill(tail, end, Tail{0, kNoTail});
    }
    if (repeated > 0) std::atomic_ref(out_.support[item]).fetch_sub(repeated, std::memory_order_relaxed);
  }

  const TidParts& parts_;
  RowOffsets& offsets_;
  const KeptItems& kept_;
  const TransactionLengths& lengths_;
  const ExecutionOptions& options_;
  Transactions& out_;
  std::vector<uint32_t> first_offset_;  // [parts + 1] where the items of each part begin in items_
  Buffer<Item> items_;
  std::vector<Scratch> scratch_;  // [threads]
};

template <typename Item>
void link(const TidParts& parts, RowOffsets& offsets, const KeptItems& kept, const TransactionLengths& lengths,
          const ExecutionOptions& options, Transactions& out) {
  Linker<Item> linker(parts, offsets, kept, lengths, options, out);
  parallel_for(options, parts.size(), [&](size_t part, int worker) { linker.link(part, worker); });
  out.items = linker.take_items();
}

/// Threads are worth more offsets than a cache is, if there is memory for them.
size_t parts_for_threads(const KeptItems& kept, const ExecutionOptions& options) {
  const uint64_t room = options.memory->available() / 8 / (std::max<uint64_t>(kept.size, 1) * sizeof(uint32_t));
  return std::min<uint64_t>({threads_for_rows(kept.occurrences, options), RowOffsets::max_parts(kept, kRowsAnOffset),
                             std::max<uint64_t>(room, 1)});
}

/// One addition for each run of equal tids: the next addition to the same address would wait for the last one.
void add_rows(const uint32_t* tids, uint32_t rows, uint32_t* length) {
  for (uint32_t k = 0; k < rows;) {
    const uint32_t run = k;
    while (++k < rows && tids[k] == tids[run]) {
    }
    length[tids[run]] += k - run;
  }
}

/// The number of rows of kept items, by tid.
struct Lengths {
  Lengths(const EncodedRelation& relation, const KeptItems& kept_items, const ExecutionOptions& options)
      : kept(kept_items), length(*options.memory, relation.tid_slots(), Fill::kZero) {
    if (kept.pairs.rectangle()) leading = Buffer<uint32_t>(*options.memory, relation.tid_slots(), Fill::kZero);
  }

  /// All rows count, and they count alike.
  bool needs_no_items(const EncodedRelation& relation) const {
    return kept.occurrences == relation.rows() && !kept.pairs.rectangle();
  }
  void add(const uint32_t* tids, uint32_t rows) { add_rows(tids, rows, length.data()); }
  void add(const uint32_t* tids, const uint32_t* items, uint32_t rows) {
    const Rank* const rank = kept.rank_of_code.data();
    for (uint32_t k = 0; k < rows;) {
      const uint32_t tid = tids[k];
      uint32_t sum = 0;
      for (; k < rows && tids[k] == tid; ++k) sum += rank[items[k]] != KeptItems::kDropped;
      length[tid] += sum;
    }
    if (leading.empty()) return;
    for (uint32_t k = 0; k < rows; ++k) leading[tids[k]] += index_of(rank[items[k]]) < kept.pairs.leading;
  }
  void add(const Lengths& more, uint32_t first, uint32_t last) {
    for (uint32_t tid = first; tid < last; ++tid) length[tid] += more.length[tid];
    if (leading.empty()) return;
    for (uint32_t tid = first; tid < last; ++tid) leading[tid] += more.leading[tid];
  }
  uint64_t pair_instances(uint32_t first, uint32_t last) const {
    uint64_t instances = 0;
    for (uint32_t tid = first; tid < last; ++tid)
      instances += leading.empty() ? uint64_t{length[tid]} * (length[tid] - 1) / 2
                                   : uint64_t{leading[tid]} * (length[tid] - leading[tid]);
    return instances;
  }

  const KeptItems& kept;
  Buffer<uint32_t> length;   // [tid slots]
  Buffer<uint32_t> leading;  // [tid slots] in a rectangle: how many of these rows have leading items
};

/// Counts by parts of the tids. @return the pair instances
uint64_t count_by_parts(const TidParts& parts, Lengths& lengths, const ExecutionOptions& options) {
  std::vector<uint64_t> instances(parts.size());
  parallel_for(options, parts.size(), [&](size_t part, int) {
    if (lengths.needs_no_items(parts.relation()))
      parts.visit_tids(part, [&](const uint32_t* tids, uint32_t rows) { lengths.add(tids, rows); });
    else
      parts.visit(part, [&](const uint32_t* tids, const uint32_t* items, uint32_t rows) { lengths.add(tids, items, rows); });
    instances[part] = lengths.pair_instances(parts.first_tid(part), parts.first_tid(part + 1));
  });
  return std::accumulate(instances.begin(), instances.end(), uint64_t{0});
}

/// The same for rows in no order: each share of the blocks is counted apart, and the counts are added.
uint64_t count_by_shares(const EncodedRelation& relation, size_t shares, Lengths& lengths, const ExecutionOptions& options) {
  std::vector<Lengths> more;  // [shares - 1] for all shares but the first
  for (size_t share = 1; share < shares; ++share) more.emplace_back(relation, lengths.kept, options);
  parallel_for(options, shares, [&](size_t share, int) {
    uint32_t tids[kChunkRows];
    uint32_t items[kChunkRows];
    Lengths& own = share == 0 ? lengths : more[share - 1];
    for (size_t block = share * relation.blocks() / shares; block < (share + 1) * relation.blocks() / shares; ++block) {
      options.cancel.throw_if_requested();
      if (own.needs_no_items(relation))
        own.add(tids, relation.decode_tids(block, tids));
      else
        own.add(tids, items, relation.decode(block, tids, items));
    }
  });
  std::vector<uint64_t> instances(shares);
  parallel_for(options, shares, [&](size_t part, int) {
    const auto first = static_cast<uint32_t>(part * relation.tid_slots() / shares);
    const auto last = static_cast<uint32_t>((part + 1) * relation.tid_slots() / shares);
    for (const Lengths& share : more) lengths.add(share, first, last);
    instances[part] = lengths.pair_instances(first, last);
  });
  return std::accumulate(instances.begin(), instances.end(), uint64_t{0});
}

}  // namespace

TransactionLengths transaction_lengths(const EncodedRelation& relation, const KeptItems& kept,
                                       const ExecutionOptions& options) {
  const size_t max_parts = threads_for_rows(relation.rows(), options);
  const size_t narrow = std::min(max_parts, TidParts::max_narrow(relation));
  // Each share but the first has lengths of its own. They must not outnumber the rows, and must
  // leave memory for the forms.
  const uint64_t slots = std::max(relation.tid_slots(), 1u);
  const uint64_t room = options.memory->available() / 8 / (slots * 2 * sizeof(uint32_t));
  const size_t shares = std::min<uint64_t>({max_parts, relation.rows() / slots, 1 + room});
  Lengths lengths(relation, kept, options);
  const uint64_t pair_instances = narrow < shares ? count_by_shares(relation, shares, lengths, options)
                                                  : count_by_parts(TidParts(relation, narrow, options), lengths, options);
  return {std::move(lengths.length), pair_instances};
}

uint64_t least_pair_instances(const EncodedRelation& relation, const KeptItems& kept) {
  if (kept.pairs.rectangle()) return 0;
  const uint64_t transactions = std::max<uint64_t>(relation.transactions(), 1);
  const uint64_t length = kept.occurrences / transactions;
  const uint64_t longer = kept.occurrences % transactions;  // by one
  return (transactions - longer) * (length * (std::max<uint64_t>(length, 1) - 1) / 2) + longer * ((length + 1) * length / 2);
}

bool PairInstances::can_count(const EncodedRelation& relation, const KeptItems& kept, const ExecutionOptions& options) {
  const uint64_t lengths = relation.tid_slots() * threads_for_rows(kept.occurrences, options);
  return !kept.pairs.rectangle() && lengths <= kept.occurrences &&
         lengths * sizeof(uint32_t) <= options.memory->available() / 8;
}

PairInstances::PairInstances(const EncodedRelation& relation, const ExecutionOptions& options)
    : options_(options), tid_slots_(relation.tid_slots()), lengths_(static_cast<size_t>(options.threads)) {}

void PairInstances::add(int worker, const uint32_t* tids, uint32_t rows) {
  Buffer<uint32_t>& own = lengths_[static_cast<size_t>(worker)];
  if (own.empty()) own = Buffer<uint32_t>(*options_.memory, tid_slots_, Fill::kZero);
  add_rows(tids, rows, own.data());
}

uint64_t PairInstances::sum() {
  const size_t parts = lengths_.size();
  std::vector<uint64_t> instances(parts);
  parallel_for(options_, parts, [&](size_t part, int) {
    const auto last = static_cast<uint32_t>((part + 1) * tid_slots_ / parts);
    for (auto tid = static_cast<uint32_t>(part * tid_slots_ / parts); tid < last; ++tid) {
      uint64_t length = 0;
      for (const Buffer<uint32_t>& own : lengths_) length += own.empty() ? 0 : own[tid];
      if (length > 0) instances[part] += length * (length - 1) / 2;
    }
  });
  return std::accumulate(instances.begin(), instances.end(), uint64_t{0});
}

Transactions link_transactions(const EncodedRelation& relation, const KeptItems& kept, const TransactionLengths& lengths,
                               const ExecutionOptions& options) {
  MemoryMeter& meter = *options.memory;
  Transactions transactions;
  transactions.support = Buffer<uint32_t>(meter, kept.size);
  transactions.tails_begin = Buffer<uint64_t>(meter, size_t{kept.size} + 1);
  uint64_t rows = 0;
  for (uint32_t item = 0; item < kept.size; ++item) {
    transactions.tails_begin[item] = rows;
    transactions.support[item] = static_cast<uint32_t>(relation.item_rows(kept.code(Rank{item})));
    rows += item < kept.pairs.leading ? transactions.support[item] : 0;
  }
  transactions.tails_begin[kept.size] = rows;
  transactions.tails = Buffer<Tail>(meter, rows);

  const size_t in_cache =
      std::min<uint64_t>({kept.occurrences / kRowsInCache, TidParts::max_narrow(relation), RowOffsets::max_parts(kept)});
  const TidParts parts(relation, std::max(parts_for_threads(kept, options), in_cache), options);
  RowOffsets offsets(parts, kept, options);
  if (kept.size <= 0x10000)
    link<uint16_t>(parts, offsets, kept, lengths, options, transactions);
  else
    link<uint32_t>(parts, offsets, kept, lengths, options, transactions);

  for (uint32_t item = 0; item < kept.pairs.leading; ++item) {
    Tail* const begin = transactions.tails.data() + transactions.tails_begin[item];
    Tail* const end = transactions.tails.data() + transactions.tails_begin[item + 1];
    if (transactions.support[item] < static_cast<size_t>(end - begin))
      static_cast<void>(std::remove_if(begin, end, [](const Tail& tail) { return tail.length == kNoTail; }));
  }
  return transactions;
}

uint64_t transactions_bytes(uint64_t items, uint64_t tid_slots, uint64_t occurrences, uint64_t tails) {
  const uint64_t item_bytes = items <= 0x10000 ? 2 : 4;
  return occurrences * (sizeof(uint32_t) + item_bytes) + tails * sizeof(Tail) + tid_slots * 12 + items * 24;
}

}  // namespace batmap
