// Integer ids for values of any hashable type: in order of first appearance while rows are read, in
// sort order afterwards.
//
// This is server code throughout: the hash, equality and comparison functions of the type run here and may
// raise errors. So it consists of plain structs in a memory context of its own, and deleting that context is
// all the clean-up. A distinct value takes about 48 bytes and its own size. The hash table is simplehash,
// that of the server.
#pragma once

#include <cstdint>

#include "core/memory.h"

#include "extension/server/pg.h"

struct datum_hash;

namespace batmap::pg {

struct Dictionary {
  MemoryContext context;
  MemoryContext scratch;  // for what the functions of the type allocate; reset after each value
  MemoryMeter* meter;     // charged for every new value; must outlive the dictionary
  TypeCacheEntry* type;
  Oid collation;
  datum_hash* table;
  Datum* values;  // [count] by id
  uint32_t count;
  uint32_t capacity;
  bool must_look_same;  // set by the owner: equal values are compared byte by byte
  bool looks_differ;    // then: some that are equal are not the same bytes
};

/// @raises 42883 when the type cannot be hashed
Dictionary* dictionary_create(MemoryContext parent, Oid type, Oid collation, MemoryMeter& meter);

/// A dictionary of values that are known already, in sort order, without look-ups.
/// @param values  [count] in `context` @param type  need not be hashable
Dictionary* dictionary_of_values(MemoryContext context, Oid type, Datum* values, uint32_t count);

/// The id of a value. A value that is not known yet gets a new id. The value may be toasted; the dictionary
/// keeps a copy of its own.
/// @raises what the functions of the type raise; 54000 beyond 2^32 - 2 values; 53200 past the memory limit
uint32_t dictionary_id(Dictionary& dictionary, Datum value);

/// Looks up a value without adding it, before or after sorting. @return whether it has an id
bool dictionary_find(Dictionary& dictionary, Datum value, uint32_t& id);

/// Sorts the values by the default order of the type or, if the type has none, by text form. After that
/// `values` is in that order, and no new ids can be given.
/// @return [count] rank of each id, allocated in the context of the dictionary
uint32_t* dictionary_sort(Dictionary& dictionary);

}  // namespace batmap::pg
