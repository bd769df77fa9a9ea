#!/bin/bash
# Installs pg_roaringbitmap into the private server, unless it has the extension, and measures stored sets beside it:
# `bench/run neighbours`, or test/sandbox bench/sql/neighbours.sh. Prints Markdown. Status 77: the extension is not there.
#
# Variables: BATMAP_ROARINGBITMAP (a folder with the source of pg_roaringbitmap, already built for this server), and those of
# set_neighbours.py, which gets the arguments.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
has_extension() { [ "$(psql -X -q -A -t -c "SELECT count(*) FROM pg_available_extensions WHERE name = 'roaringbitmap'")" = 1 ]; }

if ! has_extension && [ -n "${BATMAP_ROARINGBITMAP-}" ]; then
    # pg_config of the PATH is that of the private server.
    make -s -C "$BATMAP_ROARINGBITMAP" install with_llvm=no >&2
fi
has_extension || { echo "bench: pg_roaringbitmap is not in the server, and BATMAP_ROARINGBITMAP names no source of it" >&2; exit 77; }

# shellcheck disable=SC2016  # Markdown
printf '`bench/run neighbours%s`; PostgreSQL %s; pg_roaringbitmap %s; load %s.\n\n' "${*:+ $*}" \
    "$(psql -X -q -A -t -c 'SHOW server_version')" \
    "$(psql -X -q -A -t -c "SELECT default_version FROM pg_available_extensions WHERE name = 'roaringbitmap'")" \
    "$(cut -d ' ' -f 1 /proc/loadavg)"
exec python3 "$here/set_neighbours.py" "$@"
