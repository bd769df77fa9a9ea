# Shared by the benchmark scripts that run on a server of test/sandbox, which source this file: sessions,
# sides that take turns, instances and the report. Reads `scale`, `max_runs` and `max_seconds`.

# shellcheck shell=bash

say() { echo "bench: $*" >&2; }
fail() { say "$*"; exit 1; }
calculate() { awk "BEGIN { printf(\"%.${2:-0}f\", $1) }"; }
holds() { awk "BEGIN { exit !($1) }"; }

[ -n "${PGHOST-}" ] || fail "no server: start this through test/sandbox, or with bench/run"
holds "${scale:?} > 0 && $scale <= 1" || fail "BENCH_SCALE is a number above 0 and at most 1"

work=$(mktemp -d)
# shellcheck disable=SC2317  # called by trap
cleanup() {
    local status=$?
    for pid in "${session_pid[@]}"; do kill "$pid" 2> /dev/null || true; done
    rm -rf "$work"
    exit $status
}
declare -A session_pid
trap cleanup EXIT

# ---- sessions: psql, or a peer that speaks as psql does, each behind a pair of pipes, so that they can take turns

declare -A to from is_psql

# Closes the pipes of the other sessions, which would not see their end otherwise, and restores the default
# for a broken pipe, which this shell ignores.
start_session() { # COMMAND...
    local pipe
    for pipe in "${to[@]}" "${from[@]}"; do exec {pipe}>&-; done
    trap - PIPE
    "$@"
}
trap '' PIPE

open_session() { # NAME COMMAND...: a function that is the command ends in exec
    local name=$1 in out
    shift
    mkfifo "$work/$name.in" "$work/$name.out"
    start_session "$@" < "$work/$name.in" > "$work/$name.out" &
    session_pid[$name]=$!
    exec {in}> "$work/$name.in" {out}< "$work/$name.out"
    rm "$work/$name.in" "$work/$name.out"
    to[$name]=$in
    from[$name]=$out
}

open_psql() { # NAME
    open_session "$1" psql -X -q -A -t -v ON_ERROR_STOP=1
    is_psql[$1]=yes
    ask "$1" '\timing on'
}

close_session() { # NAME
    local in=${to[$1]} out=${from[$1]}
    exec {in}>&- {out}<&-
    wait "${session_pid[$1]}" 2> /dev/null || true
    unset "to[$1]" "from[$1]" "session_pid[$1]" "is_psql[$1]"
}

# Sets `answer` (rows joined by blanks), `ms`, and, if the session prints it, `cpu_ms` (all of the last
# statement). Status 1 if the session has ended, 2 if it gave no answer for `patience` seconds.
patience=''
try_ask() { # SESSION STATEMENT
    local line status
    printf '%s\n\\echo end of answer\n' "$2" >&"${to[$1]}" || return 1
    answer='' ms=0 cpu_ms=0
    while true; do
        # shellcheck disable=SC2086
        IFS= read -r ${patience:+-t $patience} line <&"${from[$1]}" || { status=$?; [ $status -gt 128 ] && return 2; return 1; }
        case $line in
            "end of answer") return 0 ;;
            "Time: "*) ms=${line#Time: } ms=${ms%% *} ;;
            "CPU: "*) cpu_ms=${line#CPU: } cpu_ms=${cpu_ms%% *} ;;
            *) answer+=${answer:+ }$line ;;
        esac
    done
}
ask() { try_ask "$@" || fail "$1 gave no answer to: $2"; }

sql() { ask pg "$1"; }

# CPU time of the server since its start in ms: its processes and those that have ended, parallel workers
# included. The checkpointer and other background processes are included, too.
server_cpu_ms() {
    local pids
    read -r pids < "/proc/$postmaster/task/$postmaster/children"
    # shellcheck disable=SC2086
    for pid in $postmaster $pids; do cat "/proc/$pid/stat"; done 2> /dev/null |
        awk -v postmaster="$postmaster" -v tick="$(getconf CLK_TCK)" \
            '{ pid = $1; sub(/^.*\) /, ""); sum += $12 + $13; if (pid == postmaster) sum += $14 + $15 } END { printf "%.0f", sum * 1000 / tick }'
}

# ---- sides: what is measured. Samples are in files, one number a line.

declare -A side_session side_settings side_query side_answer side_spent
phases=(read group count answer)

side() { # NAME SESSION SETTINGS QUERY
    side_session[$1]=$2 side_settings[$1]=$3 side_query[$1]=$4 side_answer[$1]='' side_spent[$1]=0
    rm -f "$work/$1".*
}

declare -A postmaster_of # of the sessions with another server

run_side() { # NAME: one run, or the status of try_ask
    local name=$1 session=${side_session[$1]} i before=0
    local postmaster=${postmaster_of[$session]-$postmaster}
    local -a columns
    if [ -n "${is_psql[$session]-}" ]; then
        try_ask "$session" "RESET ALL; ${side_settings[$name]}" || return
        before=$(server_cpu_ms)
    elif [ -n "${side_settings[$name]}" ]; then
        try_ask "$session" "${side_settings[$name]}" || return
    fi
    try_ask "$session" "${side_query[$name]}" || return
    [ -z "${is_psql[$session]-}" ] || cpu_ms=$(($(server_cpu_ms) - before))
    echo "$ms" >> "$work/$name.ms"
    echo "$cpu_ms" >> "$work/$name.cpu"
    side_spent[$name]=$(calculate "${side_spent[$name]} + $ms / 1000" 3)
    [ -z "${side_answer[$name]}" ] || [ "${side_answer[$name]}" = "$answer" ] ||
        fail "$name: ${side_answer[$name]} in one run, $answer in the next"
    side_answer[$name]=$answer
    case ${side_query[$name]} in
        *batmap_pairs* | *batmap_all_pairs* | *batmap_itemset* | *batmap_recommend*)
            [ ${#phases[@]} -gt 0 ] || return 0
            ask "$session" "SELECT read_ms, group_ms, count_ms, answer_ms, peak_memory, method, kernel, input, threads FROM batmap_last_run();"
            IFS='|' read -r -a columns <<< "$answer"
            for i in 0 1 2 3; do echo "${columns[i]}" >> "$work/$name.${phases[i]}"; done
            echo "${columns[4]}" >> "$work/$name.peak"
            echo "${columns[5]}, ${columns[6]}, ${columns[7]}, ${columns[8]}" > "$work/$name.how"
            ;;
    esac
}

runs() { wc -l < "$work/$1.ms"; }
median() { # NAME [KIND]
    sort -g "$work/$1.${2:-ms}" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
seconds() { calculate "$(median "$@") / 1000" 3; }
least() { calculate "$(sort -g "$work/$1.ms" | head -n 1) / 1000" 3; }

# Runs the sides in turns until each has its runs or has used up its time.
alternate() { # SIDE...
    local round name
    for ((round = 1; round <= ${max_runs:?}; round++)); do
        for name in "$@"; do
            if [ "$round" = 1 ] || holds "${side_spent[$name]} < ${max_seconds:?}"; then
                run_side "$name" || fail "$name gave no answer to: ${side_query[$name]}"
                say "$name: $(calculate "$(tail -n 1 "$work/$name.ms") / 1000" 3) s"
            fi
        done
    done
}

best_of() { # SIDE...: the one with the smallest median
    local name
    for name in "$@"; do echo "$(median "$name") $name"; done | sort -g | head -n 1 | cut -d ' ' -f 2
}

agree() { # SIDE SIDE...: the same number of pairs and sum of supports, or no times at all
    local name
    for name in "$@"; do
        [ "${side_answer[$name]}" = "${side_answer[$1]}" ] ||
            fail "different answers: $1 ${side_answer[$1]}, $name ${side_answer[$name]}"
    done
}

# ---- the report

out=$work/report.md
emit() { echo "$*" | tee -a "$out"; }

phase_sides=()
phase_table() {
    local name total rest kind line
    [ ${#phase_sides[@]} -gt 0 ] || return 0
    emit
    emit "## Where the time goes, ms"
    emit
    emit "Medians, each on its own, from batmap_last_run(); *rest* is total less the four: the server's aggregate over the rows, planning, the client."
    emit
    emit "| | method, kernel, input, threads | total | read | group | count | answer | rest | peak memory, MB |"
    emit "|---|---|---|---|---|---|---|---|---|"
    for name in "${phase_sides[@]}"; do
        total=$(median "$name") rest=$total
        line="| ${name//_/ } | $(cat "$work/$name.how") | $(calculate "$total")"
        for kind in "${phases[@]}"; do
            line+=" | $(calculate "$(median "$name" "$kind")")"
            rest="$rest - $(median "$name" "$kind")"
        done
        emit "$line | $(calculate "$rest") | $(calculate "$(median "$name" peak) / 1e6") |"
    done
}

# ---- instances

make_generator() {
    local generator=build/generate
    [ ! -x $generator ] || [ bench/generate.cpp -nt $generator ] || [ bench/instances.h -nt $generator ] || return 0
    mkdir -p build
    "${CXX:-g++}" -std=c++20 -O2 -o $generator bench/generate.cpp
}

# Reads a file of BATMAP_TEST_DATA (one transaction a line, items separated by blanks) as rows (tid, item).
# Status 1 and a message if it is missing.
has_fimi() { # NAME FILE
    if [ ! -r "${BATMAP_TEST_DATA-}/fimi/$2.dat.zst" ]; then
        say "$1 is skipped: BATMAP_TEST_DATA does not name a folder with fimi/$2.dat.zst"
        return 1
    fi
    if ! command -v zstd > /dev/null; then
        say "$1 is skipped: zstd is not installed"
        return 1
    fi
}
fimi_rows() { # FILE
    zstd -dcq "$BATMAP_TEST_DATA/fimi/$1.dat.zst" |
        awk -v scale="$scale" '(NR % 1000) < 1000 * scale { for (i = 1; i <= NF; i++) print NR "\t" $i }'
}

run_sql() { psql -X -q -v ON_ERROR_STOP=1 -c "$1"; }

batmap_query() { # TABLE MIN_COUNT
    echo "SELECT count(*), sum(n) FROM batmap_pairs('SELECT tid, item FROM $1', min_count => $2) AS p (item_a, item_b, n);"
}
self_join() { # TABLE [MIN_COUNT]: the same rows out of both engines
    local having=${2:+HAVING count(*) >= $2}
    echo "SELECT count(*), sum(support_count) FROM (SELECT a.item AS item_a, b.item AS item_b, count(*) AS support_count FROM $1 a JOIN $1 b USING (tid) WHERE a.item < b.item GROUP BY 1, 2 $having) p;"
}
# Makes the server use its own plan for the join.
# shellcheck disable=SC2034
plain="SET batmap.enable_join_project = off;"

workers() { echo "SET max_parallel_workers_per_gather = $1;"; }

cores=$(nproc)
memory_mb=$(awk '$1 == "MemTotal:" { printf "%d", $2 / 1024 }' /proc/meminfo)

# ---- the machine

cpu=$(sed -n 's/^model name[ \t]*: //p' /proc/cpuinfo | head -n 1)
cpu=${cpu:-$(uname -m)}
revision=$(git rev-parse --short HEAD 2> /dev/null || echo none)
[ -z "$(git status --porcelain 2> /dev/null)" ] || revision+=" with changes"
# Those of a caller; a script passes on BENCH_OTHER_... itself.
variables=$(for name in $(compgen -e BENCH_ | grep -v '^BENCH_OTHER_'); do printf "%s='%s' " "$name" "${!name}"; done)
load() { cut -d ' ' -f 1 /proc/loadavg; }
postmaster=$(head -n 1 "$PGDATA/postmaster.pid")

emit_machine() { # COMMAND
    emit "\`$variables$1\` on $cpu, $cores cores, $((memory_mb / 1024)) GiB; PostgreSQL $(psql -X -A -t -c 'SHOW server_version');" \
        "revision $revision; load at the start $(load)."
}

# Where this run is kept. Argument: what follows the name of the processor.
result_name() { echo "bench/results/$(date -u +%Y-%m-%d)-$(tr -cs 'A-Za-z0-9\n' - <<< "$cpu" | sed 's/^-//; s/-$//')$1"; }

save_report() { # SUFFIX
    local target
    [ "${BENCH_SAVE-}" = 1 ] || return 0
    target=$(result_name "$1").md
    mkdir -p bench/results
    cp "$out" "$target"
    say "saved as $target"
}
