// Makes both sets compact and combines them. See set_operations.h.
#include "set/set_operations.h"

#include "set/set_decode.h"

namespace batmap {

void add_set(SetView set, CompactWriter& out, const ExecutionOptions& options) {
  if (set.is_compact()) {
    const CompactView view = set.compact();
    for (BlockCursor block(view); !block.at_end(); block.next()) out.add_block(block.block());
    return;
  }
  GrowingBuffer<uint64_t> elements(*options.memory);
  decode(set, elements, options);
  out.add_elements(elements.span());
}

SetView as_compact(SetView set, GrowingBuffer<std::byte>& room, const ExecutionOptions& options) {
  if (set.is_compact()) return set;
  CompactWriter writer(options);
  add_set(set, writer, options);
  const size_t bytes = writer.bytes();
  std::byte* const at = room.room_for_all(bytes);
  writer.write(at);
  return SetView::open({at, bytes});
}

void combine_sets(SetView a, SetView b, SetCombination operation, const CompactKernel& kernel, CompactWriter& out,
                  const ExecutionOptions& options) {
  GrowingBuffer<std::byte> a_room(*options.memory);
  GrowingBuffer<std::byte> b_room(*options.memory);
  out.clear();
  combine_compact(as_compact(a, a_room, options).compact(), as_compact(b, b_room, options).compact(), operation, kernel, out,
                  options.cancel);
}

}  // namespace batmap
