"""Draws the CSV of the part `growth` of `make bench`: seconds by the number of rows, a curve for each work memory.

usage: growth_plot.py FILE.csv TITLE > FILE.svg
"""

import csv
import sys

from svg_plot import Axis, curve, frame, legend, opening

WIDTH, HEIGHT, LEFT, TOP = 560, 360, 78, 84
NAMES = {"-1": "default"}
PENS = ["#b24c28", "#18547c", "#3b8f5c"]


def main():
    path, title = sys.argv[1:]
    curves = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            curves.setdefault(NAMES.get(row["work_mem"], row["work_mem"]), []).append((float(row["rows"]), float(row["seconds"])))
    points = [point for found in curves.values() for point in found]
    pens = dict(zip(curves, PENS))
    across = Axis([x for x, _ in points], LEFT, LEFT + WIDTH)
    up = Axis([y for _, y in points], TOP + HEIGHT, TOP)
    out = opening(LEFT + WIDTH + 24, TOP + HEIGHT + 56, title, LEFT)
    out += legend(pens, 54, LEFT)[1]
    out += frame(across, up, {x: f"{x:g}" for x, _ in points}, "rows", "seconds")
    for name, found in curves.items():
        out += curve(found, across, up, pens[name])
    out.append("</svg>")
    print("\n".join(out))


if __name__ == "__main__":
    main()
