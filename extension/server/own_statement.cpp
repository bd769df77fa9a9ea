// Runs statements. See own_statement.h.
#include "extension/server/own_statement.h"

#include "extension/server/pg.h"

namespace batmap::pg {

void run_statement(const char* text, bool reads) { run_statement(text, 0, nullptr, nullptr, reads); }

void run_statement(const char* text, int count, Oid* types, Datum* values, bool reads) {
  const int status = SPI_execute_with_args(text, count, types, values, nullptr, reads, 0);
  if (status < 0) elog(ERROR, "statement failed: %s: %s", SPI_result_code_string(status), text);
}

}  // namespace batmap::pg
