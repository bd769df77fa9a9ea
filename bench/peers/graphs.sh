#!/bin/bash
# SuiteSparse:GraphBLAS and NetworkX, from PyPI, in a virtual environment under build/: triangles and listed pairs.
#
# usage: bench/peers/graphs.sh setup     makes the environment if needed; status 1 and a message if it cannot
#        bench/peers/graphs.sh session   runs graphs_session.py in it
#
# GRAPHBLAS_VERSION selects a version other than the newest; it is read when the environment is made.

set -euo pipefail

# shellcheck source=bench/peers/venv.sh
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

python_peer "${1-}" networkx "${GRAPHBLAS_VERSION-}" suitesparse-graphblas networkx
