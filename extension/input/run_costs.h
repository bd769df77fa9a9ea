// What runs of the engine cost, for the planner, in units of cpu_operator_cost, which is about 20 ns. From
// bench/sql/plain.sh on w1 and retail.
#pragma once

namespace batmap::pg {

constexpr double kRunOperators = 20000;          // start threads, allocate memory, make tables of codes
constexpr double kHeapRowOperators = 0.25;       // decode a row of a page and pack it; the page has its own cost
constexpr double kRowOperators = 2;              // read a row into the log and group it
constexpr double kCodedRowOperators = 6;         // the same, with a look-up of its values
constexpr double kPairInstanceOperators = 0.05;  // count; a bit high for very dense and very sparse relations

constexpr double kListedPairOperators =
    8;  // read a pair of a list and count it, if its rows are few: bench/listed_bench.cpp

constexpr double kItemsetOperators = 4;   // count an itemset in bits, if there are few itemsets
constexpr double kBitsAnOperator = 1000;  // transactions in which an itemset is counted by one more operator

}  // namespace batmap::pg
