// Looks functions and types up in the catalog. See own_function.h.
#include "extension/server/own_function.h"

#include "extension/server/pg.h"

namespace batmap::pg {

char* library_of(Oid function) {
  const HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  if (!HeapTupleIsValid(tuple)) return nullptr;
  char* library = nullptr;
  if (reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->prolang == ClanguageId) {
    bool is_null;
    const Datum path = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &is_null);
    if (!is_null) library = TextDatumGetCString(path);
  }
  ReleaseSysCache(tuple);
  return library;
}

const char* schema_of_function(Oid function) {
  const char* const schema = get_namespace_name(get_func_namespace(function));
  if (schema == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("function with OID %u does not exist", function)));
  return quote_identifier(schema);
}

bool is_function(Oid function, const char* name) {
  const HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
  if (!HeapTupleIsValid(tuple)) return false;
  bool same = false;
  if (reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->prolang == ClanguageId) {
    bool is_null;
    const Datum source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &is_null);
    same = !is_null && strcmp(TextDatumGetCString(source), name) == 0;
  }
  ReleaseSysCache(tuple);
  return same;
}

bool is_type_with_input(Oid type, const char* name) {
  Oid parameter;
  Oid input;
  getTypeInputInfo(type, &input, &parameter);
  return is_function(input, name);
}

}  // namespace batmap::pg
