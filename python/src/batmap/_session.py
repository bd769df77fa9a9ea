"""One way to run a statement through whatever connection the caller has: psycopg 3, psycopg2, another DB-API driver, a connection,
engine or session of SQLAlchemy, or `django.db.connection`. Statements have the placeholders `%s`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Callable, NamedTuple

__all__ = ["Answer", "Session", "open_session", "server_error"]

_IDLE = 0  # transaction status of libpq: outside of a transaction


class Answer(NamedTuple):
    """The rows of a statement, and of each column its name and the oid of its type."""

    columns: list[str]
    types: list[int]
    rows: list[tuple[Any, ...]]


class Session:
    """A DB-API connection. The caller owns it, and with it the transaction."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.driver = _driver_of(raw)
        if self.driver not in ("psycopg", "psycopg2"):
            style = getattr(sys.modules.get(self.driver), "paramstyle", "format")
            if style not in ("format", "pyformat"):
                raise TypeError(f"the placeholders of {self.driver} are {style}; take psycopg, psycopg2 or a driver with %s")
        if self.driver == "psycopg" and _is_pipelined(raw):
            raise TypeError("the connection is in pipeline mode, in which a statement that fails takes others with it")
        self._new_cursor = self._cursor_maker()

    def _cursor_maker(self) -> Callable[[], Any]:
        """Cursors whose rows are tuples, whatever the connection makes by itself. That of psycopg writes values into the
        statement as literals, like psycopg2, so that the server gives a literal the type of its place."""
        if self.driver == "psycopg":
            import psycopg
            from psycopg.rows import tuple_row

            return lambda: psycopg.ClientCursor(self._raw, row_factory=tuple_row)
        if self.driver == "psycopg2":
            from psycopg2.extensions import cursor

            return lambda: self._raw.cursor(cursor_factory=cursor)
        return lambda: self._raw.cursor()

    @property
    def sends_literals(self) -> bool:
        """Do values go in as literals? If not, the server must be told the types of parameters."""
        return self.driver in ("psycopg", "psycopg2")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Answer:
        """The rows of a statement, all of them in memory."""
        cursor = self._new_cursor()
        try:
            cursor.execute(statement, tuple(values))
            description = cursor.description or ()
            return Answer(
                [column[0] for column in description],
                [column[1] for column in description],
                [tuple(row) for row in cursor.fetchall()],
            )
        finally:
            cursor.close()

    def attempt(self, statement: str, values: Sequence[Any] = ()) -> Answer:
        """The same for a statement that may fail: a transaction goes on after its error."""
        if not self._in_transaction():
            return self.rows(statement, values)
        self._execute("SAVEPOINT batmap_attempt")
        try:
            answer = self.rows(statement, values)
        except Exception as error:
            if server_error(error) is not None:
                self._execute("ROLLBACK TO SAVEPOINT batmap_attempt")
                self._execute("RELEASE SAVEPOINT batmap_attempt")
            raise
        self._execute("RELEASE SAVEPOINT batmap_attempt")
        return answer

    def _in_transaction(self) -> bool:
        """Is the next statement part of a transaction that has, or will have, others?"""
        if not getattr(self._raw, "autocommit", False):
            return True
        info = getattr(self._raw, "info", None)
        return info is not None and int(getattr(info, "transaction_status", _IDLE)) != _IDLE

    def _execute(self, statement: str) -> None:
        cursor = self._new_cursor()
        try:
            cursor.execute(statement)
        finally:
            cursor.close()


@contextmanager
def open_session(connection: Any) -> Iterator[Session]:
    """A session over the caller's connection. An engine of SQLAlchemy lends a connection for as long.

    @raise TypeError  the object is no connection, or an asynchronous one
    """
    if _is_asynchronous(connection):
        raise TypeError(
            f"{_type_name(connection)} is asynchronous, or its engine is; give a connection of psycopg or "
            "psycopg2, or an engine of SQLAlchemy over one of them, in a thread of its own: asyncio.to_thread"
        )
    lent: Any | None = None
    if hasattr(connection, "dialect") and hasattr(connection, "connect"):  # sqlalchemy.Engine
        connection = lent = connection.connect()
    elif hasattr(connection, "get_bind") and hasattr(connection, "connection"):  # sqlalchemy.orm.Session
        connection = connection.connection()
    try:
        if hasattr(connection, "exec_driver_sql"):  # sqlalchemy.Connection
            if not connection.in_transaction():
                connection.begin()  # as SQLAlchemy does before the first statement that it sees
            yield Session(connection.connection.driver_connection)
        elif hasattr(connection, "ensure_connection"):  # django.db.connection
            connection.ensure_connection()
            yield Session(connection.connection)
        elif hasattr(connection, "cursor"):
            yield Session(connection)
        else:
            raise TypeError(f"give a connection, not {_type_name(connection)}")
    finally:
        if lent is not None:
            lent.close()


class ServerError(NamedTuple):
    """What the server said, whatever error the driver makes of it."""

    sqlstate: str
    message: str
    hint: str


def server_error(error: BaseException) -> ServerError | None:
    """The message of the server behind an error of psycopg, psycopg2 or pg8000; None for other errors."""
    if error.args and isinstance(error.args[0], dict):  # pg8000
        state, message, hint = (error.args[0].get(field) for field in "CMH")
    else:
        state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        message, hint = (getattr(getattr(error, "diag", None), f"message_{field}", None) for field in ("primary", "hint"))
    return ServerError(state, message or str(error), hint or "") if isinstance(state, str) else None


def _driver_of(raw: Any) -> str:
    """The package that the connection, or the class that it derives from, belongs to."""
    packages = [each.__module__.partition(".")[0] for each in type(raw).__mro__]
    for known in ("psycopg", "psycopg2"):
        if known in packages:
            return known
    return packages[0]


def _is_pipelined(raw: Any) -> bool:
    from psycopg import pq

    return pq.version() >= 140000 and raw.pgconn.pipeline_status != pq.PipelineStatus.OFF


def _is_asynchronous(connection: Any) -> bool:
    packages = {each.__module__.partition(".")[0] for each in type(connection).__mro__}
    names = {each.__name__ for each in type(connection).__mro__}
    over_asynchronous = getattr(getattr(connection, "dialect", None), "is_async", False)
    return "asyncpg" in packages or over_asynchronous or any(name.startswith("Async") for name in names)


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
