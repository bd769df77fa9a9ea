"""The drivers: sets and lists go in, sets come out, and what is refused says why."""

import asyncio

import psycopg
import psycopg2
import pytest

import batmap.asyncpg
import batmap.psycopg
import batmap.psycopg2

SETS = [frozenset(), frozenset({1, 5, 9}), frozenset(range(300)), frozenset(range(0, 90000, 97))]


@pytest.fixture
def table(conn):
    conn.execute("CREATE TABLE sets (id int, elements batmap(100000), many batmap[])")
    return conn


@pytest.fixture
def other(database):
    """A connection of psycopg2."""
    connection = psycopg2.connect(**database.keywords)
    batmap.psycopg2.register(connection)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE sets (id int, elements batmap(100000), many batmap[])")
        yield cursor
    connection.rollback()
    connection.close()


def test_psycopg_writes_and_reads_sets(table):
    for number, elements in enumerate(SETS):
        table.execute("INSERT INTO sets VALUES (%s, %s, %s)", (number, elements, [elements, {7}]))
    table.execute("INSERT INTO sets VALUES (9, NULL, NULL)")
    rows = table.execute("SELECT elements, many FROM sets ORDER BY id").fetchall()
    assert rows == [*((elements, [elements, {7}]) for elements in SETS), (None, None)]
    assert all(isinstance(elements, frozenset) for elements, _ in rows[:-1])
    binary = table.cursor(binary=True).execute("SELECT elements FROM sets ORDER BY id").fetchall()
    assert binary == [*((elements,) for elements in SETS), (None,)]


@pytest.mark.parametrize("elements", [[1, 5], [1, 70000], [5, 1, 1]])
def test_psycopg_writes_lists(table, elements):
    table.execute("INSERT INTO sets VALUES (1, %s)", (elements,))
    assert table.execute("SELECT elements FROM sets").fetchone()[0] == set(elements)


def test_psycopg_copies_sets(table):
    with table.cursor().copy("COPY sets (id, elements) FROM STDIN") as copy:
        for number, elements in enumerate(SETS):
            copy.write_row((number, elements))
    with table.cursor().copy("COPY (SELECT elements FROM sets ORDER BY id) TO STDOUT") as copy:
        copy.set_types(["batmap"])
        assert [row[0] for row in copy.rows()] == SETS


@pytest.mark.parametrize("give", [list, set])
def test_psycopg_operators(table, give):
    table.execute("INSERT INTO sets VALUES (1, '{1,5,9}'), (2, '{5,70000}'), (3, '{}')")

    def ask(condition, *values):
        return [row[0] for row in table.execute(f"SELECT id FROM sets WHERE {condition} ORDER BY id", values)]

    assert ask("elements && %s", give([9, 70000])) == [1, 2]
    assert ask("elements @> %s", give([1, 5])) == [1]
    assert ask("elements <@ %s", give([1, 5, 9, 10])) == [1, 3]
    assert ask("elements = %s", give([70000, 5])) == [2]
    assert ask("elements @> %s", 5) == [1, 2]
    made = table.execute("SELECT elements | %(x)s, elements & %(x)s, elements - %(x)s FROM sets WHERE id = 1", {"x": give([9, 2])})
    assert made.fetchone() == ({1, 2, 5, 9}, {9}, {1, 5})
    assert table.execute("SELECT elements <%%> %s FROM sets WHERE id = 1", (give([1, 2]),)).fetchone() == (0.75,)


REFUSED = [
    (
        {-1},
        psycopg.errors.NumericValueOutOfRange,
        "element -1 is out of range for type batmap",
        "integers from 0 to 46116860184273879",
    ),
    (
        [-1],
        psycopg.errors.NumericValueOutOfRange,
        "element -1 is out of range for type batmap",
        "integers from 0 to 46116860184273879",
    ),
    ({100000}, psycopg.errors.NumericValueOutOfRange, "element 100000 is out of range for type batmap(100000)", None),
    ([131072], psycopg.errors.NumericValueOutOfRange, "element 131072 is out of range for type batmap(100000)", None),
    (
        [1, None],
        psycopg.errors.NullValueNotAllowed,
        "an array with NULL elements is not a batmap",
        "array_remove(..., NULL)",
    ),
    (
        ["x"],
        psycopg.errors.InvalidTextRepresentation,
        "malformed batmap: expected an element",
        "A set is written as {1,5,9}",
    ),
    ("1,5", psycopg.errors.InvalidTextRepresentation, "malformed batmap", "A set is written as {1,5,9}"),
    (
        [1.5],
        psycopg.errors.DatatypeMismatch,
        "is of type batmap but expression is of type double precision[]",
        "rewrite or cast",
    ),
]


@pytest.mark.parametrize("value, error, message, hint", REFUSED, ids=lambda value: repr(value)[:20])
def test_what_the_server_refuses(table, value, error, message, hint):
    with pytest.raises(error) as caught:
        table.execute("INSERT INTO sets VALUES (1, %s)", (value,))
    assert message in caught.value.diag.message_primary
    if hint is not None:
        assert hint in caught.value.diag.message_hint


def test_what_python_refuses(table):
    with pytest.raises(TypeError, match="a batmap holds integers from 0 on, not 'x'"):
        table.execute("INSERT INTO sets VALUES (1, %s)", ({"x"},))


@pytest.fixture
def bare(conn):
    """A database without the extension, in the way of the search_path."""
    conn.execute("SET search_path = pg_catalog")
    return conn


def test_psycopg_without_the_extension(bare):
    with pytest.raises(psycopg.ProgrammingError, match="no type batmap; run CREATE EXTENSION batmap in it, or name the schema"):
        batmap.psycopg.register(bare)
    batmap.psycopg.register(bare, "public.batmap")
    assert bare.execute("SELECT '{1}'::public.batmap").fetchone()[0] == {1}


def test_psycopg_asynchronous(database):
    async def script():
        async with await psycopg.AsyncConnection.connect(**database.keywords) as connection:
            with pytest.raises(TypeError, match="await batmap.psycopg.register_async"):
                batmap.psycopg.register(connection)
            await batmap.psycopg.register_async(connection)
            cursor = await connection.execute("SELECT %s::batmap | %s", ({1, 2}, {3}))
            return await cursor.fetchone()

    assert asyncio.run(script()) == ({1, 2, 3},)


def test_psycopg2_writes_and_reads_sets(other):
    for number, elements in enumerate(SETS):
        other.execute("INSERT INTO sets VALUES (%s, %s, %s)", (number, elements, [elements, {7}]))
    other.execute("INSERT INTO sets VALUES (9, NULL, NULL)")
    other.execute("SELECT elements, many FROM sets ORDER BY id")
    assert other.fetchall() == [*((elements, [elements, {7}]) for elements in SETS), (None, None)]


def test_psycopg2_operators_and_lists(other):
    other.execute("INSERT INTO sets VALUES (1, %s), (2, %s)", ([9, 1, 5], [5, 70000]))
    for value in ([9, 3], {9, 3}):
        other.execute("SELECT id, elements & %s FROM sets WHERE elements && %s", (value, value))
        assert other.fetchall() == [(1, {9})]
    other.execute("SELECT id FROM sets WHERE elements @> %s ORDER BY id", (5,))
    assert other.fetchall() == [(1,), (2,)]


def test_psycopg2_refusals(other):
    with pytest.raises(TypeError, match="a batmap holds integers from 0 on, not 'x'"):
        other.execute("SELECT %s", ({"x"},))
    with pytest.raises(psycopg2.errors.NumericValueOutOfRange, match="element -1 is out of range for type batmap"):
        other.execute("SELECT %s", ({-1},))


def test_psycopg2_without_the_extension(database):
    connection = psycopg2.connect(**database.keywords, options="-c search_path=pg_catalog")
    try:
        with pytest.raises(psycopg2.ProgrammingError, match="run CREATE EXTENSION batmap"):
            batmap.psycopg2.register(connection)
    finally:
        connection.close()


def test_asyncpg(database):
    asyncpg = pytest.importorskip("asyncpg")

    async def script():
        connection = await asyncpg.connect(host=database.host, port=database.port, database=database.name, user=database.role)
        try:
            assert await connection.fetchval("SELECT '{5,1}'::batmap") == "{1,5}"
            await batmap.asyncpg.register(connection)
            await connection.execute("CREATE TEMP TABLE sets (id int, elements batmap(100000))")
            for number, elements in enumerate(SETS):
                await connection.execute("INSERT INTO sets VALUES ($1, $2)", number, elements)
            assert [row[0] for row in await connection.fetch("SELECT elements FROM sets ORDER BY id")] == SETS
            assert await connection.fetchval("SELECT array_agg(elements ORDER BY id) FROM sets") == SETS
            many = [batmap.to_text({1, 2}), "{3}"]
            assert await connection.fetchval("SELECT $1::batmap[]", many) == [{1, 2}, {3}]
            found = await connection.fetch("SELECT id FROM sets WHERE elements && $1 AND elements @> $2::int8", [9, 10], 5)
            assert [row[0] for row in found] == [1, 2]
            with pytest.raises(asyncpg.NumericValueOutOfRangeError, match="out of range for type batmap"):
                await connection.execute("INSERT INTO sets VALUES (1, $1)", {100000})
            with pytest.raises(asyncpg.DataError, match="a batmap holds integers from 0 on, not 'x'"):
                await connection.execute("INSERT INTO sets VALUES (1, $1)", ["x"])
            await connection.execute("SET search_path = pg_catalog")
            with pytest.raises(LookupError, match="run CREATE EXTENSION batmap"):
                await batmap.asyncpg.register(connection)
        finally:
            await connection.close()

    asyncio.run(script())
