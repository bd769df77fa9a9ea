"""SuiteSparse:GraphBLAS and NetworkX over a graph or a relation, a session as in peer_session.py. The statements are:

  graph FILE         reads edges "a TAB b"; each counts once, without direction, and not from a vertex to itself
  triangles THREADS  GraphBLAS: the sum of L L' masked by L, with vertices in the order of their numbers of edges; the answer
                     is the number of triangles and that of edges
  edges THREADS      GraphBLAS: A A masked by the upper triangle of A; the number of edges and the sum of their triangles
  networkx           networkx.triangles, which is plain Python; the answer of `triangles`
  pairs FILE LIST    reads rows "tid TAB item" and pairs "item TAB item", which must be different
  listed THREADS     GraphBLAS: A'A masked by the pairs; the number of pairs and the sum of their supports
  version            prints both versions

Matrices and the graph of NetworkX are made when loaded, which is not in the time.
"""

import networkx
import numpy
import suitesparse_graphblas
from graphblas_session import Matrix, boolean_matrix, check
from peer_session import run_session
from suitesparse_graphblas import ffi, lib


def read_numbers(path):
    return numpy.fromfile(path, dtype=numpy.int64, sep=" ").reshape(-1, 2)


def masked_product(watch, threads, mask, left, right):
    """The number of entries of the mask, and the sum of the product under it."""
    check(lib.GxB_Global_Option_set_INT32(lib.GxB_GLOBAL_NTHREADS, int(threads)))
    total = ffi.new("uint64_t*")
    entries = ffi.new("GrB_Index*")
    check(lib.GrB_Matrix_nvals(entries, mask()))
    with watch:
        product = Matrix(lib.GrB_INT32, mask.height, mask.width)
        check(lib.GrB_mxm(product(), mask(), ffi.NULL, lib.GxB_PLUS_PAIR_INT32, left(), right(), lib.GrB_DESC_ST1))
        check(lib.GrB_Matrix_reduce_UINT64(total, ffi.NULL, lib.GrB_PLUS_MONOID_UINT64, product(), ffi.NULL))
        del product
    return entries[0], total[0]


class Peers:
    def graph(self, path):
        rows = read_numbers(path)
        vertices, rows = numpy.unique(rows, return_inverse=True)
        rows = numpy.sort(rows.reshape(-1, 2), axis=1)
        rows = numpy.unique(rows[rows[:, 0] != rows[:, 1]], axis=0)
        count = len(vertices)
        degrees = numpy.bincount(rows.ravel(), minlength=count)
        place = numpy.empty(count, dtype=numpy.int64)
        place[numpy.argsort(degrees, kind="stable")] = numpy.arange(count)
        placed = numpy.sort(place[rows], axis=1)
        self.lower = boolean_matrix(placed[:, 1], placed[:, 0], count, count)
        self.upper = boolean_matrix(rows[:, 0], rows[:, 1], count, count)
        both = numpy.concatenate([rows, rows[:, ::-1]])
        self.all = boolean_matrix(both[:, 0], both[:, 1], count, count)
        self.edges = rows

    def pairs(self, path, list_path):
        rows, pairs = read_numbers(path), read_numbers(list_path)
        items, numbers = numpy.unique(numpy.concatenate([rows[:, 1], pairs.ravel()]), return_inverse=True)
        tids, tid_numbers = numpy.unique(rows[:, 0], return_inverse=True)
        item_numbers, pair_numbers = numbers[: len(rows)], numbers[len(rows) :].reshape(-1, 2)
        self.transposed = boolean_matrix(item_numbers, tid_numbers, len(items), len(tids))
        self.listed = boolean_matrix(pair_numbers[:, 0], pair_numbers[:, 1], len(items), len(items))

    def answer(self, statement, watch):
        word, *words = statement.split()
        if word == "version":
            number = ".".join(str(part) for part in suitesparse_graphblas.libgraphblas_version)
            return [[f"GraphBLAS {number}, NetworkX {networkx.__version__}"]]
        if word == "graph":
            self.graph(*words)
            return []
        if word == "pairs":
            self.pairs(*words)
            return []
        if word == "triangles":
            edges, triangles = masked_product(watch, words[0], self.lower, self.lower, self.lower)
            return [[triangles, edges]]
        if word == "edges":
            return [masked_product(watch, words[0], self.upper, self.all, self.all)]
        if word == "listed":
            return [masked_product(watch, words[0], self.listed, self.transposed, self.transposed)]
        if word == "networkx":
            graph = networkx.Graph(self.edges.tolist())
            with watch:
                triangles = sum(networkx.triangles(graph).values()) // 3
            return [[triangles, len(self.edges)]]
        raise ValueError(f"unknown statement: {statement}")


if __name__ == "__main__":
    suitesparse_graphblas.initialize(blocking=True, memory_manager="c")
    run_session("graphs", Peers().answer, RuntimeError)
