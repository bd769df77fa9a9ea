#!/bin/bash
# Borgelt's apriori, eclat and fpgrowth as the package pyfim of PyPI, built with the C compiler in a virtual
# environment under build/.
#
# usage: bench/peers/pyfim.sh setup     makes the environment if needed; status 1 and a message if it cannot
#        bench/peers/pyfim.sh session   runs pyfim_session.py in it
#
# PYFIM_VERSION selects a version other than the newest; it is read when the environment is made.

set -euo pipefail

# shellcheck source=bench/peers/venv.sh
. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

python_peer "${1-}" fim "${PYFIM_VERSION-}" pyfim
