"""Stored sets beside pg_roaringbitmap, in one server and one session: bytes, cold calls, operators, aggregates, building, loops.

usage: set_neighbours.py [--part random|real|loops] ... [--rounds N] [--largest ELEMENTS]

`bench/run neighbours` calls it; it prints Markdown. Both sides answer the same statements over the same arrays, in turns. A time
is the CPU time of the backend as the kernel counts it (/proc/PID/schedstat), the median of the rounds; a cold call is less
the time of the statement that takes neither value. Answers are compared. BENCH_COLLECTIONS names a folder with a folder for each
real collection: text files, each with the elements of one set, separated by commas. BATMAP_TEST_DATA adds the tids of the items of
three data sets.
"""

import argparse
import math
import os
import pathlib
import subprocess
import sys
import time

SIZES = [1_000, 10_000, 100_000, 1_000_000]
DENSITIES = [1e-5, 1e-4, 1e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.5]
SETS_OF_SIZE = {1_000: 32, 10_000: 16, 100_000: 8, 1_000_000: 4}
TID_LISTS = ["retail", "connect", "T40I10D100K-regen"]


class Session:
    """A psql over pipes. run() returns the rows, and the CPU time that the backend took, in us."""

    def __init__(self):
        self._psql = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"], text=True, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)
        self._schedstat = None
        rows, _ = self.run("SELECT pg_backend_pid();")
        self._schedstat = f"/proc/{rows[0]}/schedstat"

    def _cpu_ns(self):
        if self._schedstat is None:
            return 0
        with open(self._schedstat, encoding="ascii") as file:
            return int(file.read().split()[0])

    def run(self, sql):
        before = self._cpu_ns()
        self._psql.stdin.write(sql + "\n\\echo done\n")
        self._psql.stdin.flush()
        rows = []
        while (line := self._psql.stdout.readline()) != "done\n":
            if not line:
                sys.exit("set_neighbours: psql ended: " + sql[:300])
            rows.append(line.rstrip("\n"))
        time.sleep(0.0005)  # the backend goes to sleep, and its time is counted
        return rows, (self._cpu_ns() - before) / 1000


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def figures(value):
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


class Results:
    """Ratios of all measures, for the table at the end: (theirs / ours, theirs again / theirs, where, ours, theirs)."""

    def __init__(self):
        self.ratios = {}

    def add(self, what, where, ours, theirs, again=None):
        if ours > 0 and theirs > 0:
            itself = again / theirs if again is not None and again > 0 else None
            self.ratios.setdefault(what, []).append((theirs / ours, itself, where, ours, theirs))


def alternate(session, rounds, statements):
    """CPU times of the statements, in turns: a list of medians in us. @return also the answers"""
    times = [[] for _ in statements]
    answers = [None] * len(statements)
    for turn in range(rounds + 1):
        for i, sql in enumerate(statements):
            rows, cpu = session.run(sql)
            answers[i] = rows
            if turn > 0:  # the first round reads the tables
                times[i].append(cpu)
    return [median(t) for t in times], answers


class Sides:
    """The names of one set of functions of pg_roaringbitmap: of 32 or of 64 bits."""

    def __init__(self, wide):
        self.prefix = "rb64" if wide else "rb"
        self.type = "roaringbitmap64" if wide else "roaringbitmap"
        self.element = "int8" if wide else "int4"

    def statements(self):
        """(what, ours, theirs) over the tables ours and theirs, whose pairs are those of the ids 2 k and 2 k + 1."""
        rb = self.prefix
        pairs = "FROM {t} a, {t} b WHERE a.id % 2 = 0 AND b.id = a.id + 1"
        both = []
        for name, symbol in (("and", "&"), ("or", "|"), ("andnot", "-"), ("xor", "#")):
            both.append((f"a {symbol} b".replace("|", "\\|"), f"SELECT count(a.s {symbol} b.s) {pairs.format(t='ours')};",
                         f"SELECT count(a.s {symbol} b.s) {pairs.format(t='theirs')};"))
            both.append((f"{name}_cardinality", f"SELECT sum(batmap_{name}_cardinality(a.s, b.s)) {pairs.format(t='ours')};",
                         f"SELECT sum({rb}_{name}_cardinality(a.s, b.s)) {pairs.format(t='theirs')};"))
        for name in ("or", "and", "xor"):
            both.append((f"{name}_agg", f"SELECT batmap_cardinality(batmap_{name}_agg(s)) FROM ours;",
                         f"SELECT {rb}_cardinality({rb}_{name}_agg(s)) FROM theirs;"))
            both.append((f"{name}_cardinality_agg", f"SELECT batmap_{name}_cardinality_agg(s) FROM ours;",
                         f"SELECT {rb}_{name}_cardinality_agg(s) FROM theirs;"))
        both.append(("build from an array", "SELECT count(a::batmap) FROM arrays;", f"SELECT count({rb}_build(a)) FROM arrays;"))
        both.append(("build by aggregate, ascending", "SELECT batmap_cardinality(batmap_agg(x)) FROM ascending;",
                     f"SELECT {rb}_cardinality({rb}_build_agg(x)) FROM ascending;"))
        both.append(("build by aggregate, random order", "SELECT batmap_cardinality(batmap_agg(x)) FROM scattered;",
                     f"SELECT {rb}_cardinality({rb}_build_agg(x)) FROM scattered;"))
        both.append(("many members of each set", "SELECT count(*) FROM ours t, probes WHERE t.s @> x::int8;",
                     f"SELECT count(*) FROM theirs t, probes WHERE {rb}_contains(t.s, x);"))
        both.append(("cardinality, min, max",
                     "SELECT sum(batmap_cardinality(s)), sum(batmap_min(s)), sum(batmap_max(s)) FROM ours;",
                     f"SELECT sum({rb}_cardinality(s)), sum({rb}_min(s)), sum({rb}_max(s)) FROM theirs;"))
        return both

    def cold(self):
        """(what, ours, theirs, without the call): statements that are prepared, of one id."""
        rb = self.prefix
        pair = "FROM {t} a, {t} b WHERE a.id = $1 AND b.id = $1 + 1"
        one = "FROM {t} a, {t} b WHERE a.id = $1 AND b.id = $1 + 1"
        return [
            ("one cold call: and_cardinality", f"SELECT batmap_and_cardinality(a.s, b.s) {pair.format(t='ours')}",
             f"SELECT {rb}_and_cardinality(a.s, b.s) {pair.format(t='theirs')}", pair),
            ("one cold call: a & b", f"SELECT batmap_cardinality(a.s & b.s) {pair.format(t='ours')}",
             f"SELECT {rb}_cardinality(a.s & b.s) {pair.format(t='theirs')}", pair),
            ("one cold call: member", f"SELECT a.s @> (100 * $1)::int8 {one.format(t='ours')}",
             f"SELECT {rb}_contains(a.s, (100 * $1)::{self.element}) {one.format(t='theirs')}", one),
        ]


def load(session, sides, probes):
    """Makes the tables of both sides from the table arrays(id, a)."""
    session.run(f"""
        DROP TABLE IF EXISTS ours, theirs, ascending, scattered, probes;
        CREATE TABLE ours (id int PRIMARY KEY, s batmap);
        CREATE TABLE theirs (id int PRIMARY KEY, s {sides.type});
        INSERT INTO ours SELECT id, a::batmap FROM arrays ORDER BY id;
        INSERT INTO theirs SELECT id, {sides.prefix}_runoptimize({sides.prefix}_build(a)) FROM arrays ORDER BY id;
        CREATE TABLE ascending AS SELECT x FROM arrays, unnest(a) WITH ORDINALITY u(x, n) WHERE id < 2 ORDER BY id, n LIMIT 1000000;
        CREATE TABLE scattered AS SELECT x FROM ascending ORDER BY hashint8extended(x, 7);
        CREATE TABLE probes AS SELECT x::{sides.element} FROM ({probes}) p(x);
        VACUUM (FREEZE, ANALYZE) ours; VACUUM (FREEZE, ANALYZE) theirs;
        VACUUM (FREEZE, ANALYZE) ascending; VACUUM (FREEZE, ANALYZE) scattered;""")


def measure(session, sides, where, sets, rounds, results):
    rows, _ = session.run("SELECT sum(octet_length(s::bytea)) FROM ours; SELECT sum(octet_length(s::bytea)) FROM theirs;")
    ours_bytes, theirs_bytes = map(float, rows)
    results.add("bytes", where, ours_bytes, theirs_bytes)
    cells = {"bytes": theirs_bytes / ours_bytes}
    for what, ours, theirs in sides.statements():
        (t_ours, t_theirs, _, again), answers = alternate(session, rounds, [ours, theirs, ours, theirs])
        if answers[0] != answers[1] and "|" not in answers[0][0]:
            sys.exit(f"set_neighbours: {where}, {what}: {answers[0]} and {answers[1]}")
        results.add(what, where, t_ours, t_theirs, again)
        cells[what] = t_theirs / t_ours
    for what, ours, theirs, pair in sides.cold():
        ids = [2 * k for k in range(sets // 2)]
        repeats = max(1, 64 // len(ids))
        nothing = "SELECT a.id + b.id " + pair
        session.run(f"DEALLOCATE ALL; PREPARE ours(int) AS {ours}; PREPARE theirs(int) AS {theirs};"
                    f"PREPARE nothing1(int) AS {nothing.format(t='ours')}; PREPARE nothing2(int) AS {nothing.format(t='theirs')};"
                    "SET plan_cache_mode = force_generic_plan;")
        batch = lambda name: "".join(f"EXECUTE {name}({k});" for k in ids) * repeats
        times, answers = alternate(session, rounds, [batch(n) for n in ("ours", "nothing1", "theirs", "nothing2") * 2])
        if answers[0] != answers[2]:
            sys.exit(f"set_neighbours: {where}, {what}: different answers")
        calls = len(ids) * repeats
        t_ours, t_theirs, again = (times[0] - times[1]) / calls, (times[2] - times[3]) / calls, (times[6] - times[7]) / calls
        results.add(what, where, t_ours, t_theirs, again)
        results.add(what + ", with its statement", where, times[0], times[2], times[6])
        cells[what] = t_theirs / t_ours if t_ours > 0 else math.nan
    return cells


def random_part(session, rounds, largest, results, rows):
    for size in SIZES:
        if size > largest:
            continue
        for density in DENSITIES:
            universe = round(size / density)
            sets = SETS_OF_SIZE[size]
            sides = Sides(universe > 2**31)
            where = f"{size:g} at {density:g}"
            print(f"set_neighbours: {where}", file=sys.stderr)
            if density >= 0.02:
                elements = (f"SELECT g AS x FROM generate_series(0, {universe - 1}) g"
                            f" WHERE (hashint8extended(g, i) & 1048575) < {density * 1048576}")
            else:
                elements = f"SELECT DISTINCT (hashint8extended(g, i) & 9223372036854775807) % {universe} AS x FROM generate_series(1, {size}) g"
            session.run("DROP TABLE IF EXISTS arrays; SET work_mem = '256MB'; SET max_parallel_workers_per_gather = 0;"
                        f"CREATE TABLE arrays AS SELECT i AS id, (SELECT array_agg(x::{sides.element} ORDER BY x) FROM ({elements}) e) AS a"
                        f" FROM generate_series(0, {sets - 1}) i; RESET work_mem; VACUUM (FREEZE, ANALYZE) arrays;")
            load(session, sides, f"SELECT g * {universe} / 100 FROM generate_series(0::int8, 99) g")
            rows.append((where, measure(session, sides, where, sets, rounds, results)))


def read_collections():
    """Yields (name, sets): lists of ascending elements."""
    folder = os.environ.get("BENCH_COLLECTIONS")
    if folder:
        for collection in sorted(p for p in pathlib.Path(folder).iterdir() if p.is_dir()):
            sets = [sorted(map(int, f.read_text().split(","))) for f in sorted(collection.glob("*.txt"))]
            if sets:
                yield collection.name, sets
    else:
        print("set_neighbours: BENCH_COLLECTIONS is not set: the real collections are left out", file=sys.stderr)
    data = os.environ.get("BATMAP_TEST_DATA")
    for name in TID_LISTS if data else []:
        file = pathlib.Path(data, "fimi", name + ".dat.zst")
        if not file.exists():
            print(f"set_neighbours: {file} is missing", file=sys.stderr)
            continue
        tids = {}
        for tid, line in enumerate(subprocess.run(["zstdcat", file], capture_output=True, text=True, check=True).stdout.splitlines()):
            for item in set(map(int, line.split())):
                tids.setdefault(item, []).append(tid)
        yield "tids of " + name, [tids[item] for item in sorted(tids)]


def real_part(session, rounds, results, rows):
    for name, sets in read_collections():
        print(f"set_neighbours: {name}", file=sys.stderr)
        sides = Sides(False)
        session.run("DROP TABLE IF EXISTS arrays; CREATE TABLE arrays (id int, a int4[]);")
        copy = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", "COPY arrays FROM STDIN"], text=True, check=True,
                              input="".join(f"{i}\t{{{','.join(map(str, s))}}}\n" for i, s in enumerate(sets)))
        assert copy.returncode == 0
        session.run("VACUUM (FREEZE, ANALYZE) arrays;")
        most = max(s[-1] for s in sets)
        load(session, sides, f"SELECT g * {most + 1}::int8 / 10 FROM generate_series(0, 9) g")
        rows.append((name, measure(session, sides, name, min(len(sets), 128), rounds, results)))


def loops_part(session, rounds, results, rows):
    """Nested loops over the tids of items that are random transactions of a density, as in the paper; in four forms."""
    for sets, elements, universe in ((1500, 2000, 60_000), (4000, 600, 100_000), (1500, 20_000, 1_000_000)):
        where = f"{sets} sets of {elements} of {universe:,}"
        print(f"set_neighbours: loop, {where}", file=sys.stderr)
        session.run("DROP TABLE IF EXISTS arrays, looped, looped_prepared, looped_theirs; SET max_parallel_workers_per_gather = 0;"
                    "CREATE TABLE arrays AS SELECT i AS id, (SELECT array_agg(DISTINCT ((hashint8extended(g, i) & 9223372036854775807) %"
                    f" {universe})::int4) FROM generate_series(1, {elements}) g) AS a FROM generate_series(1, {sets}) i;"
                    f"CREATE TABLE looped AS SELECT id, a::batmap AS s FROM arrays;"
                    f"CREATE TABLE looped_prepared (id int, s batmap({universe}, 'prepared')); INSERT INTO looped_prepared SELECT * FROM looped;"
                    "CREATE TABLE looped_theirs AS SELECT id, rb_runoptimize(rb_build(a)) AS s FROM arrays;"
                    "VACUUM (FREEZE, ANALYZE) looped; VACUUM (FREEZE, ANALYZE) looped_prepared; VACUUM (FREEZE, ANALYZE) looped_theirs;")
        loop = "SELECT sum({f}(a.s, b.s)) FROM {t} a, {t} b;"
        times, answers = alternate(session, rounds, [loop.format(f="batmap_and_cardinality", t="looped"),
                                                     loop.format(f="batmap_and_cardinality", t="looped_prepared"),
                                                     loop.format(f="rb_and_cardinality", t="looped_theirs"),
                                                     loop.format(f="int4pl", t="looped").replace("a.s, b.s", "a.id, b.id")])
        if not answers[0] == answers[1] == answers[2]:
            sys.exit(f"set_neighbours: {where}: different answers")
        results.add("nested loop", where, times[0], times[2])
        results.add("nested loop, the prepared form / the compact one (goal: at least 1 / 1.1)", where, times[0], times[1])
        rows.append((where, times))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", action="append", choices=["random", "real", "loops"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=1_000_000)
    options = parser.parse_args()
    parts = options.part or ["random", "real", "loops"]
    session = Session()
    session.run("CREATE EXTENSION IF NOT EXISTS roaringbitmap; SET client_min_messages = warning; SET jit = off;")
    results, points, loops = Results(), [], []
    if "random" in parts:
        random_part(session, options.rounds, options.largest, results, points)
    if "real" in parts:
        real_part(session, options.rounds, results, points)
    if "loops" in parts:
        loops_part(session, options.rounds, results, loops)

    print("## All measures\n\nRatios: pg_roaringbitmap / batmap; above 1 batmap takes fewer bytes, or less time. *Itself*: pg_roaringbitmap"
          " beside pg_roaringbitmap, measured in the same turns. What lies above the least ratio of that may be noise.\n")
    print("| what | points | geometric mean | least | where: batmap, pg_roaringbitmap | below 1 | itself: least | itself: below 1 |")
    print("|---|---|---|---|---|---|---|---|")
    for what, all_ratios in results.ratios.items():
        least = min(all_ratios, key=lambda r: r[0])
        mean = math.exp(sum(math.log(r[0]) for r in all_ratios) / len(all_ratios))
        itself = [r[1] for r in all_ratios if r[1] is not None]
        print(f"| {what} | {len(all_ratios)} | {figures(mean)} | {figures(least[0])} | {least[2]}: {figures(least[3])}, {figures(least[4])} |"
              f" {sum(r[0] < 1 for r in all_ratios)} | {figures(min(itself)) if itself else ''} |"
              f" {sum(r < 1 for r in itself) if itself else ''} |")
    if points:
        names = list(points[0][1])
        print("\n## All points\n\n| | " + " | ".join(names) + " |\n|---" + "|---" * len(names) + "|")
        for where, cells in points:
            print(f"| {where} | " + " | ".join("" if math.isnan(cells[n]) else figures(cells[n]) for n in names) + " |")
    if loops:
        print("\n## Nested loops\n\nCPU seconds; the loop alone adds ids.\n\n| | batmap | stored prepared | pg_roaringbitmap | the loop alone |\n|---|---|---|---|---|")
        for where, times in loops:
            print(f"| {where} | " + " | ".join(f"{t / 1e6:.2f}" for t in times) + " |")


main()
