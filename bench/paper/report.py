"""Makes a Markdown report, or a plot, of what paper_pairs printed, with the paper's own numbers beside it.

usage: report.py markdown|svg FILE.csv TITLE > FILE.md|FILE.svg

The paper's numbers are in published.csv, each with its place in Amossen and Pagh 2011; they are those that the paper prints.
What its curves show between them has no numbers and is not here.
"""

import collections
import csv
import html
import math
import os
import sys

METHODS = ["horizontal", "positional", "bitmap", "batmap", "merge"]
COLORS = {"horizontal": "#b24c28", "positional": "#c79a1b", "bitmap": "#3b8f5c", "batmap": "#18547c", "merge": "#7d6a9e"}
UNITS = {"generation_s": "{} s of pair generation", "over_s": "over {} s", "over_mb": "over {} MB", "gb_per_s": "{} GB/s",
         "elements_per_s": "{} elements/s"}
PANELS = [  # experiment, quantity, title, x axis, y axis
    ("items", "generation_s", "Pair generation (Fig. 6)", "items", "seconds"),
    ("items", "total_s", "Rows in memory to the last pair (Fig. 7)", "items", "seconds"),
    ("items", "peak_mb", "Memory, rows included (Fig. 5)", "items", "MB"),
    ("density", "generation_s", "Pair generation, 8,000 items (Fig. 8)", "density", "seconds"),
]


class Values:
    """(experiment, series, x, quantity) to a number; a series keeps its place."""

    def __init__(self, path):
        self.of = {}
        self.source = {}
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = row["experiment"], row["series"], float(row["x"]), row["quantity"]
                self.of[key] = float(row["value"])
                self.source[key] = row.get("source")

    def points(self, experiment):
        return sorted({key[2] for key in self.of if key[0] == experiment})

    def series(self, experiment, quantities):
        return list(dict.fromkeys(key[1] for key in self.of if key[0] == experiment and key[3] in quantities))

    def get(self, *key):
        return self.of.get(key)


def number(value):
    """Three digits."""
    if value >= 1e8:
        return f"{value:.2e}".replace("e+0", "e").replace("e+", "e")
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 10 else f"{value:.3g}"


def name_of_x(experiment, x):
    return f"{100 * x:g} %" if experiment == "density" else f"{x:,.0f}"


def table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def cell(values, experiment, series, x, quantity):
    value = values.get(experiment, series, x, quantity)
    if value is not None:
        runs = values.get(experiment, series, x, "runs")
        return number(value) + (" (one run)" if runs == 1 and quantity != "peak_mb" else "")
    over = values.get(experiment, series, x, "over_mb" if quantity == "peak_mb" else "over_s")
    return "" if over is None else f"over {over:,.0f}"


def sweep(ours, paper, experiment, quantity, heading, first):
    points = ours.points(experiment)
    if not points:
        return
    print(f"## {heading}\n")
    over = "over_mb" if quantity == "peak_mb" else "over_s"
    peers = paper.series(experiment, {quantity, over}) if quantity != "total_s" else []
    points = sorted({*points, *(key[2] for key in paper.of if key[0] == experiment and key[1] in peers)})
    table([first, *METHODS, *(f"paper: {peer}" for peer in peers)],
          [[name_of_x(experiment, x), *(cell(ours, experiment, method, x, quantity) for method in METHODS),
            *(cell(paper, experiment, peer, x, quantity) for peer in peers)] for x in points])


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
    """The paper's arithmetic: every pair of sets counts as two batmaps of bytes, whatever a method reads."""
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
    sweep(ours, paper, "items", "peak_mb", "Fig. 5: memory, MB, rows included, density 5 %", "items")
    sweep(ours, paper, "items", "generation_s", "Fig. 6: pair generation, seconds, density 5 %", "items")
    sweep(ours, paper, "items", "total_s", "Fig. 7: from rows in memory to the last pair, seconds, density 5 %", "items")
    sweep(ours, paper, "density", "generation_s", "Fig. 8: pair generation, seconds, 8,000 items", "density")
    speed_up(ours)
    throughput(ours, paper)
    rates(ours, paper, "compare", "Fig. 11: comparing two batmaps that are not in cache",
          {"gb_per_s": "GB/s", "elements_per_s": "elements/s"})
    rates(ours, paper, "merge", "IV-B: merging two sorted lists of 2^24", {"elements_per_s": "elements/s"})
    print("## Where the paper prints its numbers\n")
    table(["", "at", "", "place"],
          [[key[1], name_of_x(key[0], key[2]) + (" items" if key[0] in ("items", "throughput") else " core" if key[2] == 1 else " cores"),
            UNITS[key[3]].format(number(value)), paper.source[key]] for key, value in paper.of.items()])


# ---- plot

PANEL_W, PANEL_H, LEFT, TOP, GAP_X, GAP_Y = 430, 270, 78, 92, 92, 84


def text(x, y, content, size=12, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {extra}>{html.escape(content, quote=False)}</text>'


class Axis:
    """Logarithmic, from pixel `low` to pixel `high`."""

    def __init__(self, values, low, high):
        self.first, self.last = math.log10(min(values)), math.log10(max(values))
        margin = max(0.05 * (self.last - self.first), 0.05)
        self.first, self.last, self.low, self.high = self.first - margin, self.last + margin, low, high

    def at(self, value):
        return self.low + (math.log10(value) - self.first) / (self.last - self.first) * (self.high - self.low)

    def ticks(self):
        """Powers of ten; where there would be hardly any, twice and five times these, too."""
        steps = (1, 2, 5) if self.last - self.first < 2 else (1,)
        ticks = [step * 10.0 ** exponent for exponent in range(math.floor(self.first), math.ceil(self.last)) for step in steps]
        return [tick for tick in ticks if self.first <= math.log10(tick) <= self.last]


def panel(ours, paper, experiment, quantity, title, x_name, y_name, left, top):
    curves = collections.OrderedDict()
    for method in METHODS:
        curve = [(x, ours.get(experiment, method, x, quantity)) for x in ours.points(experiment)]
        curves[method] = [(x, y) for x, y in curve if y is not None]
    published = [(key[1], key[2], value, key[3] != quantity) for key, value in paper.of.items()
                 if key[0] == experiment and (key[3] == quantity or quantity == "generation_s" and key[3] == "over_s"
                                              or quantity == "peak_mb" and key[3] == "over_mb")]
    points = sorted({*ours.points(experiment), *(x for _, x, _, _ in published)})
    heights = [y for curve in curves.values() for _, y in curve] + [y for _, _, y, _ in published]
    out = [text(left, top - 10, title, 13, "start", 'font-weight="bold"')]
    if not heights:
        return out
    across, up = Axis(points, left, left + PANEL_W), Axis(heights, top + PANEL_H, top)
    out.append(f'<rect x="{left}" y="{top}" width="{PANEL_W}" height="{PANEL_H}" fill="none" stroke="#b8b8b8"/>')
    for y in up.ticks():
        out.append(f'<line x1="{left}" x2="{left + PANEL_W}" y1="{up.at(y):.1f}" y2="{up.at(y):.1f}" stroke="#e4e4e4"/>')
        out.append(text(left - 8, up.at(y) + 4, f"{y:,g}", 11, "end"))
    for x in points:
        out.append(text(across.at(x), top + PANEL_H + 17, name_of_x(experiment, x), 11))
    out.append(text(left + PANEL_W / 2, top + PANEL_H + 36, x_name))
    out.append(text(0, 0, y_name, 12, "middle", f'transform="translate({left - 56} {top + PANEL_H / 2}) rotate(-90)"'))
    for method, curve in curves.items():
        pen = COLORS[method]
        path = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in curve)
        out.append(f'<polyline points="{path}" fill="none" stroke="{pen}" stroke-width="2"/>')
        out.extend(f'<circle cx="{across.at(x):.1f}" cy="{up.at(y):.1f}" r="3" fill="{pen}"/>' for x, y in curve)
    labels = collections.defaultdict(list)
    for series, x, y, over in published:
        labels[x, y].append(f"{series}: over {y:,.0f}" if over else series)
    for (x, y), names in labels.items():
        cx, cy = across.at(x), up.at(y)
        out.append(f'<path d="M{cx:.1f} {cy - 5:.1f} l5 5 l-5 5 l-5 -5 z" fill="#1c1c1c"/>')
        right = cx > left + PANEL_W / 2
        beside, down = (-9, 4) if right else (0, -9)
        out.append(text(cx + beside, cy + down, "; ".join(names), 11, "end" if right else "middle"))
    return out


def svg(ours, paper, title):
    width, height = LEFT + 2 * PANEL_W + GAP_X + 24, TOP + 2 * (PANEL_H + GAP_Y)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="Helvetica, Arial, sans-serif" fill="#1c1c1c">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           text(LEFT, 26, title, 17, "start", 'font-weight="bold"')]
    x = LEFT
    for method in METHODS:
        out.append(f'<line x1="{x}" x2="{x + 22}" y1="48" y2="48" stroke="{COLORS[method]}" stroke-width="2"/>')
        out.append(text(x + 28, 52, method, 12, "start"))
        x += 118
    out.append(f'<path d="M{x + 8} 43 l5 5 l-5 5 l-5 -5 z" fill="#1c1c1c"/>')
    out.append(text(x + 20, 52, "printed in the paper", 12, "start"))
    for place, arguments in enumerate(PANELS):
        out += panel(ours, paper, *arguments, LEFT + place % 2 * (PANEL_W + GAP_X), TOP + place // 2 * (PANEL_H + GAP_Y))
    out.append("</svg>")
    print("\n".join(out))


def main():
    form, path, title = sys.argv[1:]
    paper = Values(os.path.join(os.path.dirname(os.path.abspath(__file__)), "published.csv"))
    {"markdown": markdown, "svg": svg}[form](Values(path), paper, title)


main()
