// Reads catalogs: those of the server for partitions and foreign tables, those of Citus for shards. See part_list.h.
#include "extension/functions/parts/part_list.h"

#include <cstring>

#include "extension/input/inner_query.h"
#include "extension/server/own_statement.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// A part while its tables are collected.
struct Growing {
  PartPlace place;
  const char* name;
  int port;
  StringInfoData query;
  double weight;
  bool has_unknown;  // a table without statistics
};

/// The part of that name, which is added if it is new.
Growing* part_of(List*& parts, PartPlace place, const char* name, int port) {
  ListCell* cell;
  foreach (cell, parts) {
    auto* const part = static_cast<Growing*>(lfirst(cell));
    if (part->place == place && part->port == port && strcmp(part->name, name) == 0) return part;
  }
  auto* const part = static_cast<Growing*>(palloc0(sizeof(Growing)));
  part->place = place;
  part->name = pstrdup(name);
  part->port = port;
  initStringInfo(&part->query);
  parts = lappend(parts, part);
  return part;
}

/// Adds the rows of a table to those of a part. @param columns  quoted
/// @param weight  the table's rows, about; negative: unknown
void add_table(Growing* part, const char* const* columns, int count, const char* table, double weight) {
  if (part->query.len > 0) appendStringInfoString(&part->query, " UNION ALL ");
  appendStringInfoString(&part->query, "SELECT ");
  for (int k = 0; k < count; ++k) appendStringInfo(&part->query, "%s%s", k > 0 ? ", " : "", columns[k]);
  appendStringInfo(&part->query, " FROM %s", table);
  if (weight < 0)
    part->has_unknown = true;
  else
    part->weight += weight;
}

/// The columns of the table that are read.
void find_columns(const SpreadSource& source, Oid table, AttrNumber* columns) {
  const Relation relation = relation_open(table, NoLock);
  const TupleDesc row = RelationGetDescr(relation);
  int live = 0;
  AttrNumber in_order[SpreadSource::kMaxColumns] = {};
  for (int k = 0; k < row->natts; ++k) {
    if (TupleDescAttr(row, k)->attisdropped) continue;
    if (live < SpreadSource::kMaxColumns) in_order[live] = static_cast<AttrNumber>(k + 1);
    ++live;
  }
  for (int k = 0; k < source.count; ++k) {
    if (source.columns[k] == nullptr) {
      if (live != source.count)
        ereport(ERROR, (errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
                        errmsg("table \"%s\" has %d columns, not %d", RelationGetRelationName(relation), live, source.count),
                        errhint("Name the column that is read with %s.", source.roles[k])));
      columns[k] = in_order[k];
    } else {
      columns[k] = get_attnum(table, source.columns[k]);
      if (columns[k] <= 0)
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
                        errmsg("column \"%s\" of table \"%s\" does not exist", source.columns[k],
                               RelationGetRelationName(relation)),
                        errhint("Name a column of the table with %s; expressions are not possible.", source.roles[k])));
    }
    if (!may_select(table) && !may_select_column(table, columns[k]))
      aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(relation));
  }
  relation_close(relation, NoLock);
}

/// What the statistics say; negative: nothing. A partitioned table has no rows of its own.
double rows_of(Oid table) {
  const HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
  if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for relation %u", table);
  const auto* const relation = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
  const float4 rows = relation->relkind == RELKIND_PARTITIONED_TABLE ? 0 : relation->reltuples;
  ReleaseSysCache(tuple);
  return static_cast<double>(rows);
}

void add_here(List*& parts, const AttrNumber* columns, int count, Oid table) {
  const char* names[SpreadSource::kMaxColumns];
  for (int k = 0; k < count; ++k) names[k] = quote_identifier(get_attname(table, columns[k], false));
  add_table(part_of(parts, PartPlace::kHere, "this server", 0), names, count, qualified_name(table), rows_of(table));
}

// ---- partitions on foreign servers

const char* text_option(List* options, const char* name) {
  ListCell* cell;
  foreach (cell, options) {
    auto* const option = static_cast<DefElem*>(lfirst(cell));
    if (strcmp(option->defname, name) == 0) return defGetString(option);
  }
  return nullptr;
}

/// The foreign server of a table of postgres_fdw. @return nullptr for other tables
const ForeignServer* postgres_server(Oid table) {
  if (get_rel_relkind(table) != RELKIND_FOREIGN_TABLE) return nullptr;
  const ForeignServer* const server = GetForeignServer(GetForeignTable(table)->serverid);
  const ForeignDataWrapper* const wrapper = GetForeignDataWrapper(server->fdwid);
  const char* const handler = OidIsValid(wrapper->fdwhandler) ? get_func_name(wrapper->fdwhandler) : nullptr;
  return handler != nullptr && strcmp(handler, "postgres_fdw_handler") == 0 ? server : nullptr;
}

void add_foreign_table(List*& parts, const ForeignServer* server, const AttrNumber* columns, int count, Oid table) {
  const char* names[SpreadSource::kMaxColumns];
  for (int k = 0; k < count; ++k) {
    const char* const name = text_option(GetForeignColumnOptions(table, columns[k]), "column_name");
    names[k] = quote_identifier(name != nullptr ? name : get_attname(table, columns[k], false));
  }
  List* const options = GetForeignTable(table)->options;
  const char* const schema = text_option(options, "schema_name");
  const char* const name = text_option(options, "table_name");
  add_table(part_of(parts, PartPlace::kServer, server->servername, 0), names, count,
            quote_qualified_identifier(schema != nullptr ? schema : get_namespace_name(get_rel_namespace(table)),
                                       name != nullptr ? name : get_rel_name(table)),
            rows_of(table));
}

/// The columns of a partition have the same names, but may have other numbers.
void columns_of_child(Oid parent, Oid child, const AttrNumber* columns, int count, AttrNumber* found) {
  for (int k = 0; k < count; ++k) {
    const char* const name = get_attname(parent, columns[k], false);
    found[k] = get_attnum(child, name);
    if (found[k] <= 0) elog(ERROR, "partition \"%s\" has no column \"%s\"", get_rel_name(child), name);
  }
}

/// Does the value of the column decide on the partition?
bool is_partition_key(Oid table, AttrNumber column) {
  const Relation relation = relation_open(table, NoLock);
  bool found = false;
  if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE) {
    const PartitionKey key = RelationGetPartitionKey(relation);
    found = key->partnatts == 1 && key->partattrs[0] == column;
  }
  relation_close(relation, NoLock);
  return found;
}

void require_no_policies(Oid table) {
  if (check_enable_rls(table, InvalidOid, true) != RLS_ENABLED) return;
  ereport(
      ERROR,
      (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
       errmsg("row-level security of table \"%s\" applies to you", get_rel_name(table)),
       errdetail("Foreign servers count their rows without its policies, and partitions of this server are read by name."),
       errhint("Give a query to the function without distributed in its name: it reads the rows that you may see.")));
}

List* parts_of_partitions(const SpreadSource& source, Oid table, const AttrNumber* columns, bool& key_is_apart) {
  List* parts = NIL;
  bool has_servers = false;
  List* const tables = find_all_inheritors(table, AccessShareLock, nullptr);
  ListCell* cell;
  foreach (cell, tables) has_servers |= postgres_server(lfirst_oid(cell)) != nullptr;
  if (!has_servers) {
    add_here(parts, columns, source.count, table);
    return parts;
  }
  require_no_policies(table);
  key_is_apart = is_partition_key(table, columns[source.key]);
  foreach (cell, tables) {
    const Oid child = lfirst_oid(cell);
    if (get_rel_relkind(child) == RELKIND_PARTITIONED_TABLE) continue;
    AttrNumber found[SpreadSource::kMaxColumns];
    columns_of_child(table, child, columns, source.count, found);
    const ForeignServer* const server = postgres_server(child);
    if (server != nullptr) {
      add_foreign_table(parts, server, found, source.count, child);
    } else {
      require_no_policies(child);
      const char* names[SpreadSource::kMaxColumns];
      for (int k = 0; k < source.count; ++k) names[k] = quote_identifier(get_attname(child, found[k], false));
      // Its own children are in the list, too.
      add_table(part_of(parts, PartPlace::kHere, "this server", 0), names, source.count,
                psprintf("ONLY %s", qualified_name(child)), rows_of(child));
    }
  }
  return parts;
}

// ---- Citus

const char* text_at(uint64 row, int column) { return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column); }

/// The nodes that have shards of the table. @return NIL if Citus does not distribute it by a column
List* parts_of_shards(const SpreadSource& source, Oid table, const AttrNumber* columns, bool& key_is_apart) {
  if (!OidIsValid(get_extension_oid("citus", true))) return NIL;
  Oid type = REGCLASSOID;
  Datum value = ObjectIdGetDatum(table);
  run_statement(
      "SELECT pg_catalog.column_to_column_name(logicalrelid, partkey) FROM pg_catalog.pg_dist_partition "
      "WHERE logicalrelid = $1 AND partkey IS NOT NULL",
      1, &type, &value, true);
  if (SPI_processed == 0) return NIL;
  const char* const key = text_at(0, 1);
  key_is_apart = key != nullptr && strcmp(key, get_attname(table, columns[source.key], false)) == 0;
  run_statement(
      "SELECT s.shardid, n.nodename, n.nodeport, pg_catalog.shard_name(s.logicalrelid, s.shardid) "
      "FROM pg_catalog.pg_dist_shard s LEFT JOIN (SELECT shardid, min(groupid) AS groupid FROM pg_catalog.pg_dist_placement "
      "WHERE shardstate = 1 GROUP BY shardid) p ON p.shardid = s.shardid LEFT JOIN pg_catalog.pg_dist_node n ON "
      "n.groupid = p.groupid AND n.noderole = 'primary' AND n.isactive "
      "AND n.nodecluster = pg_catalog.current_setting('citus.cluster_name') "
      "WHERE s.logicalrelid = $1 ORDER BY n.nodename, n.nodeport, s.shardid",
      1, &type, &value, true);
  const uint64 shards = SPI_processed;
  const char* names[SpreadSource::kMaxColumns];
  for (int k = 0; k < source.count; ++k) names[k] = quote_identifier(get_attname(table, columns[k], false));
  // shard_name() leaves out the schema public.
  const bool is_public = strcmp(get_namespace_name(get_rel_namespace(table)), "public") == 0;
  List* parts = NIL;
  for (uint64 k = 0; k < shards; ++k) {
    CHECK_FOR_INTERRUPTS();
    const char* const node = text_at(k, 2);
    const char* const port = text_at(k, 3);
    if (node == nullptr || port == nullptr)
      ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                      errmsg("shard %s of table \"%s\" is on no active node", text_at(k, 1), get_rel_name(table)),
                      errhint("citus_shards and pg_dist_node show where shards are.")));
    const char* const shard = text_at(k, 4);
    add_table(part_of(parts, PartPlace::kNode, node, pg_strtoint32(port)), names, source.count,
              is_public && strncmp(shard, "public.", 7) != 0 ? psprintf("public.%s", shard) : shard, 1);
  }
  return parts;
}

// ---- named servers

/// The query that each server runs, with the columns that are read if their names go with it.
const char* query_of_servers(const SpreadSource& source) {
  const char* const query = query_text(cstring_to_text(source.table));
  if (!source.by_position) return query;
  int named = 0;
  for (int k = 0; k < source.count; ++k) named += source.columns[k] != nullptr;
  if (named == 0) return query;
  StringInfoData text;
  initStringInfo(&text);
  for (int k = 0; k < source.count; ++k) {
    if (source.columns[k] == nullptr)
      ereport(ERROR, (errcode(ERRCODE_INVALID_COLUMN_REFERENCE), errmsg("%s is missing", source.roles[k]),
                      errhint("Name %s columns of the table, or none.", source.count == 2 ? "both" : "all")));
    appendStringInfo(&text, "%s %s", k > 0 ? "," : "SELECT", quote_identifier(source.columns[k]));
  }
  appendStringInfo(&text, " FROM (%s) q", query);
  return text.data;
}

List* parts_on_servers(const SpreadSource& source, List* servers) {
  const char* const query = query_of_servers(source);
  List* parts = NIL;
  ListCell* cell;
  foreach (cell, servers) {
    const auto* const name = static_cast<const char*>(lfirst(cell));
    const ForeignServer* const server = GetForeignServer(get_foreign_server_oid(name, false));
    Growing* const part = part_of(parts, PartPlace::kServer, server->servername, 0);
    if (part->query.len > 0)
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("server \"%s\" is named twice", name),
                      errhint("Each server is asked once.")));
    appendStringInfoString(&part->query, query);
  }
  return parts;
}

[[noreturn]] void raise_not_apart(const SpreadSource& source, Oid table, int count) {
  const char* const role = source.roles[source.key];
  const char* const together = source.together != nullptr ? source.together : "transaction";
  if (!OidIsValid(table))
    ereport(ERROR,
            (errcode(ERRCODE_INVALID_COLUMN_REFERENCE), errmsg("a %s may lie on several of the %d servers", together, count),
             errhint("Say disjoint => true if all rows of a %s lie on one server.", together)));
  ereport(ERROR,
          (errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
           errmsg("table \"%s\" is not distributed by its %s", get_rel_name(table), role),
           errdetail("A %s whose rows lie in two of the %d parts would count twice.", together, count),
           errhint("Distribute the rows by that column first: INSERT INTO a table that is distributed by it (of Citus: "
                   "create_distributed_table('table', 'column')) SELECT the columns FROM this one. "
                   "Or say disjoint => true if all rows of a %s lie in one part.",
                   together)));
  pg_unreachable();
}

List* growing_parts(const SpreadSource& source, Oid table, List* servers, AttrNumber* columns, bool& key_is_apart) {
  if (!OidIsValid(table)) return parts_on_servers(source, servers);
  find_columns(source, table, columns);
  List* const parts = parts_of_shards(source, table, columns, key_is_apart);
  return parts != NIL ? parts : parts_of_partitions(source, table, columns, key_is_apart);
}

PartList list_of(const SpreadSource& source, Oid table, const List* growing) {
  PartList list{};
  list.table = OidIsValid(table) ? get_rel_name(table) : source.table;
  list.count = list_length(growing);
  list.parts = static_cast<Part*>(palloc0(static_cast<Size>(Max(list.count, 1)) * sizeof(Part)));
  double known = 0;
  int known_parts = 0;
  for (int k = 0; k < list.count; ++k) {
    const auto* const part = static_cast<const Growing*>(list_nth(growing, k));
    list.parts[k] = {part->place, part->name, part->port, part->query.data, nullptr, part->weight};
    if (part->has_unknown) continue;
    known += part->weight;
    ++known_parts;
  }
  // Without a guess a part would get the lowest threshold, and answer with all that it has.
  for (int k = 0; k < list.count; ++k)
    if (static_cast<const Growing*>(list_nth(growing, k))->has_unknown)
      list.parts[k].weight = Max(list.parts[k].weight, known_parts > 0 ? known / known_parts : 1);
  return list;
}

// ---- two tables

/// Whether both tables are partitioned alike, and partitions with the same bounds lie on the same servers. Partitions that are
/// partitioned themselves are not looked into.
bool are_partitions_alike(Oid left, Oid right) {
  constexpr const char* kPartitions =
      "SELECT pg_catalog.pg_get_expr(c.relpartbound, c.oid), f.ftserver FROM pg_catalog.pg_inherits i "
      "JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid LEFT JOIN pg_catalog.pg_foreign_table f ON f.ftrelid = c.oid "
      "WHERE c.relkind <> 'p' AND i.inhparent = ";
  Oid types[2] = {OIDOID, OIDOID};
  Datum values[2] = {ObjectIdGetDatum(left), ObjectIdGetDatum(right)};
  run_statement(psprintf("SELECT 1 FROM pg_catalog.pg_partitioned_table a, pg_catalog.pg_partitioned_table b "
                         "WHERE a.partrelid = $1 AND b.partrelid = $2 AND a.partstrat = b.partstrat "
                         "AND a.partclass = b.partclass AND a.partcollation = b.partcollation "
                         "AND NOT EXISTS (%s$1 EXCEPT ALL %s$2) AND NOT EXISTS (%s$2 EXCEPT ALL %s$1) "
                         "AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c "
                         "ON c.oid = i.inhrelid WHERE i.inhparent IN ($1, $2) AND c.relkind = 'p')",
                         kPartitions, kPartitions, kPartitions, kPartitions),
                2, types, values, true);
  return SPI_processed > 0;
}

/// Whether Citus keeps the shards with the same keys of both tables on one node.
bool are_colocated(Oid left, Oid right) {
  if (!OidIsValid(get_extension_oid("citus", true))) return false;
  Oid types[2] = {REGCLASSOID, REGCLASSOID};
  Datum values[2] = {ObjectIdGetDatum(left), ObjectIdGetDatum(right)};
  run_statement(
      "SELECT 1 FROM pg_catalog.pg_dist_partition a JOIN pg_catalog.pg_dist_partition b USING (colocationid) "
      "WHERE a.logicalrelid = $1 AND b.logicalrelid = $2 AND colocationid <> 0",
      2, types, values, true);
  return SPI_processed > 0;
}

/// Whether rows with one key lie in one part, where each table for itself has its keys apart.
bool lie_alike(Oid left, AttrNumber left_key, Oid right, AttrNumber right_key) {
  if (left == right) return left_key == right_key;
  return are_colocated(left, right) || are_partitions_alike(left, right);
}

/// Gives each part its rows of the right table.
void join_parts(PartList& list, const PartList& right) {
  for (int k = 0; k < list.count; ++k) {
    Part& part = list.parts[k];
    for (int j = 0; j < right.count; ++j) {
      const Part& other = right.parts[j];
      if (other.place != part.place || other.port != part.port || strcmp(other.name, part.name) != 0) continue;
      part.right = other.query;
      part.weight += other.weight;
    }
    if (part.right != nullptr && list.count == right.count) continue;
    ereport(ERROR, (errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
                    errmsg("tables \"%s\" and \"%s\" do not lie on the same servers", list.table, right.table),
                    errhint("Each part must have rows of both tables: distribute both by b, in the same way.")));
  }
}

[[noreturn]] void raise_not_alike(Oid left, Oid right) {
  ereport(ERROR,
          (errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
           errmsg("tables \"%s\" and \"%s\" are not distributed alike", get_rel_name(left), get_rel_name(right)),
           errdetail("Rows with one b may lie in different parts."),
           errhint("Distribute both by b: for Citus with colocate_with, as partitions with the same bounds on the same "
                   "servers. Or say disjoint => true if all rows with one b lie in one part.")));
  pg_unreachable();
}

}  // namespace

bool PartList::is_any(PartPlace place) const {
  for (int k = 0; k < count; ++k)
    if (parts[k].place == place) return true;
  return false;
}

Oid find_spread_table(const char* name) {
  if (!is_table_name(name))
    ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("\"%s\" is not the name of a table", name),
                    errhint("Give the name of a table, and its columns by name. Only with servers a query will do.")));
  const Oid table = DatumGetObjectId(DirectFunctionCall1(regclassin, CStringGetDatum(name)));
  LockRelationOid(table, AccessShareLock);
  switch (get_rel_relkind(table)) {
    case RELKIND_RELATION:
    case RELKIND_PARTITIONED_TABLE:
    case RELKIND_FOREIGN_TABLE:
    case RELKIND_VIEW:
    case RELKIND_MATVIEW: return table;
    default: break;
  }
  ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is not a table", name),
                  errhint("Give the name of a table whose rows lie on several servers.")));
  pg_unreachable();
}

PartList find_parts(const SpreadSource& source, Oid table, List* servers, bool disjoint) {
  bool key_is_apart = false;
  AttrNumber columns[SpreadSource::kMaxColumns] = {};
  const PartList list = list_of(source, table, growing_parts(source, table, servers, columns, key_is_apart));
  if (list.count > 1 && !key_is_apart && !disjoint) raise_not_apart(source, table, list.count);
  return list;
}

PartList find_joined_parts(const SpreadSource& left, Oid left_table, const SpreadSource& right, Oid right_table,
                           List* servers, bool disjoint) {
  bool left_apart = false;
  bool right_apart = false;
  AttrNumber left_columns[SpreadSource::kMaxColumns] = {};
  AttrNumber right_columns[SpreadSource::kMaxColumns] = {};
  PartList list = list_of(left, left_table, growing_parts(left, left_table, servers, left_columns, left_apart));
  const PartList of_right =
      list_of(right, right_table, growing_parts(right, right_table, servers, right_columns, right_apart));
  join_parts(list, of_right);
  if (list.count <= 1 || disjoint) return list;
  if (!left_apart) raise_not_apart(left, left_table, list.count);
  if (!right_apart) raise_not_apart(right, right_table, list.count);
  if (!lie_alike(left_table, left_columns[left.key], right_table, right_columns[right.key]))
    raise_not_alike(left_table, right_table);
  return list;
}

}  // namespace batmap::pg
