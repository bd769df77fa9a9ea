// Reads rows with factors and runs the engine. See join_sums_rows.h.
#include "extension/plan/join/join_sums_rows.h"

#include <algorithm>
#include <vector>

#include "extension/input/row_reader.h"
#include "extension/plan/query/join_sums.h"
#include "extension/server/numeric.h"
#include "extension/streams/pair_stream.h"
#include "pairs/pair_sums.h"
#include "relation/chunk.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kOperation[] = "join-project";
constexpr char kForNumbers[] = "because of a number that the node cannot add up exactly";

// Digits after the point of a factor; a product has those of both. Leading zeros do not count among the digits of a value,
// so a value that is small enough may have any number of them.
constexpr int kMaxScale = 30;
static_assert(2 * kMaxScale <= kMaxNumericScale);

/// What a product takes of the factor of a side.
enum class Take : int { kOne, kNumber, kIsThere };

/// One column of factors while it is read.
struct FactorColumn {
  int at;  // in the rows of the input
  Oid type;
  int scale = -1;         // digits after the point; -1: no number was read yet
  bool has_gaps = false;  // some rows have no number, or a condition does not hold

  int scale_of_sum() const { return std::max(scale, 0); }
};

struct Product {
  Take take[2];
  int factors[2];  // unless kOne
  bool counts_keys;

  bool operator==(const Product&) const = default;
};

}  // namespace

struct RunningSums {
  struct Aggregate {
    SumSpec spec;
    int sum;     // the product that it adds up
    int number;  // the product that counts what it adds up
  };
  const PairSums* run;
  Aggregate* aggregates;
  Product* products;
  int product_count;
  FactorColumn* columns[2];  // of each side; a self-join has the same twice
  int* taken[2];  // [factors][2] the same: which number of the engine's rows is the factor, and which its presence
};

namespace {

struct SumsCall : RunCall {
  explicit SumsCall(MemoryContext context) : RunCall(thread_count()), files(context) {}

  ServerFiles files;
  std::optional<FactorRows> rows[2];
  std::optional<PairSums> run;
  PairBatch batch;
};

class SumsStream final : public PairRowStream<SumsCall> {
 public:
  using PairRowStream<SumsCall>::PairRowStream;

  /// @return whether the engine can add up
  bool start(const SumsQuery& query) {
    SumsCall& own = call();
    uint64_t rows = 0;
    for (const std::optional<FactorRows>& side : own.rows)
      if (side) rows += side->size();
    bool enough = false;
    begin("stream", rows, [&] {
      enough = fits(true, [&] {
        own.run.emplace(*own.rows[0], own.rows[1] ? &*own.rows[1] : nullptr, query, own.options);
        for (std::optional<FactorRows>& side : own.rows) side.reset();
        begin_batch();
      });
    });
    return enough;
  }
};

// ---- factors

/// The digits of a number without its point. @return false if there are too many before or after it, or if it is none
bool read_digits(const char* text, int64_t& value, int& scale) {
  const bool negative = *text == '-';
  if (negative) ++text;
  value = scale = 0;
  bool has_point = false;
  for (; *text != '\0'; ++text) {
    if (*text == '.') {
      has_point = true;
      continue;
    }
    if (*text < '0' || *text > '9') return false;
    scale += has_point;
    if (__builtin_mul_overflow(value, int64_t{10}, &value) || __builtin_add_overflow(value, int64_t{*text - '0'}, &value))
      return false;
  }
  if (negative) value = -value;
  return scale <= kMaxScale;
}

/// Reads a factor. A condition is 1 or not there. @return false if the engine cannot add it up
bool read_factor(FactorColumn& column, Datum value, bool is_null, int64_t& number, bool& is_there) {
  number = 0;
  is_there = !is_null;
  column.has_gaps |= is_null;
  if (is_null) return true;
  int scale = 0;
  switch (column.type) {
    case BOOLOID:
      is_there = DatumGetBool(value);
      number = is_there;
      column.has_gaps |= !is_there;
      return true;
    case INT2OID: number = DatumGetInt16(value); break;
    case INT4OID: number = DatumGetInt32(value); break;
    case INT8OID: number = DatumGetInt64(value); break;
    case NUMERICOID: {
      char* const text = DatumGetCString(DirectFunctionCall1(numeric_out, value));
      if (!read_digits(text, number, scale)) return false;
      break;
    }
    default: elog(ERROR, "a factor of type %u", column.type);
  }
  if (column.scale < 0) column.scale = scale;
  return column.scale == scale && number != INT64_MIN;
}

/// What of the factors of a side goes into the rows of the engine.
struct TakenFactors {
  int count;
  int* at;       // [2 x factors] by 2 x factor + (1 for its presence): the number in the rows; -1: not taken
  int* sources;  // [count] the other way round
};

TakenFactors take_factors(const RunningSums& sums, int first_side, int last_side, int factors) {
  const size_t bytes = sizeof(int) * static_cast<size_t>(Max(2 * factors, 1));
  TakenFactors taken{0, static_cast<int*>(palloc(bytes)), static_cast<int*>(palloc(bytes))};
  std::fill_n(taken.at, 2 * factors, -1);
  for (int k = 0; k < sums.product_count; ++k) {
    for (int side = first_side; side <= last_side; ++side) {
      const Product& product = sums.products[k];
      if (product.take[side] == Take::kOne) continue;
      const int source = 2 * product.factors[side] + (product.take[side] == Take::kIsThere);
      if (taken.at[source] >= 0) continue;
      taken.at[source] = taken.count;
      taken.sources[taken.count++] = source;
    }
  }
  return taken;
}

enum class Reading { kDone, kTooLarge, kNoNumbers };

/// Takes the rows of one input.
struct FactorSink {
  FactorRows& rows;
  ProgressReport& progress;
  FactorColumn* columns;  // [factors]
  int factors;
  TakenFactors taken;
  int64_t* numbers;       // [2 x factors] of the current row: each factor, and whether it is there
  int64_t* row;           // [taken.count] of them
  MemoryContext scratch;  // nullptr: the factors are integers and conditions

  void append(int64_t tid, int64_t item) {
    for (int k = 0; k < taken.count; ++k) row[k] = numbers[taken.sources[k]];
    rows.append(tid, item, row);
  }

  /// Reads the factors of a row. @return false if the engine cannot add one up
  bool read_factors(const TupleTableSlot* slot) {
    const MemoryContext caller = scratch == nullptr ? nullptr : MemoryContextSwitchTo(scratch);
    bool is_exact = true;
    for (int k = 0; k < factors && is_exact; ++k) {
      bool is_there;
      is_exact = read_factor(columns[k], slot->tts_values[columns[k].at], slot->tts_isnull[columns[k].at], numbers[2 * k],
                             is_there);
      numbers[2 * k + 1] = is_there;
    }
    if (caller != nullptr) {
      MemoryContextReset(scratch);
      MemoryContextSwitchTo(caller);
    }
    return is_exact;
  }

  Reading read_rows(PlanState* plan, const KeyEncoder& key, const KeyEncoder& item, int width) {
    while (const TupleTableSlot* const slot = next_slot(plan, width)) {
      if (leaves_out(key, slot->tts_isnull) || leaves_out(item, slot->tts_isnull)) continue;
      int64_t keys[2];
      if (!encode_key(key, slot->tts_values, slot->tts_isnull, keys[0]) ||
          !encode_key(item, slot->tts_values, slot->tts_isnull, keys[1]))
        return Reading::kTooLarge;
      if (!read_factors(slot)) return Reading::kNoNumbers;
      if (!guarded_fits(true, [&] { append(keys[0], keys[1]); })) return Reading::kTooLarge;
      progress.row(rows.size());
    }
    return Reading::kDone;
  }

  /// The same from the pages of tables.
  Reading read_pages(const TableRows& pages) {
    TidItem keys[MaxHeapTuplesPerPage];
    auto* const values =
        static_cast<int64_t*>(palloc(sizeof(int64_t) * MaxHeapTuplesPerPage * static_cast<size_t>(factors)));
    while (const TidItem* const end = read_table_page(pages, keys, values)) {
      const uint64_t before = rows.size();
      bool is_exact = true;
      const bool fits = guarded_fits(true, [&] {
        const int64_t* value = values;
        for (const TidItem* key = keys; key < end && is_exact; ++key) {
          for (int k = 0; k < factors; ++k, ++value) {
            const bool is_there = *value != HeapRows::kNoFactor;
            numbers[2 * k] = is_there ? *value : 0;
            numbers[2 * k + 1] = is_there;
            columns[k].has_gaps |= !is_there;
            // A column of int8 has no NULL here.
            is_exact &= is_there || columns[k].type != INT8OID;
          }
          append(key->tid, key->item);
        }
      });
      if (!is_exact) return Reading::kNoNumbers;
      if (!fits) return Reading::kTooLarge;
      if (rows.size() / kChunkRows > before / kChunkRows) progress.phase(Phase::kReading, rows.size());
    }
    pfree(values);
    return Reading::kDone;
  }
};

Reading read_side(JoinProjectInputs& inputs, SumsCall& call, MemoryContext context, RunningSums& sums, int number,
                  KeyEncoder encoders[2]) {
  const JoinProjectSpec& spec = inputs.spec;
  const JoinProjectSpec::Side& side = spec.sides[number];
  PlanState* const plan = inputs.plans[number];
  const TupleDesc row = ExecGetResultType(plan);
  make_encoders(inputs, number, context, call.meter, encoders);
  const int first = side.keys + side.codes;
  auto* const columns = static_cast<FactorColumn*>(palloc(sizeof(FactorColumn) * Max(side.factors, 1)));
  bool has_numerics = false;
  bool may_read_pages = side.factors <= HeapRows::kMaxFactors;
  for (int k = 0; k < side.factors; ++k) {
    const Oid type = getBaseType(TupleDescAttr(row, first + k)->atttypid);
    columns[k] = {first + k, type, is_integer(type) ? 0 : -1, false};
    has_numerics |= type == NUMERICOID;
    may_read_pages &= is_integer(type);
  }
  const int last_side = spec.self_join ? 1 : number;
  const TakenFactors taken = take_factors(sums, number, last_side, side.factors);
  for (int of = number; of <= last_side; ++of) {
    sums.columns[of] = columns;
    sums.taken[of] = taken.at;
  }
  guarded([&] { call.rows[number].emplace(call.meter, static_cast<size_t>(taken.count)); });
  const auto make_numbers = [&](int count) {
    return static_cast<int64_t*>(palloc(sizeof(int64_t) * static_cast<size_t>(Max(count, 1))));
  };
  FactorSink sink{*call.rows[number],
                  call.progress,
                  columns,
                  side.factors,
                  taken,
                  make_numbers(2 * side.factors),
                  make_numbers(taken.count),
                  has_numerics ? AllocSetContextCreate(context, "batmap factors", ALLOCSET_SMALL_SIZES) : nullptr};
  TableRows pages;
  const MemoryContext caller = MemoryContextSwitchTo(inputs.parent->state->es_query_cxt);
  const bool reads_pages = may_read_pages && find_table_rows(plan, encoders, pages, first, side.factors);
  const Reading result =
      reads_pages ? sink.read_pages(pages) : sink.read_rows(plan, encoders[0], encoders[1], first + side.factors);
  if (reads_pages) pfree(pages.scans);
  MemoryContextSwitchTo(caller);
  return result;
}

// ---- products

int product_index(RunningSums& sums, const Product& product) {
  for (int k = 0; k < sums.product_count; ++k)
    if (sums.products[k] == product) return k;
  sums.products[sums.product_count] = product;
  return sums.product_count++;
}

/// Finds what must be added up for the aggregates.
void find_products(const List* specs, RunningSums& sums) {
  const int count = list_length(specs) / kSumNumbers;
  sums.aggregates = static_cast<RunningSums::Aggregate*>(palloc0(sizeof(RunningSums::Aggregate) * Max(count, 1)));
  sums.products = static_cast<Product*>(palloc0(sizeof(Product) * (2 * count + 1)));
  for (int number = 0; number < count; ++number) {
    RunningSums::Aggregate& aggregate = sums.aggregates[number];
    const auto next = [&](int k) { return list_nth_int(specs, number * kSumNumbers + k); };
    aggregate.spec = {static_cast<SumResult>(next(0)), {next(1), next(2)}, next(3)};
    Product sum{};
    Product there{};
    sum.counts_keys = there.counts_keys = aggregate.spec.result == SumResult::kKeys;
    for (int side = 0; side < 2; ++side) {
      const int factor = aggregate.spec.factors[side];
      if (factor < 0) continue;
      sum.factors[side] = there.factors[side] = factor;
      sum.take[side] = aggregate.spec.result == SumResult::kCount ? Take::kIsThere : Take::kNumber;
      there.take[side] = Take::kIsThere;
    }
    aggregate.sum = product_index(sums, sum);
    aggregate.number = product_index(sums, there);
  }
  if (sums.product_count == 0) product_index(sums, {});
}

uint64_t limit_of(int bytes) { return bytes == 0 ? UINT64_MAX : (uint64_t{1} << (8 * bytes - 1)) - 1; }

/// What counts the numbers of a column without gaps counts rows.
Product without_tests(const RunningSums& sums, Product product) {
  for (int side = 0; side < 2; ++side) {
    if (product.take[side] != Take::kIsThere || sums.columns[side][product.factors[side]].has_gaps) continue;
    product.take[side] = Take::kOne;
    product.factors[side] = 0;
  }
  return product;
}

/// Makes the query of the engine, in which equal products occur once.
SumsQuery query_of(const JoinProjectSpec& spec, RunningSums& sums, int aggregates, int64_t min_count) {
  SumsQuery query;
  query.min_count = min_count;
  std::vector<Product> once;
  std::vector<int> position;
  for (int k = 0; k < sums.product_count; ++k) {
    const Product product = without_tests(sums, sums.products[k]);
    const auto found = static_cast<size_t>(std::find(once.begin(), once.end(), product) - once.begin());
    position.push_back(static_cast<int>(found));
    if (found < once.size()) continue;
    once.push_back(product);
    const auto taken = [&](int side) {
      if (product.take[side] == Take::kOne) return SumsQuery::kOne;
      return static_cast<size_t>(sums.taken[side][2 * product.factors[side] + (product.take[side] == Take::kIsThere)]);
    };
    query.products.push_back({.left = taken(0), .right = taken(1), .counts_transactions = product.counts_keys});
    if (product == Product{}) query.count = found;  // a threshold is one of count(*), whose product this is
  }
  for (int k = 0; k < aggregates; ++k)
    for (int* const product : {&sums.aggregates[k].sum, &sums.aggregates[k].number})
      *product = position[static_cast<size_t>(*product)];
  for (int k = 0; k < aggregates; ++k) {
    uint64_t& limit = query.products[static_cast<size_t>(sums.aggregates[k].sum)].limit;
    limit = std::min(limit, limit_of(sums.aggregates[k].spec.bytes));
  }
  query.condition = spec.order;
  return query;
}

// ---- results

Datum int8_of(WideSum sum) {
  if (sum < INT64_MIN || sum > INT64_MAX)
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range")));
  return Int64GetDatum(static_cast<int64>(sum));
}

}  // namespace

Datum sum_of(const RunningSums& sums, uint64_t position, int aggregate, bool& is_null) {
  const RunningSums::Aggregate& own = sums.aggregates[aggregate];
  const auto found = [&](int product) { return sums.run->sum(position, static_cast<size_t>(product)); };
  const bool counts = own.spec.result == SumResult::kCount || own.spec.result == SumResult::kKeys;
  is_null = !counts && found(own.number) == 0;
  if (is_null) return 0;
  if (counts || own.spec.result == SumResult::kInt8) return int8_of(found(own.sum));
  int scale = 0;
  for (int side = 0; side < 2; ++side)
    if (own.spec.factors[side] >= 0) scale += sums.columns[side][own.spec.factors[side]].scale_of_sum();
  const Datum sum = numeric_of(found(own.sum), scale);
  if (own.spec.result == SumResult::kNumeric) return sum;
  return DirectFunctionCall2(numeric_div, sum, DirectFunctionCall1(int8_numeric, int8_of(found(own.number))));
}

JoinProjectRows open_sums(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context,
                          const RunningSums*& sums, const char*& why) {
  auto* const stream = new_stream<SumsStream>(kOperation, context);
  SumsCall& call = stream->call();
  const JoinProjectSpec& spec = inputs.spec;
  auto* const running = static_cast<RunningSums*>(palloc0(sizeof(RunningSums)));
  const auto* const specs = static_cast<const List*>(list_nth(inputs.lists, kSums));
  find_products(specs, *running);
  KeyEncoder encoders[2]{};  // of the key and of the item
  for (int number = 0; number < spec.inputs(); ++number) {
    const Reading reading = read_side(inputs, call, context, *running, number, encoders);
    if (reading == Reading::kNoNumbers) why = kForNumbers;
    if (reading != Reading::kDone) return {};
  }
  std::span<const uint32_t> ranks;
  if (Dictionary* const items = inputs.items[0]->dictionary; items != nullptr && spec.self_join)
    ranks = {dictionary_sort(*items), items->count};
  bool enough = false;
  {
    struct Own {
      SumsQuery query;
    };
    Own* const own = ContextOwned<Own>::reserve(context)->emplace();
    guarded([&] { own->query = query_of(spec, *running, list_length(specs) / kSumNumbers, bounds.min_count); });
    own->query.item_rank = ranks;
    enough = stream->start(own->query);
  }
  if (!enough) return {};
  running->run = &*call.run;
  sums = running;
  return {stream, &stream->call().batch};
}

}  // namespace batmap::pg
