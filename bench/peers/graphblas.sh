#!/bin/bash
# SuiteSparse:GraphBLAS, from PyPI, in a virtual environment under build/.
#
# usage: bench/peers/graphblas.sh setup     makes the environment if needed; status 1 and a message if it cannot
#        bench/peers/graphblas.sh session   runs graphblas_session.py in it
#
# GRAPHBLAS_VERSION selects a version other than the newest; it is read when the environment is made.

set -euo pipefail

# shellcheck source=bench/peers/venv.sh
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

python_peer "${1-}" suitesparse_graphblas "${GRAPHBLAS_VERSION-}" suitesparse-graphblas
