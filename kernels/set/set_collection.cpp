// Copies values into aligned memory, and prepares compact ones. See set_collection.h.
#include "set/set_collection.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/thread_team.h"
#include "set/set_builder.h"
#include "set/set_decode.h"

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
    // Blocks double, up to 64 MiB or an eighth of what is left: many sets then need few blocks, and little room is wasted.
    const size_t last = blocks_.empty() ? 0 : blocks_.back().size();
    const size_t most = std::min(64 * kMinBlockBytes, meter_->available() / 8);
    blocks_.emplace_back(*meter_, std::max({bytes, kMinBlockBytes, std::min(2 * last, most)}));
    used_ = 0;
  }
  std::byte* const at = blocks_.back().data() + used_ + padding;
  std::memcpy(at, value.data(), value.size());
  sets_.push_back({id, SetView::open({at, value.size()})});
  used_ += (padding + value.size() + kLine - 1) / kLine * kLine;
}

/// Most sets become batmaps. The sizes of their planes are known, so that all of them share one block, with a line for what
/// stands before the planes. Other sets, and those with a longer stash, are added to the part of their task.
void SetCollection::prepare(std::span<const uint32_t> which, int width, const ExecutionOptions& options) {
  constexpr size_t kTasksAThread = 4;
  static_assert(kSetHeaderBytes + kStashHeaderBytes <= kLine && kPlaneBytes % kLine == 0);
  Buffer<uint64_t> end(*meter_, which.size() + 1);  // of each set in the shared block, behind that of the one before
  end[0] = 0;
  for (size_t k = 0; k < which.size(); ++k) {
    const SetView& view = sets_[which[k]].view;
    const bool is_shared = view.is_compact() && container_for(view.cardinality(), width) == Container::kBatmap;
    end[k + 1] = end[k] + (is_shared ? kLine + batmap_shape(view.cardinality(), width).bytes() : 0);
  }
  Buffer<std::byte> shared(*meter_, end[which.size()]);
  Buffer<SetView> placed(*meter_, which.size(), Fill::kZero);  // in the shared block
  const size_t tasks = std::min(which.size(), static_cast<size_t>(options.threads) * kTasksAThread);
  std::vector<SetCollection> parts;
  for (size_t task = 0; task < tasks; ++task) parts.emplace_back(*meter_);
  parallel_for(options, tasks, [&](size_t task, int) {
    SetEncoder encoder(options);
    GrowingBuffer<uint64_t> elements(*options.memory);
    GrowingBuffer<std::byte> bytes(*options.memory);
    for (size_t k = task; k < which.size(); k += tasks) {
      const Entry& entry = sets_[which[k]];
      if (!entry.view.is_compact()) continue;
      elements.shrink(0);
      decode(entry.view, elements, options);
      const size_t size = encoder.prepare(elements.span(), width);
      if (size <= end[k + 1] - end[k]) {
        std::byte* const at = shared.data() + end[k + 1] - size;
        encoder.write(at);
        placed[k] = SetView::open({at, size});
      } else {
        std::byte* const at = bytes.room(size);
        encoder.write(at);
        parts[task].add(static_cast<int64_t>(which[k]), {at, size});
      }
    }
  });
  const bool all_prepared = which.size() == sets_.size() &&
                            std::ranges::all_of(sets_.span(), [](const Entry& entry) { return entry.view.is_compact(); });
  if (all_prepared) blocks_.clear();
  for (size_t k = 0; k < which.size(); ++k)
    if (placed[k].cardinality() > 0) sets_[which[k]].view = placed[k];
  if (!shared.empty()) blocks_.push_back(std::move(shared));
  for (SetCollection& part : parts) {
    for (const Entry& entry : part.sets_.span()) sets_[static_cast<size_t>(entry.id)].view = entry.view;
    for (Buffer<std::byte>& block : part.blocks_) blocks_.push_back(std::move(block));
  }
  // What is added later begins a block of its own.
  used_ = blocks_.empty() ? 0 : blocks_.back().size();
}

}  // namespace batmap
