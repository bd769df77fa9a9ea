// Writes arrays and bitmaps, places batmaps. See set_builder.h.
#include "set/set_builder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/polled.h"
#include "core/sort_elements.h"
#include "set/permutation.h"
#include "set/placement.h"
#include "set/set_kernel.h"

namespace batmap {

namespace {

void check_elements(std::span<const uint64_t> elements, int width, const CancelToken& cancel) {
  if (width < 0 || width > kMaxWidth)
    throw Error(ErrorCode::kInvalidParameter, "width " + std::to_string(width) + " is outside 0 .. 62");
  bool ascending = true;
  in_parts(elements.size(), cancel, [&](size_t begin, size_t end) {
    for (size_t i = std::max<size_t>(begin, 1); i < end; ++i) ascending &= elements[i - 1] < elements[i];
  });
  if (!ascending) throw Error(ErrorCode::kInvalidParameter, "elements are not ascending");
  if (!elements.empty() && elements.back() >= universe_of(width))
    throw Error(
        ErrorCode::kInvalidParameter,
        "element " + std::to_string(elements.back()) + " is outside the universe of " + std::to_string(universe_of(width)),
        "Declare a larger universe");
}

}  // namespace

size_t SetEncoder::prepare(std::span<const uint64_t> sorted_distinct, int width) {
  check_elements(sorted_distinct, width, options_.cancel);
  const auto check_size = [](uint64_t bytes) {
    if (bytes > kMaxSetBytes)
      throw Error(ErrorCode::kTooLarge, "a set of " + std::to_string(bytes) + " bytes is larger than a value can be",
                  "A value holds 1 GB; split the set or declare a smaller universe");
  };
  elements_ = sorted_distinct;
  width_ = width;
  container_ = container_for(elements_.size(), width);
  stash_.shrink(0);
  const uint64_t last = elements_.empty() ? 0 : elements_.back();
  const uint64_t without_stash = encoded_size(elements_.size(), width, last);
  check_size(without_stash);
  if (container_ == Container::kBatmap) place_batmap(sorted_distinct, width);
  const uint64_t bytes = without_stash + 8 * stash_.size();
  check_size(bytes);
  return bytes;
}

void SetEncoder::place_batmap(std::span<const uint64_t> sorted_distinct, int width) {
  elements_ = sorted_distinct;
  width_ = width;
  shape_ = batmap_shape(elements_.size(), width);
  stash_.shrink(0);
  if (shape_.planes() <= 32)
    place(narrow_);
  else
    place(wide_);
}

template <typename Slot>
void SetEncoder::place(Buffer<Slot>& slots) {
  const size_t count = kTables * shape_.slots();
  if (slots.size() < count) {
    slots.reset();
    slots = Buffer<Slot>(*options_.memory, count, Fill::kZero);
  } else {
    std::fill_n(slots.data(), count, Slot{0});
  }
  Placement<Slot>(slots.data(), shape_, width_, options_, stash_).place(elements_);
  sort_elements({stash_.begin(), stash_.size()}, options_);
}

void SetEncoder::write(std::byte* out) {
  store_le<uint64_t>(out, uint64_t{elements_.size()} << 16 | static_cast<uint64_t>(width_) << 8 |
                              static_cast<uint64_t>(kPreparedVersion << 4 | static_cast<int>(container_)));
  out += kSetHeaderBytes;
  switch (container_) {
    case Container::kArray:
      in_parts(elements_.size(), options_.cancel, [&](size_t begin, size_t end) {
        for (const uint64_t x : elements_.subspan(begin, end - begin)) {
          if (width_ <= 32)
            store_le<uint32_t>(out, static_cast<uint32_t>(x));
          else
            store_le<uint64_t>(out, x);
          out += array_element_bytes(width_);
        }
      });
      break;
    case Container::kBitmap:
      in_parts(bitmap_bytes(elements_.back()), options_.cancel,
               [&](size_t begin, size_t end) { std::memset(out + begin, 0, end - begin); });
      in_parts(elements_.size(), options_.cancel, [&](size_t begin, size_t end) {
        for (const uint64_t x : elements_.subspan(begin, end - begin)) out[x / 8] |= std::byte{1} << (x % 8);
      });
      break;
    case Container::kBatmap:
      store_le<uint64_t>(out, stash_.size());
      out += kStashHeaderBytes;
      if (!stash_.empty()) std::memcpy(out, stash_.begin(), 8 * stash_.size());
      write_planes(out + 8 * stash_.size());
      break;
    case Container::kCompact: break;  // not a choice of container_for()
  }
}

void SetEncoder::write_planes(std::byte* out) const {
  if (shape_.planes() <= 32)
    write_slots(narrow_, out);
  else
    write_slots(wide_, out);
}

template <typename Slot>
void SetEncoder::write_slots(const Buffer<Slot>& slots, std::byte* out) const {
  const auto transpose = best_set_kernel().transpose_slots;
  alignas(64) uint32_t part[kBlockSlots];
  const Slot* from = slots.data();
  for (uint64_t block = 0; block < kTables * shape_.groups(); ++block, from += kBlockSlots) {
    if (block % 1024 == 0) options_.cancel.throw_if_requested();
    for (size_t done = 0; done < shape_.planes(); done += 32) {
      for (size_t i = 0; i < kBlockSlots; ++i) part[i] = static_cast<uint32_t>(from[i] >> done);
      transpose(part);
      const size_t planes = std::min<size_t>(shape_.planes() - done, 32);
      std::memcpy(out, part, planes * kPlaneBytes);
      out += planes * kPlaneBytes;
    }
  }
}

}  // namespace batmap
