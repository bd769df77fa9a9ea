"""What the reports of the papers' experiments share: values, tables and panels of a plot.

Ours are the CSV that a program printed (experiment, series, x, quantity, value); the papers' are in NAME_published.csv, each number with
its place. These are the numbers that a paper prints: what its curves show between them has no numbers and is not there.
"""

import collections
import csv
import html
import math
import os
import sys


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
    return f"{100 * x:g} %" if x < 1 else f"{x:,.0f}"


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
    if quantity != "peak_mb":
        over = values.get(experiment, series, x, "over_s")
        if over is not None:
            return f"over {over:,.0f}"
    over = values.get(experiment, series, x, "over_mb")
    if over is None:
        return ""
    return f"over {over:,.0f}" + ("" if quantity == "peak_mb" else " MB")


def sweep(ours, paper, methods, experiment, quantity, heading, first, beside=True):
    """A table of one quantity over x, a column for each method that is there, and where wanted for what the paper has beside it."""
    points = ours.points(experiment)
    if not points:
        return
    print(f"## {heading}\n")
    over = {"over_mb"} if quantity == "peak_mb" else {"over_s", "over_mb"}
    present = {key[1] for key in ours.of if key[0] == experiment}
    methods = [method for method in methods if method in present]
    peers = paper.series(experiment, {quantity, *over}) if beside else []
    points = sorted({*points, *(key[2] for key in paper.of if key[0] == experiment and key[1] in peers)})
    table([first, *methods, *(f"paper: {peer}" for peer in peers)],
          [[name_of_x(experiment, x), *(cell(ours, experiment, method, x, quantity) for method in methods),
            *(cell(paper, experiment, peer, x, quantity) for peer in peers)] for x in points])


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


def panel(ours, paper, methods, experiment, quantity, title, x_name, y_name, left, top):
    curves = collections.OrderedDict()
    for method in methods:
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
        pen = methods[method]
        path = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in curve)
        out.append(f'<polyline points="{path}" fill="none" stroke="{pen}" stroke-width="2"/>')
        out.extend(f'<circle cx="{across.at(x):.1f}" cy="{up.at(y):.1f}" r="3" fill="{pen}"/>' for x, y in curve)
    labels = collections.defaultdict(list)
    curves = collections.defaultdict(list)
    for series, x, y, _ in published:
        curves[series].append((x, y))
    for series, curve in curves.items():
        if len(curve) < 3:
            continue
        path = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in sorted(curve))
        out.append(f'<polyline points="{path}" fill="none" stroke="#1c1c1c" stroke-dasharray="4 3"/>')
        x, y = max(curve)
        out.append(text(across.at(x) - 8, up.at(y) - 8, series, 11, "end"))
    for series, x, y, over in published:
        if len(curves[series]) >= 3:
            continue
        labels[x, y].append(f"{series}: over {y:,.0f}" if over else series)
    for (x, y), names in labels.items():
        cx, cy = across.at(x), up.at(y)
        out.append(f'<path d="M{cx:.1f} {cy - 5:.1f} l5 5 l-5 5 l-5 -5 z" fill="#1c1c1c"/>')
        right = cx > left + PANEL_W / 2
        beside, down = (-9, 4) if right else (0, -9)
        out.append(text(cx + beside, cy + down, "; ".join(names), 11, "end" if right else "middle"))
    return out


def svg(ours, paper, title, methods, panels):
    """@param methods  name to color"""
    width, height = LEFT + 2 * PANEL_W + GAP_X + 24, TOP + (len(panels) + 1) // 2 * (PANEL_H + GAP_Y)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="Helvetica, Arial, sans-serif" fill="#1c1c1c">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           text(LEFT, 26, title, 17, "start", 'font-weight="bold"')]
    x = LEFT
    for method in methods:
        out.append(f'<line x1="{x}" x2="{x + 22}" y1="48" y2="48" stroke="{methods[method]}" stroke-width="2"/>')
        out.append(text(x + 28, 52, method, 12, "start"))
        x += 118
    out.append(f'<path d="M{x + 8} 43 l5 5 l-5 5 l-5 -5 z" fill="#1c1c1c"/>')
    out.append(text(x + 20, 52, "printed in the paper", 12, "start"))
    for place, arguments in enumerate(panels):
        out += panel(ours, paper, methods, *arguments, LEFT + place % 2 * (PANEL_W + GAP_X), TOP + place // 2 * (PANEL_H + GAP_Y))
    out.append("</svg>")
    print("\n".join(out))


def main(published, markdown, methods, panels):
    """@param published  file of the paper's numbers @param markdown  called with ours, the paper's and the title"""
    form, path, title = sys.argv[1:]
    paper = Values(os.path.join(os.path.dirname(os.path.abspath(__file__)), published))
    if form == "markdown":
        markdown(Values(path), paper, title)
    else:
        svg(Values(path), paper, title, methods, panels)
