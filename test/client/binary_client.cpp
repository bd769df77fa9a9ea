// Values in binary form, as drivers send and receive them. Compares the rows of batmap_pairs with a plain
// self-join that the server answers in text. Sends relations through COPY BINARY and binary parameters. Sends
// thousands of damaged relations, binary and text: each must be refused as bad data (SQLSTATE class 22) or
// accepted as a consistent relation. The session must survive all of this.

#include <map>
#include <set>

#include "client.h"

using namespace client;

namespace {

using TidItem = std::pair<int64_t, int64_t>;  // (tid, item), or two items
using Row = std::vector<int64_t>;

// -- Random tables ----------------------------------------------------------------------------------------------

// The columns that are compared.
const std::string kColumns = "item_a, item_b, support_count, count_a, count_b, total";

// How the rows of a table are drawn. Drawn numbers are multiplied by `spread`, then `shift` is added.
struct Shape {
  const char* name;
  int rows;
  int tids;
  int items;
  int64_t tid_spread;
  int64_t item_spread;
  int64_t item_shift;
  int nulls;  // this many of 100 rows contain a NULL
  const char* columns;
};

const Shape kShapes[] = {
    {"no row", 0, 1, 1, 1, 1, 0, 0, "tid int8, item int8"},
    {"only NULLs", 20, 5, 5, 1, 1, 0, 100, "tid int8, item int8"},
    {"one row", 1, 1, 1, 1, 1, 0, 0, "tid int8, item int8"},
    {"one transaction", 300, 1, 65, 1, 1, 0, 0, "tid int4, item int4"},
    {"one item", 300, 63, 1, 1, 1, 0, 0, "tid int4, item int4"},
    {"two items, 64 transactions", 200, 64, 2, 1, 1, -1, 5, "tid int4, item int8"},
    {"65 dense transactions", 2000, 65, 40, 1, 1, 0, 1, "tid int8, item int4"},
    {"257 dense transactions, 257 items", 30000, 257, 257, 1, 1, 0, 0, "tid int8, item int8"},
    {"sparse", 6000, 3000, 900, 1, 1, 0, 2, "tid int4, item int4"},
    {"sparse, wide numbers", 6000, 2000, 600, 0x0001000200030005, 0x0000700060005003, -1234567890123456789, 2,
     "tid int8, item int8"},
    {"many duplicates", 20000, 40, 30, 1, 1000, -15000, 0, "tid int8, item int8"},
    {"513 transactions, small numbers of both signs", 9000, 513, 100, 1, 7, -350, 3, "tid int2, item int4"},
};

std::string drawn_rows(Rng& rng, const Shape& shape) {
  std::string out;
  for (int i = 0; i < shape.rows; ++i) {
    // The product of two fractions: small numbers are more frequent, as in real baskets.
    const auto tid = static_cast<int64_t>(fraction(rng) * shape.tids);
    const auto item = static_cast<int64_t>(fraction(rng) * fraction(rng) * shape.items);
    const bool null = static_cast<int>(below(rng, 100)) < shape.nulls;
    const bool null_tid = null && below(rng, 2) == 0;
    out += null_tid ? "\\N" : std::to_string(tid * shape.tid_spread);
    out += '\t';
    out += null && !null_tid ? "\\N" : std::to_string(item * shape.item_spread + shape.item_shift);
    out += '\n';
  }
  return out;
}

void fill(Session& session, const std::string& table, const char* columns, const std::string& rows) {
  session.must("DROP TABLE IF EXISTS " + table);
  session.must("CREATE TEMP TABLE " + table + " (" + columns + ")");
  const Result copied = session.copy_in("COPY " + table + " FROM STDIN", rows);
  if (!copied.good()) throw std::runtime_error("cannot fill " + table + ": " + copied.message());
}

// All pairs of a table with their counts, sorted, by plain SQL and in text.
std::vector<Row> plain_pairs(Session& session, const std::string& table) {
  const Result r =
      session.must("WITH d AS MATERIALIZED (SELECT DISTINCT tid::int8, item::int8 FROM " + table +
                   " WHERE tid IS NOT NULL AND item IS NOT NULL),"
                   " s AS MATERIALIZED (SELECT item, count(*) AS n FROM d GROUP BY item),"
                   " p AS (SELECT a.item AS item_a, b.item AS item_b, count(*) AS n FROM d a JOIN d b USING (tid)"
                   "       WHERE a.item < b.item GROUP BY 1, 2)"
                   " SELECT item_a, item_b, p.n, sa.n, sb.n, (SELECT count(DISTINCT tid) FROM d)"
                   " FROM p JOIN s sa ON sa.item = item_a JOIN s sb ON sb.item = item_b ORDER BY 1, 2");
  std::vector<Row> rows;
  for (int i = 0; i < r.rows(); ++i) {
    Row& row = rows.emplace_back();
    for (int c = 0; c < 6; ++c) row.push_back(r.number(i, c));
  }
  return rows;
}

std::vector<Row> at_least(const std::vector<Row>& rows, int64_t min_count) {
  std::vector<Row> out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out), [&](const Row& row) { return row[2] >= min_count; });
  return out;
}

// The rows of a binary result of int8 columns, sorted. Throws if the result has another form.
std::vector<Row> binary_rows(const Result& r) {
  std::vector<Row> rows;
  for (int c = 0; c < r.columns(); ++c) {
    if (PQfformat(r.raw(), c) != 1 || PQftype(r.raw(), c) != kInt8Oid) {
      throw std::runtime_error("a column is no binary int8");
    }
  }
  for (int i = 0; i < r.rows(); ++i) {
    Row& row = rows.emplace_back();
    for (int c = 0; c < r.columns(); ++c) row.push_back(r.binary_int8(i, c));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

void pairs_in_binary(Tap& tap, Session& session, Rng& rng) {
  std::vector<std::string> methods = counting_methods(session);
  methods.push_back("auto");
  for (const Shape& shape : kShapes) {
    fill(session, "drawn", shape.columns, drawn_rows(rng, shape));
    const auto expected = plain_pairs(session, "drawn");
    int64_t best = 0;
    for (const Row& row : expected) best = std::max(best, row[2]);
    std::set<int64_t> thresholds = {1, 2, best / 2, best, best + 1};
    thresholds.erase(0);
    for (const std::string& method : methods) {
      std::string differs;
      for (const int64_t min_count : thresholds) {
        const Param count = int8_param(min_count);
        const Param by{method, false, kTextOid};
        const auto from_query = binary_rows(session.must_params("SELECT " + kColumns +
                                                                    " FROM batmap_pairs('SELECT tid, item FROM drawn',"
                                                                    " min_count => $1, method => $2)",
                                                                {count, by}, true));
        if (from_query != at_least(expected, min_count)) differs += text(" query, min_count %lld;", (long long)min_count);
        if (std::strstr(shape.columns, "int2") != nullptr) continue;  // the aggregate takes int4 and int8
        const auto from_relation =
            binary_rows(session.must_params("SELECT " + kColumns +
                                                " FROM (SELECT batmap_relation_agg(tid, item) AS r FROM drawn) q,"
                                                " LATERAL batmap_pairs(q.r, min_count => $1, method => $2) p",
                                            {count, by}, true));
        if (from_relation != at_least(expected, min_count)) {
          differs += text(" relation, min_count %lld;", (long long)min_count);
        }
      }
      tap.ok(differs.empty(), text("%s: %zu pairs by %s equal the plain self-join%s%s", shape.name, expected.size(),
                                   method.c_str(), differs.empty() ? "" : ", but not:", differs.c_str()));
    }
  }
}

// -- Relations as values ----------------------------------------------------------------------------------------

std::vector<Row> unnested(Session& session, const Param& relation) {
  return binary_rows(session.must_params("SELECT tid, item FROM batmap_unnest($1)", {relation}, true));
}

// The binary value of a relation.
std::string sent(Session& session, const std::string& relation_sql) {
  return session.must_params("SELECT r FROM (" + relation_sql + ") q(r)", {}, true).value(0, 0);
}

void relations_in_binary(Tap& tap, Session& session, Rng& rng, Oid relation_oid) {
  session.must("CREATE TEMP TABLE kept (id int4, r batmap_relation); CREATE TEMP TABLE copied (LIKE kept)");
  int id = 0;
  int unequal = 0;
  int values = 0;
  for (const Shape& shape : kShapes) {
    if (std::strstr(shape.columns, "int2") != nullptr) continue;
    fill(session, "drawn", shape.columns, drawn_rows(rng, shape));
    session.must(text("INSERT INTO kept SELECT %d, batmap_relation_agg(tid, item) FROM drawn", id++));
    const Result value = session.must_params("SELECT batmap_relation_agg(tid, item) FROM drawn", {}, true);
    if (value.null(0, 0)) continue;
    ++values;
    const auto expected = binary_rows(session.must_params(
        "SELECT DISTINCT tid::int8, item::int8 FROM drawn WHERE tid IS NOT NULL AND item IS NOT NULL", {}, true));
    const Param binary{value.value(0, 0), true, relation_oid};
    const Param written{session.must_params("SELECT $1::batmap_relation", {binary}).value(0, 0), false, relation_oid};
    const auto pairs = plain_pairs(session, "drawn");
    const auto pairs_of_param = binary_rows(session.must_params(
        "SELECT " + kColumns + " FROM batmap_pairs($1::batmap_relation, min_count => 1)", {binary}, true));
    if (unnested(session, binary) != expected || unnested(session, written) != expected || pairs_of_param != pairs) {
      ++unequal;
      tap.note(text("differs as a parameter: %s", shape.name));
    }
  }
  session.must("INSERT INTO kept VALUES (-1, NULL)");
  tap.ok(values >= 8 && unequal == 0, text("%d relations as binary and text parameters hold the rows they were made of,"
                                           " and give their pairs",
                                           values));

  const std::string bytes = session.copy_out("COPY kept TO STDOUT (FORMAT binary)");
  const Result in = session.copy_in("COPY copied FROM STDIN (FORMAT binary)", bytes);
  tap.ok(in.good(), text("COPY BINARY out and in: %zu bytes %s", bytes.size(), in.message().c_str()));
  const int64_t lost = session.number(
      "SELECT count(*) FROM kept k FULL JOIN copied c USING (id) WHERE (k.r IS NULL) <> (c.r IS NULL)"
      " OR EXISTS (SELECT * FROM batmap_unnest(k.r) EXCEPT SELECT * FROM batmap_unnest(c.r))"
      " OR EXISTS (SELECT * FROM batmap_unnest(c.r) EXCEPT SELECT * FROM batmap_unnest(k.r))");
  tap.ok(lost == 0 && session.number("SELECT count(*) FROM copied") == id + 1,
         text("COPY BINARY: %d relations of the copy equal the originals as sets, %lld differ", id + 1, (long long)lost));
  tap.ok(session.copy_out("COPY copied TO STDOUT (FORMAT binary)") == bytes, "COPY BINARY of the copy gives the same bytes");

  const std::string lines = session.copy_out("COPY kept TO STDOUT");
  session.must("TRUNCATE copied");
  const Result text_in = session.copy_in("COPY copied FROM STDIN", lines);
  tap.ok(text_in.good() && session.copy_out("COPY copied TO STDOUT (FORMAT binary)") == bytes,
         text("COPY as text out and in (%zu bytes) gives the same values %s", lines.size(), text_in.message().c_str()));
  session.must("DROP TABLE kept, copied");
}

// -- Damaged relations ------------------------------------------------------------------------------------------

// Counts what happened to damaged values: refused (by SQLSTATE) or accepted; and keeps the first few that
// broke a rule.
struct Verdict {
  std::map<std::string, int> refused;
  int accepted = 0;
  std::vector<std::string> broken;

  int tried() const {
    int sum = accepted;
    for (const auto& [state, n] : refused) sum += n;
    return sum;
  }
  std::string line() const {
    std::string out = text("%d tried, %d accepted, refused:", tried(), accepted);
    for (const auto& [state, n] : refused) out += text(" %s x %d", state.c_str(), n);
    return out;
  }
};

std::string hex(const std::string& bytes) {
  std::string out;
  for (const unsigned char byte : bytes.substr(0, 160)) out += text("%02x", byte);
  return out;
}

class Damaged {
 public:
  // texts: the relations have text items.
  Damaged(Session& session, Oid relation_oid, bool binary, bool texts = false)
      : session_(session), oid_(relation_oid), binary_(binary), texts_(texts) {}

  // Sends one value, with the name of the damage. @return whether it was accepted
  bool send(const std::string& bytes, const std::string& how) {
    const Param value{bytes, binary_, oid_};
    const Result rows = session_.exec_params(unnest(), {value}, true);
    if (!rows.good()) {
      ++verdict_.refused[rows.sqlstate()];
      // A value whose kind of items was damaged may be a relation of the other kind.
      const bool other_kind = texts_ && rows.sqlstate() == "42804";
      if (rows.sqlstate().substr(0, 2) != "22" && !other_kind) complain(how, bytes, rows.sqlstate() + " " + rows.message());
      if (!session_.alive()) throw std::runtime_error("the session died of: " + how + " " + hex(bytes));
      return false;
    }
    ++verdict_.accepted;
    holds_together(rows, value, how);
    return true;
  }

  const Verdict& verdict() const { return verdict_; }

 private:
  void complain(const std::string& how, const std::string& bytes, const std::string& why) {
    if (verdict_.broken.size() < 5) verdict_.broken.push_back(how + ": " + why + ", value " + hex(bytes));
  }

  std::string unnest() const {
    return texts_ ? "SELECT tid, item FROM batmap_unnest_of($1)" : "SELECT tid, item FROM batmap_unnest($1)";
  }

  // The rows as numbers; a text has the number of its rank.
  std::vector<TidItem> pairs_of(const Result& rows) {
    texts_seen_.clear();
    if (texts_)
      for (int i = 0; i < rows.rows(); ++i) texts_seen_.emplace(rows.value(i, 1), 0);
    int64_t rank = 0;
    for (auto& [seen, number] : texts_seen_) number = rank++;
    std::vector<TidItem> pairs;
    for (int i = 0; i < rows.rows(); ++i)
      pairs.emplace_back(rows.binary_int8(i, 0), texts_ ? texts_seen_.at(rows.value(i, 1)) : rows.binary_int8(i, 1));
    return pairs;
  }

  int64_t item(const Result& r, int row, int column) const {
    if (!texts_) return r.binary_int8(row, column);
    const auto seen = texts_seen_.find(r.value(row, column));
    return seen == texts_seen_.end() ? -1 : seen->second;
  }

  // Checks that an accepted value is a normal relation: its pairs are distinct and sorted, its item pairs
  // follow from them, and its binary form reads back as the same set.
  void holds_together(const Result& rows, const Param& value, const std::string& how) {
    const std::vector<TidItem> pairs = pairs_of(rows);
    if (std::adjacent_find(pairs.begin(), pairs.end(), std::greater_equal<>()) != pairs.end()) {
      complain(how, value.bytes, "unnest is not in order or not distinct");
    }
    std::map<TidItem, int64_t> support;
    for (size_t from = 0, to = 0; from < pairs.size(); from = to) {
      while (to < pairs.size() && pairs[to].first == pairs[from].first) ++to;
      for (size_t a = from; a < to; ++a) {
        for (size_t b = a + 1; b < to; ++b) ++support[{pairs[a].second, pairs[b].second}];
      }
    }
    const Result counted = session_.exec_params(std::string("SELECT item_a, item_b, support_count FROM ") +
                                                    (texts_ ? "batmap_pairs_of" : "batmap_pairs") +
                                                    "($1::batmap_relation, min_count => 1) ORDER BY item_a" +
                                                    (texts_ ? " COLLATE \"C\", item_b COLLATE \"C\"" : ", item_b"),
                                                {value}, true);
    bool same = counted.good() && counted.rows() == static_cast<int>(support.size());
    int row = 0;
    for (auto it = support.begin(); same && it != support.end(); ++it, ++row) {
      same = TidItem(item(counted, row, 0), item(counted, row, 1)) == it->first && counted.binary_int8(row, 2) == it->second;
    }
    if (!same) complain(how, value.bytes, "its item pairs are not those of its rows " + counted.message());
    const Result again = session_.exec_params("SELECT $1::batmap_relation", {value}, true);
    const std::vector<Param> copy = {{again.good() ? again.value(0, 0) : "", true, oid_}};
    if (!again.good() || pairs_of(session_.must_params(unnest(), copy, true)) != pairs) {
      complain(how, value.bytes, "does not survive its own binary form " + again.message());
    }
  }

  Session& session_;
  Oid oid_;
  bool binary_;
  bool texts_;
  std::map<std::string, int64_t> texts_seen_;
  Verdict verdict_;
};

// Makes a few random changes to a value. A text gets only bytes that a text may contain (no zero).
std::string mutated(Rng& rng, std::string bytes, bool binary, std::string& how) {
  const auto random_byte = [&] {
    if (binary) return static_cast<char>(below(rng, 256));
    const char* likely = "0123456789,{}()-:;/+= abcxyzABCXYZ\\\"\n\x7f\xc3";
    return below(rng, 4) == 0 ? static_cast<char>(1 + below(rng, 126)) : likely[below(rng, std::strlen(likely))];
  };
  const int changes = 1 + static_cast<int>(below(rng, 4));
  how.clear();
  for (int i = 0; i < changes; ++i) {
    const size_t at = bytes.empty() ? 0 : below(rng, bytes.size());
    const size_t length = bytes.empty() ? 0 : 1 + below(rng, std::min<size_t>(bytes.size() - at, 32));
    switch (below(rng, 7)) {
      case 0:
        how += text("cut off at %zu; ", at);
        bytes.resize(at);
        break;
      case 1:
        if (bytes.empty()) break;
        how += text("change byte %zu; ", at);
        bytes[at] = random_byte();
        break;
      case 2:
        if (bytes.empty()) break;
        how += text("flip a bit of byte %zu; ", at);
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(rng, 8)));
        if (!binary && bytes[at] == 0) bytes[at] = ' ';
        break;
      case 3:
        how += text("insert at %zu; ", at);
        bytes.insert(at, 1 + below(rng, 9), random_byte());
        break;
      case 4:
        how += text("take out %zu at %zu; ", length, at);
        bytes.erase(at, length);
        break;
      case 5:
        how += text("repeat %zu at %zu; ", length, at);
        bytes.insert(at, bytes.substr(at, length));
        break;
      default: {
        const size_t other = bytes.empty() ? 0 : below(rng, bytes.size());
        how += text("move %zu from %zu to %zu; ", length, at, other);
        const std::string part = bytes.substr(at, length);
        bytes.erase(at, length);
        bytes.insert(std::min(other, bytes.size()), part);
      }
    }
  }
  return bytes;
}

// Overwrites every position of a value by numbers that are invalid as a length or a count, in
// both byte orders.
void lie_about_lengths(Damaged& damaged, const std::string& value) {
  const uint64_t lies[] = {0,
                           1,
                           0x7f,
                           0xff,
                           0x7fff,
                           0xffff,
                           0x7fffffff,
                           0x80000000,
                           0xffffffff,
                           0x3fffffffffffffff,
                           0x7fffffffffffffff,
                           0x8000000000000000,
                           0xffffffffffffffff};
  for (size_t at = 0; at < value.size(); ++at) {
    for (const uint64_t lie : lies) {
      for (const int width : {1, 2, 4, 8}) {
        if (at + width > value.size() || (width < 8 && lie >> (8 * width) != 0 && lie != ~uint64_t{0})) continue;
        std::string be;
        put_be(be, lie, width);
        const std::string le(be.rbegin(), be.rend());
        for (const std::string& bytes : {be, le}) {
          std::string lying = value;
          lying.replace(at, width, bytes);
          if (lying != value) damaged.send(lying, text("%d bytes of %zu say %llx", width, at, (unsigned long long)lie));
          if (be == le) break;
        }
      }
    }
  }
}

void judge(Tap& tap, const Verdict& verdict, const std::string& what) {
  for (const std::string& line : verdict.broken) tap.note(line);
  tap.ok(verdict.broken.empty() && verdict.tried() > 0 && !verdict.refused.empty(), what + ": " + verdict.line());
}

void damaged_values(Tap& tap, Session& session, Rng& rng, Oid relation_oid) {
  const std::string wide =
      "SELECT batmap_relation_agg((g * 1000003 % 97)::int8, (g::int8 * 5000000029) % 1000000007)"
      " FROM generate_series(1, 150) g";
  const std::string sources[] = {
      "SELECT batmap_relation_agg(7::int4, 9::int4)",
      "SELECT batmap_relation_agg(t, i) FROM (VALUES (1, 1), (1, 2), (2, 2)) v(t, i)",
      "SELECT batmap_relation_agg(g % 20, g % 7) FROM generate_series(1, 200) g",
      wide,
      "SELECT batmap_relation_agg(g % 900, g % 37) FROM generate_series(1, 9000) g",
  };
  session.must("SET statement_timeout = '10s'");
  for (const bool binary : {true, false}) {
    const char* form = binary ? "binary" : "text";
    std::vector<std::string> values;
    for (const std::string& source : sources) {
      values.push_back(binary ? sent(session, source) : session.value(source));
    }
    const size_t small = 4;  // the last one is tried only at random positions

    Damaged cut(session, relation_oid, binary);
    int prefixes = 0;
    for (size_t v = 0; v < small; ++v) {
      for (size_t length = 0; length < values[v].size(); ++length) {
        prefixes += cut.send(values[v].substr(0, length), text("first %zu bytes", length)) ? 1 : 0;
      }
    }
    judge(tap, cut.verdict(), text("%s, cut off", form));
    tap.ok(prefixes == 0, text("%s: no value that is cut off passes for a whole one (%d did)", form, prefixes));

    Damaged flipped(session, relation_oid, binary);
    for (size_t v = 0; v < 3; ++v) {
      for (size_t bit = 0; bit < 8 * values[v].size(); ++bit) {
        std::string bytes = values[v];
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
        if (binary || bytes.find('\0') == std::string::npos) flipped.send(bytes, text("flip bit %zu", bit));
      }
    }
    judge(tap, flipped.verdict(), text("%s, one bit flipped", form));

    if (binary) {
      Damaged lying(session, relation_oid, true);
      lie_about_lengths(lying, values[0]);
      lie_about_lengths(lying, values[1]);
      judge(tap, lying.verdict(), "binary, lying numbers");

      Damaged longer(session, relation_oid, true);
      int accepted = 0;
      for (const std::string& value : values) {
        for (size_t more = 1; more <= 64; ++more) accepted += longer.send(value + std::string(more, '\0'), "zeros after it");
      }
      judge(tap, longer.verdict(), "binary, bytes after the end");
      tap.ok(accepted == 0, text("binary: no value with bytes after its end passes (%d did)", accepted));
    }

    Damaged random(session, relation_oid, binary);
    std::string how;
    for (int i = 0; i < 5000; ++i) {
      const std::string bytes = mutated(rng, values[i % 50 == 0 ? small : below(rng, small)], binary, how);
      if (binary || bytes.find('\0') == std::string::npos) random.send(bytes, how);
    }
    judge(tap, random.verdict(), text("%s, changed at random", form));
    tap.ok(
        session.number("SELECT count(*) FROM batmap_pairs('SELECT * FROM (VALUES (1, 1), (1, 2)) v', min_count => 1)") == 1,
        text("%s: the session goes on after all of it", form));
  }
  session.reset("statement_timeout");
}

// The same for relations of text items, with fewer values.
void damaged_texts(Tap& tap, Session& session, Rng& rng, Oid relation_oid) {
  const std::string sources[] = {
      "SELECT batmap_relation_agg(t, i) FROM (VALUES (1, 'a'), (1, ''), (2, 'a')) v(t, i)",
      "SELECT batmap_relation_agg(g % 20, repeat('x', g % 7) || g % 13) FROM generate_series(1, 60) g",
  };
  session.must("SET statement_timeout = '10s'");
  std::string how;
  std::vector<std::string> values;
  for (const std::string& source : sources) values.push_back(sent(session, source));
  Damaged cut(session, relation_oid, true, true);
  Damaged flipped(session, relation_oid, true, true);
  Damaged random(session, relation_oid, true, true);
  int prefixes = 0;
  for (const std::string& value : values) {
    for (size_t length = 0; length < value.size(); ++length)
      prefixes += cut.send(value.substr(0, length), "cut off") ? 1 : 0;
    for (size_t bit = 0; bit < 8 * value.size(); ++bit) {
      std::string bytes = value;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      flipped.send(bytes, text("flip bit %zu", bit));
    }
    for (int i = 0; i < 1500; ++i) random.send(mutated(rng, value, true, how), how);
  }
  Damaged lying(session, relation_oid, true, true);
  lie_about_lengths(lying, values[0]);
  judge(tap, cut.verdict(), "text items, cut off");
  tap.ok(prefixes == 0, "text items: no value that is cut off passes for a whole one");
  judge(tap, flipped.verdict(), "text items, one bit flipped");
  judge(tap, random.verdict(), "text items, changed at random");
  judge(tap, lying.verdict(), "text items, lying numbers");
  session.reset("statement_timeout");
}

// COPY BINARY with a damaged relation field: refused as bad data with nothing loaded, or
// loaded and consistent.
void damaged_copy(Tap& tap, Session& session, Rng& rng) {
  session.must("CREATE TEMP TABLE fed (id int4, r batmap_relation)");
  const std::string value = sent(session, "SELECT batmap_relation_agg(g % 20, g % 7) FROM generate_series(1, 200) g");
  int refused = 0;
  int accepted = 0;
  std::string broken;
  std::string how;
  for (int i = 0; i < 500; ++i) {
    const std::string damaged = mutated(rng, value, true, how);
    std::string stream("PGCOPY\n\xff\r\n\0", 11);
    put_be(stream, 0, 4);  // flags
    put_be(stream, 0, 4);  // header extension
    put_be(stream, 2, 2);  // fields
    put_be(stream, 4, 4);
    put_be(stream, static_cast<uint64_t>(i), 4);
    put_be(stream, damaged.size(), 4);
    stream += damaged;
    put_be(stream, 0xffff, 2);  // the end
    const Result r = session.copy_in("COPY fed FROM STDIN (FORMAT binary)", stream);
    if (!session.alive()) throw std::runtime_error("the session died of COPY BINARY: " + how + hex(damaged));
    ++(r.good() ? accepted : refused);
    if (!r.good() && r.sqlstate().substr(0, 2) != "22") broken = how + r.sqlstate() + " " + r.message();
  }
  const int64_t loaded = session.number("SELECT count(*) FROM fed");
  const Result sound = session.exec("SELECT sum((SELECT count(*) FROM batmap_unnest(r))) FROM fed");
  tap.ok(broken.empty() && refused > 0 && loaded == accepted && sound.good(),
         text("COPY BINARY of damaged values: %d refused, %d accepted, %lld loaded %s%s", refused, accepted,
              (long long)loaded, broken.c_str(), sound.message().c_str()));
  session.must("DROP TABLE fed");
}

}  // namespace

int main() {
  return run_tests([](Tap& tap) {
    Rng rng = seeded(tap, 20111);
    Session session;
    const auto relation_oid = static_cast<Oid>(session.number("SELECT 'batmap_relation'::regtype::oid::int8"));
    pairs_in_binary(tap, session, rng);
    relations_in_binary(tap, session, rng, relation_oid);
    damaged_values(tap, session, rng, relation_oid);
    damaged_texts(tap, session, rng, relation_oid);
    damaged_copy(tap, session, rng);
  });
}
