#!/bin/bash
# PrefixSpan as the package prefixspan of PyPI, in a virtual environment under build/.
#
# usage: bench/peers/prefixspan.sh setup     makes the environment if needed; status 1 and a message if it cannot
#        bench/peers/prefixspan.sh session   runs prefixspan_session.py in it
#
# PREFIXSPAN_VERSION selects a version other than the newest; it is read when the environment is made.

set -euo pipefail

# shellcheck source=bench/peers/venv.sh
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

python_peer "${1-}" prefixspan "${PREFIXSPAN_VERSION-}" prefixspan
