"""DuckDB over a table in memory, a session as in peer_session.py. The times cover execute and fetch together."""

import duckdb
from peer_session import run_session

connection = duckdb.connect()


def answer(statement, watch):
    with watch:
        return connection.execute(statement).fetchall()


if __name__ == "__main__":
    run_session("duckdb", answer, duckdb.Error)
