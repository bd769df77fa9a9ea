// Merges and checks flat set states. See set_state.h.
#include "set/set_state.h"

#include <cassert>
#include <string>

#include "core/polled.h"
#include "core/sort_elements.h"

namespace batmap {

namespace {

constexpr uint8_t kVersion = 2;
constexpr int kMaxWidth = 62;

/// The fault of a header. @return nullptr if there is none
const char* header_fault(std::span<const std::byte> bytes) {
  if (bytes.size() < kStateHeaderBytes) return "too short";
  const StateHeader header = state_header(bytes.data());
  if (header.version != kVersion) return "unknown version";
  if (header.kind < StateKind::kUnion || header.kind > StateKind::kSymmetricDifference) return "unknown kind";
  if (header.width > kMaxWidth && header.width != kUndeclaredWidth) return "width out of range";
  if (header.zero != 0) return "unknown flags";
  if (header.kind == StateKind::kIntersection && (header.pending != 0 || header.compact == 0))
    return "an intersection is not one set";
  return bytes.size() < state_used(header) ? "sizes disagree" : nullptr;
}

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorCode::kInvalidData, std::string("invalid batmap_state: ") + what);
}

/// Keeps the elements that occur an odd number of times, once each. @return how many are kept
size_t keep_odd(std::span<uint64_t> sorted, const CancelToken& cancel) {
  size_t kept = 0;
  size_t equal = 0;  // copies of the current element so far
  in_parts(sorted.size(), cancel, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      ++equal;
      if (i + 1 < sorted.size() && sorted[i + 1] == sorted[i]) continue;
      if (equal % 2 == 1) sorted[kept++] = sorted[i];
      equal = 0;
    }
  });
  return kept;
}

/// The pending elements as a set.
void collect_pending(const std::byte* bytes, CompactWriter& out, const ExecutionOptions& options) {
  const std::span<const uint64_t> pending = state_pending(bytes);
  if (ascending_front(pending, options.cancel) == pending.size()) return out.add_elements(pending);
  GrowingBuffer<uint64_t> elements(*options.memory);
  std::memcpy(elements.room_for_all(pending.size()), pending.data(), pending.size_bytes());
  elements.add(pending.size());
  if (state_header(bytes).kind == StateKind::kSymmetricDifference) {
    sort_elements({elements.begin(), elements.size()}, options);
    elements.shrink(keep_odd({elements.begin(), elements.size()}, options.cancel));
  } else {
    sort_distinct(elements, options);
  }
  out.add_elements(elements.span());
}

/// The header, and the zeros behind a set of `compact` bytes.
void begin_assign(std::byte* bytes, size_t compact) {
  StateHeader header = state_header(bytes);
  header.compact = static_cast<uint32_t>(compact);
  header.pending = 0;
  set_state_header(bytes, header);
  std::memset(bytes + kStateHeaderBytes + compact, 0, state_used(header) - kStateHeaderBytes - compact);
}

std::span<const std::byte> written(const CompactWriter& set, GrowingBuffer<std::byte>& room) {
  const size_t bytes = set.bytes();
  std::byte* const at = room.room_for_all(bytes);
  set.write(at);
  return {at, bytes};
}

}  // namespace

SetCombination operation_of(StateKind kind) {
  switch (kind) {
    case StateKind::kUnion: return SetCombination::kOr;
    case StateKind::kIntersection: return SetCombination::kAnd;
    case StateKind::kSymmetricDifference: break;
  }
  return SetCombination::kXor;
}

void state_init(std::byte* bytes, StateKind kind, uint8_t width) {
  set_state_header(bytes, {kVersion, kind, width, 0, 0, 0});
}

bool state_append(std::byte* bytes, size_t capacity, std::span<const uint64_t> elements) {
  StateHeader header = state_header(bytes);
  assert(header.kind != StateKind::kIntersection);
  if (elements.empty()) return true;
  if (capacity - state_used(header) < elements.size_bytes()) return false;
  std::memcpy(bytes + state_used(header), elements.data(), elements.size_bytes());
  header.pending += static_cast<uint32_t>(elements.size());
  set_state_header(bytes, header);
  return true;
}

void state_result(const std::byte* bytes, const CompactKernel& kernel, CompactWriter& out, const ExecutionOptions& options) {
  const StateHeader header = state_header(bytes);
  out.clear();
  if (header.compact == 0) return collect_pending(bytes, out, options);
  const CompactView set = CompactView::open(state_compact(bytes));
  if (header.pending == 0) {
    for (BlockCursor block(set); !block.at_end(); block.next()) out.add_block(block.block());
    return;
  }
  CompactWriter pending(options);
  collect_pending(bytes, pending, options);
  GrowingBuffer<std::byte> room(*options.memory);
  const CompactView more = CompactView::open(written(pending, room));
  combine_compact(set, more, operation_of(header.kind), kernel, out, options.cancel);
}

CompactView state_set(const std::byte* bytes, const CompactKernel& kernel, CompactWriter& out,
                      GrowingBuffer<std::byte>& room, const ExecutionOptions& options) {
  const StateHeader header = state_header(bytes);
  if (header.pending == 0 && header.compact > 0) return CompactView::open(state_compact(bytes));
  state_result(bytes, kernel, out, options);
  return CompactView::open(written(out, room));
}

void state_combine(const std::byte* bytes, const CompactView& set, const CompactKernel& kernel, CompactWriter& out,
                   const ExecutionOptions& options) {
  GrowingBuffer<std::byte> room(*options.memory);
  const CompactView mine = state_set(bytes, kernel, out, room, options);
  out.clear();
  combine_compact(mine, set, operation_of(state_header(bytes).kind), kernel, out, options.cancel);
}

void state_assign(std::byte* bytes, const CompactWriter& set) {
  begin_assign(bytes, set.bytes());
  set.write(bytes + kStateHeaderBytes);
}

void state_assign(std::byte* bytes, std::span<const std::byte> set) {
  begin_assign(bytes, set.size());
  std::memcpy(bytes + kStateHeaderBytes, set.data(), set.size());
}

bool is_set_state(std::span<const std::byte> bytes) { return header_fault(bytes) == nullptr; }

void state_validate(std::span<const std::byte> bytes, const CancelToken& cancel) {
  if (const char* const fault = header_fault(bytes)) fail(fault);
  const StateHeader header = state_header(bytes.data());
  if (bytes.size() != state_used(header)) fail("sizes disagree");
  const int width = header.width == kUndeclaredWidth ? kMaxWidth : header.width;
  if (header.compact > 0) {
    validate_compact(state_compact(bytes.data()), cancel);
    const CompactView set = CompactView::open(state_compact(bytes.data()));
    if (set.cardinality() > 0 && compact_max(set) >> width != 0) fail("element out of range");
  }
  for (size_t at = kStateHeaderBytes + header.compact; at < state_bytes(header.compact, 0); ++at)
    if (bytes[at] != std::byte{0}) fail("unknown bytes behind the set");
  for (uint32_t i = 0; i < header.pending; ++i) {
    if (i % 65536 == 65535) cancel.throw_if_requested();
    if (load_le<uint64_t>(bytes.data() + state_bytes(header.compact, i)) >> width != 0) fail("element out of range");
  }
}

}  // namespace batmap
