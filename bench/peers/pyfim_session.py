"""Borgelt's miners over all pairs of items, as a session over pipes for bench/peers/run.sh.

It reads one statement a line from standard input:

  load FILE                       reads rows "tid TAB item"; the rows of a transaction follow each other
  MINER [algo=LETTER] [mode=...]  apriori, eclat or fpgrowth: prints the number of pairs and the sum of supports
  version                         prints the version
  \\echo WORD                      prints WORD, as psql does

After each it prints "CPU: MILLISECONDS ms" and "Time: MILLISECONDS ms". The answer is the pattern spectrum (how many pairs have
which support), the cheapest form that pyfim has: no pair becomes a Python object. Each call converts the transactions from
Python objects into its own form. The time of this is subtracted; it is measured by a call with a support that no item
reaches (the least of three).
"""

import importlib.metadata
import sys
import time

import fim


def read_transactions(path):
    transactions, items, last = [], {}, None
    with open(path, encoding="ascii") as rows:
        for row in rows:
            tid, item = row.split()
            if tid != last:
                transactions.append([])
                last = tid
            transactions[-1].append(items.setdefault(item, len(items)))
    return transactions


def measure(miner, transactions, support, **options):
    """CPU time and wall-clock time of one call in ms, and its pattern spectrum."""
    start, cpu_start = time.perf_counter(), time.process_time()
    spectrum = getattr(fim, miner)(transactions, target="s", supp=-support, zmin=2, zmax=2, report="#", **options)
    return (time.process_time() - cpu_start) * 1000, (time.perf_counter() - start) * 1000, spectrum


def main():
    transactions = []
    for line in sys.stdin:
        word, *arguments = line.split()
        cpu = elapsed = 0
        if word == "\\echo":
            print(*arguments, flush=True)
            continue
        if word == "load":
            transactions = read_transactions(*arguments)
        elif word == "version":
            print(importlib.metadata.version("pyfim"))
        else:
            options = dict(argument.split("=") for argument in arguments)
            taking_over = [measure(word, transactions, len(transactions) + 1, **options)[:2] for _ in range(3)]
            cpu, elapsed, spectrum = measure(word, transactions, 1, **options)
            cpu -= min(run[0] for run in taking_over)
            elapsed -= min(run[1] for run in taking_over)
            print(f"{sum(spectrum.values()):.0f}|{sum(support * pairs for (_, support), pairs in spectrum.items()):.0f}")
        print(f"CPU: {cpu:.3f} ms\nTime: {elapsed:.3f} ms", flush=True)


if __name__ == "__main__":
    try:
        main()
    except (MemoryError, RuntimeError, ValueError) as error:
        sys.exit(f"pyfim: {type(error).__name__}: {error}")
