#!/bin/bash
# The miners of rusket, from PyPI, in a virtual environment under build/.
#
# usage: bench/peers/rusket.sh setup     makes the environment if needed; status 1 and a message if it cannot
#        bench/peers/rusket.sh session   runs rusket_session.py in it
#
# RUSKET_VERSION selects a version other than the newest; it is read when the environment is made.

set -euo pipefail

# shellcheck source=bench/peers/venv.sh
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

python_peer "${1-}" rusket "${RUSKET_VERSION-}" rusket numpy
