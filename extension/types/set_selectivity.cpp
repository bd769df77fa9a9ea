// Selectivity of && @> <@ % over sets, and the row count of batmap_unnest, from the statistics of
// set_statistics.h. Elements are assumed to be independent of each other, as the server assumes for arrays.
#include <algorithm>
#include <cmath>
#include <span>

#include "extension/server/own_function.h"
#include "extension/types/set_argument.h"
#include "extension/types/set_datum.h"
#include "extension/types/set_likeness.h"
#include "extension/types/set_statistics.h"
#include "set/set_decode.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace batmap::pg {

double ElementStatistics::frequency(int64 element) const {
  const Datum* const end = common + common_count;
  const Datum* const at = std::lower_bound(common, end, element, [](Datum x, int64 y) { return DatumGetInt64(x) < y; });
  if (at != end && DatumGetInt64(*at) == element) return frequencies[at - common];
  return other_frequency;
}

ElementStatistics element_statistics(VariableStatData* variable, Oid operator_function) {
  ElementStatistics result{};
  if (!HeapTupleIsValid(variable->statsTuple) || !statistic_proc_security_check(variable, operator_function)) return result;
  result.null_fraction = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(variable->statsTuple))->stanullfrac;
  // The arrays of the slots are copies in the current context, which is short-lived, so they are not freed.
  AttStatsSlot histogram;
  if (get_attstatsslot(&histogram, variable->statsTuple, STATISTIC_KIND_DECHIST, InvalidOid, ATTSTATSSLOT_NUMBERS) &&
      histogram.nnumbers > 1) {
    result.cardinality_count = histogram.nnumbers - 1;
    result.cardinalities = histogram.numbers;
    // If all sets are empty, there are no common elements, and nothing more has to be known.
    result.known = histogram.numbers[result.cardinality_count - 1] == 0;
  }
  AttStatsSlot slot;
  if (!get_attstatsslot(&slot, variable->statsTuple, STATISTIC_KIND_MCELEM, InvalidOid,
                        ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS) ||
      slot.nnumbers != slot.nvalues + kElementNumbers)
    return result;
  result.known = true;
  result.common_count = slot.nvalues;
  result.common = slot.values;
  result.frequencies = slot.numbers;
  const float4* const extra = slot.numbers + slot.nvalues;
  result.other_count = extra[kOtherElements];
  // Elements that are missing in the sample are rarer than those in it.
  result.other_frequency =
      result.other_count > 0 ? std::min(extra[kOtherFrequency], extra[kMinFrequency]) : extra[kMinFrequency] / 2;
  for (int i = 0; i < slot.nvalues; ++i) result.mean_cardinality += slot.numbers[i];
  result.mean_cardinality += result.other_count * result.other_frequency;
  if (result.cardinality_count > 0) result.mean_cardinality = result.cardinalities[result.cardinality_count];
  return result;
}

}  // namespace batmap::pg

namespace {

enum class SetRelation { kOverlaps, kContains, kContained, kLike };

constexpr double kDefaultOverlap = 0.01;
constexpr double kDefaultContain = 0.005;
constexpr double kDefaultLike = 0.001;  // as for % of pg_trgm
/// At most this many elements of a constant are examined; the others are assumed to be like them.
constexpr size_t kLookedAt = 10000;

SetRelation relation_of(Oid operator_oid) {
  const char* const name = get_opname(operator_oid);
  if (name == nullptr) elog(ERROR, "operator %u is not there", operator_oid);
  if (strcmp(name, "&&") == 0) return SetRelation::kOverlaps;
  if (strcmp(name, "%") == 0) return SetRelation::kLike;
  return strcmp(name, "@>") == 0 ? SetRelation::kContains : SetRelation::kContained;
}

SetRelation commuted(SetRelation relation) {
  if (relation == SetRelation::kOverlaps || relation == SetRelation::kLike) return relation;
  return relation == SetRelation::kContains ? SetRelation::kContained : SetRelation::kContains;
}

double default_of(SetRelation relation) {
  if (relation == SetRelation::kLike) return kDefaultLike;
  return relation == SetRelation::kOverlaps ? kDefaultOverlap : kDefaultContain;
}

double clamped(double selectivity) { return std::min(std::max(selectivity, 0.0), 1.0); }

/// The fraction of the sets with at least `cardinality` elements.
double fraction_at_least(const ElementStatistics& s, double cardinality) {
  if (s.cardinality_count == 0) return 1;
  const float4* const end = s.cardinalities + s.cardinality_count;
  const auto below = std::lower_bound(s.cardinalities, end, static_cast<float4>(cardinality)) - s.cardinalities;
  if (below == s.cardinality_count) return 0;
  // The first and last bound are the extremes; an equal share of the sets lies between any
  // two neighbouring bounds.
  return 1 - std::max(static_cast<double>(below) - 0.5, 0.0) / s.cardinality_count;
}

/// The probability that at least `bound` of many rare events happen, of which `mean` happen in the mean (Poisson).
double probability_at_least(double bound, double mean) {
  if (bound <= 0) return 1;
  if (mean <= 0) return 0;
  // The larger terms first: from `bound` upwards, or what is below it.
  const auto term = [mean](double k) { return std::exp(k * std::log(mean) - mean - std::lgamma(k + 1)); };
  double sum = 0;
  if (bound > mean) {
    for (double k = bound, next = term(k); next > sum * 1e-6; next *= mean / ++k) sum += next;
    return std::min(sum, 1.0);
  }
  for (double k = bound - 1, next = term(k); k >= 0 && next > sum * 1e-6; next *= k-- / mean) sum += next;
  return std::max(1 - sum, 0.0);
}

/// The fraction of the sets that are like a set of n elements, of which they have `shared` in the mean.
double fraction_like(const ElementStatistics& s, double n, double shared) {
  const double threshold = similarity_threshold();
  if (threshold <= 0) return 1;
  if (n == 0) return 1 - fraction_at_least(s, 1);
  const auto common = static_cast<double>(min_common_elements(static_cast<uint64_t>(n), threshold));
  // A set that is much smaller or larger cannot be like it.
  const double of_the_size = fraction_at_least(s, common) - fraction_at_least(s, std::floor(n / threshold) + 1);
  return std::min(probability_at_least(common, shared), std::max(of_the_size, 0.0));
}

/// The fraction of the sets of a column that have this relation to a constant set.
double constant_selectivity(const ElementStatistics& s, SetRelation relation, std::span<const uint64_t> elements) {
  const size_t looked_at = std::min(elements.size(), kLookedAt);
  const double scale = looked_at == 0 ? 0 : static_cast<double>(elements.size()) / static_cast<double>(looked_at);
  double log_all = 0;   // log of the probability that a set holds all elements
  double log_none = 0;  // log of the probability that it holds none
  double shared = 0;    // how many of the elements a set has in the mean
  for (size_t i = 0; i < looked_at; ++i) {
    const double f = std::min(s.frequency(static_cast<int64>(elements[i])), 1.0);
    shared += f;
    log_all += std::log(std::max(f, 1e-10));
    log_none += std::log1p(-std::min(f, 1 - 1e-10));
  }
  switch (relation) {
    case SetRelation::kOverlaps: return 1 - std::exp(log_none * scale);
    case SetRelation::kContains:
      return std::min(std::exp(log_all * scale), fraction_at_least(s, static_cast<double>(elements.size())));
    case SetRelation::kLike: return fraction_like(s, static_cast<double>(elements.size()), shared * scale);
    case SetRelation::kContained: break;
  }
  // A set is contained in the constant if it holds none of the elements outside the constant.
  double log_outside = 0;
  double others_inside = static_cast<double>(elements.size());
  for (int i = 0; i < s.common_count; ++i) {
    if (std::binary_search(elements.begin(), elements.end(), static_cast<uint64_t>(DatumGetInt64(s.common[i]))))
      others_inside -= 1;
    else
      log_outside += std::log1p(-std::min<double>(s.frequencies[i], 1 - 1e-10));
  }
  log_outside -= std::max(s.other_count - others_inside, 0.0) * s.other_frequency;
  const double empty = 1 - fraction_at_least(s, 1);
  return std::min(std::max(std::exp(log_outside), empty),
                  1 - fraction_at_least(s, static_cast<double>(elements.size()) + 1));
}

/// int8 column <@ constant set: the sum of the selectivities of its elements.
double element_in_constant(VariableStatData* variable, std::span<const uint64_t> elements) {
  const size_t looked_at = std::min<size_t>(elements.size(), 100);
  double sum = 0;
  for (size_t i = 0; i < looked_at; ++i)
    sum +=
        var_eq_const(variable, kInt8Equal, InvalidOid, Int64GetDatum(static_cast<int64>(elements[i])), false, true, false);
  return looked_at == 0 ? 0 : sum * static_cast<double>(elements.size()) / static_cast<double>(looked_at);
}

/// Any operator may name these functions as its estimators, whatever it compares.
bool is_set(Oid type) { return is_type_with_input(getBaseType(type), "batmap_in"); }

double restriction(Oid operator_oid, VariableStatData* variable, const Const* constant, bool variable_on_left) {
  SetRelation relation = relation_of(operator_oid);
  if (!variable_on_left) relation = commuted(relation);
  if (constant->consttype == INT8OID) {
    const ElementStatistics s = element_statistics(variable, get_opcode(operator_oid));
    if (!s.known) return kDefaultContain;
    const int64 element = DatumGetInt64(constant->constvalue);
    return element < 0 ? 0 : s.frequency(element) * (1 - s.null_fraction);
  }
  if (!is_set(constant->consttype)) return default_of(relation);
  const SetView set = set_of_datum(constant->constvalue);
  SetWork* const work = open_work();
  guarded([&] { decode(set, work->elements, work->options); });
  double selectivity;
  if (variable->vartype == INT8OID) {
    selectivity = element_in_constant(variable, work->elements.span());
  } else {
    const ElementStatistics s = element_statistics(variable, get_opcode(operator_oid));
    if (relation == SetRelation::kContains && set.empty())
      selectivity = 1 - s.null_fraction;
    else if (s.known)
      selectivity = constant_selectivity(s, relation, work->elements.span()) * (1 - s.null_fraction);
    else
      selectivity = default_of(relation);
  }
  close_work(work);
  return selectivity;
}

/// The mean number of elements that a set of one column shares with a set of the other column.
double shared_elements(const ElementStatistics& a, const ElementStatistics& b) {
  double shared = 0;
  double only_a = a.common_count;
  double only_b = 0;
  for (int i = 0; i < a.common_count; ++i) shared += a.frequencies[i] * b.frequency(DatumGetInt64(a.common[i]));
  for (int i = 0; i < b.common_count; ++i) {
    const int64 element = DatumGetInt64(b.common[i]);
    if (std::binary_search(a.common, a.common + a.common_count, Int64GetDatum(element),
                           [](Datum x, Datum y) { return DatumGetInt64(x) < DatumGetInt64(y); })) {
      only_a -= 1;
    } else {
      only_b += 1;
      shared += b.frequencies[i] * a.other_frequency;
    }
  }
  // The rarer elements of both columns are assumed to be the same ones.
  return shared +
         std::max(std::min(a.other_count - only_b, b.other_count - only_a), 0.0) * a.other_frequency * b.other_frequency;
}

/// The fraction of pairs in which a set of `outer` contains a set of `inner`.
double containment(const ElementStatistics& outer, const ElementStatistics& inner, double shared) {
  const double held = std::min(shared / std::max(inner.mean_cardinality, 1e-6), 1.0);  // for an inner element
  if (inner.cardinality_count == 0) return std::pow(held, inner.mean_cardinality);
  double sum = 0;
  for (int i = 0; i < inner.cardinality_count; ++i)
    sum += std::pow(held, inner.cardinalities[i]) * fraction_at_least(outer, inner.cardinalities[i]);
  return sum / inner.cardinality_count;
}

/// The mean frequency of the values of an int8 column as elements of the sets of another column.
double mean_frequency(const ElementStatistics& s, VariableStatData* element, Oid operator_function) {
  bool guessed;
  const double distinct = std::max(get_variable_numdistinct(element, &guessed), 1.0);
  // The frequencies of all distinct values add up to at most the mean cardinality.
  const double max_frequency = s.mean_cardinality / distinct;
  if (!HeapTupleIsValid(element->statsTuple) || !statistic_proc_security_check(element, operator_function))
    return std::min(max_frequency, s.mean_cardinality / std::max(s.distinct_elements(), 1.0));
  double sum = 0;
  double weight = 0;  // the fraction of rows that `sum` covers
  AttStatsSlot slot;
  if (get_attstatsslot(&slot, element->statsTuple, STATISTIC_KIND_MCV, InvalidOid,
                       ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS)) {
    for (int i = 0; i < std::min(slot.nvalues, slot.nnumbers); ++i) {
      sum += slot.numbers[i] * s.frequency(DatumGetInt64(slot.values[i]));
      weight += slot.numbers[i];
    }
    free_attstatsslot(&slot);
  }
  const double rest =
      std::max(1 - weight - reinterpret_cast<Form_pg_statistic>(GETSTRUCT(element->statsTuple))->stanullfrac, 0.0);
  if (get_attstatsslot(&slot, element->statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES)) {
    // The histogram bounds are a sample of the values that are not most common.
    double bounds = 0;
    for (int i = 0; i < slot.nvalues; ++i) bounds += s.frequency(DatumGetInt64(slot.values[i]));
    sum += rest * std::min(bounds / slot.nvalues, max_frequency);
    free_attstatsslot(&slot);
  } else {
    sum += rest * std::min(max_frequency, s.other_frequency);
  }
  return sum;
}

double join(Oid operator_oid, VariableStatData* left, VariableStatData* right) {
  const SetRelation relation = relation_of(operator_oid);
  const Oid function = get_opcode(operator_oid);
  if (!is_set(left->vartype) && !is_set(right->vartype)) return default_of(relation);
  if (left->vartype == INT8OID || right->vartype == INT8OID) {
    VariableStatData* const element = left->vartype == INT8OID ? left : right;
    const ElementStatistics s = element_statistics(left->vartype == INT8OID ? right : left, function);
    if (!s.known) return kDefaultContain;
    return mean_frequency(s, element, function) * (1 - s.null_fraction);
  }
  const ElementStatistics a = element_statistics(left, function);
  const ElementStatistics b = element_statistics(right, function);
  if (!a.known || !b.known) return default_of(relation);
  const double shared = shared_elements(a, b);
  double selectivity = 0;
  switch (relation) {
    case SetRelation::kOverlaps: selectivity = 1 - std::exp(-shared); break;
    case SetRelation::kContains: selectivity = containment(a, b, shared); break;
    case SetRelation::kContained: selectivity = containment(b, a, shared); break;
    case SetRelation::kLike: selectivity = fraction_like(a, std::round(b.mean_cardinality), shared); break;
  }
  return selectivity * (1 - a.null_fraction) * (1 - b.null_fraction);
}

}  // namespace

BATMAP_FUNCTION(batmap_sel) {
  auto* const root = reinterpret_cast<PlannerInfo*>(PG_GETARG_POINTER(0));
  const Oid operator_oid = PG_GETARG_OID(1);
  auto* const arguments = reinterpret_cast<List*>(PG_GETARG_POINTER(2));
  VariableStatData variable;
  Node* other;
  bool variable_on_left;
  if (!get_restriction_variable(root, arguments, PG_GETARG_INT32(3), &variable, &other, &variable_on_left))
    PG_RETURN_FLOAT8(default_of(relation_of(operator_oid)));
  double selectivity = default_of(relation_of(operator_oid));
  if (IsA(other, Const)) {
    const auto* const constant = reinterpret_cast<Const*>(other);
    selectivity = constant->constisnull ? 0 : restriction(operator_oid, &variable, constant, variable_on_left);
  }
  ReleaseVariableStats(variable);
  PG_RETURN_FLOAT8(clamped(selectivity));
}

BATMAP_FUNCTION(batmap_joinsel) {
  auto* const root = reinterpret_cast<PlannerInfo*>(PG_GETARG_POINTER(0));
  const Oid operator_oid = PG_GETARG_OID(1);
  auto* const arguments = reinterpret_cast<List*>(PG_GETARG_POINTER(2));
  auto* const join_info = reinterpret_cast<SpecialJoinInfo*>(PG_GETARG_POINTER(4));
  VariableStatData left;
  VariableStatData right;
  bool reversed;
  get_join_variables(root, arguments, join_info, &left, &right, &reversed);
  const double selectivity = join(operator_oid, &left, &right);
  ReleaseVariableStats(left);
  ReleaseVariableStats(right);
  PG_RETURN_FLOAT8(clamped(selectivity));
}

// The rows of batmap_unnest: the number of elements of a constant set, or the mean for the sets of a column.
BATMAP_FUNCTION(batmap_set_unnest_support) {
  auto* const request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
  if (!IsA(request, SupportRequestRows)) PG_RETURN_POINTER(NULL);
  auto* const rows = reinterpret_cast<SupportRequestRows*>(request);
  if (rows->root == nullptr || rows->node == nullptr || !IsA(rows->node, FuncExpr)) PG_RETURN_POINTER(NULL);
  Node* const set =
      estimate_expression_value(rows->root, static_cast<Node*>(linitial(castNode(FuncExpr, rows->node)->args)));
  if (IsA(set, Const)) {
    const auto* const constant = castNode(Const, set);
    rows->rows = constant->constisnull ? 0 : static_cast<double>(header_of_datum(constant->constvalue).cardinality());
    PG_RETURN_POINTER(request);
  }
  VariableStatData variable;
  examine_variable(rows->root, set, 0, &variable);
  const ElementStatistics s = element_statistics(&variable, rows->funcid);
  ReleaseVariableStats(variable);
  if (!s.known) PG_RETURN_POINTER(NULL);
  rows->rows = s.mean_cardinality;
  PG_RETURN_POINTER(request);
}
