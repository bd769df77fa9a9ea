// Statements of ours, which run through SPI. Their texts name all objects with their schemas.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// SPI must be connected. @param reads  in the active snapshot, without changes
void run_statement(const char* text, bool reads = false);
/// The same with parameters.
void run_statement(const char* text, int count, Oid* types, Datum* values, bool reads = false);

/// The name of a relation in a text: "schema"."name". @raises 42P01 if there is none
const char* qualified_name(Oid relation);

}  // namespace batmap::pg
