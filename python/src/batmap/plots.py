"""Pictures of answers, drawn with matplotlib: pairs as a graph, rules as a scatter, partners as a matrix.

Each function takes an answer of `batmap.pairs`, `batmap.rules` or `batmap.partners`, as a DataFrame or as named tuples, and gives
the `Axes` that it drew on: a new figure's, or `ax` where it is given. Nothing else of matplotlib is changed. Save a picture
with `ax.figure.savefig("pairs.png", dpi=150)`. A query that gives the best rows (`top_k`, `measure`) makes the best picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import Bbox

__all__ = ["pair_graph", "partner_matrix", "rule_scatter"]

Rows = Any  # a pandas.DataFrame, or a list of named tuples

_INK = "#26313f"
_MUTED = "#7a8694"
_GRID = "#e6e9ed"
# From the pale end that is still seen on white, so that the least value has a color, too.
_COLORS = LinearSegmentedColormap.from_list("batmap", colormaps["YlGnBu"](np.linspace(0.28, 1.0, 256)))
_MARGIN = 0.06  # around a graph, of its height and width
_NODE_FONT = 8.5
_HALO = [withStroke(linewidth=2.5, foreground="white")]


def pair_graph(pairs: Rows, *, color: str = "lift", max_pairs: int | None = 60, ax: Axes | None = None) -> Axes:
    """The pairs as a graph: items are nodes, as large as their counts; pairs are edges, as wide as their supports.

    @param pairs  an answer of `batmap.pairs` [item_a, item_b, support_count, count_a, count_b, ...]
    @param color  the column that colors the edges
    @param max_pairs  draws so many of largest `color`; None: all. From some hundred on a graph is a knot.
    @raise ValueError  there are no pairs, or they have no such column
    """
    table = _Table(pairs, ["item_a", "item_b", "support_count", "count_a", "count_b", color], "pairs").best(color, max_pairs)
    counts: dict[Any, int] = {}
    for side, count in (("item_a", "count_a"), ("item_b", "count_b")):
        counts.update(zip(table[side], table[count]))
    names = sorted(counts, key=lambda name: (-counts[name], str(name)))
    numbers = {name: number for number, name in enumerate(names)}
    edges = [(numbers[a], numbers[b]) for a, b in zip(table["item_a"], table["item_b"])]

    axes = _axes(ax, (9, 6.5))
    width, height = _inches(axes)
    strongest = max(counts.values())
    sizes = np.array([60 + 640 * counts[name] / strongest for name in names])
    points = _graph_layout(len(names), edges, width / height)
    _push_apart(points, _node_boxes([str(name) for name in names], sizes) * (1 + 2 * _MARGIN) / (72 * height), width / height)

    values = np.asarray(table[color], dtype=float)
    supports = np.asarray(table["support_count"], dtype=float)
    order = np.argsort(values, kind="stable")  # the strongest lie on top
    lines = LineCollection(
        [(points[edges[i][0]], points[edges[i][1]]) for i in order],
        array=values[order],
        cmap=_COLORS,
        norm=_norm(values),
        linewidths=1 + 5 * supports[order] / supports.max(),
        capstyle="round",
        zorder=1,
    )
    axes.add_collection(lines)
    axes.scatter(points[:, 0], points[:, 1], s=sizes, color="#f4f6f8", edgecolor=_INK, linewidth=1, zorder=2)
    axes.set_axis_off()
    axes.set_xlim(-_MARGIN * width / height, (1 + _MARGIN) * width / height)
    axes.set_ylim(-_MARGIN, 1 + _MARGIN)
    axes.set_aspect("equal")
    _label_nodes(axes, points, [str(name) for name in names], sizes)
    _color_bar(axes, lines, color)
    return axes


def rule_scatter(
    rules: Rows,
    *,
    x: str = "support",
    y: str = "confidence",
    color: str = "lift",
    labels: int = 6,
    ax: Axes | None = None,
) -> Axes:
    """The rules as points over support and confidence, colored by lift.

    @param rules  an answer of `batmap.rules` [lhs, rhs, support, confidence, lift, ...]
    @param x, y, color  the columns that are drawn; rules whose value is NULL or infinite are left out
    @param labels  names so many rules of largest `color`, as far as there is room
    @raise ValueError  there are no rules, or they have no such column
    """
    table = _Table(rules, ["lhs", "rhs", x, y, color], "rules").finite([x, y, color]).best(color, None)
    horizontal, vertical, values = (np.asarray(table[name], dtype=float)[::-1] for name in (x, y, color))
    axes = _axes(ax, (8, 5.5))
    points = axes.scatter(
        horizontal,
        vertical,
        c=values,
        cmap=_COLORS,
        norm=_norm(values),
        s=float(np.clip(6000 / len(values), 18, 70)),
        edgecolor="white",
        linewidth=0.6,
        zorder=3,
    )
    axes.set_xlabel(x.replace("_", " "), color=_INK)
    axes.set_ylabel(y.replace("_", " "), color=_INK)
    axes.margins(0.08)
    _quiet(axes)
    axes.grid(color=_GRID, linewidth=0.8, zorder=0)
    texts = [f"{_side(lhs)} → {_side(rhs)}" for lhs, rhs in zip(table["lhs"][:labels], table["rhs"][:labels])]
    _color_bar(axes, points, color)
    _label_points(axes, horizontal[::-1], vertical[::-1], texts)
    return axes


def partner_matrix(
    partners: Rows, *, value: str = "score", name: str | None = None, max_items: int | None = 30, ax: Axes | None = None
) -> Axes:
    """Items in rows, their partners in columns, and in each cell how well they go together.

    @param partners  an answer of `batmap.partners` [item, partner, support_count, score, ...]
    @param value  the column that is drawn; empty cells are no partners
    @param name  what the value is called: the measure that was asked for
    @param max_items  draws so many items that have the largest values; None: all
    @raise ValueError  there are no partners, or they have no such column
    """
    table = _Table(partners, ["item", "partner", value], "partners").finite([value])
    strength: dict[Any, float] = {}
    for item, each in zip(table["item"], table[value]):
        strength[item] = max(strength.get(item, -np.inf), each)
    rows = sorted(strength, key=lambda item: (-strength[item], str(item)))[:max_items]
    kept = set(rows)
    drawn = [row for row in zip(table["item"], table["partner"], table[value]) if row[0] in kept]
    # The partners of many come first.
    popular: dict[Any, float] = {}
    for _, partner, each in drawn:
        popular[partner] = popular.get(partner, 0.0) + each
    columns = sorted(popular, key=lambda partner: (-popular[partner], str(partner)))
    cells = np.full((len(rows), len(columns)), np.nan)
    row_of, column_of = ({each: i for i, each in enumerate(places)} for places in (rows, columns))
    for item, partner, each in drawn:
        cells[row_of[item], column_of[partner]] = each

    axes = _axes(ax, (min(14.0, 3 + 0.55 * len(columns)), min(12.0, 2.2 + 0.38 * len(rows))))
    norm = _norm(cells[~np.isnan(cells)])
    image = axes.imshow(np.ma.masked_invalid(cells), cmap=_COLORS, norm=norm, aspect="auto")
    axes.set_xticks(range(len(columns)), [str(partner) for partner in columns], rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), [str(item) for item in rows])
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="minor", length=0)
    _quiet(axes)
    axes.set_facecolor("#f6f7f9")
    axes.set_ylabel("item", color=_INK)
    axes.set_xlabel("partner", color=_INK)
    if len(columns) <= 32:
        for row, column in np.argwhere(~np.isnan(cells)):
            dark = norm(cells[row, column]) > 0.55
            axes.text(
                column, row, f"{cells[row, column]:.2g}", ha="center", va="center", fontsize=7.5, color="white" if dark else _INK
            )
    _color_bar(axes, image, name or value)
    return axes


# ---- answers


class _Table:
    """Columns of an answer by name."""

    def __init__(self, rows: Rows, names: Sequence[str], what: str) -> None:
        names = list(dict.fromkeys(names))
        if hasattr(rows, "columns"):
            there = list(rows.columns)
            columns = {name: rows[name].tolist() for name in names if name in there}
        else:
            rows = list(rows)
            there = list(getattr(rows[0], "_fields", ())) if rows else names
            columns = {name: [getattr(row, name) for row in rows] for name in names if name in there}
        missing = [name for name in names if name not in columns]
        if missing:
            raise ValueError(f"the {what} have no column {missing[0]}; they have {', '.join(map(str, there))}")
        self._what = what
        self._columns: dict[str, list[Any]] = columns
        self._count = len(columns[names[0]])
        self._refuse_nothing()

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def finite(self, names: Sequence[str]) -> _Table:
        return self._take(i for i in range(self._count) if all(_is_finite(self._columns[name][i]) for name in names))

    def best(self, name: str, count: int | None) -> _Table:
        """So many rows of the largest value, the largest first; None: all rows."""
        table = self.finite([name])
        order = sorted(range(table._count), key=lambda i: -table._columns[name][i])
        return table._take(order[:count])

    def _take(self, indexes: Iterable[int]) -> _Table:
        kept = list(indexes)
        table = object.__new__(_Table)
        table._what, table._count = self._what, len(kept)
        table._columns = {name: [values[i] for i in kept] for name, values in self._columns.items()}
        table._refuse_nothing()
        return table

    def _refuse_nothing(self) -> None:
        if self._count == 0:
            raise ValueError(f"there are no {self._what} to draw; a lower threshold gives more")


def _is_finite(value: Any) -> bool:
    return value is not None and bool(np.isfinite(float(value)))


def _side(items: Any) -> str:
    return "{" + ", ".join(map(str, items)) + "}"


# ---- axes


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is not None:
        return ax
    _, axes = plt.subplots(figsize=size, layout="constrained")
    return axes


def _inches(axes: Axes) -> tuple[float, float]:
    box = axes.get_window_extent().transformed(axes.figure.dpi_scale_trans.inverted())
    return max(box.width, 0.1), max(box.height, 0.1)


def _quiet(axes: Axes) -> None:
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(colors=_MUTED, labelcolor=_INK, length=0)
    axes.set_axisbelow(True)


def _norm(values: Any) -> Normalize:
    """From the least to the largest value; a single value is the darkest."""
    low, high = float(np.min(values)), float(np.max(values))
    return Normalize(low if low < high else high - 1, high)


def _color_bar(axes: Axes, drawn: Any, name: str) -> None:
    bar = axes.figure.colorbar(drawn, ax=axes, shrink=0.75, aspect=28, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=_MUTED, labelcolor=_INK, length=0)
    bar.set_label(name.replace("_", " "), color=_INK)


def _node_boxes(names: list[str], sizes: Any) -> Any:
    """Width and height of each node with its name [n, 2], in points of print."""
    diameters = 2 * np.sqrt(sizes / np.pi)
    widths = np.array([0.58 * _NODE_FONT * len(name) for name in names])
    return np.column_stack([np.maximum(widths, diameters) + 6, diameters + 1.5 * _NODE_FONT + 4])


def _label_nodes(axes: Axes, points: Any, names: list[str], sizes: Any) -> None:
    """A name below each node."""
    for (x, y), name, size in zip(points, names, sizes):
        below = -((float(size) / np.pi) ** 0.5) - 2  # points of print: the radius of the node
        axes.annotate(
            name,
            (x, y),
            xytext=(0, below),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=_NODE_FONT,
            color=_INK,
            path_effects=_HALO,
            zorder=4,
        )


# Where a text can lie, seen from its point, in points of print.
_PLACES = [(9, 0), (-9, 0), (0, 9), (0, -9)] + [
    (side * across, height * up) for across, up in ((10, 10), (14, 22), (18, 36)) for height in (1, -1) for side in (1, -1)
]


_LINE = {"arrowstyle": "-", "color": _INK, "linewidth": 0.7, "shrinkB": 5}


def _label_points(axes: Axes, horizontal: Any, vertical: Any, texts: list[str]) -> None:
    """A text beside each point, the first ones first, where it covers neither a text nor much of the other points."""
    axes.figure.canvas.draw()  # lays the axes out
    renderer = axes.figure.canvas.get_renderer()  # type: ignore[attr-defined]
    frame = axes.get_window_extent(renderer)
    dots = axes.transData.transform(np.column_stack([horizontal, vertical]))
    taken: list[Bbox] = []
    for i, text in enumerate(texts):
        best: tuple[int, Any, Bbox] | None = None
        for across, up in _PLACES:
            label = axes.annotate(
                text,
                (horizontal[i], vertical[i]),
                xytext=(across, up),
                textcoords="offset points",
                ha="left" if across > 0 else "right" if across < 0 else "center",
                va="center" if across else "bottom" if up > 0 else "top",
                fontsize=8,
                color=_INK,
                path_effects=_HALO,
                arrowprops={**_LINE, "relpos": (0.0 if across > 0 else 1.0, 0.5)},
                zorder=4,
            )
            label.update_positions(renderer)
            box = Text.get_window_extent(label, renderer)  # without the line
            fits = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
            covered = int(np.sum((dots[:, 0] > box.x0) & (dots[:, 0] < box.x1) & (dots[:, 1] > box.y0) & (dots[:, 1] < box.y1)))
            if fits and not any(box.overlaps(other) for other in taken) and (best is None or covered < best[0]):
                if best is not None:
                    best[1].remove()
                best = (covered, label, box)
            else:
                label.remove()
        if best is not None:
            taken.append(best[2])
            axes.scatter(horizontal[i], vertical[i], s=90, facecolor="none", edgecolor=_INK, linewidth=1.1, zorder=4)


# ---- layout


def _graph_layout(count: int, edges: list[tuple[int, int]], ratio: float) -> Any:
    """Where nodes are drawn: each connected component by stress majorization (Gansner, Koren, North: "Graph Drawing by Stress
    Majorization", 2004), then all components beside each other. Quadratic in the nodes of a component.

    @param ratio  width over height of the picture @return [count, 2], x from 0 to `ratio` and y from 0 to 1
    """
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    points = np.zeros((count, 2))
    boxes = []
    for members in _components(neighbours):
        placed = _stress_layout(_distances(members, neighbours))
        placed -= placed.min(axis=0)
        points[members] = placed
        extent = placed.max(axis=0) + 1.2  # room around a component, in lengths of an edge
        boxes.append((members, extent))
    for members, corner in _shelves(boxes, ratio):
        points[members] += corner
    low, high = points.min(axis=0), points.max(axis=0)
    extent = np.maximum(high - low, 1e-9)
    scale = np.minimum(np.array([ratio, 1.0]) / extent, 3 * min(ratio / extent[0], 1.0 / extent[1]))
    scaled = (points - low) * scale
    return scaled + (np.array([ratio, 1.0]) - scaled.max(axis=0)) / 2


def _push_apart(points: Any, boxes: Any, ratio: float) -> None:
    """Moves nodes whose boxes overlap, by the shorter way, within the picture; if there is no room, some stay as they are.

    @param points, boxes  [n, 2]; the picture reaches from 0 to `ratio` and from 0 to 1
    """
    wanted = (boxes[:, None, :] + boxes[None, :, :]) / 2
    upper = np.array([ratio, 1.0])
    earlier = np.sign(np.subtract.outer(np.arange(len(points)), np.arange(len(points))))
    for _ in range(_ROUNDS):
        apart = points[:, None, :] - points[None, :, :]
        into = wanted - np.abs(apart)
        both = (into > 1e-6).all(axis=2)
        np.fill_diagonal(both, False)
        if not both.any():
            return
        across = both & (into[:, :, 0] <= into[:, :, 1])
        for axis, where in ((0, across), (1, both & ~across)):
            side = np.where(apart[:, :, axis] == 0, earlier, np.sign(apart[:, :, axis]))
            points[:, axis] += np.where(where, into[:, :, axis] * side, 0.0).sum(axis=1) * 0.35
        np.clip(points, 0.0, upper, out=points)


def _components(neighbours: list[list[int]]) -> list[list[int]]:
    """The largest first."""
    seen: set[int] = set()
    found = []
    for start in range(len(neighbours)):
        if start not in seen:
            seen.add(start)
            members = [start]
            for node in members:
                fresh = sorted(set(neighbours[node]) - seen)
                seen.update(fresh)
                members.extend(fresh)
            found.append(members)
    return sorted(found, key=len, reverse=True)


def _distances(members: list[int], neighbours: list[list[int]]) -> Any:
    """Edges on the shortest path between each two members [n, n]."""
    number = {node: i for i, node in enumerate(members)}
    far = np.zeros((len(members), len(members)))
    for start in members:
        reached = {start: 0}
        queue = [start]
        for node in queue:
            for other in neighbours[node]:
                if other not in reached:
                    reached[other] = reached[node] + 1
                    queue.append(other)
        for node, distance in reached.items():
            far[number[start], number[node]] = distance
    return far


_ROUNDS = 300


def _stress_layout(far: Any) -> Any:
    """Points [n, 2] whose distances follow `far` [n, n], the near ones most; the longest extent lies across."""
    count = len(far)
    if count == 1:
        return np.zeros((1, 2))
    turn = 2 * np.pi * np.arange(count) / count
    points = np.column_stack([np.cos(turn), np.sin(turn)]) * np.sqrt(count) / 2
    weights = np.divide(1.0, far**2, out=np.zeros_like(far), where=far > 0)
    totals = weights.sum(axis=1, keepdims=True)
    for _ in range(_ROUNDS):
        apart = points[:, None, :] - points[None, :, :]
        length = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-9)
        wanted = points[None, :, :] + apart * (far / length)[:, :, None]
        points = (weights[:, :, None] * wanted).sum(axis=1) / totals
    points -= points.mean(axis=0)
    _, _, axes = np.linalg.svd(points, full_matrices=False)
    return points @ axes.T


def _shelves(boxes: list[tuple[list[int], Any]], ratio: float) -> list[tuple[list[int], Any]]:
    """Puts boxes in rows, in their order, about as wide as the picture. @return the lower left corner of each"""
    area = sum(float(extent[0] * extent[1]) for _, extent in boxes)
    width = max(float(max(extent[0] for _, extent in boxes)), (area * ratio) ** 0.5)
    corners = []
    x = y = tallest = 0.0
    for members, extent in boxes:
        if x > 0 and x + extent[0] > width * 1.05:
            x, y, tallest = 0.0, y - tallest, 0.0
        corners.append((members, np.array([x, y - extent[1]])))
        x += float(extent[0])
        tallest = max(tallest, float(extent[1]))
    return corners
