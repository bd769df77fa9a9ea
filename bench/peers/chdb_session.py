"""ClickHouse in this process (chDB) over a table in memory, a session as in peer_session.py. Settings stay from one statement to
the next."""

from chdb.session import Session
from peer_session import run_session

session = Session()


def answer(statement, watch):
    with watch:
        text = str(session.query(statement, "TSV"))
    return [line.split("\t") for line in text.splitlines()]


if __name__ == "__main__":
    run_session("chdb", answer, RuntimeError)
