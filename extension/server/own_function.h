// Which functions of SQL are those of the library. Only a superuser can create a function of a library.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// The library of a C function as the catalog names it. @return nullptr for functions of other languages
char* library_of(Oid function);

/// The schema of a function, quoted. @raises 42883 if the function is gone: the statement that calls it may have dropped it
const char* schema_of_function(Oid function);

/// Whether a function of SQL is this one of the library.
bool is_function(Oid function, const char* name);

/// Whether the input function of a type is this one of the library.
bool is_type_with_input(Oid type, const char* name);

}  // namespace batmap::pg
