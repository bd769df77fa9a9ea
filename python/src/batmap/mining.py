"""The table functions of the extension as functions of Python: rows in a pandas DataFrame, or named tuples without pandas.

Each takes a connection first: of psycopg, psycopg2 or another DB-API driver with the placeholders `%s`, such as pg8000; an engine,
connection or session of SQLAlchemy over one of these; or `django.db.connection`. Then comes a query text, and by name the
parameters of the SQL function. docs/reference.md of the extension describes these and the columns of the answers. All functions
know four parameters more:

- `params`: the values of `$1`, `$2` in the query text. No value is ever parsed as SQL.
- `item_type`: the SQL type of the items, such as "uuid". None: found out, by a statement that fails where items are not integers.
- `as_frame`: True for a DataFrame, False for a list of named tuples; None: a DataFrame if pandas is installed.
- `on_truncation`: what an answer means that `max_results` or `timeout` cut off: "warn" (a TruncatedWarning), "error" (a
  TruncatedError) or "ignore".

Functions without `max_results` and `timeout` have no `on_truncation`. `keep` and its kin look after kept counts, over which `pairs`
and `partners` answer: `pairs(conn, KeptTable("orders"))`.

Supports ending in `_count` are numbers of transactions, `support` and `confidence` fractions from 0 to 1. Itemsets, and the sides
of rules, are tuples, so they can be keys. Errors of the server are those of the driver, with the server's message and hint.
"""

from __future__ import annotations

import re
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import date, datetime, timedelta
from decimal import Decimal
from operator import index
from typing import Any, NamedTuple, Union
from uuid import UUID

from ._session import Answer, Session, open_session, server_error
from .values import to_text

__all__ = [
    "KeptTable",
    "TruncatedError",
    "TruncatedWarning",
    "all_pairs",
    "check_kept",
    "count_pairs",
    "edge_triangles",
    "episodes",
    "itemset_spectrum",
    "itemsets",
    "join_project",
    "keep",
    "kept",
    "last_run",
    "merge_kept",
    "pairs",
    "partners",
    "recommend",
    "rules",
    "similar",
    "triangles",
    "unkeep",
    "window_pairs",
]

Items = Iterable[Any]
Gap = tuple[Any, Any]
Interval = Union[timedelta, str]
Frame = Any  # a pandas.DataFrame, or a list of named tuples


class TruncatedWarning(UserWarning):
    """An answer was cut off by `max_results` or `timeout`: rows are missing."""


class TruncatedError(RuntimeError):
    """The same under `on_truncation="error"`."""


class KeptTable(NamedTuple):
    """A table whose counts `keep` has made. `pairs` and `partners` take it in place of a query, and answer from the counts."""

    name: str


def pairs(
    conn: Any,
    query: str | KeptTable,
    *,
    min_count: int | None = None,
    min_support: float | None = None,
    include: Items | None = None,
    exclude: Items | None = None,
    top_k: int | None = None,
    per_item_top_k: int | None = None,
    measure: str | None = None,
    max_results: int | None = None,
    method: str | None = None,
    device: str | None = None,
    tid_column: str | None = None,
    item_column: str | None = None,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
    on_truncation: str = "warn",
) -> Frame:
    """The pairs of items that many transactions hold: `batmap_pairs`.

    @param query  a SELECT of two columns, transaction and item; or a table whose counts are kept
    @return a row for each pair [item_a, item_b, support_count, count_a, count_b, total, support, confidence, confidence_ba, lift,
        score], item_a < item_b
    """
    call = _call_over_counts("batmap_pairs", query, params, item_type, method, device, tid_column, item_column)
    call.add("int8", min_count=min_count)
    call.add("float8", min_support=min_support)
    call.add_items(include=include, exclude=exclude)
    call.add("int8", top_k=top_k, max_results=max_results)
    call.add("int4", per_item_top_k=per_item_top_k)
    call.add("text", measure=measure, method=method, device=device)
    call.add("name", tid_column=tid_column, item_column=item_column)
    return _answer(conn, call, "Pair", as_frame, on_truncation)


def partners(
    conn: Any,
    query: str | KeptTable,
    *,
    min_count: int | None = None,
    min_support: float | None = None,
    items: Items | None = None,
    exclude: Items | None = None,
    top_k: int | None = None,
    measure: str | None = None,
    max_results: int | None = None,
    method: str | None = None,
    device: str | None = None,
    tid_column: str | None = None,
    item_column: str | None = None,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
    on_truncation: str = "warn",
) -> Frame:
    """For each item, or each of `items`, the items that go with it best: `batmap_partners`.

    @param query  a SELECT of two columns, transaction and item; or a table whose counts are kept
    @param top_k  how many partners of each item; None: 10
    @return a row for each item and partner [item, partner, rank, support_count, score]
    """
    call = _call_over_counts("batmap_partners", query, params, item_type, method, device, tid_column, item_column)
    call.add("int8", min_count=min_count)
    call.add("float8", min_support=min_support)
    call.add_items(items=items, exclude=exclude)
    call.add("int8", top_k=top_k, max_results=max_results)
    call.add("text", measure=measure, method=method, device=device)
    call.add("name", tid_column=tid_column, item_column=item_column)
    return _answer(conn, call, "Partner", as_frame, on_truncation)


def count_pairs(
    conn: Any,
    query: str,
    pairs_query: str,
    *,
    measure: str | None = None,
    tid_column: str | None = None,
    item_column: str | None = None,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
) -> Frame:
    """The counts of given pairs: `batmap_count_pairs`.

    @param query  a SELECT of two columns, transaction and item
    @param pairs_query  a SELECT of the two items of each pair, of the type of the items
    @return a row for each pair, in the order of `pairs_query`, with the columns of `pairs`
    """
    queries = {"query": ("text", query), "pairs_query": ("text", pairs_query)}
    call = _Call("batmap_count_pairs", queries, params, item_type)
    call.add("text", measure=measure)
    call.add("name", tid_column=tid_column, item_column=item_column)
    return _answer(conn, call, "Pair", as_frame, "ignore")


def triangles(conn: Any, query: str, *, params: Sequence[Any] = ()) -> Any:
    """The number of triangles of a graph: `batmap_triangles`.

    @param query  a SELECT of two columns, the nodes of each edge, of any type
    @return a named tuple (triangles, edges, nodes)
    """
    call = _Call("batmap_triangles", {"query": ("text", query)}, params)
    return _answer(conn, call, "Triangles", False, "ignore")[0]


def edge_triangles(
    conn: Any,
    query: str,
    *,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
) -> Frame:
    """In how many triangles each edge of a graph is: `batmap_edge_triangles`.

    @param query  a SELECT of two columns, the nodes of each edge
    @param item_type  the SQL type of the nodes
    @return a row for each edge [node_a, node_b, triangles], node_a < node_b
    """
    both = ("first", "second")
    call = _Call("batmap_edge_triangles", {"query": ("text", query)}, params, item_type, type_name="node_type", item_columns=both)
    return _answer(conn, call, "Edge", as_frame, "ignore")


def all_pairs(
    conn: Any,
    query: str,
    *,
    min_count: int | None = None,
    min_jaccard: float | None = None,
    top_k: int | None = None,
    per_item_top_k: int | None = None,
    max_results: int | None = None,
    method: str | None = None,
    device: str | None = None,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
    on_truncation: str = "warn",
) -> Frame:
    """The pairs of stored sets that have enough in common: `batmap_all_pairs`.

    @param query  a SELECT of two columns, id and set
    @param item_type  the SQL type of the ids
    @return a row for each pair [id_a, id_b, intersection, jaccard]
    """
    call = _call_over_sets("batmap_all_pairs", {"query": ("text", query)}, params, item_type)
    call.add("int8", min_count=min_count, top_k=top_k, max_results=max_results)
    call.add("float8", min_jaccard=min_jaccard)
    call.add("int4", per_item_top_k=per_item_top_k)
    call.add("text", method=method, device=device)
    return _answer(conn, call, "SetPair", as_frame, on_truncation)


def similar(
    conn: Any,
    to_set: Iterable[int],
    query: str,
    *,
    min_jaccard: float | None = None,
    top_k: int | None = 10,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
) -> Frame:
    """The stored sets that are most like a given one, nearest first: `batmap_similar`.

    @param to_set  integers
    @param query  a SELECT of two columns, id and set
    @param top_k  the most rows; None: all
    @param item_type  the SQL type of the ids
    @return a row for each set [id, intersection, jaccard]
    """
    given = {"to_set": ("batmap", to_text(to_set)), "query": ("text", query)}
    call = _call_over_sets("batmap_similar", given, params, item_type)
    call.add("float8", min_jaccard=min_jaccard)
    call.add("int8", top_k=top_k)
    if top_k is None:
        call.arguments["top_k"] = ("int8", None)  # NULL is not the default
    return _answer(conn, call, "Similar", as_frame, "ignore")


def itemsets(
    conn: Any,
    query: str,
    *,
    min_count: int | None = None,
    min_support: float | None = None,
    max_support: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    target: str | None = None,
    include: Items | None = None,
    exclude: Items | None = None,
    top_k: int | None = None,
    max_results: int | None = None,
    timeout: Interval | None = None,
    algorithm: str | None = None,
    device: str | None = None,
    tid_column: str | None = None,
    item_column: str | None = None,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
    on_truncation: str = "warn",
) -> Frame:
    """The sets of items that many transactions hold: `batmap_itemsets`.

    @param query  a SELECT of two columns, transaction and item
    @param target  "all", "closed", "maximal" or "generators"; None: all
    @param timeout  a timedelta, or text such as "30 s"
    @return a row for each itemset [itemset, length, support_count, support, total], items ascending
    """
    call = _Call("batmap_itemsets", {"query": ("text", query)}, params, item_type, arrays=("itemset",))
    call.add("int8", min_count=min_count)
    call.add("float8", min_support=min_support, max_support=max_support)
    call.add("int4", min_length=min_length, max_length=max_length)
    call.add("text", target=target, algorithm=algorithm, device=device)
    call.add_items(include=include, exclude=exclude)
    call.add("int8", top_k=top_k, max_results=max_results)
    call.add("interval", timeout=timeout)
    call.add("name", tid_column=tid_column, item_column=item_column)
    return _answer(conn, call, "Itemset", as_frame, on_truncation)


def itemset_spectrum(
    conn: Any,
    query: str,
    *,
    min_count: int | None = None,
    min_support: float | None = None,
    max_support: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    target: str | None = None,
    include: Items | None = None,
    exclude: Items | None = None,
    tid_column: str | None = None,
    item_column: str | None = None,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
) -> Frame:
    """How many itemsets of each length and support there are, without listing them: `batmap_itemset_spectrum`.

    @param query  a SELECT of two columns, transaction and item
    @param target  "all", "closed", "maximal" or "generators"; None: all
    @return a row for each length and support [length, support_count, support, itemsets]
    """
    call = _Call("batmap_itemset_spectrum", {"query": ("text", query)}, params, item_type)
    call.add("int8", min_count=min_count)
    call.add("float8", min_support=min_support, max_support=max_support)
    call.add("int4", min_length=min_length, max_length=max_length)
    call.add("text", target=target)
    call.add_items(include=include, exclude=exclude)
    call.add("name", tid_column=tid_column, item_column=item_column)
    return _answer(conn, call, "SpectrumLine", as_frame, "ignore")


def rules(
    conn: Any,
    query: str,
    *,
    min_count: int | None = None,
    min_support: float | None = None,
    min_confidence: float | None = None,
    min_lift: float | None = None,
    max_lhs: int | None = None,
    max_rhs: int | None = 1,
    lhs_include: Items | None = None,
    lhs_exclude: Items | None = None,
    rhs_include: Items | None = None,
    rhs_exclude: Items | None = None,
    exclude: Items | None = None,
    top_k: int | None = None,
    measure: str | None = None,
    max_results: int | None = None,
    timeout: Interval | None = None,
    device: str | None = None,
    tid_column: str | None = None,
    item_column: str | None = None,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
    on_truncation: str = "warn",
) -> Frame:
    """Association rules lhs -> rhs: transactions that hold the lhs often hold the rhs: `batmap_rules`.

    @param query  a SELECT of two columns, transaction and item
    @param max_lhs, max_rhs  the most items of a side; None: any number
    @param timeout  a timedelta, or text such as "30 s"
    @return a row for each rule [lhs, rhs, support_count, lhs_count, rhs_count, total, support, confidence, lift, leverage,
        conviction, score], items ascending; `score` is the measure, and NULL if none is named
    """
    call = _Call("batmap_rules", {"query": ("text", query)}, params, item_type, arrays=("lhs", "rhs"))
    call.add("int8", min_count=min_count)
    call.add("float8", min_support=min_support, min_confidence=min_confidence, min_lift=min_lift)
    call.add("int4", max_lhs=max_lhs)
    call.arguments["max_rhs"] = ("int4", max_rhs)  # NULL is not the default
    call.add_items(
        lhs_include=lhs_include,
        lhs_exclude=lhs_exclude,
        rhs_include=rhs_include,
        rhs_exclude=rhs_exclude,
        exclude=exclude,
    )
    call.add("int8", top_k=top_k, max_results=max_results)
    call.add("text", measure=measure, device=device)
    call.add("interval", timeout=timeout)
    call.add("name", tid_column=tid_column, item_column=item_column)
    return _answer(conn, call, "Rule", as_frame, on_truncation)


def recommend(
    conn: Any,
    basket: Items,
    query: str,
    *,
    min_count: int | None = None,
    min_support: float | None = None,
    min_confidence: float | None = None,
    min_lift: float | None = None,
    max_lhs: int | None = 2,
    include: Items | None = None,
    exclude: Items | None = None,
    top_k: int | None = None,
    measure: str | None = None,
    tid_column: str | None = None,
    item_column: str | None = None,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
    on_truncation: str = "warn",
) -> Frame:
    """What goes with this basket, best first: `batmap_recommend`.

    @param basket  items; those that do not occur in the rows mean nothing
    @param query  a SELECT of two columns, transaction and item
    @param max_lhs  the most items of a lhs; None: any number
    @param top_k  the most items; None: 10
    @return a row for each item [item, score, lhs, support_count, lhs_count, rhs_count, total, confidence, lift]
    """
    if basket is None:
        raise TypeError("basket must be a list of items, not None")
    call = _Call("batmap_recommend", {"query": ("text", query)}, params, item_type, arrays=("lhs",))
    call.add_items(basket=basket)
    call.add("text", measure=measure)
    call.add("int8", min_count=min_count, top_k=top_k)
    call.add("float8", min_support=min_support, min_confidence=min_confidence, min_lift=min_lift)
    call.arguments["max_lhs"] = ("int4", max_lhs)  # NULL is not the default
    call.add_items(include=include, exclude=exclude)
    call.add("name", tid_column=tid_column, item_column=item_column)
    return _answer(conn, call, "Recommendation", as_frame, on_truncation)


def join_project(
    conn: Any,
    left_query: str,
    right_query: str,
    *,
    min_count: int | None = None,
    distinct_only: bool | None = None,
    top_k: int | None = None,
    per_item_top_k: int | None = None,
    max_results: int | None = None,
    method: str | None = None,
    device: str | None = None,
    params: Sequence[Any] = (),
    left_type: str | None = None,
    right_type: str | None = None,
    as_frame: bool | None = None,
    on_truncation: str = "warn",
) -> Frame:
    """All (a, c) that the rows (a, b) of one query and (b, c) of another join: `batmap_join_project`.

    @param left_query, right_query  SELECTs of two columns: a, b and b, c
    @param left_type, right_type  the SQL types of a and c; None: found out
    @return a row for each pair [a, c, support_count]: the number of b that they share, NULL with `distinct_only`
    """
    queries = {"left_query": ("text", left_query), "right_query": ("text", right_query)}
    call = _Call("batmap_join_project", queries, params, left_type, right_type, of_two=True)
    call.add("int8", min_count=min_count, top_k=top_k, max_results=max_results)
    call.add("bool", distinct_only=distinct_only)
    call.add("int4", per_item_top_k=per_item_top_k)
    call.add("text", method=method, device=device)
    return _answer(conn, call, "Joined", as_frame, on_truncation)


def episodes(
    conn: Any,
    query: str,
    gaps: Gap | Sequence[Gap],
    *,
    min_count: int | None = None,
    min_rate: float | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    include: Items | None = None,
    exclude: Items | None = None,
    top_k: int | None = None,
    max_results: int | None = None,
    timeout: Interval | None = None,
    counting: str | None = None,
    same_time: bool | None = None,
    algorithm: str | None = None,
    device: str | None = None,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
    on_truncation: str = "warn",
) -> Frame:
    """What follows what, and how soon: `batmap_episodes`.

    @param query  a SELECT of time, event and, if there are several, stream
    @param gaps  the bounds (low, high] of the time from one event to the next, or a list of such bounds: integers for integer
        times and dates (days), floats for float8, timedeltas for timestamps and dates; a high end of None is no bound
    @param counting  "non_overlapped", the default, or "streams"
    @param same_time  events of one time may form a step: the answer's `steps` numbers the step of each event
    @param item_type  the SQL type of the events
    @param timeout  a timedelta, or text such as "30 s"
    @return a row for each episode [episode, steps, gap_low, gap_high, support_count]: gap_low and gap_high have one element less
        than there are steps
    """
    arrays = ("episode", "steps", "gap_low", "gap_high")
    call = _Call("batmap_episodes", {"query": ("text", query)}, params, item_type, arrays=arrays, type_name="event_type")
    call.arguments["gaps"] = _typed_gaps(_rows_of_gaps(gaps))
    call.add("int8", min_count=min_count, top_k=top_k, max_results=max_results)
    call.add("float8", min_rate=min_rate)
    call.add("int4", min_length=min_length, max_length=max_length)
    call.add_items(include=include, exclude=exclude)
    call.add("interval", timeout=timeout)
    call.add("bool", same_time=same_time)
    call.add("text", counting=counting, algorithm=algorithm, device=device)
    return _answer(conn, call, "Episode", as_frame, on_truncation)


def window_pairs(
    conn: Any,
    query: str,
    within: int | float | Interval,
    *,
    min_count: int | None = None,
    min_support: float | None = None,
    include: Items | None = None,
    exclude: Items | None = None,
    top_k: int | None = None,
    max_results: int | None = None,
    timeout: Interval | None = None,
    counting: str | None = None,
    params: Sequence[Any] = (),
    item_type: str | None = None,
    as_frame: bool | None = None,
    on_truncation: str = "warn",
) -> Frame:
    """The pairs of items that come within a window of each other, in either order: `batmap_window_pairs`.

    @param query  a SELECT of time, item and, if there are several, stream
    @param within  the largest distance of two times: an integer for integer times and dates (days), a float for float8, a
        timedelta or a text such as "5 min" for timestamps and dates
    @param counting  "streams", the default, or "occurrences"
    @param timeout  a timedelta, or text such as "30 s"
    @return a row for each pair [item_a, item_b, support_count], item_a < item_b
    """
    kind = _type_of_times([within])
    if kind is None:
        raise TypeError(f"within must be an integer, a number or a timedelta, not {within!r}")
    call = _Call("batmap_window_pairs", {"query": ("text", query)}, params, item_type)
    call.add(kind, within=within)
    call.add("int8", min_count=min_count, top_k=top_k, max_results=max_results)
    call.add("float8", min_support=min_support)
    call.add_items(include=include, exclude=exclude)
    call.add("interval", timeout=timeout)
    call.add("text", counting=counting)
    return _answer(conn, call, "WindowPair", as_frame, on_truncation)


def keep(conn: Any, table: str, tid: str, item: str, *, filter: str | None = None) -> None:
    """Counts the pairs of a table and keeps the counts fresh from then on: `batmap_keep`. Commit it like any statement.

    @param table  its name, as in SQL: "orders", "sales.orders"
    @param tid, item  names of its columns
    @param filter  the rows that are counted: a condition in SQL. It is part of a statement: take it from nobody
    """
    _value(conn, "batmap_keep(%s::regclass, %s::name, %s::name, %s::text)", table, tid, item, filter)


def unkeep(conn: Any, table: str) -> None:
    """Drops the kept counts of a table: `batmap_unkeep`."""
    _value(conn, "batmap_unkeep(%s::regclass)", table)


def merge_kept(conn: Any, table: str) -> int:
    """Merges the changes of a table into its kept counts: `batmap_merge_kept`. @return the number of rows of its log"""
    return int(_value(conn, "batmap_merge_kept(%s::regclass)", table))


def check_kept(conn: Any, table: str) -> bool:
    """Are the kept counts of a table those of its rows? `batmap_check_kept` counts them."""
    return bool(_value(conn, "batmap_check_kept(%s::regclass)", table))


def kept(conn: Any, *, as_frame: bool | None = None) -> Frame:
    """The tables whose counts are kept: the view `batmap_kept`.

    @return a row for each table [kept_table, tid, item, filter, kept_rows, kept_counts, kept_log, counts_bytes, log_bytes]
    """
    pandas = _pandas(as_frame)
    columns = "kept_table::text, tid::text, item::text, filter, kept_rows::text, kept_counts::text, kept_log::text"
    with open_session(conn) as session:
        answer = session.rows(f"SELECT {columns}, counts_bytes, log_bytes FROM batmap_kept ORDER BY 1")
    return _named_tuples("Kept", answer) if pandas is None else _frame(pandas, answer)


def last_run(conn: Any) -> Any | None:
    """How the last run of this session went, as a named tuple with the columns of `batmap_last_run()`; None before the first."""
    with open_session(conn) as session:
        answer = session.rows("SELECT * FROM batmap_last_run()")
    return _named_tuples("LastRun", answer)[0] if answer.rows else None


# ---- calls


class _Items(NamedTuple):
    """A list of items that is an argument."""

    values: list[Any]

    def are_integers(self) -> bool:
        return all(hasattr(value, "__index__") for value in self.values)


# Types of text, whose arrays every driver reads.
_TEXTS = {"text", "character varying", "json", "jsonb"}

# Types whose arrays psycopg and psycopg2 read by themselves.
_READ_ARRAYS = {
    "smallint",
    "integer",
    "bigint",
    "text",
    "boolean",
    "real",
    "double precision",
    "numeric",
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
}


def _interval(value: Any) -> Any:
    if not isinstance(value, (timedelta, str)):
        raise TypeError
    return value


# Of the SQL types of arguments: what makes a value one of them, and what a value that is none should have been.
_CHECKED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "int4": (index, "an integer"),
    "int8": (index, "an integer"),
    "float8": (float, "a number"),
    "bool": (bool, "a bool"),
    "interval": (_interval, "a timedelta or a text"),
}


class _Call:
    """A call of a table function: what it is given, and the types of its items as far as they are known."""

    def __init__(
        self,
        function: str,
        arguments: dict[str, tuple[str, Any]],
        params: Sequence[Any],
        *item_types: str | None,
        arrays: Sequence[str] = (),
        type_name: str = "item_type",
        item_columns: Sequence[str] = ("second",),
        of_two: bool = False,
    ) -> None:
        """@param item_types  None: not known yet @param arrays  columns of the answer that are arrays
        @param item_columns  of the query, for items of one type @param of_two  are there items of two types?"""
        if isinstance(params, (str, bytes, Mapping, Set)) or not isinstance(params, Iterable):
            raise TypeError(f"params is a tuple of values, such as ({params!r},)")
        for name, (kind, value) in arguments.items():
            if kind == "text" and not isinstance(value, str):
                raise TypeError(f"{name} must be the text of a query, not {value!r}; of a query of SQLAlchemy, str() is its text")
        self.function = function
        self.arguments = dict(arguments)
        self.arrays = arrays
        self._params = tuple(params)
        self._item_columns = item_columns
        self._type_names = ("left_type", "right_type") if of_two else (type_name,)
        self.item_types = list(item_types)
        self._are_given = [item_type is not None for item_type in item_types]
        self.is_checked = not any(item_types)  # names of types from outside go to the server before they go into a statement

    def add(self, kind: str, **arguments: Any) -> None:
        """Arguments of one SQL type; None is left out."""
        for name, value in arguments.items():
            if value is not None:
                convert, wanted = _CHECKED.get(kind, (_unchanged, ""))
                try:
                    self.arguments[name] = (kind, convert(value))
                except (TypeError, ValueError):
                    raise TypeError(f"{name} must be {wanted}, not {value!r}") from None

    def add_items(self, **arguments: Items | None) -> None:
        for name, value in arguments.items():
            if isinstance(value, (str, bytes)):
                raise TypeError(f"{name} must be a list of items, such as [{value!r}], not {value!r}")
            if value is not None:
                items = _Items(list(value))
                if any(item is None for item in items.values):
                    raise TypeError(f"{name} must not contain None")
                self.arguments[name] = ("items", items)
                # An item that is no integer tells that the column is none.
                if self.item_types == [None] and not items.are_integers():
                    self.item_types = ["text"]

    def statement(self, session: Session) -> tuple[str, list[Any]]:
        """The call as a statement with placeholders, and their values."""
        parts, values = [], []
        is_of = any(self.item_types)
        if is_of and not self._are_texts():
            for name, item_type in zip(self._type_names, self.item_types):
                parts.append(f"{name} => CAST(NULL AS {(item_type or 'bigint').replace('%', '%%')})")
        for name, (kind, value) in self.arguments.items():
            if kind == "kept":
                asked = self.arguments.get("items") or self.arguments.get("include")  # only their counts are read
                parts.append(f"{name} => batmap_kept_counts{'_of' if is_of else ''}(%s::regclass, %s::{self._list_type()})")
                values += [value, None if asked is None else self._list(asked[1])]
                continue
            if isinstance(value, _Items):
                kind, value = self._list_type(), self._list(value)
            parts.append(f"{name} => %s::{kind}")
            values.append(value)
        if self._params:
            places = ["%s" if session.sends_literals else _typed_place(value) for value in self._params]
            parts.append(f"params => ROW({', '.join(places)})")
            values.extend(value for value, place in zip(self._params, places) if place != "NULL")
        columns = "*"
        if is_of and not all(each in _READ_ARRAYS or each in _TEXTS for each in self.item_types):
            columns += "".join(f", {name}::text[] AS _{name}" for name in self.arrays if not name.startswith("gap"))
        return f"SELECT {columns} FROM {self.function_name()}({', '.join(parts)})", values

    def _list_type(self) -> str:
        return "text[]" if any(self.item_types) else "int8[]"

    def _list(self, items: _Items) -> list[Any]:
        return [str(item) if any(self.item_types) else index(item) for item in items.values]

    def function_name(self) -> str:
        """The `_of` form answers with text, the `_as` form with items of the types that it is given."""
        if not any(self.item_types):
            return self.function
        return f"{self.function}_of" if self._are_texts() else f"{self.function}_as"

    def _are_texts(self) -> bool:
        return all(each in _TEXTS for each in self.item_types)

    def learn(self, error: Exception) -> bool:
        """Takes the type of a column from an error. @return False if it tells nothing new"""
        reported = server_error(error)
        if reported is None:
            return False
        state, message, hint = reported
        # The extension's own words: the server's depend on lc_messages.
        if state == "22P02" and hint.startswith("Elements of json arrays are read as integers") and None in self.item_types:
            self.item_types[self.item_types.index(None)] = "text"
            return True
        if state != "42804":
            return False
        if re.search(r"^the items of the .*counts.* are text$", message) and self.item_types == [None]:
            self.item_types = ["text"]
            return True
        found = re.search(r"(first|second) column of the input query must be .+, not (.+)$", message)
        if found is None:
            return False
        side = 0 if len(self.item_types) == 1 or found[1] == "first" else 1
        if len(self.item_types) == 1 and found[1] not in self._item_columns:
            return False  # the time of an event
        item_type = found[2]
        # A row may hold a whole basket, whose elements are the items.
        while item_type.endswith("[]"):
            item_type = item_type[:-2]
        if item_type in _TEXTS:
            item_type = "text"
        if self.item_types[side] == item_type or self._are_given[side]:
            return False
        self.item_types[side] = item_type
        self.is_checked = self.is_checked and item_type in _READ_ARRAYS
        return True

    def check_types(self, session: Session) -> None:
        """Has the server read the names of types, so that nothing but a type stands in the statement."""
        for side, item_type in enumerate(self.item_types):
            if item_type is not None:
                known = session.rows("SELECT format_type(to_regtype(%s), NULL)", [item_type]).rows[0][0]
                if known is None:
                    raise ValueError(f"{self._type_names[side]} must be the name of a type, not {item_type!r}")
                self.item_types[side] = known if known not in _TEXTS else "text"
        self.is_checked = True


def _call_over_counts(
    function: str, query: str | KeptTable, params: Sequence[Any], item_type: str | None, *of_queries: str | None
) -> _Call:
    """A call over a query or a kept table. Kept counts are of integers, or of items as texts.

    @param of_queries  method, device, tid_column and item_column, which only a query takes
    """
    if isinstance(query, KeptTable):
        for name, value in zip(("params", "method", "device", "tid_column", "item_column"), (params or None, *of_queries)):
            if value is not None:
                raise TypeError(f"the counts of a kept table take no {name}")
        return _Call(function, {"counts": ("kept", query.name)}, (), item_type)
    return _Call(function, {"query": ("text", query)}, params, item_type)


def _call_over_sets(function: str, given: dict[str, tuple[str, Any]], params: Sequence[Any], item_type: str | None) -> _Call:
    """A call over a query of ids and sets. The ids are its items."""
    return _Call(function, given, params, item_type, type_name="id_type", item_columns=("first",))


def _value(conn: Any, call: str, *values: Any) -> Any:
    """What a function returns."""
    with open_session(conn) as session:
        return session.rows(f"SELECT {call}", values).rows[0][0]


def _unchanged(value: Any) -> Any:
    return value


_SQL_TYPES = {
    str: "text",
    bool: "bool",
    int: "int8",
    float: "float8",
    Decimal: "numeric",
    date: "date",
    datetime: "timestamp",
    timedelta: "interval",
    UUID: "uuid",
    bytes: "bytea",
}


def _typed_place(value: Any) -> str:
    """A placeholder whose type does not depend on what the driver says of it."""
    if value is None:
        return "NULL"
    kind = _SQL_TYPES.get(type(value))
    if kind == "timestamp" and value.tzinfo is not None:
        kind = "timestamptz"
    return "%s" if kind is None else f"%s::{kind}"


def _rows_of_gaps(gaps: Gap | Sequence[Gap]) -> list[list[Any]]:
    rows = list(gaps) if isinstance(gaps, Iterable) and not isinstance(gaps, (str, bytes)) else []
    if rows and not isinstance(rows[0], (tuple, list)):
        rows = [rows]
    if not rows or any(not isinstance(row, (tuple, list)) or len(row) != 2 for row in rows):
        raise TypeError(f"gaps must be a pair (low, high) or a list of such pairs, not {gaps!r}")
    return [list(row) for row in rows]


def _typed_gaps(rows: list[list[Any]]) -> tuple[str, list[list[Any]]]:
    """The SQL type of gaps, and the gaps as drivers send them: as an array, whose elements have one type."""
    ends = [end for row in rows for end in row if end is not None]
    kind = _type_of_times(ends)
    if kind is None:
        raise TypeError(f"gaps must be all integers, all numbers or all timedeltas, not {ends!r}")
    if kind == "float8":
        rows = [[None if end is None else float(end) for end in row] for row in rows]
    return f"{kind}[]", rows


def _type_of_times(distances: Sequence[Any]) -> str | None:
    """The SQL type of distances of times, or None if they have none in common."""
    if all(hasattr(each, "__index__") for each in distances):
        return "int8"
    if all(isinstance(each, (timedelta, str)) for each in distances):
        return "interval"
    if all(hasattr(each, "__float__") for each in distances):
        return "float8"
    return None


def _answer(conn: Any, call: _Call, row_name: str, as_frame: bool | None, on_truncation: str) -> Frame:
    """Runs a call, and again in the form for the type of the items where they turn out not to be integers."""
    if on_truncation not in ("warn", "error", "ignore"):
        raise ValueError(f'on_truncation must be "warn", "error" or "ignore", not {on_truncation!r}')
    pandas = _pandas(as_frame)
    with open_session(conn) as session:
        answer = _run(session, call)
        if on_truncation != "ignore":
            _report_truncation(session, call, len(answer.rows), on_truncation)
    answer = _with_tuples(answer, call)
    return _named_tuples(row_name, answer) if pandas is None else _frame(pandas, answer)


def _run(session: Session, call: _Call) -> Answer:
    while True:
        if not call.is_checked:
            call.check_types(session)
        try:
            return session.attempt(*call.statement(session))
        except Exception as error:
            if not call.learn(error):
                raise


def _report_truncation(session: Session, call: _Call, rows: int, on_truncation: str) -> None:
    """Looks at the record of the run that has just answered."""
    records = session.rows("SELECT operation, truncated FROM batmap_last_run()").rows
    if records and records[0][0] != call.function_name():
        records = []
    if records and not records[0][1]:
        return
    if not records:
        text = "it is not known whether the answer was cut off: the next statement went to another session (a pooler?)"
    else:
        limits = {name: value for name, (_, value) in call.arguments.items() if name in ("max_results", "timeout")}
        if limits.get("max_results") == rows:
            limits.pop("timeout", None)
        given = " or ".join(f"{name} = {value}" for name, value in limits.items())
        text = f"answer cut off after {rows} rows by {given or 'a limit'}; raise it, or the threshold"
    if on_truncation == "error":
        raise TruncatedError(text)
    warnings.warn(TruncatedWarning(text), stacklevel=4)


# ---- answers


def _with_tuples(answer: Answer, call: _Call) -> Answer:
    """Arrays as tuples. Where the driver may not know the type of their elements, they were asked for a second time as text."""
    places = [(answer.columns.index(name), name) for name in call.arrays]
    if not places:
        return answer
    count = len([name for name in answer.columns if not name.startswith("_")])
    taken = [(at, answer.columns.index("_" + name) if "_" + name in answer.columns else at) for at, name in places]
    rows = []
    for row in answer.rows:
        values = list(row[:count])
        for at, source in taken:
            values[at] = tuple(row[source])
        rows.append(tuple(values))
    return Answer(answer.columns[:count], answer.types[:count], rows)


def _named_tuples(name: str, answer: Answer) -> list[Any]:
    row_type: Any = namedtuple(name, answer.columns)  # type: ignore[misc]
    return list(map(row_type._make, answer.rows))


def _pandas(as_frame: bool | None) -> Any:
    """The module, or None where named tuples are wanted."""
    if as_frame is False:
        return None
    try:
        import pandas
    except ImportError:
        if as_frame:
            raise
        return None
    return pandas


_INT8, _INT4, _FLOAT8 = 20, 23, 701  # oids of types


def _frame(pandas: Any, answer: Answer) -> Any:
    """A DataFrame with one dtype a column, whatever the rows are. A column of integers with NULLs is Int64."""
    frame = pandas.DataFrame.from_records(answer.rows, columns=answer.columns)
    dtypes = {}
    for name, oid in zip(answer.columns, answer.types):
        if oid == _FLOAT8:
            dtypes[name] = "float64"
        elif oid in (_INT8, _INT4):
            dtypes[name] = "Int64" if frame[name].isna().any() else "int64"
    return frame.astype(dtypes)
