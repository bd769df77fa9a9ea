// Reads header, directory, blocks and elements. See compact_view.h.
#include "compact/compact_view.h"

#include <algorithm>
#include <bit>
#include <string>

#include "core/error.h"

namespace batmap {

namespace {

constexpr uint32_t kChunksPerPoll = 16;

[[noreturn]] void invalid(const std::string& what) { throw Error(ErrorCode::kInvalidData, "invalid batmap: " + what); }

/// The first of `count` ascending values value(i) that is not below `bound`. Without branches.
template <typename Value>
size_t first_not_below(size_t count, uint64_t bound, Value value) {
  size_t first = 0;
  while (count > 0) {
    const size_t half = count / 2;
    const bool below = value(first + half) < bound;
    first += below ? half + 1 : 0;
    count = below ? count - half - 1 : half;
  }
  return first;
}

}  // namespace

bool CompactBlock::contains(uint32_t low) const {
  switch (shape.kind) {
    case BlockKind::kArray: {
      const size_t at = first_not_below(count, low, [this](size_t i) { return unit(i); });
      return at < count && unit(at) == low;
    }
    case BlockKind::kBitmap: return (std::to_integer<unsigned>(data[low / 8]) >> (low % 8) & 1) != 0;
    case BlockKind::kRuns: break;
  }
  const size_t at = first_not_below(runs(), low, [this](size_t i) { return run(i).last; });
  return at < runs() && run(at).first <= low;
}

uint32_t CompactBlock::min() const {
  if (shape.kind != BlockKind::kBitmap) return unit(0);
  uint32_t w = 0;
  while (w < kBitmapBlockWords - 1 && word(w) == 0) ++w;
  return 64 * w + static_cast<uint32_t>(std::countr_zero(word(w)));
}

uint32_t CompactBlock::max() const {
  if (shape.kind == BlockKind::kArray) return unit(count - 1);
  if (shape.kind == BlockKind::kRuns) return run(runs() - 1).last;
  uint32_t w = kBitmapBlockWords - 1;
  while (w > 0 && word(w) == 0) --w;
  return 64 * w + static_cast<uint32_t>(std::bit_width(word(w) | 1)) - 1;
}

CompactView CompactView::reopen(std::span<const std::byte> bytes, uint64_t cardinality) {
  CompactView view;
  view.begin_ = bytes.data();
  view.bytes_ = bytes.size();
  view.cardinality_ = cardinality;
  const unsigned codes = std::to_integer<unsigned>(bytes[0]) & 15;
  size_t fixed = 2;
  if (has_few_blocks(codes)) {
    view.blocks_ = codes - kFewBlocks;
    fixed = 1;
  } else if ((codes & kLongHeader) != 0) {
    view.blocks_ = load_le<uint32_t>(bytes.data() + 4);
    fixed = kLongHeaderBytes + 4 * ((view.blocks_ + kBlocksPerOffset - 1) / kBlocksPerOffset);
  } else {
    view.blocks_ = std::to_integer<size_t>(bytes[1]);
  }
  view.key_bytes_ = key_bytes_of(codes);
  view.keys_ = fixed;
  view.counts_ = view.keys_ + view.key_bytes_ * view.blocks_;
  view.shapes_ = view.counts_ + 2 * view.blocks_;
  view.data_ = view.shapes_ + 2 * view.blocks_;
  return view;
}

CompactView CompactView::header(std::span<const std::byte> first_bytes, size_t whole_size) {
  if (first_bytes.empty()) invalid("header is cut off");
  const unsigned codes = std::to_integer<unsigned>(first_bytes[0]);
  if (codes >> 4 != kCompactVersion) invalid("unknown version " + std::to_string(codes >> 4));
  if ((codes & 15) > (kKeysOf3 | kLongHeader)) invalid("unknown flags");
  const bool is_few = has_few_blocks(codes & 15);
  const bool is_long = !is_few && (codes & kLongHeader) != 0;
  if (first_bytes.size() < (is_few ? 1 : is_long ? kLongHeaderBytes : 2)) invalid("header is cut off");
  CompactView view = reopen({first_bytes.data(), whole_size}, 0);
  if (is_long != (view.blocks_ >= kLongFrom)) invalid("header and number of blocks disagree");
  if (view.data_ > whole_size) invalid("directory is cut off");
  if (is_long) {
    view.cardinality_ = load_le<uint64_t>(first_bytes.data() + 8);
    if (view.cardinality_ > uint64_t{view.blocks_} << kBlockShift) invalid("more elements than the blocks can have");
    if (first_bytes.size() == whole_size && view.offset(view.blocks_) != whole_size) invalid("length and header disagree");
    return view;
  }
  if (first_bytes.size() < view.data_) invalid("directory is cut off");
  for (size_t i = 0; i < view.blocks_; ++i) view.cardinality_ += view.count(i);
  if (view.offset(view.blocks_) != whole_size) invalid("length and header disagree");
  return view;
}

size_t CompactView::offset(size_t i) const {
  size_t first = 0;
  size_t units = 0;
  if (has_long_header() && i > 0) {
    const size_t group = (i - 1) / kBlocksPerOffset;
    first = group * kBlocksPerOffset;
    units = load_le<uint32_t>(begin_ + kLongHeaderBytes + 4 * group);
  }
  for (const std::byte* at = begin_ + shapes_ + 2 * first; at != begin_ + shapes_ + 2 * i; at += 2)
    units += (load_le<uint16_t>(at) & 0xfff) + size_t{1};
  return data_ + 2 * units;
}

size_t CompactView::lower_bound(uint64_t wanted, size_t from) const {
  return from + first_not_below(blocks_ - from, wanted, [&](size_t i) { return key(from + i); });
}

bool CompactView::contains(uint64_t x) const {
  const uint64_t wanted = x >> kBlockShift;
  const size_t i = lower_bound(wanted);
  return i < blocks_ && key(i) == wanted && block(i).contains(static_cast<uint32_t>(x % kBlockSpan));
}

void BlockCursor::seek(uint64_t key) {
  constexpr int kSteps = 8;  // before it gallops
  for (int step = 0; step < kSteps; ++step) {
    if (at_end() || this->key() >= key) return;
    next();
  }
  if (at_end()) return;
  at_ = set_->lower_bound(key, at_);
  data_ = set_->begin_ + set_->offset(at_);
}

namespace {

constexpr size_t kAtOnce = 8;

/// Writes the elements of an array block: eight at a time where there is room behind both ends, since most blocks are short.
template <typename Element>
void put_array(const std::byte* units, size_t size, Element base, Element* out, bool has_room) {
  size_t i = 0;
  const auto put = [&](size_t k) { out[k] = base | static_cast<Element>(load_le<uint16_t>(units + 2 * k)); };
  if (has_room)
    for (; i < size; i += kAtOnce)
      for (size_t k = 0; k < kAtOnce; ++k) put(i + k);
  else
    for (; i < size; ++i) put(i);
}

}  // namespace

template <typename Element>
size_t CompactReader::next(Element* out) {
  if (++chunks_ % kChunksPerPoll == 0) cancel_.throw_if_requested();
  size_t count = 0;
  while (!cursor_.at_end() && count < kChunk) {
    const CompactBlock block = cursor_.block();
    const auto base = static_cast<Element>(block.key << kBlockShift);
    bool done = false;
    switch (block.shape.kind) {
      case BlockKind::kArray: {
        const size_t size = std::min<size_t>(block.shape.units - at_, kChunk - count);
        const std::byte* const units = block.data + 2 * size_t{at_};
        const size_t room = (size + kAtOnce - 1) / kAtOnce * kAtOnce;
        put_array(units, size, base, out + count,
                  count + room <= kChunk && 2 * room <= static_cast<size_t>(set_.span().data() + set_.bytes() - units));
        count += size;
        at_ += static_cast<uint32_t>(size);
        done = at_ == block.shape.units;
        break;
      }
      case BlockKind::kBitmap:
        for (; at_ < kBitmapBlockWords && count <= kChunk - 64; ++at_)
          for_each_bit(block.word(at_), [&](uint32_t bit) { out[count++] = base | (64 * at_ | bit); });
        done = at_ == kBitmapBlockWords;
        if (!done) return count;
        break;
      case BlockKind::kRuns:
        for (const uint32_t runs = block.runs(); at_ < runs && count < kChunk;) {
          const BlockRun run = block.run(at_);
          const uint32_t left = run.last + 1 - run.first - taken_;
          const auto now = static_cast<uint32_t>(std::min<size_t>(left, kChunk - count));
          for (uint32_t i = 0; i < now; ++i) out[count++] = base | (run.first + taken_ + i);
          taken_ = now == left ? 0 : taken_ + now;
          at_ += now == left;
        }
        done = at_ == block.runs();
        break;
    }
    if (!done) break;
    cursor_.next();
    at_ = 0;
  }
  return count;
}

template size_t CompactReader::next(uint64_t*);
template size_t CompactReader::next(uint32_t*);

}  // namespace batmap
