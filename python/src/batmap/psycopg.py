"""Values of the type batmap with psycopg 3: a column reads as `frozenset[int]`; a `set` or `frozenset` of integers goes in as a
batmap. Lists need nothing of this: they go in as arrays, which the extension casts.

    import batmap.psycopg
    with psycopg.connect(...) as conn:
        batmap.psycopg.register(conn)
        conn.execute("INSERT INTO baskets VALUES (%s, %s)", (1, {1, 5, 9}))

A pool takes `configure=batmap.psycopg.register`. For an asynchronous connection, and a pool of such, the function is
`register_async`.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from .values import from_binary, from_text, to_text

__all__ = ["register", "register_async"]


class _TextLoader(Loader):
    format = Format.TEXT

    def load(self, data: Buffer) -> frozenset[int]:
        return from_text(bytes(data).decode("ascii"))


class _BinaryLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> frozenset[int]:
        return from_binary(data)


class _SetDumper(Dumper):
    format = Format.TEXT

    def dump(self, obj: set[int] | frozenset[int]) -> Buffer | None:
        return to_text(obj).encode("ascii")


def register(connection: psycopg.Connection[Any], type_name: str = "batmap") -> None:
    """Makes a connection read and write sets.

    @param type_name  with its schema where that is not in the search_path: "extensions.batmap"
    @raise psycopg.ProgrammingError  the database has no such type
    @raise TypeError  the connection is asynchronous
    """
    if isinstance(connection, psycopg.AsyncConnection):
        raise TypeError("the connection is asynchronous: await batmap.psycopg.register_async(connection)")
    _use(connection, TypeInfo.fetch(connection, type_name), type_name)


async def register_async(connection: psycopg.AsyncConnection[Any], type_name: str = "batmap") -> None:
    """The same for an asynchronous connection."""
    _use(connection, await TypeInfo.fetch(connection, type_name), type_name)


def _use(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], info: TypeInfo | None, type_name: str) -> None:
    if info is None:
        raise psycopg.ProgrammingError(
            f"the database has no type {type_name}; run CREATE EXTENSION batmap in it, or name the schema of the extension"
        )
    # A class for each call, since the oid of the type is that of one database.
    dumper = type("_SetDumperOfDatabase", (_SetDumper,), {"oid": info.oid})
    info.register(connection)  # arrays of sets
    connection.adapters.register_loader(info.oid, _TextLoader)
    connection.adapters.register_loader(info.oid, _BinaryLoader)
    connection.adapters.register_dumper(set, dumper)
    connection.adapters.register_dumper(frozenset, dumper)
