// Reads rows with factors and runs the engine. See join_sums_rows.h.
#include "extension/plan/join_sums_rows.h"

#include <algorithm>
#include <vector>

#include "extension/functions/pair_stream.h"
#include "extension/input/row_reader.h"
#include "extension/plan/join_sums.h"
#include "pairs/pair_sums.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr char kOperation[] = "join-project";
constexpr char kForNumbers[] = "because of a number that the node cannot add up exactly";

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

/// The digits of a number without its point. @return false if there are too many, or if it is none
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
  return true;
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

/// The rows of one input with the factors of each product.
/// @param sides  those whose factors the rows have
template <int kFirst, int kLast>
void put_factors(const RunningSums& sums, const int64_t* const* numbers, const bool* const* there, int64_t* factors) {
  for (int side = kFirst; side <= kLast; ++side) {
    for (int k = 0; k < sums.product_count; ++k) {
      const Product& product = sums.products[k];
      int64_t factor = 1;
      if (product.take[side] == Take::kNumber) factor = numbers[side][product.factors[side]];
      if (product.take[side] == Take::kIsThere) factor = there[side][product.factors[side]];
      *factors++ = factor;
    }
  }
}

enum class Reading { kDone, kTooLarge, kNoNumbers };

Reading read_side(JoinProjectInputs& inputs, SumsCall& call, MemoryContext context, RunningSums& sums, int number,
                  KeyEncoder& key) {
  const JoinProjectSpec& spec = inputs.spec;
  const JoinProjectSpec::Side& side = spec.sides[number];
  PlanState* const plan = inputs.plans[number];
  const TupleDesc row = ExecGetResultType(plan);
  const auto encoder = [&](KeyKind kind, int first, JoinProjectList operators, bool null_is_key) {
    return plan_encoder(kind, first, static_cast<List*>(list_nth(inputs.lists, operators)), null_is_key, inputs.parent, row,
                        context, call.meter);
  };
  // Both inputs share the ids of keys.
  if (number == 0 || is_own_key(side.key)) key = encoder(side.key, 0, kKeyOperators, false);
  const KeyEncoder item =
      encoder(side.item, side.keys, number == 0 ? kLeftItemOperators : kRightItemOperators, side.null_items != 0);
  inputs.items[number] = static_cast<KeyEncoder*>(palloc(sizeof(KeyEncoder)));
  *inputs.items[number] = item;
  const int first = side.keys + side.codes;
  auto* const columns = static_cast<FactorColumn*>(palloc(sizeof(FactorColumn) * Max(side.factors, 1)));
  for (int k = 0; k < side.factors; ++k)
    columns[k] = {first + k, getBaseType(TupleDescAttr(row, first + k)->atttypid), -1, false};
  for (int of = number; of < (spec.self_join ? 2 : number + 1); ++of) sums.columns[of] = columns;
  auto* const numbers = static_cast<int64_t*>(palloc(sizeof(int64_t) * Max(side.factors, 1)));
  auto* const there = static_cast<bool*>(palloc(sizeof(bool) * Max(side.factors, 1)));
  const int width = sums.product_count * (spec.self_join ? 2 : 1);
  auto* const factors = static_cast<int64_t*>(palloc(sizeof(int64_t) * static_cast<size_t>(width)));
  const int64_t* const of_sides[2] = {numbers, numbers};
  const bool* const there_of_sides[2] = {there, there};
  const MemoryContext scratch = AllocSetContextCreate(context, "batmap factors", ALLOCSET_SMALL_SIZES);
  FactorRows& rows = *call.rows[number];
  const MemoryContext caller = MemoryContextSwitchTo(inputs.parent->state->es_query_cxt);
  Reading result = Reading::kDone;
  while (result == Reading::kDone) {
    const TupleTableSlot* const slot = next_slot(plan, first + side.factors);
    if (slot == nullptr) break;
    if (leaves_out(key, slot->tts_isnull) || leaves_out(item, slot->tts_isnull)) continue;
    int64_t keys[2];
    if (!encode_key(key, slot->tts_values, slot->tts_isnull, keys[0]) ||
        !encode_key(item, slot->tts_values, slot->tts_isnull, keys[1])) {
      result = Reading::kTooLarge;
      break;
    }
    const MemoryContext own = MemoryContextSwitchTo(scratch);
    for (int k = 0; k < side.factors && result == Reading::kDone; ++k)
      if (!read_factor(columns[k], slot->tts_values[columns[k].at], slot->tts_isnull[columns[k].at], numbers[k], there[k]))
        result = Reading::kNoNumbers;
    MemoryContextReset(scratch);
    MemoryContextSwitchTo(own);
    if (result != Reading::kDone) break;
    if (spec.self_join)
      put_factors<0, 1>(sums, of_sides, there_of_sides, factors);
    else if (number == 0)
      put_factors<0, 0>(sums, of_sides, there_of_sides, factors);
    else
      put_factors<1, 1>(sums, of_sides, there_of_sides, factors);
    if (!guarded_fits(true, [&] { rows.append(keys[0], keys[1], factors); })) result = Reading::kTooLarge;
    call.progress.row(rows.size());
  }
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
    query.products.push_back({.factor = static_cast<size_t>(k), .counts_transactions = product.counts_keys});
    if (product == Product{}) query.count = found;  // a threshold is one of count(*), whose product this is
  }
  for (int k = 0; k < aggregates; ++k)
    for (int* const product : {&sums.aggregates[k].sum, &sums.aggregates[k].number})
      *product = position[static_cast<size_t>(*product)];
  for (int k = 0; k < aggregates; ++k) {
    uint64_t& limit = query.products[static_cast<size_t>(sums.aggregates[k].sum)].limit;
    limit = std::min(limit, limit_of(sums.aggregates[k].spec.bytes));
  }
  if (spec.order == ItemOrder::kLeftSmaller) query.condition = PairCondition::kLess;
  if (spec.order == ItemOrder::kLeftLarger) query.condition = PairCondition::kGreater;
  return query;
}

// ---- results

Datum numeric_of(WideSum sum, int scale) {
  if (scale == 0 && sum >= INT64_MIN && sum <= INT64_MAX)
    return DirectFunctionCall1(int8_numeric, Int64GetDatum(static_cast<int64>(sum)));
  char text[64];
  char* at = text + sizeof text;
  *--at = '\0';
  const bool negative = sum < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(sum) : static_cast<unsigned __int128>(sum);
  for (int digits = 0; rest != 0 || digits <= scale; ++digits) {
    if (digits == scale && scale > 0) *--at = '.';
    *--at = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  }
  if (negative) *--at = '-';
  return DirectFunctionCall3(numeric_in, CStringGetDatum(at), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

Datum int8_of(WideSum sum) {
  if (sum < INT64_MIN || sum > INT64_MAX)
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range")));
  return Int64GetDatum(static_cast<int64>(sum));
}

}  // namespace

Datum sum_of(const RunningSums& sums, uint64_t position, int aggregate, bool& is_null) {
  const RunningSums::Aggregate& own = sums.aggregates[aggregate];
  const WideSum* const found = sums.run->sums(position).data();
  const bool counts = own.spec.result == SumResult::kCount || own.spec.result == SumResult::kKeys;
  is_null = !counts && found[own.number] == 0;
  if (is_null) return 0;
  if (counts || own.spec.result == SumResult::kInt8) return int8_of(found[own.sum]);
  int scale = 0;
  for (int side = 0; side < 2; ++side)
    if (own.spec.factors[side] >= 0) scale += sums.columns[side][own.spec.factors[side]].scale_of_sum();
  const Datum sum = numeric_of(found[own.sum], scale);
  if (own.spec.result == SumResult::kNumeric) return sum;
  return DirectFunctionCall2(numeric_div, sum, DirectFunctionCall1(int8_numeric, int8_of(found[own.number])));
}

JoinProjectRows open_sums(JoinProjectInputs& inputs, const JoinProjectBounds& bounds, MemoryContext context,
                          const RunningSums*& sums, const char*& why) {
  auto* const stream = new_stream<SumsStream>(kOperation, context);
  SumsCall& call = stream->call();
  const JoinProjectSpec& spec = inputs.spec;
  auto* const running = static_cast<RunningSums*>(palloc0(sizeof(RunningSums)));
  const auto* const specs = static_cast<const List*>(list_nth(inputs.lists, kSums));
  find_products(specs, *running);
  KeyEncoder key{};
  for (int number = 0; number < spec.inputs(); ++number) {
    const size_t width = static_cast<size_t>(running->product_count) * (spec.self_join ? 2 : 1);
    guarded([&] { call.rows[number].emplace(call.meter, width); });
    const Reading reading = read_side(inputs, call, context, *running, number, key);
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
