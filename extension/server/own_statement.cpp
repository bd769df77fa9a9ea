// Runs statements. See own_statement.h.
#include "extension/server/own_statement.h"

#include "extension/server/pg.h"

namespace batmap::pg {

void run_statement(const char* text, bool reads) { run_statement(text, 0, nullptr, nullptr, reads); }

void run_statement(const char* text, int count, Oid* types, Datum* values, bool reads) {
  const int status = SPI_execute_with_args(text, count, types, values, nullptr, reads, 0);
  if (status < 0) elog(ERROR, "statement failed: %s: %s", SPI_result_code_string(status), text);
}

const char* qualified_name(Oid relation) {
  const char* const name = get_rel_name(relation);
  const char* const schema = get_namespace_name(get_rel_namespace(relation));
  if (name == nullptr || schema == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", relation)));
  return quote_qualified_identifier(schema, name);
}

}  // namespace batmap::pg
