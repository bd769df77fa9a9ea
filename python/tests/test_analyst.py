"""An analyst's session from a CSV file to pictures, with the mistakes that are made on the way, and what they are answered."""

import csv
import os
import shutil
import subprocess
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import psycopg  # noqa: E402
import pytest  # noqa: E402

import batmap  # noqa: E402
import batmap.plots  # noqa: E402

TREE = Path(__file__).resolve().parents[2]
RECEIPTS = TREE / "docs" / "receipts.csv"


def refused(conn, error, message, hint, query="SELECT receipt, product FROM bought", **options):
    """The call fails with this error, and the session goes on."""
    with pytest.raises(error) as caught, conn.transaction():
        batmap.pairs(conn, query, **options)
    assert message in caught.value.diag.message_primary
    assert hint in (caught.value.diag.message_hint or "")


@pytest.mark.skipif(not RECEIPTS.exists(), reason="docs/receipts.csv is not there: not in a checkout of the extension")
def test_receipts(conn, tmp_path):
    # From a file to a table.
    conn.execute("CREATE TABLE bought (receipt int, product text)")
    with RECEIPTS.open() as file, conn.cursor().copy("COPY bought FROM STDIN (FORMAT csv, HEADER)") as copy:
        copy.write(file.read())

    # First tries.
    refused(
        conn, psycopg.errors.InvalidParameterValue, "a threshold is missing", "Give min_count or min_support, or ask for the best"
    )
    refused(
        conn,
        psycopg.errors.InvalidParameterValue,
        "min_support must be above 0 and at most 1, not 3",
        "min_support is a fraction of the transactions; min_count takes a number of them.",
        min_support=3,
    )
    refused(
        conn,
        psycopg.errors.InvalidColumnReference,
        "input query must return 2 columns, not 3",
        "The two columns are the transaction and the item.",
        "SELECT receipt, product, 1 FROM bought",
        min_count=3,
    )
    refused(
        conn,
        psycopg.errors.UndefinedColumn,
        'column "produkt" does not exist',
        "",
        "SELECT receipt, produkt FROM bought",
        min_count=3,
    )
    refused(conn, psycopg.errors.UndefinedTable, 'relation "bougth" does not exist', "", "TABLE bougth", min_count=3)
    refused(
        conn,
        psycopg.errors.SyntaxError,
        "input query must be a SELECT",
        "Give a query of two columns",
        "DROP TABLE bought",
        min_count=3,
    )
    with pytest.raises(psycopg.errors.DatatypeMismatch) as caught, conn.transaction():
        conn.execute("SELECT * FROM batmap_pairs('SELECT receipt, product FROM bought', min_count => 3)")
    assert caught.value.diag.message_primary == "second column of the input query must be an integer, not text"
    assert (
        caught.value.diag.message_hint == "The _of form of the function takes text items, the _as form those of any hashable type."
    )

    # What goes with what; the figures of README.md.
    pairs = batmap.pairs(conn, "SELECT receipt, product FROM bought", min_count=3)
    pairs = pairs.sort_values("lift", ascending=False, ignore_index=True)
    assert pairs[["item_a", "item_b", "support_count"]].values.tolist() == [
        ["coffee", "sugar", 4],
        ["bread", "butter", 5],
        ["coffee", "milk", 3],
        ["bread", "jam", 3],
    ]
    assert pairs.lift.round(2).tolist() == [1.92, 1.71, 1.44, 1.29]
    assert pairs.pivot(index="item_a", columns="item_b", values="support_count").loc["bread", "butter"] == 5

    # If this, then that.
    rules = batmap.rules(conn, "SELECT receipt, product FROM bought", min_count=3, min_confidence=0.8)
    assert set(zip(rules.lhs, rules.rhs)) == {(("butter",), ("bread",)), (("coffee",), ("sugar",)), (("sugar",), ("coffee",))}
    best = batmap.recommend(conn, ["milk", "sugar"], "SELECT receipt, product FROM bought", min_count=2)
    assert best.item.tolist() == ["coffee", "bread"]
    with pytest.raises(TypeError, match=r"basket must be a list of items, such as \['milk'\], not 'milk'"):
        batmap.recommend(conn, "milk", "SELECT receipt, product FROM bought")

    # A part of the rows, with a value from outside.
    some = batmap.pairs(conn, "SELECT receipt, product FROM bought WHERE product <> $1", params=("bread",), min_count=3)
    assert set(some.item_a) == {"coffee"}
    with pytest.warns(batmap.TruncatedWarning, match="answer cut off after 1 rows by max_results = 1; raise it, or the threshold"):
        batmap.pairs(conn, "SELECT receipt, product FROM bought", min_count=1, max_results=1)

    # Pictures.
    for name, axes in (
        ("pairs", batmap.plots.pair_graph(pairs)),
        ("rules", batmap.plots.rule_scatter(rules)),
        ("partners", batmap.plots.partner_matrix(batmap.partners(conn, "SELECT receipt, product FROM bought"))),
    ):
        path = tmp_path / f"{name}.png"
        axes.figure.savefig(path)
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000
        matplotlib.pyplot.close(axes.figure)


DATA = Path(os.environ.get("BATMAP_TEST_DATA", "/nowhere"))


@pytest.mark.skipif(not (DATA / "groceries.csv.zst").exists(), reason="BATMAP_TEST_DATA names no folder with groceries.csv.zst")
@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
def test_groceries(conn):
    """A real table, whose frequent itemsets are known."""
    text = subprocess.run(["zstd", "-dc", DATA / "groceries.csv.zst"], check=True, capture_output=True, text=True).stdout
    conn.execute("CREATE TABLE groceries (basket int, item text)")
    with conn.cursor().copy("COPY groceries FROM STDIN") as copy:
        for number, items in enumerate(csv.reader(text.splitlines())):
            for item in items:
                copy.write_row((number, item))
    itemsets = batmap.itemsets(conn, "SELECT basket, item FROM groceries", min_support=0.01)
    assert (len(itemsets), itemsets.total[0]) == (333, 9835)
    assert itemsets.groupby("length").size().tolist() == [88, 213, 32]
    rules = batmap.rules(conn, "SELECT basket, item FROM groceries", min_support=0.01, min_confidence=0.5)
    assert len(rules) == 15 and set(map(len, rules.rhs)) == {1}
    best = batmap.pairs(conn, "SELECT basket, item FROM groceries", min_count=100, top_k=1, measure="lift").iloc[0]
    assert (best.item_a, best.item_b) == ("beef", "root vegetables") and best.score == best.lift > 3
