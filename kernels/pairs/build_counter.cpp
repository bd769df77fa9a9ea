// Builds the form of each method. See build_counter.h.
#include "pairs/build_counter.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/stopwatch.h"

namespace batmap {

namespace {

/// See PairJob::row_words.
uint64_t row_words_of(const EncodedRelation& relation, const KeptItems& kept) {
  uint64_t words = 0;
  for (uint32_t rank = 0; rank < kept.pairs.leading; ++rank)
    words += relation.item_rows(kept.code(Rank{rank})) * ((kept.size - kept.pairs.first_after(rank)) / 64 + 1);
  return words;
}

}  // namespace

const char* PairKernels::name(PairMethod method) const {
  switch (method) {
    case PairMethod::kBitmap:
    case PairMethod::kPositional: return bits->name;
    case PairMethod::kBatmap: return sets->name;
    case PairMethod::kHorizontal:
    case PairMethod::kMerge: break;
  }
  return "";
}

PairJob describe_job(const EncodedRelation& relation, const KeptItems& kept, uint64_t pair_instances,
                     const PairKernels& kernels, const ExecutionOptions& options) {
  uint64_t leading_occurrences = 0;
  for (uint32_t rank = 0; rank < kept.pairs.leading; ++rank)
    leading_occurrences += relation.item_rows(kept.code(Rank{rank}));
  return {.items = kept.size,
          .leading = kept.pairs.leading,
          .first_column = kept.pairs.first_column,
          .enough = kept.pairs.enough,
          .tid_slots = relation.tid_slots(),
          .occurrences = kept.occurrences,
          .leading_occurrences = leading_occurrences,
          .pair_instances = pair_instances,
          .min_count = kept.pairs.min_count,
          .row_words = row_words_of(relation, kept),
          .bitmap_words_per_ns = kernels.bits->words_per_ns,
          .positional_words_per_ns = kernels.bits->row_words_per_ns,
          .threads = options.threads,
          .memory_bytes = options.memory->available()};
}

PairChoice choose_with_patience(PairJob job, const ExecutionOptions& options) {
  constexpr double kMuchFaster = 4;
  constexpr double kMaxWaitMs = 5000;
  const auto milliseconds = [](const PairChoice& choice) {
    return choice.estimates[static_cast<size_t>(choice.method)].milliseconds;
  };
  const Stopwatch watch;
  for (;;) {
    PairChoice choice = choose_pair_method(job);
    PairJob alone = job;
    alone.memory_bytes = options.memory->attainable();
    const double fastest = milliseconds(choose_pair_method(alone));
    const double saved = milliseconds(choice) - fastest;
    if (saved < (kMuchFaster - 1) * fastest || watch.milliseconds() >= std::min(saved / 2, kMaxWaitMs)) return choice;
    options.cancel.throw_if_requested();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    job.memory_bytes = options.memory->available();
  }
}

std::unique_ptr<PairCounter> build_counter(const EncodedRelation& relation, const KeptItems& kept,
                                           const TransactionLengths& lengths, PairMethod method, const PairKernels& kernels,
                                           const ExecutionOptions& options) {
  const bool finds = kept.pairs.enough == 1;
  switch (method) {
    case PairMethod::kHorizontal: {
      Transactions transactions = link_transactions(relation, kept, lengths, options);
      if (finds) return find_in_lists(std::move(transactions), kept.pairs, options);
      return count_horizontally(std::move(transactions), kept.pairs, options);
    }
    case PairMethod::kPositional: {
      TransactionBits form = fill_transaction_bits(relation, kept, options);
      if (finds) return find_in_bit_rows(std::move(form), kept.pairs, lengths.pair_instances, options);
      return count_positionally(std::move(form), kept.pairs, lengths.pair_instances, *kernels.bits, options);
    }
    case PairMethod::kBitmap:
      return count_bitmaps(fill_bit_matrix(relation, kept, options), kept.pairs, *kernels.bits, options);
    case PairMethod::kBatmap:
    case PairMethod::kMerge: {
      Tidlists lists = scatter_tidlists(relation, kept, options);
      sort_lists(lists, relation.tid_slots(), options);
      if (method == PairMethod::kMerge) return count_by_merging(std::move(lists), kept.pairs, options);
      return count_batmaps(std::move(lists), kept.pairs, relation.tid_slots(), *kernels.sets, options);
    }
  }
  return nullptr;
}

}  // namespace batmap
