// Background workers that merge kept counts, where the library is preloaded.
//
// A launcher, which is connected to no database, starts a worker for one database after the other, as the launcher of
// autovacuum does. The worker merges the tables whose log is long enough, each in a transaction of its own, and ends. So no
// session stays in a database, and CREATE DATABASE ... TEMPLATE and DROP DATABASE wait for one merge at most.
#pragma once

namespace batmap::pg {

/// To be called from _PG_init.
void register_merge_launcher();

/// Lets the launcher look at this database soon after the transaction has committed: counts are kept now.
void announce_kept_table();

}  // namespace batmap::pg
