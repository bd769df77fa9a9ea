"""Frequent sequences by the package prefixspan, as a session over pipes for bench/peers/sequences.sh.

It reads one statement a line from standard input:

  load FILE                   reads rows "stream TAB time TAB item", in order of stream and time
  events MIN_COUNT MAX        sequences of single events, by the package; the order of the rows is that of the events
  sets MIN_COUNT MAX          sequences of sets, by the few lines below: the package has no sets
  digest                      a digest of the last answer
  version                     prints the version
  \\echo WORD                  prints WORD, as psql does

Up to MAX events. The answer is the number of sequences and the sum of their supports. After each statement it prints
"CPU: MILLISECONDS ms" and "Time: MILLISECONDS ms". The time is that of mining: the sequences are lists in memory.
"""

import hashlib
import importlib.metadata
import sys
import time

from prefixspan import PrefixSpan


def read_streams(path):
    """Of each stream its steps: lists of the items of one time."""
    streams, last_stream, last_time = [], None, None
    with open(path, encoding="ascii") as rows:
        for row in rows:
            stream, at, item = map(int, row.split())
            if stream != last_stream:
                streams.append([])
            if (stream, at) != (last_stream, last_time):
                streams[-1].append([])
            streams[-1][-1].append(item)
            last_stream, last_time = stream, at
    return streams


def sequences_of_sets(streams, min_count, max_length):
    """PrefixSpan in its plainest form. A pattern has, for each stream, all steps at which it may end."""
    steps = [[set(step) for step in stream] for stream in streams]
    answer = []

    def extend(pattern, length, ends):
        longer = {}
        for stream, own_ends in ends.items():
            for at in range(min(own_ends) + 1, len(steps[stream])):
                for item in steps[stream][at]:
                    longer.setdefault((1, item), {}).setdefault(stream, []).append(at)
            for at in own_ends if pattern else ():
                for item in steps[stream][at]:
                    if item > pattern[-1][-1]:
                        longer.setdefault((0, item), {}).setdefault(stream, []).append(at)
        for (is_step, item), found in longer.items():
            if len(found) < min_count:
                continue
            grown = pattern + [[item]] if is_step else pattern[:-1] + [pattern[-1] + [item]]
            answer.append((len(found), grown))
            if length + 1 < max_length:
                extend(grown, length + 1, found)

    extend([], 0, {stream: [-1] for stream in range(len(steps))})
    return answer


def main():
    streams, answer = [], []
    for line in sys.stdin:
        word, *arguments = line.split()
        if word == "\\echo":
            print(*arguments, flush=True)
            continue
        cpu = elapsed = 0
        if word == "load":
            streams = read_streams(*arguments)
            flat = [[item for step in stream for item in step] for stream in streams]
        elif word == "version":
            print(importlib.metadata.version("prefixspan"))
        elif word == "digest":
            lines = sorted(f"{support}:" + " ".join(",".join(map(str, step)) for step in steps) for support, steps in answer)
            print(hashlib.md5("\n".join(lines).encode("ascii"), usedforsecurity=False).hexdigest())
        else:
            min_count, max_length = map(int, arguments)
            start, cpu_start = time.perf_counter(), time.process_time()
            if word == "sets":
                answer = sequences_of_sets(streams, min_count, max_length)
            else:
                miner = PrefixSpan(flat)
                miner.maxlen = max_length
                found = miner.frequent(min_count)
            cpu, elapsed = (time.process_time() - cpu_start) * 1000, (time.perf_counter() - start) * 1000
            if word == "events":
                answer = [(support, [[item] for item in pattern]) for support, pattern in found]
            print(f"{len(answer)}|{sum(support for support, _ in answer)}")
        print(f"CPU: {cpu:.3f} ms")
        print(f"Time: {elapsed:.3f} ms", flush=True)


main()
