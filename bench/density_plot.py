"""Draws the CSV of `device_pairs --csv`: milliseconds of the kernels by density, a curve for each method, and where curves cross.

usage: density_plot.py FILE.csv TITLE > FILE.svg
"""

import csv
import math
import sys

from svg_plot import COLORS, Axis, curve, frame, legend, opening, text

WIDTH, HEIGHT, LEFT, TOP = 560, 360, 78, 84


def crossings(one, other):
    """Yields the crossings of two curves over the same x, interpolated between their points."""
    for (x, a), (_, b), (next_x, next_a), (_, next_b) in zip(one, other, one[1:], other[1:]):
        before, after = math.log(a / b), math.log(next_a / next_b)
        if before * after < 0:
            part = before / (before - after)
            yield math.exp(math.log(x) + part * math.log(next_x / x)), math.exp(math.log(a) + part * math.log(next_a / a))


def main():
    path, title = sys.argv[1:]
    curves = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            curves.setdefault(row["method"], []).append((float(row["density"]), float(row["kernel_ms"])))
    points = [point for found in curves.values() for point in found]
    across = Axis([x for x, _ in points], LEFT, LEFT + WIDTH)
    up = Axis([y for _, y in points], TOP + HEIGHT, TOP)
    out = opening(LEFT + WIDTH + 24, TOP + HEIGHT + 56, title, LEFT)
    out += legend({method: COLORS[method] for method in curves}, 54, LEFT)[1]
    out += frame(across, up, {x: f"{100 * x:g} %" for x, _ in points}, "density", "milliseconds")
    for method, found in curves.items():
        out += curve(found, across, up, COLORS[method])
    names = list(curves)
    for i, one in enumerate(names):
        for other in names[i + 1:]:
            for x, y in crossings(curves[one], curves[other]):
                out.append(f'<circle cx="{across.at(x):.1f}" cy="{up.at(y):.1f}" r="6" fill="none" stroke="#1c1c1c"/>')
                out.append(text(across.at(x), up.at(y) - 12, f"{100 * x:.2g} %", 11))
    out.append("</svg>")
    print("\n".join(out))


if __name__ == "__main__":
    main()
