"""The miners of rusket over all pairs, a session as in peer_session.py. The statement is "THREADS MINER", with MINER eclat,
fpgrowth, fin or negfin: those that find all itemsets. rusket's lcm finds the closed ones only, and a pair need not be closed.

A miner takes the transactions as arrays in the CSR form, made when loaded, and returns arrays of the itemsets of one and of two
items. The pairs are counted and their supports summed outside of the time. The pool of threads starts with the first count and
stays, so that a process has one number of threads.
"""

import importlib.metadata
import os

import numpy
from peer_session import read_rows, run_miner
from rusket import _rusket


class Rusket:
    def load(self, path):
        tids, items, transactions, self.items = read_rows(path)
        order = numpy.lexsort((items, tids))
        self.starts = numpy.searchsorted(tids[order], numpy.arange(transactions + 1)).astype(numpy.int32)
        self.rows = items[order].astype(numpy.int32)

    @staticmethod
    def version():
        return importlib.metadata.version("rusket")

    def count(self, watch, threads, miner):
        if os.environ.setdefault("RAYON_NUM_THREADS", threads) != threads:
            raise ValueError(f"{threads} threads in a session with {os.environ['RAYON_NUM_THREADS']}")
        mine = getattr(_rusket, f"{miner}_from_csr")
        with watch:
            supports, bounds, _ = mine(self.starts, self.rows, self.items, 1, 2)
        of_pairs = supports[numpy.diff(bounds) == 2]
        return len(of_pairs), of_pairs.sum()


if __name__ == "__main__":
    run_miner("rusket", Rusket(), RuntimeError)
