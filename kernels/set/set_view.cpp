// Checks headers and answers membership. See set_view.h.
#include "set/set_view.h"

#include <bit>
#include <string>

#include "core/error.h"
#include "set/permutation.h"
#include "set/set_probe.h"

namespace batmap {

namespace {

[[noreturn]] void invalid(const std::string& what) { throw Error(ErrorCode::kInvalidData, "invalid batmap: " + what); }

}  // namespace

SetView SetView::open(std::span<const std::byte> bytes) { return header(bytes, bytes.size()); }

SetView SetView::header(std::span<const std::byte> first_bytes, size_t whole_size) {
  if (first_bytes.empty()) invalid("header is cut off");
  const std::byte* at = first_bytes.data();
  const auto codes = std::to_integer<int>(at[0]);
  SetView view;
  view.data_ = at;
  view.bytes_ = whole_size;
  if (codes >> 4 == kCompactVersion) {
    const CompactView compact = CompactView::header(first_bytes, whole_size);
    view.container_ = Container::kCompact;
    view.cardinality_ = compact.cardinality();
    view.width_ = kBlockShift + static_cast<int>(std::bit_width(compact.last_key()));
    if (view.width_ > kMaxWidth) invalid("an element is 2^62 or more");
    return view;
  }
  if (codes >> 4 != kPreparedVersion) invalid("unknown version " + std::to_string(codes >> 4));
  if (whole_size < kSetHeaderBytes || first_bytes.size() < kSetHeaderBytes) invalid("header is cut off");
  view.width_ = std::to_integer<int>(at[1]);
  if (view.width_ > kMaxWidth) invalid("width " + std::to_string(view.width_) + " is greater than 62");
  view.cardinality_ = load_le<uint64_t>(at) >> 16;
  if (view.cardinality_ > view.universe()) invalid("more elements than the universe has");
  view.container_ = container_for(view.cardinality_, view.width_);
  if ((codes & 15) != static_cast<int>(view.container_)) invalid("container and cardinality disagree");

  if (view.container_ == Container::kBitmap) {
    const uint64_t payload = whole_size - kSetHeaderBytes;
    if (payload % 8 != 0 || payload > bitmap_bytes(view.universe() - 1)) invalid("length and header disagree");
    if (8 * payload < view.cardinality_) invalid("more elements than bits");
    return view;
  }
  uint64_t expected = encoded_size(view.cardinality_, view.width_, 0);
  if (view.container_ == Container::kBatmap) {
    view.range_bits_ = batmap_shape(view.cardinality_, view.width_).range_bits;
    if (whole_size < expected || first_bytes.size() < kSetHeaderBytes + kStashHeaderBytes) invalid("planes are cut off");
    view.stash_ = load_le<uint32_t>(view.payload());
    if (load_le<uint32_t>(view.payload() + 4) != 0) invalid("reserved bytes are not zero");
    if (view.stash_ > view.cardinality_) invalid("more elements in the stash than in all");
    expected += 8 * view.stash_;
  }
  if (whole_size != expected) invalid("length and header disagree");
  return view;
}

bool SetView::contains(uint64_t x) const {
  if (x >= universe()) return false;
  switch (container_) {
    case Container::kArray: return array_contains(*this, x);
    case Container::kBitmap: return x / 64 < words() && (word(x / 64) >> (x % 64) & 1) != 0;
    case Container::kCompact: return compact().contains(x);
    case Container::kBatmap: break;
  }
  const SlotProbe first = slot_of(*this, 0, image_of<0>(x, width_));
  const SlotProbe second = slot_of(*this, 1, image_of<1>(x, width_));
  return first.holds_key() || second.holds_key() || stash_contains(*this, x);
}

}  // namespace batmap
