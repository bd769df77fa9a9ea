"""The functions over tables: their answers beside plain SQL, parameters, kinds of items, connections, and what is cut off."""

import inspect
import sqlite3
import sys
import warnings
from collections import Counter
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import uuid4

import pg8000.dbapi
import psycopg
import psycopg2
import psycopg2.extras
import pytest
import sqlalchemy as sa
from psycopg.rows import dict_row
from sqlalchemy.orm import Session

import batmap

QUERY = "SELECT receipt, product FROM lines"
NAMED = "SELECT receipt, name FROM named_lines"


def tuples(function, *arguments, **options):
    return [tuple(row) for row in function(*arguments, as_frame=False, **options)]


# ---- answers


def test_pairs_are_those_of_a_self_join(conn):
    expected = conn.execute(
        "SELECT a.product, b.product, count(*) FROM lines a JOIN lines b USING (receipt) WHERE a.product < b.product "
        "GROUP BY 1, 2 HAVING count(*) >= 2 ORDER BY 1, 2"
    ).fetchall()
    answer = batmap.pairs(conn, QUERY, min_count=2, as_frame=False)
    assert sorted((row.item_a, row.item_b, row.support_count) for row in answer) == expected
    assert type(answer[0]).__name__ == "Pair"
    assert [row.lift for row in answer] == [row.support_count * 6 / (row.count_a * row.count_b) for row in answer]


def test_partners(conn):
    answer = tuples(batmap.partners, conn, NAMED, items=["tea", "jam"], top_k=1)
    assert answer == [("jam", "bread", 1, 3, 0.75), ("tea", "butter", 1, 2, 1.0)]


def test_itemsets(conn):
    answer = batmap.itemsets(conn, NAMED, min_count=2, target="maximal", as_frame=False)
    assert {row.itemset: row.support_count for row in answer} == {("bread", "butter", "jam"): 2, ("butter", "tea"): 2}


def test_rules(conn):
    answer = batmap.rules(conn, NAMED, min_count=2, min_confidence=0.8, as_frame=False)
    assert {(row.lhs, row.rhs): row.confidence for row in answer} == {
        (("tea",), ("butter",)): 1.0,
        (("bread",), ("butter",)): 0.8,
        (("butter",), ("bread",)): 0.8,
    }
    any_number = batmap.rules(conn, NAMED, min_count=2, max_rhs=None, as_frame=False)
    assert max(len(row.rhs) for row in any_number) == 2


def test_recommend(conn):
    answer = batmap.recommend(conn, ["jam", "tea"], NAMED, as_frame=False)
    assert [(row.item, row.score, row.lhs) for row in answer] == [("butter", 1.0, ("tea",)), ("bread", 0.75, ("jam",))]
    assert tuples(batmap.recommend, conn, [], QUERY) == []


def test_count_pairs(conn):
    listed = "VALUES (2, 1), (4, 7), (3, 3)"
    answer = batmap.count_pairs(conn, QUERY, listed, measure="jaccard", as_frame=False)
    expected = []
    for a, b in ((2, 1), (4, 7), (3, 3)):
        (both,) = conn.execute(
            "SELECT count(*) FROM (SELECT receipt FROM lines WHERE product = %s "
            "INTERSECT SELECT receipt FROM lines WHERE product = %s) q",
            (a, b),
        ).fetchone()
        expected.append((a, b, both))
    assert [row[:3] for row in answer] == expected
    named = batmap.count_pairs(conn, NAMED, "SELECT $1::text, $2::text", params=("bread", "jam"), as_frame=False)
    assert [row[:3] for row in named] == [("bread", "jam", 3)]
    frame = batmap.count_pairs(conn, QUERY, "SELECT 4, 7")
    assert frame.lift.isna().all() and frame.support_count.tolist() == [0]


def test_triangles(conn):
    roads = "('Ulm', 'Bonn'), ('Bonn', 'Kiel'), ('Kiel', 'Ulm'), ('Kiel', 'Jena'), ('Jena', 'Ulm')"
    edges = f"SELECT a, b FROM (VALUES {roads}) e (a, b)"
    found = batmap.triangles(conn, edges)
    assert (found.triangles, found.edges, found.nodes) == (2, 5, 4)
    assert batmap.triangles(conn, edges + " WHERE a <> $1", params=("Kiel",)).triangles == 0
    each = batmap.edge_triangles(conn, edges, as_frame=False)
    assert {(row.node_a, row.node_b): row.triangles for row in each} == {
        ("Bonn", "Kiel"): 1,
        ("Bonn", "Ulm"): 1,
        ("Jena", "Kiel"): 1,
        ("Jena", "Ulm"): 1,
        ("Kiel", "Ulm"): 2,
    }
    numbers = "SELECT ascii(a), ascii(b) FROM (" + edges + ") e"
    assert sum(row.triangles for row in batmap.edge_triangles(conn, numbers, as_frame=False)) == 3 * 2


def test_sets_that_are_alike(conn):
    sets = "SELECT name, batmap_agg(receipt) FROM named_lines GROUP BY 1"
    rows = batmap.similar(conn, {1, 2, 4, 5, 6}, sets, top_k=2, as_frame=False)
    assert [(row.id, row.intersection, row.jaccard) for row in rows] == [("butter", 5, 1.0), ("bread", 4, 4 / 6)]
    assert len(batmap.similar(conn, [1], sets, top_k=None)) == 3
    assert tuples(batmap.similar, conn, [], sets) == []
    by_number = sets.replace("name,", "length(name),")
    assert tuples(batmap.similar, conn, [1, 2, 4, 5, 6], by_number, min_jaccard=0.9) == [(6, 5, 1.0)]
    assert tuples(batmap.all_pairs, conn, sets, top_k=1) == [("bread", "butter", 4, 4 / 6)]
    with pytest.warns(batmap.TruncatedWarning, match="answer cut off after 1 rows by max_results = 1"):
        batmap.all_pairs(conn, by_number, min_count=1, max_results=1)
    with pytest.raises(TypeError, match="a batmap holds integers from 0 on"):
        batmap.similar(conn, ["tea"], sets)


@pytest.mark.parametrize("item, values", [("product", {1, 2, 3, 4}), ("name", {"bread", "butter", "jam", "tea"})])
def test_kept_counts(conn, item, values):
    conn.execute('CREATE TABLE "My lines" AS SELECT receipt, product, name FROM lines JOIN named_lines USING (receipt) WHERE false')
    conn.execute('CREATE INDEX ON "My lines" (receipt)')
    names = sorted({1: "bread", 2: "butter", 3: "jam", 4: "tea"}.items())
    batmap.keep(conn, '"My lines"', "receipt", item, filter="product > 0")
    for number, name in names:
        conn.execute('INSERT INTO "My lines" SELECT receipt, %s, %s FROM lines WHERE product = %s', (number, name, number))
    conn.execute("INSERT INTO \"My lines\" VALUES (1, -1, 'none')")
    table = batmap.KeptTable('"My lines"')
    query = f'SELECT receipt, {item} FROM "My lines" WHERE product > 0'
    assert sorted(tuples(batmap.pairs, conn, table, min_count=2)) == sorted(tuples(batmap.pairs, conn, query, min_count=2))
    item_asked = min(values)
    asked = tuples(batmap.partners, conn, table, items=[item_asked], top_k=2)
    assert asked == tuples(batmap.partners, conn, query, items=[item_asked], top_k=2) and len(asked) == 2
    assert {row.item for row in batmap.partners(conn, table, as_frame=False)} == values
    [row] = batmap.kept(conn, as_frame=False)
    assert (row.kept_table, row.tid, row.item, row.filter) == ('"My lines"', "receipt", item, "(product > 0)")
    assert batmap.kept(conn).log_bytes.tolist() == [row.log_bytes]
    assert batmap.merge_kept(conn, '"My lines"') == 16 and batmap.merge_kept(conn, '"My lines"') == 0
    assert batmap.check_kept(conn, '"My lines"') is True
    batmap.unkeep(conn, '"My lines"')
    assert len(batmap.kept(conn)) == 0
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="counts of table .* are not kept"):
        batmap.partners(conn, table)


def test_what_kept_counts_do_not_take(conn):
    table = batmap.KeptTable("lines")
    for options in ({"params": (1,)}, {"method": "merge"}, {"tid_column": "receipt", "item_column": "product"}):
        with pytest.raises(TypeError, match="the counts of a kept table take no " + next(iter(options))):
            batmap.pairs(conn, table, min_count=1, **options)
    with pytest.raises(psycopg.errors.UndefinedTable):
        batmap.partners(conn, batmap.KeptTable("no_such"))


def test_join_project(conn):
    conn.execute("CREATE TABLE has (person int, skill text)")
    conn.execute("CREATE TABLE needs (skill text, job text)")
    conn.execute("INSERT INTO has VALUES (1, 'sql'), (1, 'c'), (2, 'c'), (2, 'go')")
    conn.execute("INSERT INTO needs VALUES ('sql', 'x'), ('c', 'x'), ('c', 'y'), ('go', 'y')")
    has, needs = "SELECT person, skill FROM has", "SELECT skill, job FROM needs"
    assert sorted(tuples(batmap.join_project, conn, has, needs, min_count=2)) == [(1, "x", 2), (2, "y", 2)]
    assert sorted(tuples(batmap.join_project, conn, has, "SELECT skill, ascii(job) FROM needs", min_count=2)) == [
        (1, 120, 2),
        (2, 121, 2),
    ]
    assert sorted(tuples(batmap.join_project, conn, "SELECT person::text, skill FROM has", needs, min_count=2)) == [
        ("1", "x", 2),
        ("2", "y", 2),
    ]
    frame = batmap.join_project(conn, has, needs, distinct_only=True)
    assert len(frame) == 4 and frame.support_count.isna().all() and frame.support_count.dtype == "Int64"
    given = batmap.join_project(conn, has, needs, left_type="int", right_type="text", as_frame=False)
    assert len(given) == 4


def test_episodes(conn):
    conn.execute(
        "CREATE TABLE clicks AS SELECT '2024-05-01 12:00Z'::timestamptz + i * interval '4 min' AS at, i, "
        "(ARRAY['home', 'search', 'cart'])[i % 3 + 1] AS page, i / 6 AS visitor FROM generate_series(0, 23) i"
    )
    query = "SELECT at, page, visitor FROM clicks"
    answer = batmap.episodes(conn, query, (timedelta(0), timedelta(minutes=5)), min_count=8, min_length=2, as_frame=False)
    assert [(row.episode, row.support_count) for row in answer] == [
        (("home", "search"), 8),
        (("search", "cart"), 8),
        (("home", "search", "cart"), 8),
    ]
    assert answer[2].gap_high == (timedelta(minutes=5), timedelta(minutes=5))
    bounds = [(0, 1), (1, None)]
    answer = batmap.episodes(conn, "SELECT i, page, visitor FROM clicks", bounds, min_count=8, max_length=2, as_frame=False)
    found = {(row.episode, row.gap_low, row.gap_high) for row in answer}
    assert found >= {(("home", "search"), (0,), (1,)), (("home", "cart"), (1,), (None,))}
    floats = batmap.episodes(conn, "SELECT i::float8, page, visitor FROM clicks", (0.0, 1.5), min_count=8, as_frame=False)
    assert floats[-1].gap_high == (1.5, 1.5)
    for mixed in ((0, 1.5), (Decimal(0), 1.5), [(0, 1.5), (1.5, None)]):
        found = batmap.episodes(conn, "SELECT i::float8, page, visitor FROM clicks", mixed, min_count=8, as_frame=False)
        assert {(row.episode, row.support_count) for row in found} >= {(row.episode, row.support_count) for row in floats}
    dates = "SELECT date '2024-05-01' + i / 2, page, visitor FROM clicks"
    steps = batmap.episodes(conn, dates, (0, 7), min_count=1, min_length=3, counting="streams", same_time=True, as_frame=False)
    assert {row.steps for row in steps} >= {(1, 1, 2), (1, 2, 2)}
    with pytest.raises(
        psycopg.errors.DatatypeMismatch, match="first column of the input query must be an integer or a date for gaps of this type"
    ):
        batmap.episodes(conn, query, (0, 5), min_count=8)


def test_window_pairs(conn):
    conn.execute(
        "CREATE TABLE clicks AS SELECT '2024-05-01 12:00Z'::timestamptz + i * interval '4 min' AS at, i, "
        "(ARRAY['home', 'search', 'cart'])[i % 3 + 1] AS page, i / 6 AS visitor FROM generate_series(0, 23) i"
    )
    query = "SELECT at, page, visitor FROM clicks"
    for within in (timedelta(minutes=5), "5 min"):
        answer = batmap.window_pairs(conn, query, within, min_count=2, as_frame=False)
        assert list(map(tuple, answer)) == [("cart", "home", 4), ("cart", "search", 4), ("home", "search", 4)]
    best = batmap.window_pairs(conn, query, timedelta(minutes=5), top_k=1, counting="occurrences", as_frame=False)
    assert list(map(tuple, best)) == [("cart", "search", 8)]
    codes = "SELECT i{}, i % 3, visitor FROM clicks"
    assert [row.support_count for row in batmap.window_pairs(conn, codes.format(""), 1, min_count=1, as_frame=False)] == [4, 4, 4]
    for within in (1.5, Decimal("1.5")):
        floats = batmap.window_pairs(conn, codes.format("::float8"), within, min_count=1, include=[0], as_frame=False)
        assert list(map(tuple, floats)) == [(0, 1, 4), (0, 2, 4)]
    with pytest.raises(TypeError, match=r"within must be an integer, a number or a timedelta, not \[1\]"):
        batmap.window_pairs(conn, query, [1], min_count=1)
    with pytest.warns(batmap.TruncatedWarning, match="after 2 rows by max_results = 2"):
        batmap.window_pairs(conn, query, "5 min", min_count=1, max_results=2)


def test_itemset_spectrum(conn):
    listed = batmap.itemsets(conn, QUERY, min_count=2, as_frame=False)
    lines = batmap.itemset_spectrum(conn, QUERY, min_count=2, as_frame=False)
    counts = Counter((row.length, row.support_count) for row in listed)
    assert counts and {(line.length, line.support_count): line.itemsets for line in lines} == counts
    texts = "SELECT receipt, 'no. ' || product FROM lines"
    assert tuples(batmap.itemset_spectrum, conn, texts, min_count=2) == list(map(tuple, lines))


# ---- parameters


def test_the_parameters_are_those_of_the_catalog(conn):
    """Each function has the parameters of its SQL functions over query text: the same names, and no others."""
    ours = {"conn", "params", "item_type", "left_type", "right_type", "as_frame", "on_truncation", "event_type"}
    functions = ("pairs", "partners", "itemsets", "itemset_spectrum", "rules", "recommend", "join_project", "episodes")
    for name in (*functions, "window_pairs", "count_pairs", "triangles", "edge_triangles", "all_pairs", "similar"):
        function = getattr(batmap, name)
        [(names,)] = conn.execute(
            "SELECT proargnames[:pronargs] FROM pg_proc WHERE proname = %s "
            "AND 'record'::regtype = ANY (proargtypes) AND NOT proargnames && '{relation,counts,tid}'",
            (f"batmap_{name}",),
        ).fetchall()
        assert set(inspect.signature(function).parameters) - ours == set(names) - ours, name


def test_params_are_values(conn):
    conn.execute("CREATE TABLE sold (day date, country text, receipt int, product int)")
    conn.execute("INSERT INTO sold SELECT '2024-03-01', c, receipt, product FROM lines, unnest('{PL,DK}'::text[]) c")
    conn.execute("DELETE FROM sold WHERE country = 'DK' AND product = 1")
    query = "SELECT receipt, product FROM sold WHERE country = $1 AND day = $2"
    day = date(2024, 3, 1)
    assert len(tuples(batmap.pairs, conn, query, min_count=2, params=("PL", day))) == 4
    assert len(tuples(batmap.pairs, conn, query, min_count=2, params=("DK", "2024-03-01"))) == 2
    assert tuples(batmap.pairs, conn, query, min_count=1, params=("x' OR 'a' = 'a", day)) == []
    assert tuples(batmap.pairs, conn, query, min_count=1, params=(None, day)) == []
    with pytest.raises(psycopg.errors.UndefinedParameter):
        batmap.pairs(conn, query, min_count=1, params=("PL",))
    conn.rollback()
    with pytest.raises(TypeError, match="params is a tuple of values, such as \\('PL',\\)"):
        batmap.pairs(conn, query, min_count=1, params="PL")
    for wrong in (5, {"country": "PL"}, {"PL"}):
        with pytest.raises(TypeError, match="params is a tuple of values"):
            batmap.pairs(conn, query, min_count=1, params=wrong)


def test_percent_signs_are_no_placeholders(conn):
    query = "SELECT receipt, name FROM named_lines WHERE name LIKE 'b%' AND receipt % 2 = $1"
    assert tuples(batmap.pairs, conn, query, min_count=1, params=(1,))[0][:3] == ("bread", "butter", 2)


def test_columns_by_name(conn):
    conn.execute("CREATE TABLE wide AS SELECT 'x' AS other, product, receipt FROM lines")
    by_name = tuples(batmap.pairs, conn, "TABLE wide", min_count=2, tid_column="receipt", item_column="product")
    assert by_name == tuples(batmap.pairs, conn, QUERY, min_count=2)


def test_lists_of_items(conn):
    assert {row[:2] for row in tuples(batmap.pairs, conn, QUERY, min_count=1, include={4})} == {(1, 4), (2, 4), (3, 4)}
    assert {row[:2] for row in tuples(batmap.pairs, conn, NAMED, min_count=1, exclude=("bread", "tea"))} == {("butter", "jam")}
    assert {row[:2] for row in tuples(batmap.pairs, conn, QUERY, min_count=1, include=["4"])} == {(1, 4), (2, 4), (3, 4)}
    assert tuples(batmap.pairs, conn, QUERY, min_count=1, include=[]) == []


def test_numbers_of_numpy(conn):
    numpy = pytest.importorskip("numpy")
    expected = tuples(batmap.pairs, conn, QUERY, min_count=2, include=[1])
    assert tuples(batmap.pairs, conn, QUERY, min_count=numpy.int64(2), include=numpy.array([1])) == expected
    assert len(tuples(batmap.pairs, conn, QUERY, min_support=numpy.float32(0.5))) == 3


@pytest.mark.parametrize(
    "options, message",
    [
        ({"min_count": "x"}, "min_count must be an integer, not 'x'"),
        ({"min_count": 1.5}, "min_count must be an integer, not 1.5"),
        ({"min_support": "a"}, "min_support must be a number, not 'a'"),
        ({"min_count": 1, "include": "bread"}, r"include must be a list of items, such as \['bread'\], not 'bread'"),
        ({"min_count": 1, "exclude": [1, None]}, "exclude must not contain None"),
    ],
)
def test_what_python_refuses(conn, options, message):
    with pytest.raises(TypeError, match=message):
        batmap.pairs(conn, QUERY, **options)


@pytest.mark.parametrize("gaps", [(), (1,), (1, 2, 3), [(1, 2), (3,)], (0, "x", 1), 5000, "05", None])
def test_gaps_that_are_none(conn, gaps):
    with pytest.raises(TypeError, match="gaps must be a pair"):
        batmap.episodes(conn, QUERY, gaps, min_count=1)


def test_arguments_of_other_types(conn):
    with pytest.raises(TypeError, match="basket must be a list of items, not None"):
        batmap.recommend(conn, None, QUERY)
    with pytest.raises(TypeError, match="timeout must be a timedelta or a text, not 1.5"):
        batmap.itemsets(conn, QUERY, min_count=1, timeout=1.5)
    with pytest.raises(TypeError, match=r"pairs_query must be the text of a query, not \[\(1, 2\)\]"):
        batmap.count_pairs(conn, QUERY, [(1, 2)])
    with pytest.raises(TypeError, match="query must be the text of a query, not None"):
        batmap.pairs(conn, None, min_count=1)


def test_pipeline_mode_is_refused(conn):
    with conn.pipeline(), pytest.raises(TypeError, match="the connection is in pipeline mode"):
        batmap.pairs(conn, QUERY, min_count=1)
    assert batmap.pairs(conn, QUERY, min_count=1, as_frame=False)


def test_what_the_server_refuses(conn):
    refused = [
        ({}, "a threshold is missing", "Give min_count or min_support"),
        ({"min_count": 0}, "min_count must be at least 1, not 0", None),
        ({"min_support": 2}, "min_support must be above 0 and at most 1, not 2", "a fraction of the transactions"),
        ({"min_count": 1, "measure": "magic"}, 'unknown measure "magic"', None),
        ({"min_count": 1, "method": "magic"}, 'unknown method "magic"', "Available values: auto"),
    ]
    for options, message, hint in refused:
        with pytest.raises(psycopg.errors.InvalidParameterValue) as caught:
            batmap.pairs(conn, QUERY, **options)
        assert message in caught.value.diag.message_primary
        assert hint is None or hint in caught.value.diag.message_hint
        conn.rollback()
    with pytest.raises(psycopg.errors.InvalidColumnReference) as caught:
        batmap.pairs(conn, "SELECT receipt FROM lines", min_count=1)
    assert caught.value.diag.message_hint == "The two columns are the transaction and the item."


# ---- kinds of items


@pytest.mark.parametrize(
    "item, expected, in_array",
    [
        ("name", "bread", "bread"),
        ("name::varchar(20)", "bread", "bread"),
        ("name::char(6)", "bread ", "bread"),
        ("ARRAY[name, name]", "bread", "bread"),
        ("jsonb_build_array(name)", "bread", "bread"),
        ("length(name)", 3, 3),
        ("length(name)::int2", 3, 3),
        ("jsonb_build_array(length(name))", 3, 3),
        ("length(name)::numeric", Decimal(3), Decimal(3)),
        ("'2024-01-01'::date + length(name)", date(2024, 1, 4), date(2024, 1, 4)),
        ("length(name) * interval '1 s'", timedelta(seconds=3), "00:00:03"),
    ],
)
def test_types_of_items_are_found_out(conn, item, expected, in_array):
    query = f"SELECT receipt, {item} FROM named_lines"
    assert expected in {row[0] for row in tuples(batmap.pairs, conn, query, min_count=1)}
    assert (in_array,) in {row[0] for row in tuples(batmap.itemsets, conn, query, min_count=1)}


def test_an_error_of_the_query_stays_that(conn):
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match='invalid input syntax for type bigint: "bread"'):
        batmap.pairs(conn, "SELECT receipt, name::bigint FROM named_lines", min_count=1)


def test_types_that_the_driver_does_not_know(conn):
    conn.execute("""CREATE TYPE mood AS ENUM ('sad', 'so, "so"', 'it''s 100% ok')""")
    conn.execute("CREATE TABLE moods AS SELECT i / 2 AS t, (enum_range(NULL::mood))[i % 3 + 1] AS m FROM generate_series(0, 20) i")
    query = "SELECT t, m FROM moods"
    assert {row[0] for row in tuples(batmap.pairs, conn, query, min_count=1)} == {"sad", 'so, "so"'}
    itemsets = tuples(batmap.itemsets, conn, query, min_count=1, min_length=2)
    assert {row[0] for row in itemsets} == {("sad", 'so, "so"'), ("sad", "it's 100% ok"), ('so, "so"', "it's 100% ok")}
    rules = batmap.rules(conn, query, min_count=1, lhs_include=["sad"], item_type="mood", as_frame=False)
    assert {row.lhs for row in rules} == {("sad",)} and len(rules[0]) == 12


def test_item_type_is_a_type_and_nothing_else(conn):
    for wrong in ("no_such_type", "int); DROP TABLE lines; --"):
        with pytest.raises((ValueError, psycopg.Error)):
            batmap.pairs(conn, QUERY, min_count=1, item_type=wrong)
        conn.rollback()
    assert conn.execute("SELECT count(*) FROM lines").fetchone() == (16,)
    with pytest.raises(psycopg.errors.DatatypeMismatch):  # a type that was given is not found out
        batmap.pairs(conn, "SELECT receipt, product::text FROM lines", min_count=1, item_type="uuid")
    conn.rollback()
    assert tuples(batmap.pairs, conn, QUERY, min_count=2, item_type="int4") == tuples(batmap.pairs, conn, QUERY, min_count=2)


def test_items_that_cannot_be_counted(conn):
    with pytest.raises(psycopg.errors.UndefinedFunction, match="hash"):
        batmap.pairs(conn, "SELECT receipt, point(1, 2) FROM lines", min_count=1)


# ---- answers cut off


def test_an_answer_cut_off_warns(conn):
    with pytest.warns(batmap.TruncatedWarning) as caught:
        answer = batmap.pairs(conn, QUERY, min_count=1, max_results=2, as_frame=False)
    assert len(answer) == 2
    assert str(caught[0].message) == "answer cut off after 2 rows by max_results = 2; raise it, or the threshold"
    assert caught[0].filename == __file__


def test_an_answer_cut_off_is_an_error_or_nothing(conn):
    with pytest.raises(batmap.TruncatedError, match="answer cut off after 2 rows by max_results = 2"):
        batmap.itemsets(conn, NAMED, min_count=1, max_results=2, timeout=timedelta(minutes=1), on_truncation="error")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batmap.rules(conn, NAMED, min_count=1, max_results=2, on_truncation="ignore")
        batmap.rules(conn, NAMED, min_count=3, max_results=1000, timeout="1 min", on_truncation="error")
        batmap.pairs(conn, "SELECT 1, 2 WHERE false", min_count=1, max_results=1)
    with pytest.raises(ValueError, match='on_truncation must be "warn", "error" or "ignore", not'):
        batmap.pairs(conn, QUERY, min_count=1, on_truncation="loud")


def test_a_timeout_warns(conn):
    conn.execute("CREATE TABLE dense AS SELECT t, i FROM generate_series(1, 60) t, generate_series(1, 40) i WHERE (t * i) % 7 <> 0")
    with pytest.warns(batmap.TruncatedWarning, match="answer cut off after .* rows by timeout = 0:00:00.020"):
        batmap.itemsets(conn, "SELECT t, i FROM dense", min_count=2, timeout=timedelta(milliseconds=20))


def test_another_session_cannot_tell(database):
    """A pooler may send the question about the run to another session."""

    class Pooled:
        autocommit = True

        def __init__(self):
            self.sessions = [database.connect(autocommit=True) for _ in range(2)]
            self.calls = 0

        def cursor(self):
            self.calls += 1
            return psycopg.ClientCursor(self.sessions[self.calls % 2])

    pooled = Pooled()
    with pytest.warns(batmap.TruncatedWarning, match="it is not known whether the answer was cut off"):
        batmap.pairs(pooled, QUERY, min_count=2)
    for session in pooled.sessions:
        session.close()


# ---- frames


def test_frames(conn):
    pandas = pytest.importorskip("pandas")
    frame = batmap.pairs(conn, NAMED, min_count=2)
    assert isinstance(frame, pandas.DataFrame)
    assert [str(frame.dtypes[name]) for name in ("support_count", "total", "lift", "score")] == [
        "int64",
        "int64",
        "float64",
        "float64",
    ]
    assert frame.set_index(["item_a", "item_b"]).support_count["bread", "butter"] == 4
    empty = batmap.pairs(conn, "SELECT 1, 2 WHERE false", min_count=1)
    assert len(empty) == 0 and list(empty.columns) == list(frame.columns) and str(empty.dtypes["support_count"]) == "int64"
    rules = batmap.rules(conn, NAMED, min_count=2)
    assert rules.groupby("lhs").size()[("tea",)] == 1


def test_without_pandas(conn, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert batmap.pairs(conn, QUERY, min_count=4)[0].support_count == 4
    with pytest.raises(ImportError):
        batmap.pairs(conn, QUERY, min_count=4, as_frame=True)


# ---- connections

EXPECTED = [("bread", "butter", 4)]


def pairs_of(connection):
    return [row[:3] for row in tuples(batmap.pairs, connection, NAMED, min_count=4)]


@pytest.mark.parametrize("autocommit", [False, True])
def test_drivers(database, autocommit):
    for connect in (psycopg.connect, psycopg2.connect):
        connection = connect(**database.keywords)
        connection.autocommit = autocommit
        assert pairs_of(connection) == EXPECTED
        cursor = connection.cursor()
        cursor.execute("SELECT 1")  # the attempt with integers has left no failed transaction
        assert batmap.last_run(connection).operation == "batmap_pairs_of"
        connection.close()


def test_pg8000(database):
    """A driver that leaves parameters to the server, and whose errors are dictionaries."""
    connection = pg8000.dbapi.connect(database.role, database=database.name, unix_sock=f"{database.host}/.s.PGSQL.{database.port}")
    assert pairs_of(connection) == EXPECTED
    query = NAMED + " WHERE name <> $1 AND receipt < $2"
    rules = batmap.rules(connection, query, min_count=2, params=("tea", 6), lhs_include=["jam"], timeout="1 min", as_frame=False)
    assert {(row.lhs, row.rhs): row.support_count for row in rules} == {(("jam",), ("bread",)): 2, (("jam",), ("butter",)): 2}
    values = [
        True,
        2,
        2.5,
        Decimal("2.5"),
        date(2024, 5, 1),
        datetime(2024, 5, 1),
        datetime.now(timezone.utc),
        timedelta(1),
        uuid4(),
        b"x",
        None,
    ]
    types = ["bool", "int", "float8", "numeric", "date", "timestamp", "timestamptz", "interval", "uuid", "bytea", "text"]
    same = " AND ".join(f"${i} IS NOT DISTINCT FROM ${i}::{kind}" for i, kind in enumerate(types, 1))
    assert tuples(batmap.pairs, connection, f"SELECT receipt, product FROM lines WHERE {same}", min_count=4, params=values)[0][
        :3
    ] == (1, 2, 4)
    connection.close()


def test_an_open_transaction_goes_on(database):
    with database.connect(autocommit=True) as connection, connection.transaction():
        connection.execute("CREATE TABLE new_lines AS SELECT 1 AS receipt, unnest('{x,y}'::text[]) AS name")
        assert [row[:2] for row in tuples(batmap.pairs, connection, "TABLE new_lines", min_count=1)] == [("x", "y")]
        connection.execute("DROP TABLE new_lines")


def test_cursors_of_other_shapes(database):
    with database.connect(row_factory=dict_row) as connection:
        assert pairs_of(connection) == EXPECTED
    connection = psycopg2.connect(**database.keywords, cursor_factory=psycopg2.extras.RealDictCursor)
    assert pairs_of(connection) == EXPECTED
    connection.close()


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_sqlalchemy(database, driver):
    engine = sa.create_engine(database.url(driver))
    assert pairs_of(engine) == EXPECTED
    with engine.connect() as connection:
        assert pairs_of(connection) == EXPECTED
        connection.execute(sa.text("SELECT 1"))
        connection.rollback()
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TEMP TABLE mine AS TABLE named_lines"))
        assert len(tuples(batmap.pairs, connection, "TABLE mine", min_count=4)) == 1
    with Session(engine) as session:
        assert pairs_of(session) == EXPECTED
    assert engine.pool.checkedout() == 0
    engine.dispose()


def test_what_is_no_connection(database):
    with pytest.raises(TypeError, match="give a connection, not builtins.str"):
        batmap.pairs("host=x", QUERY, min_count=1)
    with pytest.raises(TypeError, match="asynchronous, or its engine is; give a connection of psycopg or psycopg2"):
        batmap.pairs(sa.create_engine("postgresql+asyncpg://"), QUERY, min_count=1)
    with pytest.raises(TypeError, match="the placeholders of sqlite3 are qmark"):
        batmap.pairs(sqlite3.connect(":memory:"), QUERY, min_count=1)


def test_last_run(database):
    with database.connect() as connection:
        assert batmap.last_run(connection) is None
        batmap.pairs(connection, QUERY, min_count=2)
        run = batmap.last_run(connection)
        assert (run.operation, run.transactions, run.results, run.truncated) == ("batmap_pairs", 6, 4, False)
