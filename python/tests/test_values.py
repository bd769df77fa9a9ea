"""Sets as Python values: the text form, and the binary form of every container beside the text that the server writes."""

import random

import pytest

import batmap

SEED = 7


def test_to_text():
    assert batmap.to_text([]) == "{}"
    assert batmap.to_text([9, 1, 5]) == "{9,1,5}"
    assert batmap.to_text(range(3)) == "{0,1,2}"
    assert batmap.to_text({True, 2**62 - 1}) in ("{1,4611686018427387903}", "{4611686018427387903,1}")


def test_to_text_takes_integers_of_numpy():
    numpy = pytest.importorskip("numpy")
    assert batmap.to_text(numpy.array([3, 7], dtype="uint8")) == "{3,7}"


@pytest.mark.parametrize("wrong", ["{1}", b"1", 5, None, 1.5])
def test_to_text_refuses_what_is_no_collection(wrong):
    with pytest.raises(TypeError, match="a batmap is made of integers"):
        batmap.to_text(wrong)


@pytest.mark.parametrize("wrong", ["x", 1.5, None, (1,)])
def test_to_text_refuses_elements(wrong):
    with pytest.raises(TypeError, match="a batmap holds integers from 0 on, not"):
        batmap.to_text([1, wrong])


def test_from_text():
    assert batmap.from_text("{}") == frozenset()
    assert batmap.from_text("{1,5,9}") == {1, 5, 9}
    for wrong in ("", "1,5", "{1,x}", "b1:AAAA"):
        with pytest.raises(ValueError):
            batmap.from_text(wrong)


# The examples of kernels/set/FORMAT.md of the extension.
FORMAT_EXAMPLES = [
    ("1114030000000000 01000000 05000000 09000000", {1, 5, 9}),
    ("113e030000000000 0100000000000000 0500000000000000 0900000000000000", {1, 5, 9}),
    ("1120000000000000", set()),
    ("1303030000000000 6200000000000000", {1, 5, 6}),
    ("1308410000000000 ffffffffffffffff 0000000010000000", {*range(64), 100}),
    ("24", set()),
    ("25 0000 0200 0200 0100 0500 0900", {1, 5, 9}),
    ("25 0000 0200 0020 0500", {5, 6, 7}),
    ("25 0000 0600 0320 0000 0300 0700 0900", {0, 1, 2, 3, 7, 8, 9}),
    ("28 03 000000 010000 000001 0000 0000 0000 0000 0000 0000 0100 0000 0000", {1, 65536, 4294967296}),
    ("22 02 000000000000 000000010000 0000 0000 0000 0000 0100 0000", {1, 2**40}),
]


@pytest.mark.parametrize("text, elements", FORMAT_EXAMPLES)
def test_from_binary_reads_the_examples_of_the_format(text, elements):
    assert batmap.from_binary(bytes.fromhex(text)) == elements


# Around the sizes and widths where the container changes (array, batmap, bitmap), and where keys become long.
SIZES = [
    (0, 1),
    (1, 1),
    (255, 20),
    (256, 20),
    (257, 20),
    (256, 16),
    (511, 40),
    (512, 40),
    (513, 62),
    (3000, 16),
    (3000, 62),
]


@pytest.mark.parametrize("size, width", SIZES)
def test_from_binary_reads_every_container(conn, size, width):
    elements = random.Random(SEED).sample(range(1 << width), size)
    conn.execute("CREATE TEMP TABLE one (elements batmap)")
    conn.execute(f"ALTER TABLE one ALTER elements TYPE batmap({1 << width}, 'prepared')")
    conn.execute("INSERT INTO one VALUES (%s)", (set(elements),))
    binary = conn.cursor(binary=True).execute("SELECT elements FROM one").fetchone()[0]
    text, shown = conn.execute("SELECT elements, elements::bytea FROM one").fetchone()
    assert binary == text == batmap.from_binary(shown) == set(elements)


def test_every_container_is_among_them(conn):
    found = {
        conn.execute(
            f"SELECT (batmap_stats(%s::batmap({1 << width}, 'prepared'))).container",
            (set(random.Random(SEED).sample(range(1 << width), size)),),
        ).fetchone()[0]
        for size, width in SIZES
    }
    assert found == {"array", "batmap", "bitmap"}


# Blocks of each kind; short and long headers, narrow and wide keys.
COMPACT = [
    "1",
    "x * 7",
    "x / 3",
    "x * 70000",
    "x * 70000 + 4294967296",
    "x * 8999999999999",
    "x * 20",
    "x * 20 + x % 2",
    "x / 50 * 99 + x",
]


@pytest.mark.parametrize("element", COMPACT)
def test_from_binary_reads_compact_sets(conn, element):
    row = conn.execute(
        f"SELECT s, s::bytea, (batmap_stats(s)).container "
        f"FROM (SELECT batmap_agg({element}) s FROM generate_series(1, 20000::int8) x) v"
    ).fetchone()
    assert row[2] == "compact"
    assert batmap.from_binary(row[1]) == row[0]


def test_from_binary_refuses_damaged_compact_bytes(conn):
    value = conn.execute("SELECT batmap_agg(x * 97)::bytea FROM generate_series(1, 1000) x").fetchone()[0]
    assert len(batmap.from_binary(value)) == 1000
    for wrong in (
        bytes([0x34]) + value[1:],
        value[:-1],
        value[:10],
        value[:1],
        value + b"\0",
        value[:5] + bytes([value[5] ^ 1]) + value[6:],
    ):
        with pytest.raises(ValueError):
            batmap.from_binary(wrong)


def test_from_binary_refuses_damaged_bytes(conn):
    value = conn.execute("SELECT batmap_prepare(batmap_agg(x * 97), 10000000)::bytea FROM generate_series(1, 1000) x").fetchone()[0]
    assert len(batmap.from_binary(value)) == 1000
    for wrong in (
        b"",
        value[:7],
        bytes([0x31]) + value[1:],
        bytes([0x14]) + value[1:],
        value[:-1],
        value[:10],
        value + b"\0",
    ):
        with pytest.raises(ValueError):
            batmap.from_binary(wrong)
    lost = bytearray(value)
    lost[16:20] = bytes(byte & 0 for byte in lost[16:20])
    lost[2] ^= 1
    with pytest.raises(ValueError):
        batmap.from_binary(lost)
