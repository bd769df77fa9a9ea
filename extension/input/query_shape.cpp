// Puts a query below another one. See query_shape.h.
#include "extension/input/query_shape.h"

#include <cstring>

#include "extension/input/key_column.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

List* columns_of(const Query* query) {
  List* columns = NIL;
  ListCell* cell;
  foreach (cell, query->targetList)
    if (!lfirst_node(TargetEntry, cell)->resjunk) columns = lappend(columns, lfirst(cell));
  return columns;
}

TargetEntry* column_named(List* columns, const char* name) {
  TargetEntry* found = nullptr;
  StringInfoData names;
  initStringInfo(&names);
  ListCell* cell;
  foreach (cell, columns) {
    auto* const column = lfirst_node(TargetEntry, cell);
    if (column->resname == nullptr) continue;
    appendStringInfo(&names, "%s\"%s\"", names.len == 0 ? "" : ", ", column->resname);
    if (strcmp(column->resname, name) != 0) continue;
    if (found != nullptr)
      ereport(ERROR, (errcode(ERRCODE_AMBIGUOUS_COLUMN), errmsg("input query has two columns \"%s\"", name)));
    found = column;
  }
  if (found == nullptr)
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("input query has no column \"%s\"", name),
                    errhint("Its columns are %s.", names.data)));
  return found;
}

Oid type_of(const TargetEntry* column) { return getBaseType(exprType(reinterpret_cast<const Node*>(column->expr))); }

/// Is this a type of sets of integers, as batmap is: one that is cast to int8[]?
bool is_set(Oid type) {
  Oid cast;
  return find_coercion_pathway(INT8ARRAYOID, type, COERCION_ASSIGNMENT, &cast) == COERCION_PATH_FUNC && OidIsValid(cast);
}

/// Does a value hold a whole basket?
bool holds_items(Oid type) {
  return OidIsValid(get_element_type(type)) || type == JSONBOID || type == JSONOID || is_set(type);
}

/// One row for each element of a basket.
Expr* elements_of(Expr* basket, Oid type, bool of_numbers) {
  if (is_set(type)) {
    basket = reinterpret_cast<Expr*>(coerce_to_target_type(nullptr, reinterpret_cast<Node*>(basket), type, INT8ARRAYOID, -1,
                                                           COERCION_ASSIGNMENT, COERCE_EXPLICIT_CAST, -1));
    type = INT8ARRAYOID;
  }
  const Oid element = get_element_type(type);
  Oid function = F_UNNEST_ANYARRAY;
  if (type == JSONBOID) function = F_JSONB_ARRAY_ELEMENTS_TEXT;
  if (type == JSONOID) function = F_JSON_ARRAY_ELEMENTS_TEXT;
  const Oid collation = OidIsValid(element) ? exprCollation(reinterpret_cast<Node*>(basket)) : Oid{DEFAULT_COLLATION_OID};
  FuncExpr* const elements = makeFuncExpr(function, OidIsValid(element) ? element : Oid{TEXTOID}, list_make1(basket),
                                          collation, collation, COERCE_EXPLICIT_CALL);
  elements->funcretset = true;
  if (OidIsValid(element) || !of_numbers) return &elements->xpr;
  auto* const number = makeNode(CoerceViaIO);
  number->arg = &elements->xpr;
  number->resulttype = INT8OID;
  number->coerceformat = COERCE_EXPLICIT_CAST;
  number->location = -1;
  return &number->xpr;
}

}  // namespace

Oid own_item_type(const Query* query, const InnerQuery& given) {
  List* const columns = columns_of(query);
  if (given.item_column == nullptr && list_length(columns) != 2) return InvalidOid;
  Oid type =
      type_of(given.item_column == nullptr ? lsecond_node(TargetEntry, columns) : column_named(columns, given.item_column));
  if (const Oid element = get_element_type(type); OidIsValid(element)) type = getBaseType(element);
  if (type == JSONBOID || type == JSONOID) type = TEXTOID;
  if (is_set(type)) type = INT8OID;
  return is_integer(type) ? InvalidOid : type;
}

Query* shape_rows(Query* query, const InnerQuery& given, Oid item_type) {
  if ((given.tid_column == nullptr) != (given.item_column == nullptr))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("only one of tid_column and item_column is given"),
                    errhint("Name both columns, or give a query that returns just these two.")));
  List* const columns = columns_of(query);
  TargetEntry* rows[2];
  if (given.tid_column != nullptr) {
    rows[0] = column_named(columns, given.tid_column);
    rows[1] = column_named(columns, given.item_column);
    if (rows[0] == rows[1])
      ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                      errmsg("tid_column and item_column are the same column, \"%s\"", given.item_column),
                      errhint("Name the column of the transaction, then that of the item.")));
  } else {
    if (list_length(columns) != 2) return query;  // an error of the reader
    rows[0] = linitial_node(TargetEntry, columns);
    rows[1] = lsecond_node(TargetEntry, columns);
  }
  // Items may be arrays themselves.
  const bool baskets = holds_items(type_of(rows[1])) && !(OidIsValid(item_type) && holds_items(getBaseType(item_type)));
  if (!baskets && given.tid_column == nullptr) return query;

  auto* const below = makeNode(RangeTblEntry);
  below->rtekind = RTE_SUBQUERY;
  below->subquery = query;
  below->inFromCl = true;
  below->eref = makeAlias("input", NIL);
  ListCell* cell;
  foreach (cell, columns) {
    const auto* const column = lfirst_node(TargetEntry, cell);
    below->eref->colnames =
        lappend(below->eref->colnames, makeString(pstrdup(column->resname == nullptr ? "?column?" : column->resname)));
  }
  auto* const shaped = makeNode(Query);
  shaped->commandType = CMD_SELECT;
  shaped->canSetTag = true;
  shaped->rtable = list_make1(below);
  auto* const from = makeNode(RangeTblRef);
  from->rtindex = 1;
  shaped->jointree = makeFromExpr(list_make1(from), nullptr);
  shaped->hasTargetSRFs = baskets;
  for (int k = 0; k < 2; ++k) {
    auto* value = reinterpret_cast<Expr*>(makeVarFromTargetEntry(1, rows[k]));
    if (k == 1 && baskets) value = elements_of(value, type_of(rows[k]), !OidIsValid(item_type));
    shaped->targetList = lappend(
        shaped->targetList, makeTargetEntry(value, static_cast<AttrNumber>(k + 1), pstrdup(k == 0 ? "tid" : "item"), false));
  }
  return shaped;
}

}  // namespace batmap::pg
