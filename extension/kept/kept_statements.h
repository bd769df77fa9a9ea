// Statements over a kept table and its companions. They name these, and the owner of their schema could rename them at the very
// moment between the look at the catalog and the parser's. So what a statement reads and changes is checked. SPI must be
// connected, as the owner of the table.
#pragma once

#include <initializer_list>

#include "extension/kept/kept_table.h"

#include "extension/server/pg.h"

namespace batmap::pg {

inline constexpr const char* kMismatchHint =
    "Were triggers disabled, or the companions changed? batmap_unkeep and batmap_keep count again.";

/// Prepares a statement, and checks it.
SPIPlanPtr prepared(const KeptTable& kept, const char* text, int count = 0, Oid* types = nullptr);

/// To be called when a plan has been made, and when it has been run. @raises if it reads, changes or counts with anything else
void check_objects(const KeptTable& kept, SPIPlanPtr plan);

/// Runs a statement. The server may have parsed it again before it ran, so what it found is checked again.
void run_on_companions(const KeptTable& kept, const char* text, bool reads, int count = 0, Oid* types = nullptr,
                       Datum* values = nullptr);

/// Checks what a statement has returned: the filter, which runs as the owner, could have changed a companion meanwhile.
void check_result(const KeptTable& kept, std::initializer_list<Oid> types);

/// A query for the counts of the rows as they are.
const char* recount_query(const KeptTable& kept);

}  // namespace batmap::pg
