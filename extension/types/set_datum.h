// The SQL type batmap: access to its bytes in a varlena. Shared by its functions: the engine objects of one
// call, finished values of both forms, ranges of elements, typmods. kernels/set/FORMAT.md describes the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "compact/compact_writer.h"
#include "set/set_builder.h"
#include "set/set_view.h"

#include "extension/server/boundary.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// The widths of a prepared value without a declared universe: the default, and the one for larger elements.
inline constexpr int kDefaultWidth = 32;
inline int undeclared_width(uint64_t largest_element) {
  return largest_element >> kDefaultWidth == 0 ? kDefaultWidth : kMaxWidth;
}

/// The data of a value that is not toasted; it may have a short header.
inline std::span<const std::byte> set_bytes(const struct varlena* value) {
  return {reinterpret_cast<const std::byte*>(VARDATA_ANY(value)), VARSIZE_ANY_EXHDR(value)};
}

/// Opens the bytes of a value. @raises 22P03 if the header is inconsistent
inline SetView open_set(std::span<const std::byte> bytes) {
  return guarded([&] { return SetView::open(bytes); });
}

/// The engine objects of one call. They live in a memory context of their own, so that an error of the server
/// destroys them, too.
struct SetWork {
  explicit SetWork(MemoryContext context);
  SetWork(const SetWork&) = delete;
  SetWork& operator=(const SetWork&) = delete;

  MemoryContext context;
  MemoryMeter meter;
  ExecutionOptions options;
  GrowingBuffer<uint64_t> elements;
  GrowingBuffer<char> text;
  GrowingBuffer<std::byte> bytes;
  CompactWriter compact;
  SetEncoder encoder;
};

/// Makes a child of the current context with a SetWork in it. @raises an error if memory is short
SetWork* open_work();

/// The same for about so many bytes, until close_work(). If they are few, the work is one that the session keeps: making one
/// takes as long as combining two sets of some hundred elements, and fresh memory as long as merging arrays into it
/// (`bench/run neighbours`). Nothing that it has is left to the next call but room. One at a time, and not from one call of a
/// function to the next.
SetWork* open_work(size_t bytes);

void close_work(SetWork* work);

/// A varlena of `bytes` data bytes, uninitialised, in the current context. @raises 54000 past 1 GB
struct varlena* allocate_value(uint64_t bytes);

/// The set that `work->compact` has, as a value.
struct varlena* compact_value(SetWork* work);

/// What a type modifier declares. Stored bytes know the width alone, so the universe is checked where a value becomes one of the
/// declared type.
struct Typmod {
  int width = -1;         // of the universe; -1: none is declared
  bool prepared = false;  // values are stored in prepared form
  uint64_t universe = 0;  // all elements are below it
};

/// The typmod of batmap(N): N itself; or, if N is 2^30 - 64 or more, the width, as if the next power of two had been declared.
/// @raises 22023 unless the size is 1 .. 2^62
int32 typmod_of_universe(int64 universe, bool prepared);
/// The N that batmap(N) is shown with.
int64 universe_of_typmod(int32 typmod);
/// @raises 22023 for a typmod that the type does not have
Typmod read_typmod(int32 typmod);

/// A validated value as the typmod declares it: the value itself if nothing has to be changed. Without a declared universe,
/// a value keeps its form. @raises 22003 if an element is out of range
struct varlena* at_typmod(struct varlena* value, Typmod typmod);
/// Elements, ascending and distinct, as a value that the typmod declares. @raises 22003
struct varlena* elements_at_typmod(SetWork* work, std::span<const uint64_t> elements, Typmod typmod);

/// What the universe of an argument declares. @raises 22023 unless the size is 1 .. 2^62
Typmod declared_universe(int64 universe, bool prepared = false);

/// An element from SQL. @raises 22003 unless it is 0 .. 2^62 - 1
uint64_t checked_element(int64 element);

[[noreturn]] void raise_element_out_of_range(uint64_t element, uint64_t universe);

/// guarded() for bytes and texts from users: invalid data raises `invalid_data`, a number out of
/// range raises 22003.
template <typename Body>
auto guarded_input(int invalid_data, Body&& body, const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                   const char* function = __builtin_FUNCTION()) {
  using Result = std::invoke_result_t<Body>;
  static_assert(std::is_trivially_destructible_v<Result> || std::is_void_v<Result>);
  Failure failure;
  try {
    return body();
  } catch (...) {
    describe_failure(failure);
  }
  if (failure.sqlstate == ERRCODE_INVALID_BINARY_REPRESENTATION) failure.sqlstate = invalid_data;
  if (failure.sqlstate == ERRCODE_INVALID_PARAMETER_VALUE) failure.sqlstate = ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
  raise_failure(failure, file, line, function);
}

/// @return the elements of an int2[], int4[] or int8[], ascending and distinct: in the array, or in `work`
/// @raises 22004 for a NULL element, 22003 for an element out of range
std::span<const uint64_t> read_array(SetWork* work, const ArrayType* array);

}  // namespace batmap::pg
