"""A DuckDB session over pipes, for bench/sql/run.sh, which alternates it with a psql session.

Reads one SQL statement a line from standard input. After each it prints the rows, columns separated by '|', and a line
"Time: MILLISECONDS ms"; the line "\\echo WORD" prints WORD, as psql does. The first error ends the program with status 1.
The time is that of execute and fetch together. Data lives in memory.
"""

import sys
import time

import duckdb


def main():
    connection = duckdb.connect()
    for line in sys.stdin:
        statement = line.strip()
        if statement.startswith("\\echo "):
            print(statement.removeprefix("\\echo "), flush=True)
            continue
        start = time.perf_counter()
        rows = connection.execute(statement).fetchall()
        elapsed = time.perf_counter() - start
        for row in rows:
            print("|".join(str(value) for value in row))
        print(f"Time: {elapsed * 1000:.3f} ms", flush=True)


if __name__ == "__main__":
    try:
        main()
    except duckdb.Error as error:
        sys.exit(f"duckdb: {error}")
