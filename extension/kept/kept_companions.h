// Whether relations that a row trigger names are companions of its table. See kept_table.h.
#pragma once

#include <initializer_list>

#include "extension/kept/kept_triggers.h"

#include "extension/server/pg.h"

namespace batmap::pg {

inline constexpr const char* kKeepAgain = "Call batmap_unkeep and batmap_keep again.";

/// A column that a companion must have. @param type  InvalidOid: any
struct ColumnType {
  const char* name;
  Oid type;
};

[[noreturn]] void refuse_companion(Oid companion, Oid table, const char* reason, const char* hint = kKeepAgain);

/// Opens a companion and checks that it is what batmap_keep makes. Until the end of the transaction nobody else changes it.
Relation open_companion(Oid companion, Relation table, char kind, std::initializer_list<ColumnType> columns);

/// The table with which a relation is dropped, because tie_companions() has tied it. @return InvalidOid: there is none
Oid tied_table(Oid relation);

/// What the row trigger names and is certainly a companion of this table. A role with the right TRIGGER, but no other, could
/// have named relations of the owner that are none. @param in_order  whether find_kept_table() finds them in order
/// @return a list of OIDs
List* droppable_companions(Relation table, const Companions& companions, bool in_order);

}  // namespace batmap::pg
