"""Draws the CSV of `set_peers --csv`: each cell shows how many times faster than CRoaring the engine is, and which side is fastest.

usage: set_plot.py FILE.csv TITLE > FILE.svg
"""

import csv
import math
import sys

from svg_plot import opening, text

SIDES = {"compact": "compact", "prepared": "prepared", "roaring": "CRoaring", "frozen": "CRoaring", "merge": "arrays", "byte_slots": "byte slots"}
PANELS = [("in cache, equal sizes", "0", "1"), ("in cache, sizes 1 : 1000", "0", "1000"),
          ("from memory, equal sizes", "1", "1"), ("from memory, sizes 1 : 1000", "1", "1000")]
CELL_W, CELL_H, LEFT, TOP, GAP_X, GAP_Y = 66, 44, 78, 76, 76, 72
# log2 of the ratio and its colour, from 4 times slower or more to 32 times faster or more.
SCALE = [(-2, (178, 76, 40)), (0, (247, 244, 236)), (1, (190, 217, 226)), (3, (92, 158, 190)), (5, (24, 84, 124))]


def color(ratio):
    level = min(max(math.log2(ratio), SCALE[0][0]), SCALE[-1][0])
    for (low, a), (high, b) in zip(SCALE, SCALE[1:]):
        if level <= high:
            part = (level - low) / (high - low)
            return tuple(round(x + (y - x) * part) for x, y in zip(a, b))


def ink(background):
    red, green, blue = background
    return "#1c1c1c" if 0.3 * red + 0.59 * green + 0.11 * blue > 140 else "#ffffff"


def shown(ratio):
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}" if ratio >= 0.995 else f"{ratio:.2f}"


def power(number):
    exponent = round(math.log10(number))
    return f"1e{exponent}" if math.isclose(number, 10 ** exponent) else f"{number:g}"


def main():
    path, title = sys.argv[1:]
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    sizes = sorted({int(row["size"]) for row in rows}, reverse=True)
    densities = sorted({float(row["density"]) for row in rows})
    panel_w, panel_h = CELL_W * len(densities), CELL_H * len(sizes)
    width, height = LEFT + 2 * panel_w + GAP_X + 24, TOP + 2 * (panel_h + GAP_Y) + 32
    out = [*opening(width, height, title, LEFT),
           text(LEFT, 46, "Number: time of CRoaring / time of batmap; above 1 batmap is faster. "
                "A name: another side is fastest of all (arrays: sorted arrays, merged or galloping).", 12, "start")]
    for number, (name, from_memory, skew) in enumerate(PANELS):
        left = LEFT + number % 2 * (panel_w + GAP_X)
        top = TOP + 18 + number // 2 * (panel_h + GAP_Y)
        out.append(text(left, top - 8, name, 13, "start", 'font-weight="bold"'))
        for i, size in enumerate(sizes):
            out.append(text(left - 8, top + CELL_H * i + CELL_H / 2 + 4, power(size), 12, "end"))
        for i, density in enumerate(densities):
            out.append(text(left + CELL_W * i + CELL_W / 2, top + panel_h + 17, power(density)))
        out.append(text(left + panel_w / 2, top + panel_h + 34, "density of the larger set", 12))
        out.append(text(0, 0, "elements of the larger set", 12, "middle",
                        f'transform="translate({left - 54} {top + panel_h / 2}) rotate(-90)"'))
        for row in rows:
            if (row["from_memory"], row["skew"]) != (from_memory, skew):
                continue
            ns = {side: float(row[side + "_ns"]) for side in SIDES if row[side + "_ns"]}
            ratio = min(ns["roaring"], ns["frozen"]) / ns[row["kept"]]
            fastest = SIDES[min(ns, key=ns.get)]
            x = left + CELL_W * densities.index(float(row["density"]))
            y = top + CELL_H * sizes.index(int(row["size"]))
            fill = color(ratio)
            out.append(f'<rect x="{x}" y="{y}" width="{CELL_W - 2}" height="{CELL_H - 2}" fill="rgb{fill}"/>')
            ours = fastest == row["kept"]
            pen = f'fill="{ink(fill)}"'
            out.append(text(x + CELL_W / 2 - 1, y + (27 if ours else 20), shown(ratio), 15, extra=pen))
            if not ours:
                out.append(text(x + CELL_W / 2 - 1, y + 35, fastest, 10, extra=pen))
    out.append("</svg>")
    print("\n".join(out))


main()
