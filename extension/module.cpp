// The shared library's entry: magic block and settings, nothing else happens at load.
#include "extension/settings.h"

#include "extension/pg.h"

extern "C" {
PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);
}

void _PG_init(void) { batmap::pg::define_settings(); }
