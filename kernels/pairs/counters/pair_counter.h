// The interface of every method of pair support: counts of all wanted pairs of items, cut into tasks.
//
// A task covers consecutive rows a of the triangle or rectangle (wanted_pairs.h). Its results come in order
// of (a, b), so in task order all methods give the same sequence. Counts below the threshold never leave the
// task: memory is that of the form plus one task a thread, however many pairs there are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bits/and_popcount.h"
#include "core/options.h"
#include "relation/bit_matrix.h"
#include "relation/tidlists.h"
#include "relation/transaction_bits.h"
#include "relation/transactions.h"
#include "set/set_kernel.h"

namespace batmap {

/// Increments or elements between two polls of the token.
constexpr uint64_t kPollEvery = 1 << 16;

/// Two item ranks, a < b, and the number of transactions that have both.
struct PairCount {
  uint32_t a;
  uint32_t b;
  uint64_t count;
};

/// Pairs without counts: for each row a that has any, its columns b. Both are ranks, and ascend.
struct FoundPairs {
  struct Row {
    uint32_t a;
    size_t end;  // of its columns in `columns`
  };

  explicit FoundPairs(MemoryMeter& meter) : rows(meter), columns(meter) {}
  void clear() noexcept {
    rows.shrink(0);
    columns.shrink(0);
  }

  GrowingBuffer<Row> rows;
  GrowingBuffer<uint32_t> columns;
};

class PairCounter {
 public:
  virtual ~PairCounter() = default;

  virtual size_t tasks() const = 0;
  /// How many results may wait to be handed over, for each thread.
  virtual size_t tasks_ahead() const { return 4; }
  /// Upper bound of the results of a task. UINT64_MAX: unknown.
  virtual uint64_t max_results() const { return UINT64_MAX; }
  /// Counts the pairs of one task and appends those with count >= threshold (>= 1) to `out`.
  /// @param threshold  at most WantedPairs::enough. A larger count may be reported as any number from `enough` up to it
  /// @param worker  0 .. threads - 1: which scratch memory to use; calls with different workers may run at once
  /// @throws Error{kCancelled, kMemoryLimit}, std::bad_alloc
  virtual void count(size_t task, int worker, uint32_t threshold, GrowingBuffer<PairCount>& out) = 0;
  /// Finds the pairs of one task that occur at all, and appends them to `out`.
  /// @param worker  see count() @throws what count() throws
  /// @return false: this counter knows no faster way than count(), and has done nothing
  virtual bool find(size_t /*task*/, int /*worker*/, FoundPairs& /*out*/) { return false; }
  /// From now on, pairs with a smaller Jaccard index need not be reported. Any thread may call it.
  virtual void raise_min_jaccard(double /*min_jaccard*/) {}
  /// [items] the exact support of each rank.
  virtual std::span<const uint32_t> supports() const = 0;
  /// The same in 64 bits, for counters that count rows: the count of each item with itself. supports() is
  /// empty then, and the counter keeps a threshold above 32 bits itself.
  virtual std::span<const uint64_t> wide_supports() const { return {}; }
};

/// @param pairs    the pairs to count
/// @param options  must outlive the counter
/// Counts item by item in one row of counters, along the tails of the item's transactions. Source: ours,
/// after the occurrence counting of the LCM family. Cost: pair instances, 0.6 to 1 ns each.
std::unique_ptr<PairCounter> count_horizontally(Transactions transactions, const WantedPairs& pairs,
                                                const ExecutionOptions& options);
/// Counts item by item: sums the bit rows of its transactions column by column (bit_row_sum.h). Cost:
/// occurrences x later items / 64 words.
/// @param pair_instances  see TransactionLengths; an upper bound if unknown, which makes tasks smaller
std::unique_ptr<PairCounter> count_positionally(TransactionBits form, const WantedPairs& pairs, uint64_t pair_instances,
                                                const AndPopcountKernel& kernel, const ExecutionOptions& options);
/// Finds the pairs that occur, if one common transaction is enough: their count is 1. Source: ours
/// (existence_counter.cpp). Cost: pair instances, 0.3 to 0.5 ns each; of a transaction that has many partners, words of a
/// bit row; less for an item that shares a transaction with all others.
std::unique_ptr<PairCounter> find_in_lists(Transactions transactions, const WantedPairs& pairs,
                                           const ExecutionOptions& options);
/// The same over bit rows. Cost: occurrences x later items / 64 words, up to the transaction after which an item has all others.
/// @param pair_instances  see count_positionally()
std::unique_ptr<PairCounter> find_in_bit_rows(TransactionBits form, const WantedPairs& pairs, uint64_t pair_instances,
                                              const ExecutionOptions& options);
/// Tiles of AND + popcount over bit rows. Cost: items^2 / 2 x tids / 64 words.
std::unique_ptr<PairCounter> count_bitmaps(BitMatrix matrix, const WantedPairs& pairs, const AndPopcountKernel& kernel,
                                           const ExecutionOptions& options);
/// Batmaps of the items' tids, compared pair by pair (Amossen & Pagh 2011). Cost: items^2 / 2 x slots / 512 x planes.
/// @param lists  sorted, without duplicates
std::unique_ptr<PairCounter> count_batmaps(Tidlists lists, const WantedPairs& pairs, uint64_t tid_slots,
                                           const SetKernel& kernel, const ExecutionOptions& options);
/// The width of batmaps over this many tid codes: one bit more than the codes need, so that a
/// batmap of all codes exists.
int batmap_counter_width(uint64_t tid_slots);
/// Bytes of batmaps of lists with these lengths.
uint64_t batmap_counter_bytes(std::span<const uint32_t> lengths, int width);
/// Merges sorted tidlists; gallops if one is much longer. Cost: items^2 / 2 x the lengths of two lists.
std::unique_ptr<PairCounter> count_by_merging(Tidlists lists, const WantedPairs& pairs, const ExecutionOptions& options);
/// Counts rows instead of transactions, for relations with repeated rows (weighted_counter.cpp). Cost: pair instances.
/// @param threshold  minimum count; may need more than 32 bits
std::unique_ptr<PairCounter> count_weighted(const EncodedRelation& relation, const KeptItems& kept,
                                            const TransactionLengths& lengths, uint64_t threshold,
                                            const ExecutionOptions& options);

}  // namespace batmap
