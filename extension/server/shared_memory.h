// The parts of the library in the shared memory of the server: there are some only if the library is preloaded.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

struct SharedPart {
  const char* name;
  Size (*bytes)();
  void (*attach)(void* memory, bool is_new);  // new memory has no content
};

/// To be called from _PG_init while the library is preloaded.
/// @param part  static
void request_shared_part(const SharedPart& part);

}  // namespace batmap::pg
