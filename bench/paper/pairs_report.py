"""Makes a Markdown report or a plot from the CSV of paper_pairs, with the numbers of Amossen and Pagh 2011 beside ours.

usage: pairs_report.py markdown|svg FILE.csv TITLE > FILE.md|FILE.svg
"""

import math

from report import cell, main, name_of_x, number, sweep, table
from svg_plot import COLORS as METHODS
UNITS = {"generation_s": "{} s of pair generation", "over_s": "over {} s", "over_mb": "over {} MB", "gb_per_s": "{} GB/s",
         "elements_per_s": "{} elements/s"}
PANELS = [  # experiment, quantity, title, x axis, y axis
    ("items", "generation_s", "Pair generation (Fig. 6)", "items", "seconds"),
    ("items", "total_s", "Rows in memory to the last pair (Fig. 7)", "items", "seconds"),
    ("items", "peak_mb", "Memory, rows included (Fig. 5)", "items", "MB"),
    ("density", "generation_s", "Pair generation, 8,000 items (Fig. 8)", "density", "seconds"),
]


def speed_up(ours):
    points = ours.points("cores")
    if not points:
        return
    print("## Fig. 9: time on one thread over time on several, pair generation, 4,000 items at 5 %, wall time against CPU time\n")
    rows = []
    for x in points:
        row = [number(x)]
        for method in METHODS:
            one, many = (ours.get("cores", method, at, "generation_s") for at in (points[0], x))
            row.append(number(one / many) if one and many else cell(ours, "cores", method, x, "generation_s"))
        rows.append(row)
    table(["threads", *METHODS], rows)


def throughput(ours, paper):
    """As in the paper, every pair of sets counts as two batmaps of bytes, whatever a method reads."""
    items = 4000
    rows = ours.get("items", "instance", items, "rows")
    if rows is None:
        return
    size = rows / items
    slots = 3 * 2 ** math.ceil(math.log2(2 * size))
    print("## IV-A, Throughput computation, and IV-B: 4,000 items at 5 %, in the paper's units\n")
    print(f"The paper counts {items:,}² × {slots:,} bytes of batmaps and {items:,}² × {number(size)} elements, and divides by the "
          "time of pair generation.\nMethods other than its own do not touch these bytes; the unit only says how long the same job takes.\n")
    lines = []
    for method in METHODS:
        seconds = ours.get("items", method, items, "generation_s")
        if seconds is not None:
            lines.append([method + ", one thread", number(seconds), number(items ** 2 * slots / seconds / 1e9),
                          number(items ** 2 * size / seconds)])
    for peer in paper.series("throughput", {"gb_per_s"}):
        lines.append([f"paper: {peer}", cell(paper, "items", peer, items, "generation_s"),
                      *(number(paper.get("throughput", peer, items, unit)) for unit in ("gb_per_s", "elements_per_s"))])
    table(["", "seconds", "GB/s", "elements/s"], lines)


def rates(ours, paper, experiment, heading, units):
    if not ours.points(experiment):
        return
    print(f"## {heading}\n")
    lines = []
    for values, prefix in ((ours, ""), (paper, "paper: ")):
        for series in values.series(experiment, units):
            for x in values.points(experiment):
                cells = [cell(values, experiment, series, x, unit) for unit in units]
                if any(cells):
                    lines.append([prefix + series, number(x), *cells])
    table(["", "threads", *(units[unit] for unit in units)], lines)


def markdown(ours, paper, title):
    print(f"# {title}\n")
    print("The experiments of Amossen and Pagh 2011, section IV, by the methods of the engine on the CPU. Medians; CPU time with one thread,\n"
          "wall time with more. An empty cell: not run, or no number printed in the paper. *Over*: stopped after so many seconds, here or\n"
          "with as many items or fewer before. The methods that came to an end gave the same pairs and supports, or there would be no report.\n")
    rows = sorted({value for key, value in ours.of.items() if key[3] == "rows"})
    if rows:
        print(f"Rows: {rows[0]:,.0f} to {rows[-1]:,.0f}.\n")
    sweep(ours, paper, METHODS, "items", "peak_mb", "Fig. 5: memory, MB, rows included, density 5 %", "items")
    sweep(ours, paper, METHODS, "items", "generation_s", "Fig. 6: pair generation, seconds, density 5 %", "items")
    sweep(ours, paper, METHODS, "items", "total_s", "Fig. 7: from rows in memory to the last pair, seconds, density 5 %", "items", beside=False)
    sweep(ours, paper, METHODS, "density", "generation_s", "Fig. 8: pair generation, seconds, 8,000 items", "density")
    speed_up(ours)
    throughput(ours, paper)
    rates(ours, paper, "compare", "Fig. 11: comparing two batmaps that are not in cache",
          {"gb_per_s": "GB/s", "elements_per_s": "elements/s"})
    rates(ours, paper, "merge", "IV-B: merging two sorted lists of 2^24", {"elements_per_s": "elements/s"})
    print("## Where the paper prints its numbers\n")
    table(["", "at", "", "place"],
          [[key[1], name_of_x(key[0], key[2]) + (" items" if key[0] in ("items", "throughput") else " core" if key[2] == 1 else " cores"),
            UNITS[key[3]].format(number(value)), paper.source[key]] for key, value in paper.of.items()])


main("pairs_published.csv", markdown, METHODS, PANELS)
