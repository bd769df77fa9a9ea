"""Borgelt's miners over all pairs of items, a session as in peer_session.py. The statement is "MINER [algo=LETTER] [mode=...]"
with MINER apriori, eclat or fpgrowth. The rows of a transaction follow each other in the file to be loaded.

The answer is made from the pattern spectrum (how many pairs have which support), the cheapest form that pyfim has: no pair
becomes a Python object. Each call converts the transactions from Python objects into its own form. The time of this is
subtracted; it is measured by a call with a support that no item reaches (the least of three).
"""

import importlib.metadata

import fim
from peer_session import Stopwatch, run_miner


class Pyfim:
    def load(self, path):
        self.transactions, items, last = [], {}, None
        with open(path, encoding="ascii") as rows:
            for row in rows:
                tid, item = row.split()
                if tid != last:
                    self.transactions.append([])
                    last = tid
                self.transactions[-1].append(items.setdefault(item, len(items)))

    @staticmethod
    def version():
        return importlib.metadata.version("pyfim")

    def count(self, watch, miner, *options):
        def spectrum(watch, support):
            with watch:
                return getattr(fim, miner)(self.transactions, target="s", supp=-support, zmin=2, zmax=2, report="#", **named)

        named = dict(option.split("=") for option in options)
        taking_over = [Stopwatch() for _ in range(3)]
        for part in taking_over:
            spectrum(part, len(self.transactions) + 1)
        pairs = spectrum(watch, 1)
        watch.cpu_ms -= min(part.cpu_ms for part in taking_over)
        watch.wall_ms -= min(part.wall_ms for part in taking_over)
        return f"{sum(pairs.values()):.0f}", f"{sum(support * number for (_, support), number in pairs.items()):.0f}"


if __name__ == "__main__":
    run_miner("pyfim", Pyfim(), RuntimeError)
