#!/bin/bash
# DuckDB, from PyPI, in a virtual environment under build/.
#
# usage: bench/peers/duckdb.sh setup     makes the environment if needed; status 1 and a message if it cannot
#        bench/peers/duckdb.sh session   runs duckdb_session.py in it
#
# DUCKDB_VERSION selects a version other than the newest; it is read when the environment is made.

set -euo pipefail

# shellcheck source=bench/peers/venv.sh
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

python_peer "${1-}" duckdb "${DUCKDB_VERSION-}" duckdb
