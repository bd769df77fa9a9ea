"""Values of the type batmap with asyncpg: a column reads as `frozenset[int]`; any iterable of integers goes in.

    import batmap.asyncpg
    conn = await asyncpg.connect(...)
    await batmap.asyncpg.register(conn)
    await conn.execute("INSERT INTO baskets VALUES ($1, $2)", 1, {1, 5, 9})

A pool takes `init=batmap.asyncpg.register`. Without it asyncpg takes and gives the text form, `{1,5,9}`. In an array of sets each
goes in as `batmap.to_text(elements)`, since asyncpg takes what it can iterate over for a dimension of the array.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .values import from_text, to_text

__all__ = ["register"]


def _to_text(elements: Iterable[int] | str) -> str:
    return elements if isinstance(elements, str) else to_text(elements)


async def register(connection: Any, type_name: str = "batmap") -> None:
    """Makes a connection read and write sets.

    @param type_name  with its schema where that is not in the search_path: "extensions.batmap"
    @raise LookupError  the database has no such type
    """
    found = await connection.fetchrow(
        "SELECT typname, nspname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = typnamespace "
        "WHERE t.oid = to_regtype($1::text)",
        type_name,
    )
    if found is None:
        raise LookupError(
            f"the database has no type {type_name}; run CREATE EXTENSION batmap in it, or name the schema of the extension"
        )
    await connection.set_type_codec(found["typname"], schema=found["nspname"], encoder=_to_text, decoder=from_text, format="text")
