// The parts of a table that lies on several servers: what the functions of distributed_counts.cpp ask.
//
// A part is all that one server has, however many shards or partitions that are: the more rows a part has, the closer its
// frequent pairs and itemsets are to those of the whole, and the fewer candidates there are.
//   a table that Citus distributes    a part for each node, which reads the shards there
//   partitions on foreign servers     a part for each server, and one for the partitions that lie here
//   any other table                   one part, here
// Or the caller names foreign servers, and each has a table of this name.
#pragma once

#include "extension/server/pg.h"

namespace batmap::pg {

/// What is read of a table.
struct SpreadSource {
  static constexpr int kMaxColumns = 3;

  const char* table;                 // the name of a table; with `servers`, a query will do, too
  const char* columns[kMaxColumns];  // nullptr: the columns of the table in their order
  const char* roles[kMaxColumns];    // names of the arguments that give the columns, for errors
  int count;                         // of the columns
  int key;                           // all rows with one value in this column must lie in one part
  const char* together;              // what the rows of one key are, for errors; nullptr: a transaction
  bool by_position;                  // who reads the rows takes the columns in their order, and no names
};

enum class PartPlace { kHere, kServer, kNode };

struct Part {
  PartPlace place;
  const char* name;   // of the server, or of the node
  int port;           // of the node
  const char* query;  // its rows
  const char* right;  // the same of the right table of a join; nullptr: there is none
  double weight;      // a guess at its rows, in any unit
};

struct PartList {
  Part* parts;
  int count;
  const char* table;  // for errors
  bool is_any(PartPlace place) const;
};

/// Finds the parts, in memory of the current context. SPI must be connected, with a safe search_path.
/// @param table     as find_spread_table() gives it; InvalidOid: with `servers`
/// @param servers   names of foreign servers that have the table or run the query; NIL: the parts of the table
/// @param disjoint  the caller knows that no key lies in two parts
/// @raises 42P10 if there is more than one part and a key may lie in two of them
PartList find_parts(const SpreadSource& source, Oid table, List* servers, bool disjoint);

/// The same for a join of two tables: a part has the rows of both, and a key is a value in the key columns of both.
/// @param left_table, right_table  InvalidOid: with `servers`
/// @raises also 42P10 if a part has rows of one table only
PartList find_joined_parts(const SpreadSource& left, Oid left_table, const SpreadSource& right, Oid right_table,
                           List* servers, bool disjoint);

/// The table of that name, locked for reading. To be called with the search_path of the caller.
/// @raises 42601 if the text is no name; 42P01 if there is no such table
Oid find_spread_table(const char* name);

}  // namespace batmap::pg
