// Copies values into aligned memory. See set_collection.h.
#include "set/set_collection.h"

#include <algorithm>
#include <cstring>

namespace batmap {

namespace {

constexpr size_t kMinBlockBytes = size_t{1} << 20;
constexpr size_t kLine = 64;

}  // namespace

void SetCollection::add(int64_t id, std::span<const std::byte> value) {
  const SetView given = SetView::open(value);
  const std::byte* const elements = given.container() == Container::kBatmap ? given.planes() : given.payload();
  const size_t front = static_cast<size_t>(elements - value.data());
  const size_t padding = (kLine - front % kLine) % kLine;
  const size_t bytes = padding + (value.size() + kLine - 1) / kLine * kLine;
  if (blocks_.empty() || blocks_.back().size() - used_ < bytes) {
    // Blocks double, up to 64 MiB: many sets then need few blocks, and little room is wasted.
    const size_t last = blocks_.empty() ? 0 : blocks_.back().size();
    blocks_.emplace_back(*meter_, std::max({bytes, kMinBlockBytes, std::min(2 * last, 64 * kMinBlockBytes)}));
    used_ = 0;
  }
  std::byte* const at = blocks_.back().data() + used_ + padding;
  std::memcpy(at, value.data(), value.size());
  sets_.push_back({id, SetView::open({at, value.size()})});
  used_ += (padding + value.size() + kLine - 1) / kLine * kLine;
}

}  // namespace batmap
