"""SuiteSparse:GraphBLAS over all pairs, a session as in peer_session.py. The statement is "THREADS BLOCKS".

With A the boolean matrix of the relation [transactions x items], the strict upper triangle of A'A over the semiring PLUS_PAIR
has the pair supports. A and A' are made when loaded. The whole product computes every pair twice. With the items cut into BLOCKS
ranges, range b of A' times the columns of A from the beginning of range b on is the upper triangle and little more; GrB_TRIU
drops the rest. The submatrices are made outside of the time. The entries of each product are counted and summed, and the
product is freed. Supports are of INT32, because the library of the package has a kernel for this type; for UINT32 it takes the
generic one, twice the time on dense data.
"""

import numpy
import suitesparse_graphblas
from peer_session import read_rows, run_miner
from suitesparse_graphblas import ffi, lib


def check(status):
    if status == lib.GrB_OUT_OF_MEMORY:
        raise MemoryError
    if status != lib.GrB_SUCCESS:
        raise RuntimeError(f"status {status}")


def indices(values):
    """An array of numpy as an array of GrB_Index, which keeps it alive."""
    return ffi.from_buffer("GrB_Index[]", numpy.ascontiguousarray(values, dtype=numpy.uint64))


class Matrix:
    """Owns a matrix, which has no entries yet."""

    def __init__(self, element_type, height, width):
        self.handle = ffi.new("GrB_Matrix*")
        self.height, self.width = height, width
        check(lib.GrB_Matrix_new(self.handle, element_type, height, width))

    def __del__(self):
        lib.GrB_Matrix_free(self.handle)

    def __call__(self):
        return self.handle[0]


def boolean_matrix(rows, columns, height, width):
    matrix = Matrix(lib.GrB_BOOL, height, width)
    one = ffi.new("GrB_Scalar*")
    check(lib.GrB_Scalar_new(one, lib.GrB_BOOL))
    check(lib.GrB_Scalar_setElement_BOOL(one[0], True))
    check(lib.GxB_Matrix_build_Scalar(matrix(), indices(rows), indices(columns), one[0], len(rows)))
    check(lib.GrB_Scalar_free(one))
    check(lib.GrB_Matrix_wait(matrix(), lib.GrB_MATERIALIZE))
    return matrix


def submatrix(matrix, rows, columns):
    """The entries of two ranges (from, to)."""
    part = Matrix(lib.GrB_BOOL, rows[1] - rows[0], columns[1] - columns[0])
    # With GxB_RANGE an array has the first and the last index.
    row_range, column_range = (indices([first, end - 1]) for first, end in (rows, columns))
    check(lib.GrB_Matrix_extract(part(), ffi.NULL, ffi.NULL, matrix(), row_range, lib.GxB_RANGE, column_range, lib.GxB_RANGE, ffi.NULL))
    check(lib.GrB_Matrix_wait(part(), lib.GrB_MATERIALIZE))
    return part


class GraphBlas:
    def load(self, path):
        tids, items, self.transactions, self.items = read_rows(path)
        self.blocks = []
        self.relation = boolean_matrix(tids, items, self.transactions, self.items)
        self.transposed = boolean_matrix(items, tids, self.items, self.transactions)

    @staticmethod
    def version():
        return ".".join(str(part) for part in suitesparse_graphblas.libgraphblas_version)

    def count(self, watch, threads, blocks):
        if len(self.blocks) != min(int(blocks), self.items):
            self.cut(int(blocks))
        check(lib.GxB_Global_Option_set_INT32(lib.GxB_GLOBAL_NTHREADS, int(threads)))
        pairs, support = ffi.new("GrB_Index*"), ffi.new("uint64_t*")
        all_pairs = all_support = 0
        for left, right in self.blocks:
            with watch:
                product = Matrix(lib.GrB_INT32, left.height, right.width)
                check(lib.GrB_mxm(product(), ffi.NULL, ffi.NULL, lib.GxB_PLUS_PAIR_INT32, left(), right(), ffi.NULL))
                check(lib.GrB_Matrix_select_INT64(product(), ffi.NULL, ffi.NULL, lib.GrB_TRIU, product(), 1, ffi.NULL))
                check(lib.GrB_Matrix_nvals(pairs, product()))
                check(lib.GrB_Matrix_reduce_UINT64(support, ffi.NULL, lib.GrB_PLUS_MONOID_UINT64, product(), ffi.NULL))
                del product
            all_pairs += pairs[0]
            all_support += support[0]
        return all_pairs, all_support

    def cut(self, blocks):
        bounds = [self.items * block // blocks for block in range(blocks + 1)]
        transactions = (0, self.transactions)
        self.blocks = [
            (submatrix(self.transposed, (first, end), transactions), submatrix(self.relation, transactions, (first, self.items)))
            for first, end in zip(bounds, bounds[1:])
            if first < end
        ]


if __name__ == "__main__":
    suitesparse_graphblas.initialize(blocking=True, memory_manager="c")
    run_miner("graphblas", GraphBlas(), RuntimeError)
