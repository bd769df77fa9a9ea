"""Draws the pictures of README.md and docs/ from results that are kept in bench/results: `bench/run pictures`.

usage: docs_pictures.py FOLDER [REPORT]    with REPORT: only self_join.svg, from another report of the same kind

self_join.svg  seconds of a self-join through the plain plan and through the plan node (…-sql-plain.md)
density.svg    milliseconds that each method counts pairs, by density, and where they cross (…-engine.txt)

The files are named here, so that a newer run is put in on purpose.
"""

import re
import sys
from pathlib import Path

from density_plot import crossings
from svg_plot import COLORS, Axis, curve, frame, legend, opening, text

RESULTS = Path(__file__).parent / "results"
PLAIN = RESULTS / "2026-11-28-xeon-avx512-sql-plain.md"
ENGINE = RESULTS / "2026-11-21-xeon-avx512-engine.txt"
ITEMS = 1000
WORDS = {"w1": "4,000 items, 10 million rows", "retail": "retail: 16,470 items, 0.9 million rows"}


def machine(report):
    """What the caption says of the machine of a report."""
    found = re.search(r"` on (.*?), (\d+) cores, .*?PostgreSQL (\d+)", report.read_text(encoding="utf-8"))
    return f"{found[1].replace('(R)', '')}, {found[2]} cores, PostgreSQL {found[3]}"


def self_join(report):
    """Two bars for each data set, on a logarithmic scale, with the seconds and their ratio behind them."""
    row = re.compile(r"\| (\w+) \| [\d; ]+ \| ([\d.]+) \([\d.]+\) \| \d+ \| ([\d.]+) \([\d.]+\) \| \d+ \| ([\d.]+) \| at least")
    found = row.findall(report.read_text(encoding="utf-8"))
    assert [name for name, *_ in found] == list(WORDS), f"{report}: other rows than {list(WORDS)}"
    left, top, width, step = 24, 50, 640, 92
    across = Axis([0.1, 500], left, left + width)
    out = opening(left + width + 90, top + step * len(found) + 44, "All pairs that occur together, seconds: a self-join in SQL", left)
    for tick in across.ticks():
        x = across.at(tick)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + step * len(found)}" stroke="#e4e4e4"/>')
        out.append(text(x, top + step * len(found) + 18, f"{tick:g} s", 11))
    for number, (name, node, plain, ratio) in enumerate(found):
        y = top + number * step
        out.append(text(left, y + 18, WORDS[name], 12, "start", 'font-weight="bold"'))
        for offset, seconds, label, pen in ((26, plain, "plain plan", "#b8b8b8"), (54, node, "batmap's plan node", COLORS["batmap"])):
            end = across.at(float(seconds))
            out.append(f'<rect x="{left}" y="{y + offset}" width="{end - left:.1f}" height="22" fill="{pen}"/>')
            times = f", {float(ratio):.0f} times as fast" if pen != "#b8b8b8" else ""
            inside = end - left > 400
            out.append(text(end - 8 if inside else end + 8, y + offset + 16, f"{float(seconds):.3g} s, {label}{times}", 12,
                            "end" if inside else "start"))
    out.append(text(left, top + step * len(found) + 38, f"{machine(report)}, {report.name[:10]}; the scale is logarithmic", 11, "start"))
    return out + ["</svg>"]


def density():
    """A curve a method over the densities, crossings named."""
    row = re.compile(rf"^pairs/(\w+)/items:{ITEMS}/density:(\d+)/\S+ .*count_ms=([\d.]+)", re.MULTILINE)
    curves = {}
    for method, tenthousandths, milliseconds in row.findall(ENGINE.read_text(encoding="utf-8")):
        if method in COLORS:
            curves.setdefault(method, []).append((float(tenthousandths) / 10000, float(milliseconds)))
    assert set(curves) == {"horizontal", "positional", "bitmap"}, f"{ENGINE}: {set(curves)}"
    width, height, left, top = 560, 320, 78, 84
    points = [point for found in curves.values() for point in found]
    across = Axis([x for x, _ in points], left, left + width)
    up = Axis([y for _, y in points], top + height, top)
    out = opening(left + width + 24, top + height + 78, f"Counting all pairs of {ITEMS:,} items in a million rows", left)
    out += legend({method: COLORS[method] for method in curves}, 54, left)[1]
    out += frame(across, up, {x: f"{100 * x:g} %" for x, _ in points}, "density: the share of transactions that hold an item", "milliseconds")
    names = list(curves)
    for method, found in curves.items():
        out += curve(found, across, up, COLORS[method])
    for i, one in enumerate(names):
        for other in names[i + 1:]:
            for x, y in crossings(curves[one], curves[other]):
                out.append(f'<circle cx="{across.at(x):.1f}" cy="{up.at(y):.1f}" r="6" fill="none" stroke="#1c1c1c"/>')
                out.append(text(across.at(x), up.at(y) - 12, f"{100 * x:.2g} %", 11))
    out.append(text(left, top + height + 62, f"one thread, Xeon, AVX-512, {ENGINE.name[:10]}", 11, "start"))
    return out + ["</svg>"]


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 2:
        pictures = {"self_join": self_join(Path(sys.argv[2]))}
    else:
        pictures = {"self_join": self_join(PLAIN), "density": density()}
    for name, picture in pictures.items():
        (folder / f"{name}.svg").write_text("\n".join(picture) + "\n", encoding="utf-8")


main()
