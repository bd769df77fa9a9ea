"""Values of the type batmap with psycopg2: a column reads as `frozenset[int]`; a `set` or `frozenset` of integers goes in as a
batmap. Lists need nothing of this: they go in as arrays, which the extension casts.

    import batmap.psycopg2
    conn = psycopg2.connect(...)
    batmap.psycopg2.register(conn)
    conn.cursor().execute("INSERT INTO baskets VALUES (%s, %s)", (1, {1, 5, 9}))
"""

from __future__ import annotations

from typing import Any

import psycopg2
from psycopg2 import extensions

from .values import from_text, to_text

__all__ = ["register"]


class _SetAdapter:
    """A set as a literal with its type, which also a parameter of an operator takes."""

    type_name = "batmap"

    def __init__(self, elements: set[int] | frozenset[int]) -> None:
        self._elements = elements

    def getquoted(self) -> bytes:
        return f"'{to_text(self._elements)}'::{self.type_name}".encode("ascii")


def _read(text: str | bytes | None, _cursor: Any) -> frozenset[int] | None:
    if text is None:
        return None
    return from_text(text if isinstance(text, str) else text.decode("ascii"))


def register(connection: Any, type_name: str = "batmap") -> None:
    """Makes a connection read sets, and psycopg2 as a whole write them: its adapters of Python types are global.

    @param type_name  with its schema where that is not in the search_path: "extensions.batmap". All connections of the process must
        agree on it.
    @raise psycopg2.ProgrammingError  the database has no such type
    """
    with connection.cursor(cursor_factory=extensions.cursor) as cursor:
        cursor.execute(
            "SELECT oid, typarray, format_type(oid, NULL) FROM pg_catalog.pg_type WHERE oid = to_regtype(%s)",
            (type_name,),
        )
        found = cursor.fetchone()
    if found is None:
        raise psycopg2.ProgrammingError(
            f"the database has no type {type_name}; run CREATE EXTENSION batmap in it, or name the schema of the extension"
        )
    oid, array_oid, shown = found
    _SetAdapter.type_name = shown
    one = extensions.new_type((oid,), "BATMAP", _read)
    extensions.register_type(one, connection)
    extensions.register_type(extensions.new_array_type((array_oid,), "BATMAP[]", one), connection)
    extensions.register_adapter(set, _SetAdapter)
    extensions.register_adapter(frozenset, _SetAdapter)
