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

case ${1-} in
    setup) make_venv pyfim fim "${PYFIM_VERSION-}" ;;
    session) exec "$build/pyfim/bin/python" "$peers/pyfim_session.py" ;;
    *) sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
