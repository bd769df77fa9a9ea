"""Draws what page_data.sql wrote: one page that needs nothing else, neither network nor scripts.

usage: page.py FOLDER    reads FOLDER/*.csv, writes FOLDER/index.html

All that is counted or timed comes from those files. Drawings for which width matters are there twice, for a screen and for a phone;
page.css chooses between them, and holds the colors of both schemes.
"""

import csv
import html
import math
import pathlib
import re
import sys

from graph_layout import arrange

WIDE, NARROW = 920, 358


# ---- text

def element(name, *content, **attributes):
    """class_ stands for class, data_until for data-until."""
    shown = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{shown}>{''.join(content)}</{name}>"


def escaped(text):
    return html.escape(text, quote=False)


def number(value):
    return f"{int(value):,}"


def seconds(ms):
    s = float(ms) / 1000
    return f"{s:.0f} s" if s >= 9.95 else f"{s:.1f} s" if s >= 1 else f"{s:.2f} s"


def percent(share):
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def sql(statement):
    text = re.sub(r"\b(SELECT|FROM|ARRAY)\b", r'<span class="keyword">\1</span>', escaped(statement))
    text = re.sub(r"'[^']*'", lambda found: element("span", re.sub("<[^>]*>", "", found[0]), class_="string"), text)
    return element("pre", element("code", text))


# ---- pictures

def text_width(text, size=12):
    """In pixels, by the widest of the usual fonts without serifs."""
    return size * sum(0.42 if c in "fijlrt.,-:1|" else 1.0 if c in "mwMW@" else 0.78 if c.isupper() else 0.66 for c in text)


def graph(nodes, edges, width):
    """Packages as discs, the more that need them the larger; ties between them, the more in common the thicker."""
    fewest = min(int(node["support_count"]) for node in nodes)
    radius = {node["package"]: 4 + 2.2 * math.log2(int(node["support_count"]) / fewest) ** 0.8 for node in nodes}
    boxes = {name: (max(text_width(name), 2 * r), 2 * r + 15) for name, r in radius.items()}
    centers, height = arrange(boxes, [(edge["a"], edge["b"]) for edge in edges], width)
    discs = {name: (x, y - boxes[name][1] / 2 + radius[name]) for name, (x, y) in centers.items()}
    drawn = []
    for edge in edges:
        (ax, ay), (bx, by) = discs[edge["a"]], discs[edge["b"]]
        title = f'{number(edge["support_count"])} packages need both {edge["a"]} and {edge["b"]}: {percent(float(edge["jaccard"]))} of those that need one'
        drawn.append(element("line", element("title", escaped(title)), class_="edge", x1=f"{ax:.1f}", y1=f"{ay:.1f}", x2=f"{bx:.1f}",
                             y2=f"{by:.1f}", stroke_width=f'{1 + 7 * float(edge["jaccard"]):.1f}'))
    for node in nodes:
        name = node["package"]
        x, y = discs[name]
        title = element("title", escaped(f'{number(node["support_count"])} packages need {name}'))
        disc = element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radius[name]:.1f}")
        label = element("text", escaped(name), x=f"{x:.1f}", y=f"{y + radius[name] + 12:.1f}")
        drawn.append(element("g", title, disc, label, class_="node"))
    return element("svg", *drawn, class_=f"graph {size_class(width)}", width=width, viewBox=f"0 0 {width} {height:.0f}", role="img",
                   aria_label="graph of packages that are needed together")


def size_class(width):
    return "wide" if width == WIDE else "narrow"


def raster(spikes, until_us, width):
    """A mark a spike, neuron over time; the occurrences of chains in colors."""
    row, left, top = 7, 30, 6
    neurons = 1 + max(int(spike["neuron"]) for spike in spikes)
    bottom = top + row * neurons

    def at(spike):
        return left + int(spike["time_us"]) / until_us * (width - left), top + row * (int(spike["neuron"]) + 0.5)

    drawn = []
    for ms in range(0, until_us // 1000 + 1, 100):
        x = left + 1000 * ms / until_us * (width - left)
        drawn.append(element("line", class_="axis", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=top, y2=bottom))
        anchor = "end" if 1000 * ms == until_us else "middle"
        drawn.append(element("text", f"{ms} ms", x=f"{x:.1f}", y=bottom + 16, text_anchor=anchor))
    for neuron in {0, neurons - 1, *range(10, neurons - 5, 10)}:
        drawn.append(element("text", str(neuron), x=left - 8, y=f"{top + row * (neuron + 0.5) + 4:.1f}", text_anchor="end"))
    occurrences, found = {}, []
    for spike in spikes:
        if int(spike["time_us"]) >= until_us:
            continue
        x, y = at(spike)
        if spike["chain"]:
            occurrences.setdefault((spike["occurrence"], spike["chain"]), []).append((x, y))
            found.append(element("circle", class_=f'spike found {chain_class(spike["chain"])}', cx=f"{x:.1f}", cy=f"{y:.1f}", r="2.6"))
        else:
            drawn.append(element("path", class_="spike", d=f"M{x:.1f} {y - 2.5:.1f}v5"))
    for (_, chain), points in occurrences.items():
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        drawn.append(element("polyline", class_=f"occurrence {chain_class(chain)}", points=path))
    return element("svg", *drawn, *found, class_=f"raster {size_class(width)}", width=width, viewBox=f"0 0 {width} {bottom + 24}", role="img",
                   aria_label="spikes of each neuron over time", data_until=until_us)


def chain_class(chain):
    """There are colors for four."""
    return f"chain-{(int(chain) - 1) % 4 + 1}"


def chain_legend(chains):
    rows = []
    for chain in chains:
        first, *_, last = chain["episode"].split()
        dot = element("svg", element("circle", cx=5, cy=5, r=4), width=10, height=10)
        rows.append(element("li", dot, f'{first} → … → {last}: {number(chain["support_count"])} times', class_=f'label {chain_class(chain["chain"])}'))
    return element("ul", *rows, class_="legend")


def row(label, value, drawing, height, **attributes):
    head = element("div", element("span", label, class_="label"), element("span", value, class_="value"), class_="head")
    return element("li", head, element("svg", drawing, height=height, aria_hidden="true"), **attributes)


def tag_rules(rules):
    """From how often packages have the right-hand tag to how often those with the left-hand one do, on a logarithmic scale."""
    decades = -math.floor(math.log10(min(float(rule["usual"]) for rule in rules)))

    def at(share):
        return f"{98 - 96 * -math.log10(share) / decades:.2f}%"

    axis = "".join(element("text", f"{100 / 10 ** exponent:g} %", class_="axis-name", x=at(10 ** -exponent), y=12) for exponent in range(decades + 1))
    rows = []
    for rule in rules:
        usual, confidence = float(rule["usual"]), float(rule["confidence"])
        drawing = (element("line", class_="track", x1="2%", x2="98%", y1=8, y2=8)
                   + element("line", class_="lift", x1=at(usual), x2=at(confidence), y1=8, y2=8)
                   + element("circle", class_="usual", cx=at(usual), cy=8, r=4) + element("circle", class_="share", cx=at(confidence), cy=8, r=5.5))
        rows.append(row(f'{escaped(rule["lhs"])} → {escaped(rule["rhs"])}', f"{percent(confidence)} instead of {percent(usual)}", drawing, 16,
                        class_="rule"))
    return element("ul", *rows, element("li", element("svg", axis, height=16, aria_hidden="true"), class_="axis"), class_="rows")


def relatives(pairs):
    """What each needs as a bar; the bars of two relatives overlap by what both need."""
    longest = max(int(pair["either"]) for pair in pairs)
    rows = []
    for pair in pairs:
        either, one, other, both = (int(pair[name]) for name in ("either", "program_needs", "relative_needs", "support_count"))
        start = 50 - 50 * either / longest

        def at(count):
            return start + 100 * count / longest

        drawing = (element("rect", class_="one", x=f"{at(0):.2f}%", width=f"{100 * one / longest:.2f}%", y=0, height=20)
                   + element("rect", class_="other", x=f"{at(one - both):.2f}%", width=f"{100 * other / longest:.2f}%", y=0, height=20)
                   + element("text", str(both), class_="both", x=f"{at(one - both / 2):.2f}%", y=14))
        rows.append(row(f'{escaped(pair["program"])} ({one}) and {escaped(pair["relative"])} ({other})',
                        f'{both} of {either} in common: {percent(float(pair["jaccard"]))}', drawing, 20, class_="pair"))
    return element("ul", *rows, class_="rows")


def timings(questions, times):
    """A bar a way to ask, all on one scale; a bar that was stopped has an open end."""
    longest = max(float(time["ms"]) for time in times)
    rows = []
    for question in questions:
        of_question = [time for time in times if time["question"] == question["number"]]
        ours = float(of_question[0]["ms"])
        rows.append(element("li", element("h3", escaped(question["title"]))))
        for time in of_question:
            ms, stopped = float(time["ms"]), time["stopped"] == "t"
            end = 92 * ms / longest
            value = f"stopped after {seconds(ms)} without an answer" if stopped else seconds(ms)
            if time["way"] == "plain SQL":
                value += f", {ms / ours:.0f} times as long"
            drawing = element("rect", class_="plain" if time["way"] == "plain SQL" else "ours", width=f"{end:.2f}%", height=14, rx=1.5)
            if stopped:
                drawing += "".join(element("rect", class_="plain", x=f"{end + 0.6 + 2 * i:.2f}%", width=f"{1.4 - 0.4 * i:.2f}%", height=14)
                                   for i in range(3))
            rows.append(row(escaped(time["way"]), value, drawing, 14, class_="timing stopped" if stopped else "timing"))
        if len(of_question) == 1:
            rows.append(element("li", element("span", "A self-join does not know which occurrences overlap, so plain SQL was not asked.", class_="value head")))
    return element("ul", *rows, class_="rows")


# ---- the page

def how_it_ran(question, ours):
    kernel = f' ({question["kernel"]})' if question["kernel"] else ""
    return (f'{number(question["results"])} results from {number(question["rows_read"])} rows in {seconds(ours["ms"])}; method '
            f'{question["method"]}{kernel}, {question["threads"]} threads, {int(question["peak_memory"]) / 1e6:.0f} MB.')


def section(title, sentence, *content):
    return element("section", element("h2", escaped(title)), element("p", sentence), *content)


def picture(read, key):
    """@return one sentence and the drawing that answers a question, by its number"""
    if key == "1":
        nodes, edges = read("nodes"), read("edges")
        return ("Each package stands beside the two that are most like it: a line is the thicker, the more of the packages that need one of its ends "
                "need both; a disc is the larger, the more packages need it.",
                graph(nodes, edges, WIDE) + graph(nodes, edges, NARROW) if edges else "")
    if key == "2":
        rules = read("tag_rules")
        return ("How many of the packages with the tag on the left have the one on the right, too (full disc), and how many of all packages do (ring).",
                tag_rules(rules) if rules else "")
    if key == "3":
        pairs = read("relatives")
        return ("A bar is all that a package needs; the bars of two close relatives overlap by what both need.",
                relatives(pairs) if pairs else "")
    spikes, chains = read("spikes"), read("chains")
    return ("Every mark is a spike, of one second that is rich in chains; those of the chains that were found, each neuron 5 to 10 ms after the one before, are in color.",
            chain_legend(chains) + raster(spikes, 1_000_000, WIDE) + raster(spikes, 400_000, NARROW))


def facts(read):
    fact, = read("facts")
    shown = {"packages": number(fact["packages"]), "rows “package needs package”": number(fact["needs"]),
             "rows “package has tag”": number(fact["tags"]), "catalogue": fact["catalogue"],
             "machine": f'{fact["processor"]}, {fact["cores"]} cores'.lstrip(", "), "server": f'{fact["server"]}, batmap {fact["batmap"]}',
             "run": fact["made"]}
    return element("dl", *(element("div", element("dt", escaped(name)), element("dd", escaped(value))) for name, value in shown.items()), class_="facts")


def page(read, style):
    questions, times = read("questions"), read("timings")
    sections = []
    for question in questions:
        ours = next(time for time in times if time["question"] == question["number"])
        sentence, drawing = picture(read, question["number"])
        drawing = drawing or element("p", "This catalogue is too small for a picture.")
        sections.append(section(question["title"], sentence,
                                element("figure", drawing, sql(question["statement"]), element("figcaption", how_it_ran(question, ours)))))
    sections.append(section("How long did it take?", "Each question as batmap was asked it, and as a self-join in plain SQL on the same tables; one scale for all bars.",
                            element("figure", timings(questions, times))))
    lede = "Questions about the packages that this machine knows, and about a stream of spikes: asked in SQL, answered by batmap inside PostgreSQL."
    head = ('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            + element("title", "What goes with what? batmap on this machine") + element("style", "\n" + style))
    body = element("header", element("h1", "What goes with what?"), element("p", lede), facts(read)) + element("main", *sections)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def main():
    folder = pathlib.Path(sys.argv[1])

    def read(name):
        with open(folder / f"{name}.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    style = pathlib.Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    (folder / "index.html").write_text(page(read, style), encoding="utf-8")


main()
