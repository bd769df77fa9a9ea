"""The pictures: what they show of an answer, and that they are drawn. Whether they please is for eyes."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

import batmap  # noqa: E402
from batmap import plots  # noqa: E402

NAMED = "SELECT receipt, name FROM named_lines"


@pytest.fixture(autouse=True)
def figures():
    yield
    plt.close("all")


def texts(axes):
    return {text.get_text() for text in axes.texts}


def png(axes, tmp_path):
    """Draws the picture, and gives its pixels."""
    path = tmp_path / "picture.png"
    axes.figure.savefig(path, dpi=60)
    return plt.imread(path)


@pytest.mark.parametrize("as_frame", [True, False])
def test_pair_graph(conn, tmp_path, as_frame):
    pairs = batmap.pairs(conn, NAMED, min_count=2, as_frame=as_frame)
    axes = plots.pair_graph(pairs)
    assert texts(axes) == {"bread", "butter", "jam", "tea"}
    lines = axes.collections[0]
    expected = sorted((row.lift, row.support_count) for row in batmap.pairs(conn, NAMED, min_count=2, as_frame=False))
    assert list(lines.get_array()) == pytest.approx([lift for lift, _ in expected])
    assert np.argmax(lines.get_linewidths()) == np.argmax([support_count for _, support_count in expected])
    assert len(np.unique(png(axes, tmp_path).reshape(-1, 4), axis=0)) > 50


def test_pair_graph_draws_the_best(conn):
    axes = plots.pair_graph(batmap.pairs(conn, NAMED, min_count=1), max_pairs=1, color="support_count")
    assert texts(axes) == {"bread", "butter"}
    assert axes.figure.axes[1].get_ylabel() == "support count"


def test_nodes_of_a_graph_do_not_cover_each_other(conn):
    query = (
        "SELECT t, chr(65 + i) || repeat('x', 8) FROM generate_series(1, 60) t, generate_series(0, 24) i WHERE (t + i * i) % 7 < 2"
    )
    axes = plots.pair_graph(batmap.pairs(conn, query, min_count=3), max_pairs=None)
    renderer = axes.figure.canvas.get_renderer()
    axes.figure.canvas.draw()
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    assert len(boxes) == 25
    overlaps = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert overlaps <= 2


def test_the_same_pairs_make_the_same_graph(conn):
    pairs = batmap.pairs(conn, NAMED, min_count=1)
    first, second = (plots.pair_graph(pairs).collections[1].get_offsets() for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("query", ["SELECT 1, unnest('{a,b}'::text[])", "SELECT i / 2, i FROM generate_series(0, 19) i"])
def test_graphs_of_pairs_apart(conn, query):
    axes = plots.pair_graph(batmap.pairs(conn, query, min_count=1))
    offsets = np.asarray(axes.collections[1].get_offsets())
    assert len(np.unique(offsets.round(6), axis=0)) == len(offsets)
    low, high = axes.get_xlim()
    assert ((offsets[:, 0] >= low) & (offsets[:, 0] <= high)).all()


@pytest.mark.parametrize("as_frame", [True, False])
def test_rule_scatter(conn, tmp_path, as_frame):
    axes = plots.rule_scatter(batmap.rules(conn, NAMED, min_count=2, as_frame=as_frame), labels=3)
    assert "{tea} → {butter}" in texts(axes) and 1 <= len(texts(axes)) <= 3
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("support", "confidence")
    offsets = np.asarray(axes.collections[0].get_offsets())
    expected = batmap.rules(conn, NAMED, min_count=2, as_frame=False)
    assert sorted(map(tuple, offsets)) == sorted((row.support, row.confidence) for row in expected)
    assert len(np.unique(png(axes, tmp_path).reshape(-1, 4), axis=0)) > 50


def test_rule_scatter_leaves_out_what_is_infinite(conn):
    rules = batmap.rules(conn, NAMED, min_count=2, as_frame=False)
    axes = plots.rule_scatter(rules, x="support_count", y="conviction", labels=0)
    finite = [row for row in rules if np.isfinite(row.conviction)]
    assert len(axes.collections[0].get_offsets()) == len(finite) < len(rules)


@pytest.mark.parametrize("as_frame", [True, False])
def test_partner_matrix(conn, tmp_path, as_frame):
    partners = batmap.partners(conn, NAMED, min_count=2, measure="lift", as_frame=as_frame)
    axes = plots.partner_matrix(partners, name="lift")
    shown = np.ma.filled(axes.images[0].get_array(), np.nan)
    rows, columns = ([label.get_text() for label in labels] for labels in (axes.get_yticklabels(), axes.get_xticklabels()))
    assert shown[rows.index("tea"), columns.index("butter")] == pytest.approx(1.2)
    assert np.isnan(shown[rows.index("tea"), columns.index("bread")])
    assert axes.figure.axes[1].get_ylabel() == "lift" and "1.2" in texts(axes)
    assert len(np.unique(png(axes, tmp_path).reshape(-1, 4), axis=0)) > 50


def test_partner_matrix_draws_the_best(conn):
    axes = plots.partner_matrix(batmap.partners(conn, NAMED, min_count=2), max_items=1)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["tea"]


def test_axes_of_the_caller(conn):
    figure, (left, right) = plt.subplots(1, 2)
    assert plots.pair_graph(batmap.pairs(conn, NAMED, min_count=2), ax=left) is left
    assert plots.rule_scatter(batmap.rules(conn, NAMED, min_count=2), ax=right) is right
    assert plt.get_fignums() == [figure.number]


def test_refusals(conn):
    nothing = batmap.pairs(conn, NAMED, min_count=6)
    with pytest.raises(ValueError, match="there are no pairs to draw; a lower threshold gives more"):
        plots.pair_graph(nothing)
    with pytest.raises(ValueError, match="there are no rules to draw"):
        plots.rule_scatter([])
    with pytest.raises(ValueError, match="the pairs have no column gain; they have item_a, item_b"):
        plots.pair_graph(batmap.pairs(conn, NAMED, min_count=2), color="gain")
    with pytest.raises(ValueError, match="the rules have no column lhs; they have item_a"):
        plots.rule_scatter(batmap.pairs(conn, NAMED, min_count=2, as_frame=False))
    with pytest.raises(ValueError, match="there are no pairs to draw"):
        plots.pair_graph(batmap.pairs(conn, NAMED, min_count=2), color="score")
