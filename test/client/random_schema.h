// Random schemas for metamorphic_client.cpp: tables of keys and items of random types, with NULLs, repeated
// rows, skew, extreme values, indexes, partitions and row security with several forms of policies; views
// with and without a security barrier; materialized views. Schema meta_truth holds, under the same names,
// plain tables of the rows that the ordinary role meta_reader may see. Everything is kept as numbers and
// words, so that a schema can be written as a script and reduced row by row. The same number gives the same
// schema on every machine.
#pragma once

#include <array>
#include <map>
#include <set>

#include "client.h"

namespace client {

// ---- drawing

inline bool chance(Rng& rng, double p) { return fraction(rng) < p; }

template <class T>
const T& one_of(Rng& rng, const std::vector<T>& choices) {
  return choices[below(rng, choices.size())];
}

inline std::string one_of(Rng& rng, std::initializer_list<const char*> choices) {
  return choices.begin()[below(rng, choices.size())];
}

inline int number_of(Rng& rng, std::initializer_list<int> choices) { return choices.begin()[below(rng, choices.size())]; }

inline std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : between) + part;
  return out;
}

// ---- columns

enum class ColumnType { kInt2, kInt4, kInt8, kText, kUuid, kDate, kNumeric, kBool };

inline const char* type_name(ColumnType type) {
  static const char* const kNames[] = {"int2", "int4", "int8", "text", "uuid", "date", "numeric", "bool"};
  return kNames[static_cast<int>(type)];
}

inline bool is_integer(ColumnType type) { return type <= ColumnType::kInt8; }

// A column has the numbers 0 ... values - 1 and makes a literal of its type from each.
struct Column {
  std::string name;
  ColumnType type = ColumnType::kInt4;
  int values = 1;
  double skew = 1;        // exponent: a larger one gives the smallest numbers to more rows
  double nulls = 0;       // share of rows
  bool extremes = false;  // 0 and 1 are the least and the largest value of the type
  bool wide = false;      // int8 beyond 32 bits
  bool not_null = false;

  // `form` chooses between literals of the same value if the type has several: 1.5 and 1.50.
  std::string literal(int number, int form = 0) const {
    if (number < 0) return "NULL";
    static const char* const kExtremes[3][2] = {
        {"'-32768'", "32767"}, {"'-2147483648'", "2147483647"}, {"'-9223372036854775808'", "9223372036854775807"}};
    const auto scattered = static_cast<uint32_t>(number) * 2654435761u;
    switch (type) {
      case ColumnType::kInt2:
      case ColumnType::kInt4:
      case ColumnType::kInt8:
        if (extremes && number < 2) return kExtremes[static_cast<int>(type)][number];
        return std::to_string(wide ? number * 3000000000LL : number);
      case ColumnType::kText: return number == 0 ? "''" : text("'%s%d'", number % 3 == 0 ? "\u00e4 ''" : "w", number);
      case ColumnType::kUuid: return text("'%08x-0000-4000-8000-%012x'", scattered, static_cast<unsigned>(number));
      case ColumnType::kDate:
        return extremes && number < 2 ? (number == 0 ? "'-infinity'" : "'infinity'")
                                      : text("'20%02d-%02d-%02d'", number % 50, 1 + number % 11, 1 + number % 28);
      case ColumnType::kNumeric:
        if (extremes && number == 0) return "'NaN'";
        return text(form % 2 == 0 ? "%d.%d" : "%d.%d00", number / 2, number % 2 * 5);
      case ColumnType::kBool: return number % 2 == 0 ? "false" : "true";
    }
    return {};
  }

  int draw(Rng& rng) const {
    if (nulls > 0 && chance(rng, nulls)) return -1;
    double u = 1;
    for (int k = 0; k < static_cast<int>(skew); ++k) u *= fraction(rng);
    return std::min(values - 1, static_cast<int>(u * values));
  }
};

// Every table and view has these columns.
enum ColumnNumber { kId, kKey, kSecondKey, kItem, kSecondItem, kHidden, kColumns };

using NumberRow = std::array<int, kColumns>;  // -1: NULL

struct Table {
  std::string name;
  std::array<Column, kColumns> columns;
  std::vector<NumberRow> rows;
  std::string partitions;             // BY HASH (k), RANGE (id) or LIST (h), or empty
  std::string constraint;             // an index, or empty
  std::vector<std::string> policies;  // statements; empty: no row security
  std::string visible = "true";       // condition of the rows that the policies permit, for a superuser
  bool analyzed = true;
};

// A relation that a query can read.
struct Relation {
  std::string name;
  int table = 0;
  std::string definition;        // of a view; empty: the table itself
  std::string visible = "true";  // condition of the rows that the role sees
  bool guarded = false;          // must functions in queries of the role not see hidden rows?
};

constexpr char kReader[] = "meta_reader";

struct Schema {
  std::vector<Table> tables;
  std::vector<Relation> relations;

  const Table& table_of(const Relation& relation) const { return tables[static_cast<size_t>(relation.table)]; }
  const Relation& relation(const std::string& name) const {
    for (const Relation& r : relations)
      if (r.name == name) return r;
    throw std::runtime_error("no relation " + name);
  }

  /// Does any relation read the table?
  bool is_read(size_t table) const {
    return std::any_of(relations.begin(), relations.end(),
                       [&](const Relation& r) { return static_cast<size_t>(r.table) == table; });
  }

  size_t rows() const {
    size_t sum = 0;
    for (size_t k = 0; k < tables.size(); ++k) sum += is_read(k) ? tables[k].rows.size() : 0;
    return sum;
  }

  // The whole schema as statements of a superuser, which leave search_path set to "meta".
  std::vector<std::string> script() const {
    std::vector<std::string> out = {
        "SET client_min_messages = error", "DROP SCHEMA IF EXISTS meta, meta_truth CASCADE",
        "DROP ROLE IF EXISTS meta_reader", "CREATE ROLE meta_reader", "CREATE SCHEMA meta", "CREATE SCHEMA meta_truth",
        "GRANT USAGE ON SCHEMA meta, meta_truth TO meta_reader", "SET search_path = meta",
        // These functions report their arguments. They are so cheap that a planner calls them first
        // if it may.
        "CREATE FUNCTION leak(place text, value anyelement) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST "
        "0.0001 AS"
        " $$ BEGIN RAISE NOTICE 'saw %=%', place, value::text; RETURN true; END $$",
        "CREATE FUNCTION peek(place text, value anyelement) RETURNS text LANGUAGE plpgsql STABLE COST 0.0001 AS"
        " $$ BEGIN RAISE NOTICE 'saw %=%', place, value::text; RETURN value::text; END $$",
        "CREATE FUNCTION may_see(hidden bool) RETURNS bool LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN NOT hidden; END $$"};
    for (size_t k = 0; k < tables.size(); ++k)
      if (is_read(k)) add_table(tables[k], out);
    for (const Relation& relation : relations) {
      if (!relation.definition.empty()) out.push_back(relation.definition);
      if (!relation.definition.empty()) out.push_back("GRANT SELECT ON " + relation.name + " TO " + kReader);
      out.push_back(text("CREATE TABLE meta_truth.%s AS SELECT * FROM %s WHERE %s", relation.name.c_str(),
                         relation.name.c_str(), relation.visible.c_str()));
    }
    out.emplace_back("RESET client_min_messages");
    return out;
  }

 private:
  static void add_table(const Table& table, std::vector<std::string>& out) {
    std::vector<std::string> columns;
    for (const Column& c : table.columns)
      columns.push_back(c.name + " " + type_name(c.type) + (c.not_null ? " NOT NULL" : ""));
    const char* const name = table.name.c_str();
    out.push_back(text("CREATE TABLE %s (%s)%s%s", name, joined(columns, ", ").c_str(),
                       table.partitions.empty() ? "" : " PARTITION BY ", table.partitions.c_str()));
    if (table.partitions == "HASH (k)") {
      for (int k = 0; k < 3; ++k)
        out.push_back(
            text("CREATE TABLE %s_%d PARTITION OF %s FOR VALUES WITH (MODULUS 3, REMAINDER %d)", name, k, name, k));
    } else if (!table.partitions.empty()) {
      out.push_back(text("CREATE TABLE %s_0 PARTITION OF %s FOR VALUES %s", name, name,
                         table.partitions == "LIST (h)" ? "IN (true)" : "FROM (0) TO (20)"));
      out.push_back(text("CREATE TABLE %s_1 PARTITION OF %s DEFAULT", name, name));
    }
    if (!table.constraint.empty()) out.push_back("ALTER TABLE " + table.name + " ADD " + table.constraint);
    std::vector<std::string> rows;
    for (const NumberRow& row : table.rows) {
      std::vector<std::string> values;
      for (size_t c = 0; c < kColumns; ++c) values.push_back(table.columns[c].literal(row[c], row[kId]));
      rows.push_back("(" + joined(values, ", ") + ")");
    }
    if (!rows.empty()) out.push_back("INSERT INTO " + table.name + " VALUES " + joined(rows, ", "));
    if (table.analyzed) out.push_back("ANALYZE " + table.name);
    out.push_back("GRANT SELECT ON " + table.name + " TO " + kReader);
    if (table.policies.empty()) return;
    out.push_back("ALTER TABLE " + table.name + " ENABLE ROW LEVEL SECURITY");
    out.insert(out.end(), table.policies.begin(), table.policies.end());
  }
};

// ---- making one

class SchemaMaker {
 public:
  explicit SchemaMaker(Rng& rng) : rng_(rng) {}

  Schema make() {
    key_type_ = static_cast<ColumnType>(below(rng_, 7));
    item_type_ = static_cast<ColumnType>(below(rng_, 7));
    wide_keys_ = chance(rng_, 0.3);
    wide_items_ = chance(rng_, 0.3);
    Schema schema;
    const int tables = 2 + static_cast<int>(below(rng_, 3));
    for (int k = 0; k < tables; ++k) schema.tables.push_back(make_table(k));
    for (int k = 0; k < tables; ++k) add_relations(k, schema);
    return schema;
  }

 private:
  static constexpr int64_t kMaxPairs = 200000;  // row pairs with equal keys

  Table make_table(int number) {
    Table table;
    table.name = text("t%d", number);
    for (size_t c = 0; c < kColumns; ++c) table.columns[c].name = kNames[c];
    auto& [id, key, second_key, item, second_item, hidden] = table.columns;
    id.values = 1 << 20;
    key.type = key_type_;
    // Integer types of all widths can be joined.
    if (is_integer(key_type_) && chance(rng_, 0.3)) key.type = static_cast<ColumnType>(below(rng_, 3));
    key.wide = key.type == ColumnType::kInt8 && wide_keys_;
    key.values = number_of(rng_, {1, 3, 10, 40, 200});
    key.skew = number_of(rng_, {1, 1, 3});
    second_key.values = number_of(rng_, {1, 2, 5});
    item.type = item_type_;
    item.wide = item.type == ColumnType::kInt8 && wide_items_;
    item.values = number_of(rng_, {1, 3, 8, 30, 100});
    item.skew = number_of(rng_, {1, 2, 4});
    item.extremes = chance(rng_, 0.3);
    second_item.type = static_cast<ColumnType>(below(rng_, 8));
    second_item.values = number_of(rng_, {2, 5, 20});
    hidden.type = ColumnType::kBool;
    hidden.values = 2;
    hidden.skew = number_of(rng_, {1, 3});
    for (Column* const c : {&key, &second_key, &item, &second_item}) c->nulls = number_of(rng_, {0, 0, 5, 40}) / 100.0;

    table.partitions = chance(rng_, 0.7) ? "" : one_of(rng_, {"HASH (k)", "RANGE (id)", "LIST (h)"});
    const bool by_key = table.partitions.empty() || table.partitions == "HASH (k)";
    if (by_key && chance(rng_, 0.35))
      table.constraint = one_of(rng_, {"PRIMARY KEY (k, i)", "UNIQUE (i, k)", "UNIQUE NULLS NOT DISTINCT (k, i)"});
    if (table.constraint == "PRIMARY KEY (k, i)") key.nulls = item.nulls = 0;
    for (Column* const c : {&key, &item, &second_item}) c->not_null = c->nulls == 0 && chance(rng_, 0.4);
    table.analyzed = chance(rng_, 0.85);
    make_rows(table);
    if (chance(rng_, 0.5)) make_policies(table);
    return table;
  }

  void make_rows(Table& table) {
    const int wanted = number_of(rng_, {0, 1, 6, 40, 150, 150, 400, 400, 1000, 3000});
    const double repeats = number_of(rng_, {0, 0, 30}) / 100.0;
    const double own_items = number_of(rng_, {0, 1}) / 2.0;
    std::map<int, int64_t> rows_of_key;
    std::set<std::pair<int, int>> seen;
    int64_t pairs = 0;
    for (int n = 0; n < wanted && pairs < kMaxPairs; ++n) {
      NumberRow row;
      for (size_t c = 0; c < kColumns; ++c) row[c] = table.columns[c].draw(rng_);
      if (!table.rows.empty() && chance(rng_, repeats)) row = table.rows[below(rng_, table.rows.size())];
      row[kId] = n;
      // Items that only hidden rows have: an answer that contains one reveals these rows.
      if (row[kHidden] == 1 && row[kItem] >= 0 && chance(rng_, own_items)) row[kItem] += table.columns[kItem].values;
      const bool may_repeat = table.constraint.find("NULLS") == std::string::npos && (row[kKey] < 0 || row[kItem] < 0);
      if (!table.constraint.empty() && !may_repeat && !seen.emplace(row[kKey], row[kItem]).second) continue;
      if (row[kKey] >= 0) pairs += 2 * rows_of_key[row[kKey]]++ + 1;
      table.rows.push_back(row);
    }
  }

  void make_policies(Table& table) {
    const std::string some_item = table.columns[kItem].literal(table.columns[kItem].draw(rng_));
    const auto add = [&](const std::string& kind, const std::string& condition) {
      table.policies.push_back(text("CREATE POLICY p%zu ON %s AS %s TO %s USING (%s)", table.policies.size(),
                                    table.name.c_str(), kind.c_str(), kReader, condition.c_str()));
    };
    table.visible = "NOT h";
    switch (below(rng_, 7)) {
      case 0: add("PERMISSIVE", "NOT h"); break;
      case 1: add("PERMISSIVE", text("NOT h AND current_user = '%s'", kReader)); break;
      case 2: add("PERMISSIVE", "may_see(h)"); break;
      case 3: add("PERMISSIVE", "h::text = (SELECT current_setting('meta.shown'))"); break;
      case 4:
        table.visible = "NOT h AND i IS DISTINCT FROM " + some_item;
        add("PERMISSIVE", table.visible);
        break;
      case 5:
        table.visible = "(NOT h OR i = " + some_item + ") AND k IS NOT NULL";
        add("PERMISSIVE", "NOT h");
        add("PERMISSIVE", "i = " + some_item);
        add("RESTRICTIVE", "k IS NOT NULL");
        break;
      default:  // a policy that permits no row
        table.visible = "false";
        add("RESTRICTIVE", "true");
    }
  }

  void add_relations(int number, Schema& schema) {
    const Table& table = schema.tables[static_cast<size_t>(number)];
    const bool secured = !table.policies.empty();
    const char* const name = table.name.c_str();
    schema.relations.push_back({table.name, number, "", table.visible, secured});
    const std::string condition = "id % 3 <> 1";  // of views: the rows that they exclude are hidden, too
    const auto view = [&](const char* letter, const char* kind, const char* options, const std::string& visible,
                          bool guarded) {
      if (!chance(rng_, 0.4)) return;
      const std::string view_name = text("%s%d", letter, number);
      schema.relations.push_back(
          {view_name, number,
           text("CREATE %s %s%s AS SELECT * FROM %s WHERE %s", kind, view_name.c_str(), options, name, condition.c_str()),
           visible, guarded});
    };
    view("v", "VIEW", "", "true", false);
    view("b", "VIEW", " WITH (security_barrier)", "true", true);
    view("s", "VIEW", " WITH (security_barrier, security_invoker)", table.visible, true);
    view("m", "MATERIALIZED VIEW", "", "true", false);
  }

  static constexpr const char* kNames[kColumns] = {"id", "k", "l", "i", "j", "h"};

  Rng& rng_;
  ColumnType key_type_ = ColumnType::kInt4;
  ColumnType item_type_ = ColumnType::kInt4;
  bool wide_keys_ = false;
  bool wide_items_ = false;
};

}  // namespace client
