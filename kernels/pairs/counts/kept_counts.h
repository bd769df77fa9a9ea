// Pair counts in parts: those of a table as of a merge, in chunks, and the transactions that have changed since, as they
// were and as they are. It puts both together into one value, for all items or for some; it merges the change into
// the chunks; and, as the simplest case, it subtracts one value from another.
//
// A chunk belongs to a range of items, from its low key to that of the next chunk, and has all pairs with an item in the
// range. So a pair of two ranges is in two chunks, all partners of an item are in one chunk, and a merge writes only
// the chunks of items that changed. The supports of items and the number of transactions lie apart, in a value without
// pairs. In a chunk the support of an item is the largest of its counts, and the total the largest of all.
//
// Cost: all items: a few nanoseconds a pair and 12 bytes an item (texts: 24); some items, and merges: a few
// nanoseconds a pair of the chunks that are read and of the change, and 16 bytes for each pair that is taken. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/memory.h"
#include "core/options.h"
#include "pairs/counters/pair_counter.h"
#include "relation/chunk.h"

namespace batmap {

/// An item, or the low key of a chunk: the number counts where items are integers, else the text.
struct CountsKey {
  int64_t number = 0;
  std::string_view text = {};
};

/// One chunk as it is stored. @param value  finished; nullptr: no pairs
struct StoredChunk {
  CountsKey low;
  const std::byte* value;
};

/// What has changed, as finished values; nullptr: nothing. Pairs and supports may come from the same value.
struct CountsChange {
  const std::byte* supports_before = nullptr;
  const std::byte* supports_after = nullptr;
  const std::byte* pairs_before = nullptr;
  const std::byte* pairs_after = nullptr;
};

/// A chunk that a merge has made. Its bytes lie in the buffer that the merge has filled.
struct MadeChunk {
  CountsKey low;
  size_t begin;
  size_t bytes;
};

/// Pairs with an item of the range of one chunk, at which a chunk is full. From twice that many on it is split. 65,536 pairs
/// take 150 to 300 kB, which a question about one item reads in less than a millisecond.
inline constexpr uint64_t kPairsAChunk = 1 << 16;
/// Items of longer texts do not begin a chunk.
inline constexpr size_t kMaxLowBytes = 2000;

class KeptCounts {
 public:
  /// @param supports  items, their supports and the total; pairs in it are not read. nullptr: none
  /// @param texts     whether items are texts. The values, which must live as long as this object, have such items or none
  /// @throws Error{kInvalidParameter} if a support would be below zero; Error{kTooLarge, kMemoryLimit, kCancelled}
  static std::unique_ptr<KeptCounts> make(const std::byte* supports, const CountsChange& change, bool texts,
                                          const ExecutionOptions& options);
  virtual ~KeptCounts() = default;

  // All of these throw Error{kInvalidParameter} if a count would be below zero or exceed a support, or if a chunk has an item
  // that is not among the supports; Error{kMemoryLimit, kCancelled}; std::bad_alloc.

  /// Appends all counts to `out`, as a finished value. @param chunks  all of them, ascending
  /// @param mirrored  whether each pair is taken from the chunk of its larger item
  virtual void write_all(std::span<const StoredChunk> chunks, GrowingBuffer<std::byte>& out, bool mirrored = false) = 0;

  /// The same with only the pairs that have one of some items. Items without such a pair are left out, except
  /// these. @param chunks  the chunks of these items, ascending
  virtual void write_selected(std::span<const StoredChunk> chunks, std::span<const CountsKey> items,
                              GrowingBuffer<std::byte>& out) = 0;

  /// The supports after the change, without pairs.
  virtual void write_supports(GrowingBuffer<std::byte>& out) = 0;

  /// Whether the change has pairs with an item of a chunk. @param high  where the next chunk begins; nullptr: there is none
  virtual bool changes(const CountsKey& low, const CountsKey* high) = 0;

  /// Makes the chunk after the change: none if it has no pairs, several if it is too large.
  virtual void merge(const StoredChunk& chunk, const CountsKey* high, GrowingBuffer<std::byte>& out,
                     std::vector<MadeChunk>& made) = 0;

  // The pairs of all items can be read without writing them, chunk by chunk, several at a time in threads of their own. Where
  // items are integers.

  /// All items, ascending, and the support of each, which may be 0 now.
  virtual std::span<const int64_t> numbers() const = 0;
  virtual std::span<const int64_t> supports() const = 0;
  virtual uint64_t total() const = 0;

  /// Appends the pairs whose smaller item belongs to a chunk, by the indexes of their items, ascending: those with at least `least`
  /// transactions. Counts that are appended are checked, and those that have changed, unless their item has fewer.
  /// @param chunks  all of them, ascending @param chunk  one of them; 0 also if there are none
  virtual void read_chunk(std::span<const StoredChunk> chunks, size_t chunk, uint64_t least,
                          GrowingBuffer<PairCount>& out) const = 0;

  /// Where to cut the items so that each part has about `pairs` pairs of the change. Ascending; not the first part.
  virtual std::vector<CountsKey> cuts(uint64_t pairs) = 0;
};

/// Appends x - y to `out`, as a finished value. Items and pairs with a count of zero are left out.
/// @param x, y  finished values @throws Error{kInvalidParameter} if a count would be below zero, or if items are of both
/// kinds; Error{kMemoryLimit, kCancelled}
void subtract_pair_counts(const std::byte* x, const std::byte* y, GrowingBuffer<std::byte>& out,
                          const ExecutionOptions& options);

/// Appends a value with the supports of items and without pairs.
/// @param rows   distinct, rows of a tid side by side @param texts  as for count_pairs_of()
void count_supports_of(std::span<const TidItem> rows, GrowingBuffer<std::byte>& out, const ExecutionOptions& options,
                       std::span<const std::string_view> texts = {});

}  // namespace batmap
