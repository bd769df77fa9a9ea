"""A DuckDB session over pipes, for the benchmark scripts, which alternate it with a psql session.

It reads one SQL statement a line from standard input. After each it prints the rows, columns separated by '|', and the lines
"CPU: MILLISECONDS ms" and "Time: MILLISECONDS ms"; the line "\\echo WORD" prints WORD, as psql does. The first error ends the
program with status 1. The times cover execute and fetch together. The data is in memory.
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
        start, cpu_start = time.perf_counter(), time.process_time()
        rows = connection.execute(statement).fetchall()
        elapsed, cpu = time.perf_counter() - start, time.process_time() - cpu_start
        for row in rows:
            print("|".join(str(value) for value in row))
        print(f"CPU: {cpu * 1000:.3f} ms\nTime: {elapsed * 1000:.3f} ms", flush=True)


if __name__ == "__main__":
    try:
        main()
    except duckdb.Error as error:
        sys.exit(f"duckdb: {error}")
