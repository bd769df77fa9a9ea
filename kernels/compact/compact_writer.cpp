// Writes blocks, and values of blocks. See compact_writer.h.
#include "compact/compact_writer.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/polled.h"

namespace batmap {

namespace {

constexpr size_t kMaxBytes = 0x3fffffff - 4;  // a varlena of at most 1 GB, less its header
constexpr size_t kBlocksPerPoll = 64;

/// Whether an element goes on with the run of the one before. Counting runs and writing them must agree, so this is the
/// comparison of the kernels (count_array_runs), which adds in 16 bits.
template <typename Element>
bool goes_on(Element x, Element before) {
  return x == static_cast<Element>(before + 1);
}

void set_bit(std::byte* bitmap, uint32_t low) { bitmap[low / 8] |= std::byte{1} << (low % 8); }

}  // namespace

std::byte* CompactWriter::append(uint64_t key, uint32_t count, BlockShape shape) {
  directory_.push_back({key, count, shape});
  cardinality_ += count;
  const size_t bytes = size_t{2} * shape.units;
  std::byte* const at = data_.room(bytes);
  data_.add(bytes);
  return at;
}

void CompactWriter::add_block(const CompactBlock& block) {
  std::memcpy(append(block.key, block.count, block.shape), block.data, block.bytes());
}

template <typename Element>
void CompactWriter::add_part(uint64_t key, std::span<const Element> elements, uint32_t runs) {
  const auto count = static_cast<uint32_t>(elements.size());
  const BlockShape shape = block_shape(count, runs);
  std::byte* out = append(key, count, shape);
  switch (shape.kind) {
    case BlockKind::kArray:
      if constexpr (sizeof(Element) == 2) {
        std::memcpy(out, elements.data(), elements.size_bytes());
      } else {
        for (size_t i = 0; i < elements.size(); ++i) store_le<uint16_t>(out + 2 * i, static_cast<uint16_t>(elements[i]));
      }
      return;
    case BlockKind::kBitmap:
      std::memset(out, 0, kBitmapBlockBytes);
      for (const Element x : elements) set_bit(out, static_cast<uint16_t>(x));
      return;
    case BlockKind::kRuns: break;
  }
  store_le<uint16_t>(out, static_cast<uint16_t>(elements.front()));
  if (runs == 1) return;
  out += 2;
  for (size_t i = 1; i < elements.size(); ++i) {
    if (goes_on(elements[i], elements[i - 1])) continue;
    store_le<uint16_t>(out, static_cast<uint16_t>(elements[i - 1]));
    store_le<uint16_t>(out + 2, static_cast<uint16_t>(elements[i]));
    out += 4;
  }
  store_le<uint16_t>(out, static_cast<uint16_t>(elements.back()));
}

void CompactWriter::add_array(uint64_t key, std::span<const uint16_t> elements, const CompactKernel& kernel) {
  if (elements.empty()) return;
  add_part(key, elements, kernel.count_array_runs(elements.data(), elements.size()));
}

void CompactWriter::add_words(uint64_t key, const uint64_t* words, const CompactKernel& kernel) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(words);
  const uint32_t count = kernel.count_words(bytes, bytes);
  if (count == 0) return;
  // From so many runs up, runs take no fewer units than the other kinds.
  const uint32_t runs = kernel.count_runs(words, std::min(count, kMaxUnits) / 2 + 1);
  const BlockShape shape = block_shape(count, runs);
  std::byte* out = append(key, count, shape);
  const auto put = [&out](uint32_t low) {
    store_le<uint16_t>(out, static_cast<uint16_t>(low));
    out += 2;
  };
  switch (shape.kind) {
    case BlockKind::kArray:
      for (uint32_t w = 0; w < kBitmapBlockWords; ++w) for_each_bit(words[w], [&](uint32_t bit) { put(64 * w + bit); });
      return;
    case BlockKind::kBitmap: std::memcpy(out, words, kBitmapBlockBytes); return;
    case BlockKind::kRuns: break;
  }
  uint64_t before = 0;
  for (uint32_t w = 0; w < kBitmapBlockWords; ++w) {
    // A bit for each place where a run begins, or has ended before.
    const uint64_t changes = words[w] ^ (words[w] << 1 | before);
    before = words[w] >> 63;
    for_each_bit(changes, [&](uint32_t bit) {
      if ((words[w] >> bit & 1) != 0)
        put(64 * w + bit);
      else if (runs > 1)
        put(64 * w + bit - 1);
    });
  }
  if (before != 0 && runs > 1) put(kBlockSpan - 1);
}

void CompactWriter::add_runs(uint64_t key, std::span<const BlockRun> runs) {
  if (runs.empty()) return;
  uint32_t count = 0;
  for (const BlockRun& run : runs) count += run.last - run.first + 1;
  const BlockShape shape = block_shape(count, static_cast<uint32_t>(runs.size()));
  std::byte* out = append(key, count, shape);
  switch (shape.kind) {
    case BlockKind::kArray:
      for (const BlockRun& run : runs)
        for (uint32_t x = run.first; x <= run.last; ++x, out += 2) store_le<uint16_t>(out, static_cast<uint16_t>(x));
      return;
    case BlockKind::kBitmap:
      std::memset(out, 0, kBitmapBlockBytes);
      for (const BlockRun& run : runs)
        in_words_of(run.first, run.last, [&](uint32_t w, uint64_t mask) {
          store_le<uint64_t>(out + 8 * w, load_le<uint64_t>(out + 8 * w) | mask);
        });
      return;
    case BlockKind::kRuns: break;
  }
  if (runs.size() == 1) return store_le<uint16_t>(out, static_cast<uint16_t>(runs[0].first));
  for (const BlockRun& run : runs) {
    store_le<uint16_t>(out, static_cast<uint16_t>(run.first));
    store_le<uint16_t>(out + 2, static_cast<uint16_t>(run.last));
    out += 4;
  }
}

template <typename Element>
void CompactWriter::add_ascending(std::span<const Element> elements) {
  for (size_t begin = 0, part = 0; begin < elements.size(); ++part) {
    if (part % kBlocksPerPoll == 0) options_.cancel.throw_if_requested();
    const uint64_t key = uint64_t{elements[begin]} >> kBlockShift;
    uint32_t runs = 1;
    size_t end = begin + 1;
    for (; end < elements.size() && uint64_t{elements[end]} >> kBlockShift == key; ++end)
      runs += !goes_on(elements[end], elements[end - 1]);
    add_part(key, elements.subspan(begin, end - begin), runs);
    begin = end;
  }
}

void CompactWriter::add_elements(std::span<const uint64_t> ascending) { add_ascending(ascending); }
void CompactWriter::add_elements(std::span<const uint32_t> ascending) { add_ascending(ascending); }

void CompactWriter::add_range(uint64_t first, uint64_t last) {
  for (uint64_t key = first >> kBlockShift; key <= last >> kBlockShift; ++key) {
    if (key % kBlocksPerPoll == 0) options_.cancel.throw_if_requested();
    const BlockRun run{key == first >> kBlockShift ? static_cast<uint32_t>(first % kBlockSpan) : 0,
                       key == last >> kBlockShift ? static_cast<uint32_t>(last % kBlockSpan) : kBlockSpan - 1};
    add_runs(key, {&run, 1});
  }
}

size_t CompactWriter::head_bytes() const {
  const size_t blocks = directory_.size();
  const size_t key_bytes = key_bytes_for(blocks > 0 ? directory_[blocks - 1].key : 0);
  const size_t entries = blocks * (key_bytes + 4);
  if (blocks >= kLongFrom) return kLongHeaderBytes + 4 * ((blocks + kBlocksPerOffset - 1) / kBlocksPerOffset) + entries;
  return (key_bytes == 2 && blocks <= kMaxFewBlocks ? 1 : 2) + entries;
}

size_t CompactWriter::bytes() const {
  const size_t bytes = head_bytes() + data_.size();
  if (bytes > kMaxBytes)
    throw Error(ErrorCode::kTooLarge, "a set of " + std::to_string(bytes) + " bytes is larger than a value can be",
                "A value holds 1 GB; split the set");
  return bytes;
}

void CompactWriter::write(std::byte* out) const {
  constexpr unsigned kVersionCode = kCompactVersion << 4;
  const size_t blocks = directory_.size();
  const uint64_t last_key = blocks > 0 ? directory_[blocks - 1].key : 0;
  const size_t key_bytes = key_bytes_for(last_key);
  const unsigned width_code = key_code(key_bytes);
  if (blocks >= kLongFrom) {
    store_le<uint32_t>(out, kVersionCode | kLongHeader | width_code);
    store_le<uint32_t>(out + 4, static_cast<uint32_t>(blocks));
    store_le<uint64_t>(out + 8, cardinality_);
    store_le<uint64_t>(out + 16, last_key);
    out += kLongHeaderBytes;
    uint32_t units = 0;
    for (size_t i = 0; i < blocks; ++i) {
      if (i % kBlocksPerOffset == 0) {
        store_le<uint32_t>(out, units);
        out += 4;
      }
      units += directory_[i].shape.units;
    }
  } else if (key_bytes == 2 && blocks <= kMaxFewBlocks) {
    *out++ = static_cast<std::byte>(kVersionCode | (kFewBlocks + blocks));
  } else {
    *out++ = static_cast<std::byte>(kVersionCode | width_code);
    *out++ = static_cast<std::byte>(blocks);
  }
  for (const Entry& entry : directory_.span()) {
    std::memcpy(out, &entry.key, key_bytes);
    out += key_bytes;
  }
  for (const Entry& entry : directory_.span()) {
    store_le<uint16_t>(out, static_cast<uint16_t>(entry.count - 1));
    out += 2;
  }
  for (const Entry& entry : directory_.span()) {
    store_le<uint16_t>(out, static_cast<uint16_t>(static_cast<uint32_t>(entry.shape.kind) << 12 | (entry.shape.units - 1)));
    out += 2;
  }
  in_parts(data_.size(), options_.cancel,
           [&](size_t begin, size_t end) { std::memcpy(out + begin, data_.begin() + begin, end - begin); });
}

}  // namespace batmap
