// CRoaring over all pairs: a Roaring bitmap of tids for each item, run_optimize and shrink_to_fit when loaded.
// A count calls roaring_bitmap_and_cardinality for all items x (items - 1) / 2 pairs; the threads take rows of
// the triangle. A session as in session.h; the statement is the number of threads. roaring.sh builds it.
#include <atomic>
#include <thread>

#include "roaring.h"
#include "session.h"

using namespace batmap::bench;

namespace {

class Roaring {
 public:
  void load(const Rows& rows) {
    std::vector<std::vector<uint32_t>> tidlists(rows.distinct_items);
    for (size_t row = 0; row < rows.tids.size(); ++row)
      tidlists[rows.items[row]].push_back(static_cast<uint32_t>(rows.tids[row]));
    for (const auto& tids : tidlists) {
      roaring_bitmap_t* set = roaring_bitmap_of_ptr(tids.size(), tids.data());
      roaring_bitmap_run_optimize(set);
      roaring_bitmap_shrink_to_fit(set);
      sets_.push_back(set);
    }
  }

  Answer count(const std::string& statement, Stopwatch& watch) const {
    const int threads = std::stoi(statement);
    std::vector<Answer> answers(threads);
    std::atomic<size_t> next_row = 0;
    auto count_rows = [&](Answer& answer) {
      Answer local;
      for (size_t i; (i = next_row++) < sets_.size();)
        for (size_t j = i + 1; j < sets_.size(); ++j) {
          const uint64_t support = roaring_bitmap_and_cardinality(sets_[i], sets_[j]);
          local.pairs += support > 0;
          local.support += support;
        }
      answer = local;
    };
    watch.start();
    {
      std::vector<std::jthread> helpers;
      for (int thread = 1; thread < threads; ++thread) helpers.emplace_back(count_rows, std::ref(answers[thread]));
      count_rows(answers[0]);
    }
    watch.stop();
    Answer sum;
    for (const Answer& answer : answers) sum.pairs += answer.pairs, sum.support += answer.support;
    return sum;
  }

  static std::string version() { return ROARING_VERSION; }

 private:
  std::vector<roaring_bitmap_t*> sets_;  // live as long as the process
};

}  // namespace

int main() {
  Roaring peer;
  return run_session(peer);
}
