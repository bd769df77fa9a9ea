// Membership and the smallest and largest element, by slices. See set_slice.h; kernels/set/FORMAT.md describes the bytes.
#include "extension/types/set_slice.h"

#include <span>

#include "extension/server/backend.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "set/permutation.h"
#include "set/set_decode.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// Smaller values are fetched whole: that costs one search in the index of the toast table, slices two or three.
constexpr size_t kSlicedFrom = 16384;

bool is_worth_slices(Datum value) {
  return VARATT_IS_EXTERNAL_ONDISK(reinterpret_cast<const struct varlena*>(DatumGetPointer(value))) &&
         toast_raw_datum_size(value) >= kSlicedFrom;
}

/// The bytes [at, at + length) of the data of a value.
const std::byte* slice(Datum value, size_t at, size_t length) {
  const std::span<const std::byte> bytes =
      set_bytes(PG_DETOAST_DATUM_SLICE(value, static_cast<int32>(at), static_cast<int32>(length)));
  if (bytes.size() != length) elog(ERROR, "batmap is shorter than its header says");
  return bytes.data();
}

/// Does the slot at a position hold this key? A block consists of bit planes: valid, the key bits from the
/// lowest on, indicator.
bool slot_holds(const std::byte* block, const BatmapShape& shape, uint64_t position, uint64_t key) {
  const size_t byte = position % kBlockSlots / 8;
  auto bit = [&](size_t plane) {
    return std::to_integer<uint64_t>(block[plane * kPlaneBytes + byte]) >> (position % 8) & 1;
  };
  if (bit(0) == 0) return false;
  for (int k = 0; k < shape.key_bits; ++k)
    if (bit(static_cast<size_t>(k) + 1) != (key >> k & 1)) return false;
  return true;
}

bool batmap_contains(Datum value, const SetView& header, uint64_t element) {
  const BatmapShape shape = header.shape();
  const size_t planes = kSetHeaderBytes + kStashHeaderBytes + 8 * header.stash();
  // An element is stored in two of three tables, so it is in the first or in the second.
  for (int table = 0; table < 2; ++table) {
    const uint64_t permuted = Permutation<uint64_t>(table, header.width()).forward(element);
    const uint64_t position = permuted & (shape.slots() - 1);
    const size_t at =
        planes + position / kBlockSlots * shape.group_bytes() + static_cast<size_t>(table) * shape.block_bytes();
    if (slot_holds(slice(value, at, shape.block_bytes()), shape, position, permuted >> shape.range_bits)) return true;
  }
  if (header.stash() == 0) return false;
  const std::byte* const stash = slice(value, kSetHeaderBytes + kStashHeaderBytes, 8 * header.stash());
  for (uint64_t i = 0; i < header.stash(); ++i)
    if (load_le<uint64_t>(stash + 8 * i) == element) return true;
  return false;
}

/// The directory of a compact value, behind which the data of the blocks is missing.
CompactView directory_of(Datum value, const SetView& header) {
  const CompactView view = header.compact();
  if (!view.has_long_header()) return view;
  return CompactView::reopen({slice(value, 0, view.head_bytes()), header.bytes()}, header.cardinality());
}

bool compact_contains(Datum value, const SetView& header, uint64_t element) {
  const CompactView directory = directory_of(value, header);
  const uint64_t key = element >> kBlockShift;
  const auto low = static_cast<uint32_t>(element % kBlockSpan);
  const size_t i = directory.lower_bound(key);
  if (i == directory.blocks() || directory.key(i) != key) return false;
  const size_t at = directory.offset(i);
  if (directory.shape(i) == BlockShape{BlockKind::kBitmap, kMaxUnits})
    return (std::to_integer<unsigned>(*slice(value, at + low / 8, 1)) >> (low % 8) & 1) != 0;
  return directory.block(i, slice(value, at, size_t{2} * directory.shape(i).units)).contains(low);
}

}  // namespace

bool sliced_contains(Datum value, uint64_t element) {
  if (!is_worth_slices(value)) return set_of_datum(value).contains(element);
  const SetView header = header_of_datum(value);
  if (element >> header.width() != 0) return false;
  switch (header.container()) {
    case Container::kArray: return set_of_datum(value).contains(element);
    case Container::kBitmap:
      return element < header.bits() &&
             (std::to_integer<unsigned>(*slice(value, kSetHeaderBytes + element / 8, 1)) >> element % 8 & 1) != 0;
    case Container::kBatmap: return batmap_contains(value, header, element);
    case Container::kCompact: return compact_contains(value, header, element);
  }
  return false;
}

std::optional<uint64_t> sliced_end(Datum value, SetEnd end) {
  if (is_worth_slices(value)) {
    const SetView header = header_of_datum(value);
    if (header.is_compact()) {
      if (header.empty()) return std::nullopt;
      const CompactView directory = directory_of(value, header);
      const size_t i = end == SetEnd::kMin ? 0 : directory.blocks() - 1;
      const CompactBlock block = directory.block(i, slice(value, directory.offset(i), size_t{2} * directory.shape(i).units));
      return block.key << kBlockShift | (end == SetEnd::kMin ? block.min() : block.max());
    }
  }
  const SetView set = set_of_datum(value);
  return guarded(
      [&] { return end == SetEnd::kMin ? set_min(set, backend_cancel_token()) : set_max(set, backend_cancel_token()); });
}

}  // namespace batmap::pg
