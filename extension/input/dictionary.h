// Integer ids for values of any hashable type: by first appearance while rows are read, by sort order afterwards.
//
// Server code throughout (the types' own hash, equality and comparison functions run here and may raise errors),
// so plain structs in a memory context of its own; nothing to destroy but that context. About 48 bytes and the
// value itself for each distinct value. The hash table is the server's simplehash.
#pragma once

#include <cstdint>

#include "core/memory.h"

#include "extension/server/pg.h"

struct datum_hash;

namespace batmap::pg {

struct Dictionary {
  MemoryContext context;
  MemoryContext scratch;  // what the types' functions allocate; reset after each value
  MemoryMeter* meter;     // charged for every new value; must outlive the dictionary
  TypeCacheEntry* type;
  Oid collation;
  datum_hash* table;
  Datum* values;  // [count] by id
  uint32_t count;
  uint32_t capacity;
};

/// @raises 42883 when the type cannot be hashed
Dictionary* dictionary_create(MemoryContext parent, Oid type, Oid collation, MemoryMeter& meter);

/// The id of a value, a new one at first sight. The value may be toasted; the dictionary keeps its own copy.
/// @raises what the type's functions raise; 54000 beyond 2^32 - 2 values; 53200 past the memory limit
uint32_t dictionary_id(Dictionary& dictionary, Datum value);

/// Looks a value up without adding it. Works before and after sorting. @return whether it has an id
bool dictionary_find(Dictionary& dictionary, Datum value, uint32_t& id);

/// Sorts the values: by the type's default order, or, for a type that has none, by text form. `values` is in that
/// order afterwards, and no more ids can be given.
/// @return [count] rank of each id, allocated in the dictionary's context
uint32_t* dictionary_sort(Dictionary& dictionary);

}  // namespace batmap::pg
