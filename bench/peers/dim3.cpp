// Calls DIM3. Its headers come from a checkout that BATMAP_DIM3 names; CMakeLists.txt sets its number of threads to two, which
// is a constant there. DIM3 gets its rows in its own form; making this form is not in its time. It keeps its answer in
// memory, 8 or 12 bytes a pair.
#include "bench/peers/dim3.h"

#include <chrono>
#include <cstdlib>

#include "dim3_with_two_threads.hpp"

namespace batmap::bench {

namespace {

using Find = DIM3_parallel<int, int, int, myHasher, myHasher, myHasher, myHasher, uint32_t>;

/// How DIM3 aggregates the rows of a pair: it counts them.
class CountRows {
 public:
  explicit CountRows(int items) : rows_(static_cast<int*>(std::malloc(static_cast<size_t>(items) * sizeof(int)))) {}
  ~CountRows() { std::free(rows_); }
  CountRows(const CountRows&) = delete;
  CountRows& operator=(const CountRows&) = delete;
  void insert(int item, int, int) { rows_[item] = 1; }
  void update(int item, int, int) { ++rows_[item]; }
  int get(int item) const { return rows_[item]; }

 private:
  int* rows_;
};

template <typename Row, typename Make>
myvector<Row> rows_of(const Dim3Rows& rows, Make make) {
  myvector<Row> made(static_cast<uint32_t>(rows.size()));
  for (const auto& [item, key] : rows) made.push_back(make(item, key));
  return made;
}

/// @param join  join(left, right, result)
template <typename Row, typename Result, typename Make, typename Join>
Dim3Answer timed(const Dim3Rows& left, const Dim3Rows& right, Make make, Join join) {
  myvector<Row> ours = rows_of<Row>(left, make);
  myvector<Row> theirs = rows_of<Row>(right, make);
  myvector<Result> result;
  const auto begin = std::chrono::steady_clock::now();
  join(ours, theirs, result);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Dim3Answer answer{result.size(), seconds};
  for (void* memory : {static_cast<void*>(ours.data), static_cast<void*>(theirs.data), static_cast<void*>(result.data)})
    std::free(memory);
  return answer;
}

}  // namespace

Dim3Answer dim3_find(const Dim3Rows& left, const Dim3Rows& right, int threads) {
  using Row = std::pair<int, int>;
  return timed<Row, Row>(
      left, right,
      [](int item, int key) {
        return Row{item, key};
      },
      [&](myvector<Row>& ours, myvector<Row>& theirs, myvector<Row>& result) {
        if (threads == 1)
          Find::doJoinProject(ours, theirs, result);
        else
          Find::doJoinProject_parallel(ours, theirs, result);
      });
}

Dim3Answer dim3_count(const Dim3Rows& left, const Dim3Rows& right) {
  using Row = TUPLE<int, int, int>;
  return timed<Row, Row>(
      left, right, [](int item, int key) { return Row(item, key, 1); },
      [&](myvector<Row>& ours, myvector<Row>& theirs, myvector<Row>& result) {
        DIM3JoinAggregate<int, int, int, int, CountRows, myHasher, myHasher, myHasher, myHasher, uint32_t>::doJoinAggregate(
            ours, theirs, result);
      });
}

}  // namespace batmap::bench
