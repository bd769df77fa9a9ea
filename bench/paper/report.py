"""Shared by the reports of the papers' experiments: values, tables and panels of a plot.

Our values are the CSV that a program printed (experiment, series, x, quantity, value). The papers' values are in
NAME_published.csv, each with its place in the paper: only numbers that the paper prints, not what its curves show between them.
"""

import collections
import csv
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from svg_plot import Axis, curve, frame, legend, opening, text  # noqa: E402  (its folder comes first)


class Values:
    """Numbers by (experiment, series, x, quantity); the series keep their order."""

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
    """The value with three digits."""
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
    """A table of one quantity over x: a column for each method that has values, and, if wanted, for the paper's numbers."""
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


def panel(ours, paper, methods, experiment, quantity, title, x_name, y_name, left, top):
    curves = collections.OrderedDict()
    for method in methods:
        found = [(x, ours.get(experiment, method, x, quantity)) for x in ours.points(experiment)]
        curves[method] = [(x, y) for x, y in found if y is not None]
    published = [(key[1], key[2], value, key[3] != quantity) for key, value in paper.of.items()
                 if key[0] == experiment and (key[3] == quantity or quantity == "generation_s" and key[3] == "over_s"
                                              or quantity == "peak_mb" and key[3] == "over_mb")]
    points = sorted({*ours.points(experiment), *(x for _, x, _, _ in published)})
    heights = [y for found in curves.values() for _, y in found] + [y for _, _, y, _ in published]
    out = [text(left, top - 10, title, 13, "start", 'font-weight="bold"')]
    if not heights:
        return out
    across, up = Axis(points, left, left + PANEL_W), Axis(heights, top + PANEL_H, top)
    out += frame(across, up, {x: name_of_x(experiment, x) for x in points}, x_name, y_name)
    for method, found in curves.items():
        out += curve(found, across, up, methods[method])
    labels = collections.defaultdict(list)
    curves = collections.defaultdict(list)
    for series, x, y, _ in published:
        curves[series].append((x, y))
    for series, found in curves.items():
        if len(found) < 3:
            continue
        path = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in sorted(found))
        out.append(f'<polyline points="{path}" fill="none" stroke="#1c1c1c" stroke-dasharray="4 3"/>')
        x, y = max(found)
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
    """@param methods  color by name"""
    width, height = LEFT + 2 * PANEL_W + GAP_X + 24, TOP + (len(panels) + 1) // 2 * (PANEL_H + GAP_Y)
    out = opening(width, height, title, LEFT)
    x, lines = legend(methods, 48, LEFT)
    out += lines
    out.append(f'<path d="M{x + 8} 43 l5 5 l-5 5 l-5 -5 z" fill="#1c1c1c"/>')
    out.append(text(x + 20, 52, "printed in the paper", 12, "start"))
    for place, arguments in enumerate(panels):
        out += panel(ours, paper, methods, *arguments, LEFT + place % 2 * (PANEL_W + GAP_X), TOP + place // 2 * (PANEL_H + GAP_Y))
    out.append("</svg>")
    print("\n".join(out))


def main(published, markdown, methods, panels):
    """@param published  file with the paper's numbers @param markdown  called with our values, the paper's and the title"""
    form, path, title = sys.argv[1:]
    paper = Values(os.path.join(os.path.dirname(os.path.abspath(__file__)), published))
    if form == "markdown":
        markdown(Values(path), paper, title)
    else:
        svg(Values(path), paper, title, methods, panels)
