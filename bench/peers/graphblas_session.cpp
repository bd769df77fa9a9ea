// SuiteSparse:GraphBLAS over all pairs. With A the boolean matrix of the relation [transactions x items], the
// strict upper triangle of A'A over the semiring PLUS_PAIR has the pair supports. A session as in session.h;
// the statement is "THREADS BLOCKS". graphblas.sh builds it.
//
// A and A' are made when loaded. The whole product computes every pair twice. With the items cut into BLOCKS
// ranges, range b of A' times the columns of A from the beginning of range b on is the upper triangle and
// little more; GrB_TRIU drops the rest. The submatrices are made outside of the time. The entries of each
// product are counted and summed, and the product is freed.
extern "C" {
#include <GraphBLAS.h>
}

#include <numeric>
#include <optional>
#include <sstream>

#include "session.h"

using namespace batmap::bench;

namespace {

void check(GrB_Info info) {
  if (info == GrB_OUT_OF_MEMORY) throw std::runtime_error("GraphBLAS: out of memory");
  if (info != GrB_SUCCESS) throw std::runtime_error("GraphBLAS: status " + std::to_string(info));
}

/// Owns a matrix.
class Matrix {
 public:
  Matrix(GrB_Type type, GrB_Index rows, GrB_Index columns) { check(GrB_Matrix_new(&matrix_, type, rows, columns)); }
  Matrix(Matrix&& other) noexcept : matrix_(other.matrix_) { other.matrix_ = nullptr; }
  Matrix& operator=(Matrix&&) = delete;
  ~Matrix() { GrB_Matrix_free(&matrix_); }
  operator GrB_Matrix() const { return matrix_; }

 private:
  GrB_Matrix matrix_ = nullptr;
};

Matrix boolean_matrix(const std::vector<uint64_t>& rows, const std::vector<uint64_t>& columns, GrB_Index height,
                      GrB_Index width) {
  Matrix matrix(GrB_BOOL, height, width);
  GrB_Scalar one;
  check(GrB_Scalar_new(&one, GrB_BOOL));
  check(GrB_Scalar_setElement_BOOL(one, true));
  check(GxB_Matrix_build_Scalar(matrix, rows.data(), columns.data(), one, rows.size()));
  check(GrB_Scalar_free(&one));
  check(GrB_Matrix_wait(matrix, GrB_MATERIALIZE));
  return matrix;
}

class GraphBlas {
 public:
  void load(const Rows& rows) {
    items_ = rows.distinct_items;
    transactions_ = rows.transactions;
    blocks_ = 0;
    relation_.emplace(boolean_matrix(rows.tids, rows.items, transactions_, items_));
    transposed_.emplace(boolean_matrix(rows.items, rows.tids, items_, transactions_));
  }

  Answer count(const std::string& statement, Stopwatch& watch) {
    int threads = 0;
    GrB_Index blocks = 0;
    if (!(std::istringstream(statement) >> threads >> blocks) || blocks < 1)
      throw std::runtime_error("not THREADS BLOCKS: " + statement);
    if (blocks != blocks_) cut(blocks);
    check(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads));
    Answer answer;
    watch.start();
    for (size_t block = 0; block < left_.size(); ++block) {
      GrB_Index height = 0, width = 0, pairs = 0;
      uint64_t support = 0;
      check(GrB_Matrix_nrows(&height, left_[block]));
      check(GrB_Matrix_ncols(&width, right_[block]));
      const Matrix product(GrB_UINT32, height, width);
      check(GrB_mxm(product, nullptr, nullptr, GxB_PLUS_PAIR_UINT32, left_[block], right_[block], nullptr));
      check(GrB_Matrix_select_INT64(product, nullptr, nullptr, GrB_TRIU, product, 1, nullptr));
      check(GrB_Matrix_nvals(&pairs, product));
      check(GrB_Matrix_reduce_UINT64(&support, nullptr, GrB_PLUS_MONOID_UINT64, product, nullptr));
      answer.pairs += pairs;
      answer.support += support;
    }
    watch.stop();
    return answer;
  }

  static std::string version() {
    return std::to_string(GxB_IMPLEMENTATION_MAJOR) + "." + std::to_string(GxB_IMPLEMENTATION_MINOR) + "." +
           std::to_string(GxB_IMPLEMENTATION_SUB);
  }

 private:
  static std::vector<GrB_Index> range(GrB_Index from, GrB_Index to) {
    std::vector<GrB_Index> indices(to - from);
    std::iota(indices.begin(), indices.end(), from);
    return indices;
  }

  void cut(GrB_Index blocks) {
    left_.clear();
    right_.clear();
    for (GrB_Index block = 0; block < blocks; ++block) {
      const GrB_Index from = items_ * block / blocks, to = items_ * (block + 1) / blocks;
      if (from == to) continue;
      const auto rows = range(from, to), columns = range(from, items_);
      left_.emplace_back(GrB_BOOL, rows.size(), transactions_);
      right_.emplace_back(GrB_BOOL, transactions_, columns.size());
      check(GrB_Matrix_extract(left_.back(), nullptr, nullptr, *transposed_, rows.data(), rows.size(), GrB_ALL,
                               transactions_, nullptr));
      check(GrB_Matrix_extract(right_.back(), nullptr, nullptr, *relation_, GrB_ALL, transactions_, columns.data(),
                               columns.size(), nullptr));
      check(GrB_Matrix_wait(left_.back(), GrB_MATERIALIZE));
      check(GrB_Matrix_wait(right_.back(), GrB_MATERIALIZE));
    }
    blocks_ = blocks;
  }

  GrB_Index items_ = 0, transactions_ = 0, blocks_ = 0;
  std::optional<Matrix> relation_, transposed_;
  std::vector<Matrix> left_, right_;  // [blocks]
};

}  // namespace

int main() {
  check(GrB_init(GrB_BLOCKING));
  GraphBlas peer;
  return run_session(peer);
}
