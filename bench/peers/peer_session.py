"""The loop of a peer in Python: a session over pipes for the benchmark scripts, which alternate it with a psql session.

It reads one statement a line from standard input. After each it prints the rows of the answer, columns separated by '|', and
the lines "CPU: MILLISECONDS ms" and "Time: MILLISECONDS ms"; the line "\\echo WORD" prints WORD, as psql does. The first error
ends the program with status 1.

A database has a statement in SQL (run_session). A miner (run_miner) has these statements:

  load FILE   reads rows "tid TAB item"
  version     prints the version
  others      count all pairs; the answer is the number of pairs and the sum of their supports
"""

import sys
import time


class Stopwatch:
    """Times the block of a `with`, in ms; CPU time is that of all threads. What is outside of the block is not in the time."""

    def __init__(self):
        self.cpu_ms = self.wall_ms = 0

    def __enter__(self):
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def __exit__(self, *_):
        self.wall_ms += (time.perf_counter() - self._wall) * 1000
        self.cpu_ms += (time.process_time() - self._cpu) * 1000


def run_session(name, answer, errors):
    """Calls answer(statement, watch), which returns rows, for each line. Of `errors`, only the message is printed."""
    try:
        for line in sys.stdin:
            statement = line.strip()
            if statement.startswith("\\echo "):
                print(statement.removeprefix("\\echo "), flush=True)
                continue
            watch = Stopwatch()
            for row in answer(statement, watch):
                print("|".join(str(value) for value in row))
            print(f"CPU: {watch.cpu_ms:.3f} ms\nTime: {watch.wall_ms:.3f} ms", flush=True)
    except (MemoryError, ValueError, errors) as error:
        sys.exit(f"{name}: {type(error).__name__}: {error}")


def run_miner(name, peer, errors):
    """`peer` has load(path), version() and count(watch, *words of the statement), which returns the two numbers."""

    def answer(statement, watch):
        words = statement.split()
        if words[0] == "load":
            peer.load(words[1])
            return []
        if words[0] == "version":
            return [[peer.version()]]
        return [peer.count(watch, *words)]

    run_session(name, answer, errors)


def read_rows(path):
    """Tids and items [rows] as numbers from 0 without gaps, in the order of their values, and how many there are of each."""
    import numpy  # pylint: disable=import-outside-toplevel; not every peer has it

    values = numpy.fromfile(path, dtype=numpy.int64, sep=" ").reshape(-1, 2)
    distinct_tids, tids = numpy.unique(values[:, 0], return_inverse=True)
    distinct_items, items = numpy.unique(values[:, 1], return_inverse=True)
    return tids, items, len(distinct_tids), len(distinct_items)
