// Compares stored sets in tiles, and decodes stored sets into bit rows. See set_pair_counter.h.
#include "pairs/counters/set_pair_counter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/thread_team.h"
#include "pairs/counters/tiles.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"

namespace batmap {

namespace {

constexpr size_t kPlanesOnDevice = 22;  // as kPlanesRead, for tiles of a device (cuda/batmap_form.cu)

class SetPairCounter final : public PairCounter {
 public:
  /// @param order  the sets that are counted, by rising cardinality
  SetPairCounter(SetCollection sets, std::span<const uint32_t> order, double min_jaccard, const SetKernel& kernel,
                 const ExecutionOptions& options)
      : sets_(std::move(sets)),
        options_(options),
        kernel_(kernel),
        min_jaccard_(min_jaccard),
        views_(*options.memory, order.size()),
        supports_(*options.memory, order.size()) {
    for (size_t rank = 0; rank < order.size(); ++rank) {
      views_[rank] = sets_[order[rank]];
      supports_[rank] = static_cast<uint32_t>(views_[rank].cardinality());
    }
    const auto count = static_cast<uint32_t>(order.size());
    tiles_ = Tiles(count, {.leading = count}, [this](uint32_t rank) {
      return static_cast<uint64_t>(compared_bytes(views_[rank], views_[rank].width()));
    });
  }

  size_t tasks() const override { return tiles_.strips(); }
  std::span<const uint32_t> supports() const override { return supports_.span(); }

  void count(size_t task, int, uint32_t threshold, GrowingBuffer<PairCount>& out) override {
    tiles_.visit(task, options_.cancel, out, [&](uint32_t a, uint32_t b) -> uint32_t {
      // a is the smaller set. Its size bounds the intersection, and the ratio of the sizes bounds the Jaccard index.
      if (supports_[a] < threshold || static_cast<double>(supports_[a]) / supports_[b] < min_jaccard_) return 0;
      const auto common = static_cast<uint32_t>(and_cardinality(views_[a], views_[b], kernel_));
      return common >= threshold ? common : 0;
    });
  }

 private:
  SetCollection sets_;
  const ExecutionOptions& options_;
  const SetKernel& kernel_;
  double min_jaccard_;
  Buffer<SetView> views_;      // by rank
  Buffer<uint32_t> supports_;  // by rank
  Tiles tiles_;
};

}  // namespace

int common_width(const SetCollection& sets, std::span<const uint32_t> order) {
  int width = 0;
  for (const uint32_t i : order) {
    const SetView& set = sets[i];
    width = std::max(width, set.is_compact() && !set.empty() ? width_for(compact_max(set.compact()) + 1) : set.width());
  }
  return width;
}

BatmapSizes batmap_sizes(const SetCollection& sets, std::span<const uint32_t> order, int width) {
  BatmapSizes sizes;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const SetView& set = sets[order[rank]];
    const Container container = set.is_compact() ? container_for(set.cardinality(), width) : set.container();
    if (container != Container::kBatmap || (!set.is_compact() && set.width() != width)) return {};
    const BatmapShape shape = batmap_shape(set.cardinality(), width);
    sizes.bytes += shape.bytes();
    sizes.words += static_cast<double>(rank) * static_cast<double>(kTables * shape.slots() / 32) *
                   static_cast<double>(std::min(shape.planes(), kPlanesOnDevice));
  }
  return sizes;
}

std::unique_ptr<PairCounter> count_set_tiles(SetCollection sets, std::span<const uint32_t> order, double min_jaccard,
                                             const SetKernel& kernel, const ExecutionOptions& options) {
  return std::make_unique<SetPairCounter>(std::move(sets), order, min_jaccard, kernel, options);
}

TransactionBits transaction_bits_of_sets(const SetCollection& sets, std::span<const uint32_t> order, uint64_t element_bound,
                                         const SetKernel& kernel, const ExecutionOptions& options) {
  constexpr size_t kRanksATask = 64;  // one word of every row, so that no two tasks write to the same word
  constexpr size_t kTasksALine = 8;
  // rows an element, from which on writing all rows takes longer than scattered bits: set_bench, bits/
  constexpr uint64_t kSparseWords = 2;
  Buffer<uint32_t> lengths(*options.memory, order.size());
  for (size_t rank = 0; rank < order.size(); ++rank) lengths[rank] = static_cast<uint32_t>(sets[order[rank]].cardinality());
  TransactionBits form = allocate_transaction_bits(lengths.span(), element_bound, *options.memory);
  std::vector<Buffer<uint64_t>> columns(static_cast<size_t>(options.threads));
  const size_t tasks = (order.size() + kRanksATask - 1) / kRanksATask;
  const size_t lines = (tasks + kTasksALine - 1) / kTasksALine;
  parallel_for(options, lines * kTasksALine, [&](size_t number, int worker) {
    const size_t task = number % lines * kTasksALine + number / lines;  // threads write to different cache lines
    if (task >= tasks) return;
    const size_t first = task * kRanksATask;
    const size_t end = std::min(first + kRanksATask, order.size());
    const auto set_bits = [&](uint64_t* words, size_t stride) {
      uint64_t chunk[kChunkElements];
      for (size_t rank = first; rank < end; ++rank) {
        const uint64_t bit = uint64_t{1} << (rank - first);
        uint32_t* tids = form.lists.tids.data() + form.lists.begin[rank];
        SetReader reader(sets[order[rank]], kernel);
        while (const size_t count = reader.next(chunk)) {
          options.cancel.throw_if_requested();
          check_elements({chunk, count}, element_bound);
          for (size_t i = 0; i < count; ++i) {
            words[chunk[i] * stride] |= bit;
            *tids++ = static_cast<uint32_t>(chunk[i]);
          }
        }
        form.lists.length[rank] = lengths[rank];
      }
    };
    uint64_t* const words = form.bits.data() + task;
    const uint64_t elements = form.lists.begin[end] - form.lists.begin[first];
    if (elements * kSparseWords < element_bound) {
      set_bits(words, form.words);
      return;
    }
    // The words are assembled in the thread's cache and then copied to the rows, which are a cache line or more apart.
    Buffer<uint64_t>& column = columns[static_cast<size_t>(worker)];
    if (column.empty()) column = Buffer<uint64_t>(*options.memory, element_bound);
    std::ranges::fill(column.span(), 0);
    set_bits(column.data(), 1);
    for (uint64_t element = 0; element < element_bound; ++element) words[element * form.words] = column[element];
  });
  return form;
}

uint64_t transaction_bits_of_sets_bytes(uint64_t sets, uint64_t element_bound, uint64_t elements,
                                        const ExecutionOptions& options) {
  return transaction_bits_bytes(sets, element_bound, elements) +
         static_cast<uint64_t>(options.threads) * element_bound * sizeof(uint64_t);
}

}  // namespace batmap
