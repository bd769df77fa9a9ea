#!/bin/bash
# ClickHouse as a library (chDB), from PyPI, in a virtual environment under build/; 900 MB with what it needs.
#
# usage: bench/peers/chdb.sh setup     makes the environment if needed; status 1 and a message if it cannot
#        bench/peers/chdb.sh session   runs chdb_session.py in it
#
# CHDB_VERSION selects a version other than the newest; it is read when the environment is made.

set -euo pipefail

# shellcheck source=bench/peers/venv.sh
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

python_peer "${1-}" chdb "${CHDB_VERSION-}" chdb
