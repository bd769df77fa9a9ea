"""A database of its own for the tests, in the server that the PG* variables name, owned by a role that is no superuser.

`test/run python` of the extension starts a server and runs all; `test/sandbox pytest python/tests` does by hand.
"""

import os
import uuid

import psycopg
import pytest
from psycopg import sql

import batmap.psycopg

if "PGHOST" not in os.environ:
    pytest.exit("these tests need a server that the PG* variables name; test/run python starts one", returncode=2)

# Receipts with their products, small enough to count by hand.
LINES = [
    (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1), (3, 3), (4, 2), (4, 3), (4, 4), (5, 1), (5, 2), (5, 4), (6, 1), (6, 2), (6, 3)
]  # fmt: skip
NAMES = {1: "bread", 2: "butter", 3: "jam", 4: "tea"}


class Database:
    """Where the tests connect to: the keywords are those of psycopg and psycopg2, and nearly those of asyncpg."""

    def __init__(self, name: str, role: str) -> None:
        self.host, self.port, self.name, self.role = os.environ["PGHOST"], int(os.environ["PGPORT"]), name, role
        self.keywords = {"host": self.host, "port": self.port, "dbname": name, "user": role}

    def url(self, driver: str) -> str:
        return f"postgresql+{driver}://{self.role}@/{self.name}?host={self.host}&port={self.port}"

    def connect(self, **more) -> psycopg.Connection:
        return psycopg.connect(**self.keywords, **more)


@pytest.fixture(scope="session")
def database():
    name = role = f"python_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        admin.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(role)))
        admin.execute(sql.SQL("ALTER DATABASE {} SET jit = off").format(sql.Identifier(name)))
    here = Database(name, role)
    with here.connect(autocommit=True) as connection:
        connection.execute("CREATE EXTENSION batmap")
        connection.execute("CREATE TABLE lines (receipt int, product int)")
        connection.execute("CREATE TABLE named_lines (receipt int, name text)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO lines VALUES (%s, %s)", LINES)
            cursor.executemany("INSERT INTO named_lines VALUES (%s, %s)", [(r, NAMES[p]) for r, p in LINES])
    yield here
    with psycopg.connect(autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@pytest.fixture
def conn(database):
    """A connection of psycopg that knows sets. What a test did is rolled back."""
    with database.connect() as connection:
        batmap.psycopg.register(connection)
        connection.rollback()
        yield connection
        connection.rollback()
