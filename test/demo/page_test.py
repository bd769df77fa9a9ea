"""Looks at the demo's page in Chromium, and at broken copies of it, each of which must be found broken. Prints TAP.

usage: page_test.py FOLDER    that page_data.sql and page.py have filled
"""

import csv
import pathlib
import re
import sys
import tempfile

from browser import Browser, colors

SCREEN, PHONE = 1100, 390

# Texts of a graph that lie on each other; of the one that is shown.
OVERLAPS = """(() => {
    const boxes = [...document.querySelectorAll('.graph text')].map(text => text.getBoundingClientRect()).filter(box => box.width);
    return boxes.filter((a, i) => boxes.some((b, j) => j < i && a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2)).length;
})()"""
SHOWN = "[...document.querySelectorAll({selector!r})].filter(found => found.getClientRects().length).length"


def expected(folder):
    """What the data say is to be seen: selector to number, by width of the window; and the headings."""
    def rows(name):
        path = folder / f"{name}.csv"
        return list(csv.DictReader(path.open(newline="", encoding="utf-8"))) if path.exists() else []

    def marks(until_us):
        spikes = [spike for spike in rows("spikes") if int(spike["time_us"]) < until_us]
        return {".raster .spike": len(spikes), ".raster .found": sum(spike["chain"] != "" for spike in spikes)}

    same = {".graph .node": len(rows("nodes")), ".graph .edge": len(rows("edges")), ".rule": len(rows("tag_rules")), ".pair": len(rows("relatives")),
            ".timing": len(rows("timings")), ".timing.stopped": sum(time["stopped"] == "t" for time in rows("timings")), "pre": len(rows("questions"))}
    headings = [question["title"] for question in rows("questions")] + ["How long did it take?"]
    return {SCREEN: same | marks(1_000_000), PHONE: same | marks(400_000)}, headings


def faults(browser, page, counts, headings):
    """Names of what is wrong with a page."""
    backgrounds = {}
    for width, scheme in ((SCREEN, "light"), (SCREEN, "dark"), (PHONE, "light")):
        browser.show(page, width, scheme)
        if browser.ask("[...document.querySelectorAll('h2')].map(found => found.textContent)") != headings:
            yield "headings"
        for selector, count in counts[width].items():
            if browser.ask(SHOWN.format(selector=selector)) != count:
                yield f"number of {selector}"
        if browser.ask(OVERLAPS):
            yield "labels overlap"
        if browser.ask("document.documentElement.scrollWidth") > width:
            yield "wider than the window"
        if [address for address in browser.addresses if address != page.resolve().as_uri()]:
            yield "needs other files"
        seen = colors(browser.screenshot(0.15))
        if len(seen) < 20 or seen[0][1] > 0.99 * sum(count for _, count in seen):
            yield "blank"
        backgrounds[width, scheme] = sum(seen[0][0])
    if not backgrounds[SCREEN, "dark"] < 200 < 600 < backgrounds[SCREEN, "light"]:
        yield "schemes"


# What is broken, how, and the fault that must be found.
BREAKS = [
    ("a node is lost", lambda text: re.sub(r'<g class="node">.*?</g>', "", text, count=1), "number of .graph .node"),
    ("an edge is lost", lambda text: re.sub(r'<line class="edge".*?</line>', "", text, count=1), "number of .graph .edge"),
    ("a spike is lost", lambda text: re.sub(r'<path class="spike"[^>]*></path>', "", text, count=1), "number of .raster .spike"),
    ("a heading is lost", lambda text: re.sub(r"<h2>.*?</h2>", "", text, count=1), "headings"),
    ("labels lie on each other", lambda text: re.sub(r'(<text x="[0-9.]*" y=")[0-9.]*', r"\g<1>50", text), "labels overlap"),
    ("something is too wide", lambda text: text.replace("<main>", '<main><div style="width:500px">wide</div>'), "wider than the window"),
    ("there is one scheme", lambda text: text.replace("prefers-color-scheme: dark", "prefers-color-scheme: none"), "schemes"),
    ("nothing can be seen", lambda text: text.replace("<body>", '<body style="opacity:0">'), "blank"),
    ("a picture lies elsewhere", lambda text: text.replace("<main>", '<main><img src="elsewhere.png">'), "needs other files"),
]


def main():
    folder = pathlib.Path(sys.argv[1])
    page = folder / "index.html"
    counts, headings = expected(folder)
    failed = False

    def report(number, passed, name, found):
        print(f'{"ok" if passed else "not ok"} {number} - {name}', *(f"# {fault}" for fault in found if not passed), sep="\n", flush=True)
        return not passed

    with Browser() as browser, tempfile.TemporaryDirectory() as broken:
        empty = [selector for selector, count in counts[SCREEN].items() if count == 0 and selector != ".timing.stopped"]
        failed |= report(1, not empty, "there is something to draw in every picture", empty)
        found = list(faults(browser, page, counts, headings))
        failed |= report(2, not found, "the page shows the data, on a screen and on a phone, light and dark", found)
        for number, (name, change, fault) in enumerate(BREAKS, 3):
            copy = pathlib.Path(broken) / "index.html"
            copy.write_text(change(page.read_text(encoding="utf-8")), encoding="utf-8")
            noticed = fault in faults(browser, copy, counts, headings)
            failed |= report(number, noticed, f"it is noticed that {name}", [f"expected: {fault}"])
    print(f"1..{2 + len(BREAKS)}")
    sys.exit(failed)


main()
