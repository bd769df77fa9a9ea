"""Makes a Markdown report or a plot from the CSV of paper_itemsets, with the numbers of Fang et al. 2009 (AP) and of
Losiak 2009 (RB) beside ours.

usage: itemsets_report.py markdown|svg FILE.csv TITLE > FILE.md|FILE.svg
"""

from report import cell, main, name_of_x, number, sweep, table

METHODS = {"pbi": "#b24c28", "tbi": "#c79a1b", "dfs": "#3b8f5c", "auto": "#18547c", "Borgelt's apriori": "#7d6a9e",
           "Borgelt's fpgrowth": "#8a8a8a"}
DATA_SETS = {"t40": ("T40I10D100K, a stand-in", "Fig. 6(a)", 0.01), "chess": ("chess", "Fig. 7(a)", 0.6),
             "retail": ("retail", "Fig. 8(a)", 0.0001)}  # name, figure, the support of the paper's breakdown
GENERATED = {"transactions": "Table 6.4: 2,000 items", "items": "Table 6.5: 131,072 transactions",
             "transactions_once": "Table 6.6: 2,000 items, without recursion",
             "items_once": "Table 6.7: 131,072 transactions, without recursion"}
PANELS = [(experiment, "total_s", f"{name} ({figure})", "minimum support", "seconds") for experiment, (name, figure, _) in DATA_SETS.items()]
PANELS += [(experiment, "total_s", heading, experiment.split("_")[0], "seconds") for experiment, heading in GENERATED.items()]


def breakdown(ours):
    """AP Fig. 6(b), 7(b), 8(b). The rest of a run is grouping the rows, making bit rows and handing over the answers."""
    lines = []
    for experiment, (name, _, x) in DATA_SETS.items():
        for method in ("pbi", "tbi"):
            parts = [ours.get(experiment, method, x, quantity) for quantity in ("candidates_s", "counting_s")]
            total = ours.get(experiment, method, x, "total_s")
            if total is None:
                cells = [cell(ours, experiment, method, x, "total_s")] if experiment in {key[0] for key in ours.of} else []
            else:
                cells = [number(total), "0", *(f"{number(part)} ({100 * part / total:.0f} %)" for part in parts),
                         number(max(total - sum(parts), 0))]
            if cells:
                lines.append([f"{name}, {name_of_x(experiment, x)}", method, *cells, *[""] * (5 - len(cells))])
    if lines:
        print("## Fig. 6(b), 7(b), 8(b): where the time goes, seconds\n")
        table(["", "", "total", "transfer", "candidates", "counting", "the rest"], lines)


def ratios(ours, paper):
    def over(experiment, slow, fast, x):
        times = [ours.get(experiment, series, x, "total_s") for series in (slow, fast)]
        return times[0] / times[1] if all(times) else None

    present = [experiment for experiment in DATA_SETS if ours.points(experiment)]
    if not present:
        return
    lines = []
    for slow, fast in (("Borgelt's apriori", "pbi"), ("Borgelt's apriori", "tbi"), ("Borgelt's apriori", "auto"),
                       ("pbi", "Borgelt's fpgrowth"), ("tbi", "Borgelt's fpgrowth"), ("Borgelt's fpgrowth", "auto")):
        line = [f"{slow} over {fast}"]
        for experiment in present:
            found = [ratio for x in ours.points(experiment) if (ratio := over(experiment, slow, fast, x)) is not None]
            line.append(f"{number(min(found))} to {number(max(found))}" if found else "")
        lines.append(line)
    print("## Ratios of times, least and most over the supports\n")
    table(["", *(DATA_SETS[experiment][0] for experiment in present)], lines)
    print("What the paper prints of its own:\n")
    table(["", "", "", "place"],
          [[key[1], f"retail, {name_of_x(key[0], key[2])}" if key[0] in DATA_SETS else f"{key[0]} of all data sets", number(value),
            paper.source[key]] for key, value in paper.of.items() if key[3] == "ratio"])


def markdown(ours, paper, title):
    print(f"# {title}\n")
    print("The experiments of Fang et al. 2009 (AP), section 4, and of Losiak 2009 (RB), section 6.3, by the algorithms of the engine on the\n"
          "CPU: seconds of CPU time on one thread, from rows in memory to the last itemset, medians. An empty cell: not run, or no number\n"
          "printed in the paper. *Over*: stopped after so many seconds, or at so many MB. All that came to an end found the same itemsets,\n"
          "or there would be no report.\n")
    for experiment, (name, figure, _) in DATA_SETS.items():
        sweep(ours, paper, METHODS, experiment, "total_s", f"AP {figure}: {name}, seconds", "support")
    for experiment, (name, _, _) in DATA_SETS.items():
        found = [f"{name_of_x(experiment, x)}: {ours.get(experiment, 'instance', x, 'itemsets'):,.0f}" for x in reversed(ours.points(experiment))
                 if ours.get(experiment, "instance", x, "itemsets") is not None]
        if found:
            print(f"Itemsets of {name}: {'; '.join(found)}.\n")
    breakdown(ours)
    ratios(ours, paper)
    for experiment, heading in GENERATED.items():
        sweep(ours, paper, METHODS, experiment, "total_s", f"RB {heading}, seconds", experiment.split("_")[0])
        sweep(ours, paper, METHODS, experiment, "search_s", "The same, the search alone: rows are grouped", experiment.split("_")[0])
    print("The heads of tables 6.5 and 6.7 say seconds. They are read as milliseconds here, as those of 6.4 and 6.6, which have 52.4 and 54.1 ms\n"
          "at 2,000 items and 131,072 transactions, between their neighbours at 1,250 and 2,500 items.\n")


main("itemsets_published.csv", markdown, METHODS, PANELS)
