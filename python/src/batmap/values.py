"""The values of the type batmap in Python: a column reads as `frozenset[int]`, and any iterable of integers goes in.

A set travels as text, `{1,5,9}`: the server writes it and `int` reads it, both in compiled code, in about 0.25 microseconds an
element, most of which goes into the frozenset. The binary form (kernels/set/FORMAT.md of the extension) is read, too, for cursors
that ask for binary results: the compact form faster than text, prepared batmaps in about 2 microseconds an element.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator
from itertools import compress
from operator import index

__all__ = ["from_binary", "from_text", "to_text"]


def to_text(elements: Iterable[int]) -> str:
    """The text form of a set: `{1,5,9}`.

    @param elements  integers in any order, also of numpy; duplicates collapse in the server
    @raise TypeError  an element is not an integer, or `elements` is one number or a string. The server refuses negative ones.
    """
    if isinstance(elements, (str, bytes)) or not isinstance(elements, Iterable):
        raise TypeError(f"a batmap is made of integers, such as {{1, 5, 9}}, not of {elements!r}")
    try:
        return "{" + ",".join(map(int.__repr__, map(index, elements))) + "}"
    except TypeError:
        wrong = next((element for element in elements if not hasattr(element, "__index__")), None)
        raise TypeError(f"a batmap holds integers from 0 on, not {wrong!r}") from None


def from_text(text: str) -> frozenset[int]:
    """The set that the server writes as `{1,5,9}`.

    @raise ValueError  the text is not the text form of a set
    """
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError(f"not a batmap: {text[:40]!r}")
    inner = text[1:-1]
    return frozenset(map(int, inner.split(","))) if inner else frozenset()


_PREPARED, _COMPACT = 1, 2  # versions
_ARRAY, _BATMAP, _BITMAP = 1, 2, 3
_LONG_HEADER, _FEW_BLOCKS = 1, 4
_KEY_BYTES = {0: 2, 1: 2, 8: 3, 9: 3, 2: 6, 3: 6}  # of each key, by the flags
_BLOCKS_PER_OFFSET = 64
_HEADER_BYTES = 8
_PLANE_BYTES = 64
_BLOCK_SLOTS = 512

# The factors of the three permutations, one row a table.
_FACTORS = (
    (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x2545F4914F6CDD1D),
    (0xFF51AFD7ED558CCD, 0x94D049BB133111EB, 0xD1342543DE82EF95),
    (0xD6E8FEB86659FD93, 0xBF58476D1CE4E5B9, 0xAF251AF3B0F025B5),
)

_ZERO_AND_ONE = bytes.maketrans(b"01", b"\0\1")


def from_binary(data: bytes | bytearray | memoryview) -> frozenset[int]:
    """The set of a value in binary form.

    @param data  what the server sends for a batmap in a binary result, or `batmap::bytea`
    @raise ValueError  the bytes are not a set of a format that this version knows
    """
    value = bytes(data)
    if value and value[0] >> 4 == _COMPACT:
        return _from_compact(value)
    if len(value) < _HEADER_BYTES or value[0] >> 4 != _PREPARED:
        raise ValueError("not a batmap in binary form, or of a later version")
    container, width = value[0] & 15, value[1]
    cardinality = int.from_bytes(value[2:8], "little")
    body = value[_HEADER_BYTES:]
    if container == _ARRAY:
        result = frozenset(_integers(body, 4 if width <= 32 else 8))
    elif container == _BITMAP:
        result = frozenset(_elements_of_bitmap(body))
    elif container == _BATMAP:
        result = frozenset(_elements_of_batmap(body, width, cardinality))
    else:
        raise ValueError(f"a batmap has no container {container}")
    if len(result) != cardinality:
        raise ValueError(f"a batmap of {cardinality} elements has {len(result)}: the bytes are damaged")
    return result


def _from_compact(value: bytes) -> frozenset[int]:
    """The set of a value in compact form."""
    flags = value[0] & 15
    try:
        if flags not in _KEY_BYTES:
            at, blocks = 1, flags - _FEW_BLOCKS
            if not 0 <= blocks <= 3:
                raise ValueError("unknown flags")
        elif flags & _LONG_HEADER:
            blocks = int.from_bytes(value[4:8], "little")
            at = 24 + 4 * -(-blocks // _BLOCKS_PER_OFFSET)
        else:
            at, blocks = 2, value[1]
        key_bytes = _KEY_BYTES.get(flags, 2)
        keys = [int.from_bytes(value[at + key_bytes * i : at + key_bytes * (i + 1)], "little") for i in range(blocks)]
        at += key_bytes * blocks
        counts = _integers(value[at : at + 2 * blocks], 2)
        shapes = _integers(value[at + 2 * blocks : at + 4 * blocks], 2)
        at += 4 * blocks
        result: set[int] = set()
        for key, count, shape in zip(keys, counts, shapes, strict=True):
            data = value[at : at + 2 * ((shape & 0xFFF) + 1)]
            at += 2 * ((shape & 0xFFF) + 1)
            before = len(result)
            base = key << 16
            kind = shape >> 12
            if kind == 0:
                result.update(base + low for low in _integers(data, 2))
            elif kind == 1:
                result.update(base + low for low in _elements_of_bitmap(data))
            elif len(data) == 2:
                first = int.from_bytes(data, "little")
                result.update(range(base + first, base + first + count + 1))
            else:
                ends = _integers(data, 2)
                for first, last in zip(ends[::2], ends[1::2], strict=True):
                    result.update(range(base + first, base + last + 1))
            if len(result) - before != count + 1:
                raise ValueError("a block does not have the elements that it claims")
    except (IndexError, ValueError) as error:
        raise ValueError(f"a batmap with damaged bytes: {error}") from None
    if at != len(value):
        raise ValueError("the bytes of a batmap do not end with its last block")
    return frozenset(result)


def _elements_of_bitmap(data: bytes) -> Iterator[int]:
    """The places of the bits that are set, the lowest bit first."""
    bits = f"{int.from_bytes(data, 'little'):b}"[::-1].encode("ascii").translate(_ZERO_AND_ONE)
    return compress(range(len(bits)), bits)


def _integers(data: bytes, size: int) -> array[int]:
    """Unsigned integers of 2, 4 or 8 bytes; the format is little-endian, and so are the machines that the extension runs on."""
    numbers = array({2: "H", 4: "I", 8: "Q"}[size])
    if numbers.itemsize != size or len(data) % size:
        raise ValueError("the elements of a batmap do not end where its bytes end")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _elements_of_batmap(body: bytes, width: int, cardinality: int) -> Iterator[int]:
    """The elements of the stash and of the tables 0 and 1; an element is in two of three tables, so in one of these."""
    if len(body) < 8:
        raise ValueError("a batmap ends within its header")
    stash_size = int.from_bytes(body[:4], "little")
    groups_at = 8 + 8 * stash_size
    yield from _integers(body[8:groups_at], 8)

    slots = max(_BLOCK_SLOTS, 1 << (2 * cardinality - 1).bit_length())
    slot_bits = slots.bit_length() - 1
    key_bits = width - slot_bits
    block_bytes = (key_bits + 2) * _PLANE_BYTES
    if key_bits < 0 or len(body) != groups_at + slots // _BLOCK_SLOTS * 3 * block_bytes:
        raise ValueError("the bytes of a batmap do not fit its number of elements")

    for table in (0, 1):
        undo = _Inverse(table, width)
        for group in range(slots // _BLOCK_SLOTS):
            start = groups_at + (3 * group + table) * block_bytes
            planes = [
                int.from_bytes(body[at : at + _PLANE_BYTES], "little")
                for at in range(start, start + (key_bits + 1) * _PLANE_BYTES, _PLANE_BYTES)
            ]
            # Rows of digits, high key bit first, become columns: a column is the key of a slot.
            digits = [format(plane, "0512b") for plane in planes[:0:-1]]
            valid = format(planes[0], "0512b")
            first_slot = _BLOCK_SLOTS * group
            for position, key in enumerate(zip(*digits)):
                if valid[position] == "1":
                    slot = first_slot + _BLOCK_SLOTS - 1 - position
                    yield undo(int("".join(key), 2) << slot_bits | slot)


class _Inverse:
    """Undoes the permutation of a table: three rounds of `x = x * factor mod 2^width; x = x XOR (x >> shift)`.

    As the shift is at least half of the width, the second step is its own inverse.
    """

    def __init__(self, table: int, width: int) -> None:
        self._mask = (1 << width) - 1
        self._shift = (width + 1) // 2
        self._factors = [pow(factor, -1, 1 << width) for factor in reversed(_FACTORS[table])]

    def __call__(self, x: int) -> int:
        for factor in self._factors:
            x ^= x >> self._shift
            x = x * factor & self._mask
        return x
