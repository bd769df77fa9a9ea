// Rights and states of kept tables. See kept_access.h.
#include "extension/kept/kept_access.h"

#include "extension/kept/kept_companions.h"
#include "extension/server/own_statement.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

/// Which subscriptions write to a relation.
struct Subscriptions {
  int count;
  Oid subscription;  // one of them
  bool are_ready;    // none of them copies it
};

Subscriptions subscriptions_of(Oid relation) {
  CatCList* const found = SearchSysCacheList1(SUBSCRIPTIONRELMAP, ObjectIdGetDatum(relation));
  Subscriptions all{found->n_members, InvalidOid, true};
  for (int k = 0; k < found->n_members; ++k) {
    const auto* const form = reinterpret_cast<Form_pg_subscription_rel>(GETSTRUCT(&found->members[k]->tuple));
    all.subscription = form->srsubid;
    all.are_ready &= form->srsubstate == SUBREL_STATE_READY;
  }
  ReleaseSysCacheList(found);
  return all;
}

/// Whether subscriptions write to companions, but not one and the same to all of them and the table, or one is still copied.
bool is_partly_subscribed(const KeptTable& kept) {
  if (!is_subscribed(kept.companions)) return false;
  const Subscriptions log = subscriptions_of(kept.companions.log);
  const auto is_alike = [&](Oid relation) {
    const Subscriptions own = subscriptions_of(relation);
    return own.count == 1 && own.subscription == log.subscription && own.are_ready;
  };
  // The rows of a partitioned table come to it or to its partitions.
  return !is_alike(kept.companions.log) || !is_alike(kept.companions.counts) ||
         (!kept.is_partitioned && !is_alike(kept.table));
}

void check_owner(Oid table) {
  const char* const name = get_rel_name(table);
  if (name == nullptr || owns_relation(table)) return;
  ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be owner of table \"%s\"", name),
                  errhint("Only its owner may keep, merge and check its counts.")));
}

[[noreturn]] void raise_not_kept(Relation table) {
  ereport(ERROR,
          (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
           errmsg("counts of table \"%s\" are not kept", RelationGetRelationName(table)),
           errhint("A function counts the rows if you name two columns behind the table. Its owner can keep the counts: "
                   "batmap_keep(%s, tid, item).",
                   table_literal(RelationGetRelid(table)))));
  pg_unreachable();
}

KeptTable checked_kept_table(Relation table) {
  const KeptTable* const found = find_kept_table(table);
  if (found == nullptr) {
    check_kind(table);
    raise_not_kept(table);
  }
  check_kind(table);
  const KeptTable kept = *found;
  if (!kept.all_fire)
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("a trigger of the kept table \"%s\" is missing or disabled", RelationGetRelationName(table)),
                    errdetail("Changes may be missing from its counts."), errhint("%s", kKeepAgain)));
  if (is_partly_subscribed(kept))
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("the replication of the counts of table \"%s\" is not complete", RelationGetRelationName(table)),
                    errdetail("One subscription must write to the table, to its kept counts and to their log."),
                    errhint("pg_subscription_rel shows the state of each. Counts and log must be empty when they are "
                            "subscribed to.")));
  if (check_enable_rls(kept.table, kept.owner, true) == RLS_ENABLED)
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("row-level security of table \"%s\" applies to its owner", RelationGetRelationName(table)),
                    errdetail("The owner does not see the rows that are counted."),
                    errhint("ALTER TABLE ... NO FORCE ROW LEVEL SECURITY, or batmap_unkeep.")));
  return kept;
}

bool may_read_columns(const KeptTable& kept) {
  if (may_select(kept.table)) return true;
  const Bitmapset* const columns = read_columns(kept);
  for (int member = -1; (member = bms_next_member(columns, member)) >= 0;)
    if (!may_select_column(kept.table, static_cast<AttrNumber>(member + FirstLowInvalidHeapAttributeNumber))) return false;
  return true;
}

}  // namespace

bool is_subscribed(const Companions& companions) {
  return subscriptions_of(companions.log).count > 0 || subscriptions_of(companions.counts).count > 0;
}

bool has_all_changes(const KeptTable& kept) { return kept.all_fire && !is_partly_subscribed(kept); }

void check_kind(Relation table) {
  const char* const name = RelationGetRelationName(table);
  const char* what = nullptr;
  const char* hint = "Keep an ordinary table.";
  switch (table->rd_rel->relkind) {
    case RELKIND_RELATION:
    case RELKIND_PARTITIONED_TABLE: break;
    case RELKIND_FOREIGN_TABLE: what = "a foreign table, which changes without a trigger"; break;
    case RELKIND_VIEW: what = "a view, which has no changes of its own"; break;
    case RELKIND_MATVIEW: what = "a materialized view, which is refreshed without a trigger"; break;
    default: what = "no table";
  }
  if (what == nullptr && table->rd_rel->relispartition) {
    what = "a partition";
    hint = "Keep the partitioned table.";
  }
  if (what == nullptr && table->rd_rel->relkind == RELKIND_RELATION &&
      (has_superclass(RelationGetRelid(table)) || find_inheritance_children(RelationGetRelid(table), NoLock) != NIL))
    what = "part of an inheritance tree, whose tables change without a trigger on the others";
  if (what == nullptr && table->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT) {
    what = table->rd_rel->relpersistence == RELPERSISTENCE_TEMP ? "a temporary table"
                                                                : "an unlogged table, which a crash empties";
    hint = "Keep a permanent table.";
  }
  if (what == nullptr && IsCatalogRelation(table)) what = "a table of the catalog";
  if (what == nullptr) return;
  ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("counts of \"%s\" cannot be kept: it is %s", name, what),
                  errhint("%s", hint)));
}

void check_children(Relation table) {
  if (!table->rd_rel->relhassubclass || find_inheritance_children(RelationGetRelid(table), NoLock) == NIL) return;
  ereport(ERROR,
          (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
           errmsg("rows of table \"%s\", whose counts are kept, cannot be changed while it has children",
                  RelationGetRelationName(table)),
           errdetail("Rows of the children are not counted, but a statement would change them, too."),
           errhint("ALTER TABLE child NO INHERIT %s, or call batmap_unkeep.", qualified_name(RelationGetRelid(table)))));
}

const KeptTable* kept_table_or_none(Relation table) {
  const Form_pg_class form = table->rd_rel;
  Companions companions;
  if (IsInParallelMode() || form->relkind != RELKIND_RELATION || form->relispartition || form->relrowsecurity ||
      form->relhassubclass || form->relpersistence != RELPERSISTENCE_PERMANENT || !find_companions(table, companions) ||
      has_superclass(RelationGetRelid(table)))
    return nullptr;
  const KeptTable* const kept = find_kept_table_quietly(table);
  return kept != nullptr && has_all_changes(*kept) ? kept : nullptr;
}

Relation open_own_table(Oid oid, LOCKMODE lock) {
  check_owner(oid);
  const Relation table = relation_open(oid, lock);
  check_owner(oid);  // it may have changed hands meanwhile
  return table;
}

KeptTable kept_table_to_read(Oid oid) {
  const Relation table = try_relation_open(oid, AccessShareLock);
  if (table == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", oid)));
  // Rights first, so that nothing else is told.
  if (!may_select(oid) && !may_select_any_column(oid))
    aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(table));
  const KeptTable kept = checked_kept_table(table);
  if (!may_read_columns(kept)) aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(table));
  if (check_enable_rls(oid, InvalidOid, true) == RLS_ENABLED)
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("row-level security of table \"%s\" applies to role \"%s\"", RelationGetRelationName(table),
                           GetUserNameFromId(GetUserId(), false)),
                    errdetail("Kept counts are of all rows."),
                    errhint("Give a query to the function: it counts the rows that the role may see.")));
  relation_close(table, NoLock);
  return kept;
}

KeptTable kept_table_to_change(Oid oid) {
  const Relation table = open_own_table(oid, AccessShareLock);
  const KeptTable kept = checked_kept_table(table);
  relation_close(table, NoLock);
  return kept;
}

}  // namespace batmap::pg
