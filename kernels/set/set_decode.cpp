// Reads chunks of elements, and all elements in order. See set_decode.h.
#include "set/set_decode.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "core/sort_elements.h"

namespace batmap {

namespace {

constexpr uint32_t kChunksPerPoll = 16;
constexpr uint64_t kWordsPerPoll = 8192;  // words of a bitmap, which may be zero over long stretches

}  // namespace

template <typename Element>
size_t SetReader::next(Element* out) {
  const size_t count = std::min<uint64_t>(read(out), left_);
  if (count == 0 && left_ > 0) throw Error(ErrorCode::kInvalidData, "invalid batmap: fewer elements than it says");
  left_ -= count;
  return count;
}

template size_t SetReader::next(uint64_t*);
template size_t SetReader::next(uint32_t*);

size_t SetReader::read(uint64_t* out) {
  if (++chunks_ % kChunksPerPoll == 0) cancel_.throw_if_requested();
  switch (set_.container()) {
    case Container::kArray: return next_of_array(out);
    case Container::kBitmap: return next_of_bitmap(out);
    case Container::kBatmap: return next_of_batmap(out);
    case Container::kCompact: return compact_->next(out);
  }
  return 0;
}

size_t SetReader::read(uint32_t* out) {
  if (set_.is_compact()) return compact_->next(out);
  uint64_t elements[kChunkElements];
  const size_t count = read(elements);
  std::copy_n(elements, count, out);
  return count;
}

size_t SetReader::next_of_array(uint64_t* out) {
  const uint64_t count = std::min<uint64_t>(set_.cardinality() - at_, kChunkElements);
  for (uint64_t i = 0; i < count; ++i) out[i] = set_.array_element(at_ + i);
  at_ += count;
  return count;
}

size_t SetReader::next_of_bitmap(uint64_t* out) {
  size_t count = 0;
  for (const uint64_t words = set_.words(); at_ < words && count <= kChunkElements - 64;) {
    const uint64_t end = std::min(words, (at_ | (kWordsPerPoll - 1)) + 1);
    for (; at_ < end && count <= kChunkElements - 64; ++at_)
      for (uint64_t rest = set_.word(at_); rest != 0; rest &= rest - 1)
        out[count++] = 64 * at_ + static_cast<uint64_t>(std::countr_zero(rest));
    if (at_ % kWordsPerPoll == 0) cancel_.throw_if_requested();
  }
  return count;
}

size_t SetReader::next_of_batmap(uint64_t* out) {
  size_t count = 0;
  for (; at_ < set_.stash() && count < kChunkElements; ++at_) out[count++] = set_.stash_element(at_);
  if (count > 0) return count;

  // Exactly one of the two copies of an element has the indicator set.
  const BatmapShape shape = set_.shape();
  while (count == 0 && at_ - set_.stash() < kTables * shape.groups()) {
    const uint64_t block_number = at_++ - set_.stash();
    const int table = static_cast<int>(block_number % kTables);
    const std::byte* block = set_.planes() + block_number * shape.block_bytes();
    const std::byte* indicators = block + static_cast<size_t>(shape.key_bits + 1) * kPlaneBytes;
    count = kernel_->read_images(block, shape, block_number / kTables * kBlockSlots, indicators, out);
    kernel_->invert_images(out, count, table, set_.width());
    if (count == 0) cancel_.throw_if_requested();
  }
  return count;
}

void check_elements(std::span<const uint64_t> elements, uint64_t bound) {
  uint64_t largest = 0;
  for (const uint64_t element : elements) largest = std::max(largest, element);
  if (largest >= bound) throw Error(ErrorCode::kInvalidData, "invalid batmap: an element beyond the last one");
}

AscendingReader::AscendingReader(SetView set, const ExecutionOptions& options)
    : reader_(set, best_set_kernel(), options.cancel),
      cancel_(options.cancel),
      sorted_(*options.memory),
      is_batmap_(set.container() == Container::kBatmap) {
  if (is_batmap_) decode(set, sorted_, options);
}

size_t AscendingReader::next(uint64_t* out) {
  if (!is_batmap_) return reader_.next(out);
  if (at_ / kChunkElements % kChunksPerPoll == 0) cancel_.throw_if_requested();
  const size_t count = std::min<size_t>(sorted_.size() - at_, kChunkElements);
  std::copy_n(sorted_.begin() + at_, count, out);
  at_ += count;
  return count;
}

void decode(SetView set, GrowingBuffer<uint64_t>& out, const ExecutionOptions& options) {
  const size_t before = out.size();
  uint64_t* at = out.room(set.cardinality() + kChunkElements);
  SetReader reader(set, best_set_kernel(), options.cancel);
  size_t total = 0;
  while (const size_t count = reader.next(at + total)) total += count;
  out.add(total);
  if (set.container() == Container::kBatmap) sort_elements({out.begin() + before, out.size() - before}, options);
}

namespace {

template <typename Better>
std::optional<uint64_t> extreme(SetView set, const CancelToken& cancel, Better better) {
  std::optional<uint64_t> best;
  for_each_element(set, cancel, [&](uint64_t x) {
    if (!best || better(x, *best)) best = x;
  });
  return best;
}

}  // namespace

std::optional<uint64_t> set_min(SetView set, const CancelToken& cancel) {
  if (set.empty()) return std::nullopt;
  if (set.is_compact()) return compact_min(set.compact());
  if (set.container() == Container::kBatmap) return extreme(set, cancel, [](uint64_t x, uint64_t y) { return x < y; });
  uint64_t chunk[kChunkElements];
  return SetReader(set, best_set_kernel(), cancel).next(chunk) > 0 ? std::optional(chunk[0]) : std::nullopt;
}

std::optional<uint64_t> set_max(SetView set, const CancelToken& cancel) {
  if (set.empty()) return std::nullopt;
  if (set.is_compact()) return compact_max(set.compact());
  if (set.container() == Container::kArray) return set.array_element(set.cardinality() - 1);
  if (set.container() == Container::kBatmap) return extreme(set, cancel, [](uint64_t x, uint64_t y) { return x > y; });
  const uint64_t last = set.words() - 1;
  // In validated bytes this word is not zero.
  return 64 * last + static_cast<uint64_t>(std::bit_width(set.word(last) | 1)) - 1;
}

}  // namespace batmap
