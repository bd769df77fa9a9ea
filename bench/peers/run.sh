#!/bin/bash
# All pairs with their supports, by the extension and by what a user could use instead: `bench/run peers`, or
# test/sandbox bench/peers/run.sh. The extension works end to end, from rows in a table to rows out. The peers
# have their data in memory in their own form, and the best of a few settings counts. Prints Markdown.
# bench/README.md describes the method, the variables, and what the figures do not say.
#
# Variables: BENCH_SCALE (fraction of the transactions, default 1), BENCH_INSTANCES (default "w1 w2 w3 w4
# retail t40"; all names of instances.h), BENCH_PEERS (default "self-join duckdb chdb apriori eclat fpgrowth
# rusket lcm graphblas roaring"), BENCH_RUNS (runs of each side, default 5), BENCH_SECONDS (a run is stopped after
# this time, and a side that has taken as long is not run again; default 60 x scale, at least 10),
# BENCH_MEMORY (GB that a peer may take, default half of the machine's), BENCH_SAVE=1 (also writes
# bench/results/DATE-CPU-peers.md), BATMAP_TEST_DATA (folder with fimi/; without it retail and t40 are
# skipped).

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

scale=${BENCH_SCALE:-1}
instances=${BENCH_INSTANCES:-w1 w2 w3 w4 retail t40}
peers=${BENCH_PEERS:-self-join duckdb chdb apriori eclat fpgrowth rusket lcm graphblas roaring}
max_runs=${BENCH_RUNS:-5}

# shellcheck source=bench/sides.sh
. bench/sides.sh
max_seconds=${BENCH_SECONDS:-$(calculate "60 * $scale > 10 ? 60 * $scale : 10")}
memory_gb=${BENCH_MEMORY:-$((memory_mb / 2048))}

wanted() { case " $peers " in *" $1 "*) ;; *) false ;; esac; }

# ---- peers. A session is a process that runs a peer, started by a script; one session serves several sides.

declare -A version
declare -A title=([self-join]="self-join in PostgreSQL" [duckdb]="DuckDB" [chdb]="ClickHouse (chDB)" [apriori]="Borgelt's apriori"
    [eclat]="Borgelt's eclat" [fpgrowth]="Borgelt's fpgrowth" [rusket]="rusket" [lcm]="LCM" [graphblas]="SuiteSparse:GraphBLAS" [roaring]="CRoaring")
session_of() { # PEER THREADS
    case $1 in
        apriori | eclat | fpgrowth) echo pyfim ;;
        rusket) echo "rusket_$2" ;; # its number of threads is fixed with the first count
        *) echo "$1" ;;
    esac
}
script_of() { echo "${1%_*}"; } # SESSION; `version` has its names

set_up_peers() {
    local peer script ready=' '
    for peer in $peers; do
        [ -n "${title[$peer]-}" ] || fail "BENCH_PEERS: there is no peer $peer"
        if [ "$peer" = self-join ]; then
            ready+="$peer "
            continue
        fi
        say "making sure of $peer"
        script=$(script_of "$(session_of "$peer" 1)")
        if bench/peers/"$script".sh setup && { [ "$script" != roaring ] || bench/peers/roaring.sh build; }; then
            ready+="$peer "
        else
            say "$peer is skipped"
        fi
    done
    peers=$ready
}

# Only address space can be limited: a peer that reserves more than it touches is worse off.
capped() { # TMPDIR COMMAND...
    ulimit -v $((memory_gb * 1000000000 / 1024))
    export TMPDIR=$1
    exec "${@:2}"
}

open_peer() { # SESSION: with the rows of the instance loaded; status of try_ask
    local session=$1 script folder=$work/$1.tmp database_mb
    script=$(script_of "$session")
    say "$session: loading $instance"
    if [ "$session" = self-join ]; then
        open_psql "$session" 2> "$work/$session.errors"
        return
    fi
    mkdir -p "$folder"
    open_session "$session" capped "$folder" bench/peers/"$script".sh session 2> "$work/$session.errors"
    case $session in
        duckdb | chdb) try_ask "$session" "SELECT version();" || return ;;
        *) try_ask "$session" version || return ;;
    esac
    version[$script]=$answer
    database_mb=$((memory_gb * 800)) # of a database, which writes to `folder` what does not fit
    case $session in
        duckdb)
            try_ask duckdb "SET memory_limit = '${database_mb}MB'; SET temp_directory = '$folder';" || return
            try_ask duckdb "CREATE TABLE $instance AS SELECT * FROM read_csv('$rows_file', delim = '\\t', header = false, columns = {'tid': 'INTEGER', 'item': 'INTEGER'});"
            ;;
        chdb)
            try_ask chdb "SET max_memory_usage = ${database_mb}000000;" || return
            try_ask chdb "CREATE TABLE $instance (tid Int32, item Int32) ENGINE = MergeTree ORDER BY (tid, item);" || return
            try_ask chdb "INSERT INTO $instance SELECT * FROM file('$rows_file', TSV, 'tid Int32, item Int32');" || return
            try_ask chdb "OPTIMIZE TABLE $instance FINAL;"
            ;;
        *) try_ask "$session" "load $rows_file" ;;
    esac
}

drop_peer() { # SESSION: whatever it is doing
    kill -KILL "${session_pid[$1]}" 2> /dev/null || true
    close_session "$1" 2> /dev/null
    rm -rf "$work/$1.tmp"
}

# ---- sides: INSTANCE_PEER_THREADS_SETTING. A side that gave no answer has an `excuse`.

declare -A excuse setting_of
candidates=() # sides of the current instance, all settings

candidate() { # PEER THREADS SETTING SETTINGS QUERY
    local name=${instance}_$1_$2_$((${#candidates[@]}))
    side "$name" "$(session_of "$1" "$2")" "$4" "$5"
    setting_of[$name]=$3
    candidates+=("$name")
}

peer_of() { local rest=${1#"$instance"_}; echo "${rest%%_*}"; }
threads_of() { local rest=${1#"$instance"_*_}; echo "${rest%%_*}"; }

list_candidates() {
    local threads setting limit
    for threads in 1 2; do
        limit="SET statement_timeout = '${max_seconds}s'; $(workers $((threads - 1)))"
        if wanted self-join; then
            candidate self-join $threads "default work_mem" "$limit $plain" "$(self_join "$instance")"
            # An eighth: the join's table and the groups each take twice work_mem, in two processes.
            setting=$((memory_gb * 1000 / 8))MB
            candidate self-join $threads "work_mem $setting" "$limit $plain SET work_mem = '$setting';" "$(self_join "$instance")"
        fi
        if wanted duckdb; then
            for setting in 12 26; do
                candidate duckdb $threads "perfect_ht_threshold $setting" \
                    "SET threads = $threads; SET perfect_ht_threshold = $setting;" "$(self_join "$instance")"
            done
        fi
        if wanted chdb; then
            for setting in DEFAULT "'full_sorting_merge'"; do
                candidate chdb $threads "join_algorithm ${setting//\'/}" "SET max_threads = $threads; SET join_algorithm = $setting;" "$(self_join "$instance")"
            done
        fi
        if wanted rusket; then for setting in eclat fpgrowth; do candidate rusket $threads $setting "" "$threads $setting"; done; fi
        if wanted graphblas; then
            for setting in 32 1; do candidate graphblas $threads "blocks $setting" "" "$threads $setting"; done
        fi
        if wanted roaring; then candidate roaring $threads "" "" $threads; fi
        [ $threads = 1 ] || continue
        if wanted apriori; then
            candidate apriori 1 "" "" apriori
            candidate apriori 1 "mode t" "" "apriori mode=t"
        fi
        if wanted eclat; then for setting in a b; do candidate eclat 1 "algo $setting" "" "eclat algo=$setting"; done; fi
        if wanted lcm; then candidate lcm 1 "" "" pairs; fi
        if wanted fpgrowth; then for setting in s d; do candidate fpgrowth 1 "algo $setting" "" "fpgrowth algo=$setting"; done; fi
    done
}

# One run of a peer's side, or the reason why there is none. SECONDS is the longest wait.
try_side() { # NAME SECONDS
    local name=$1 wait_s=$2 session=${side_session[$1]} status=0 last
    patience=600
    [ -n "${to[$session]-}" ] || open_peer "$session" || status=$?
    if [ $status = 0 ]; then
        # The server stops the self-join itself.
        patience=$wait_s
        [ "$session" != self-join ] || patience=$((max_seconds + 30))
        run_side "$name" || status=$?
    fi
    patience=''
    if [ $status = 0 ]; then
        say "$name: $(calculate "$(tail -n 1 "$work/$name.ms") / 1000" 3) s"
        return
    fi
    last=$(grep -v '^ *$' "$work/$session.errors" | tail -n 1) || true
    drop_peer "$session"
    side_spent[$name]=$max_seconds
    if [ -s "$work/$name.ms" ]; then return; fi # slower than its first run was
    if [ $status = 2 ] || [[ $last = *"statement timeout"* ]]; then
        excuse[$name]="over $wait_s s"
    elif grep -qi 'memory\|bad_alloc' "$work/$session.errors"; then
        excuse[$name]="out of memory at $memory_gb GB"
    else
        excuse[$name]="failed: ${last:-no message}"
    fi
    say "$name: ${excuse[$name]}"
}

# One run of each candidate. Sets `sides`: for each peer and number of threads, the setting that took least. A
# setting that takes longer than the best one so far is stopped.
choose_settings() {
    local name key wait_s
    local -A best=()
    sides=()
    for name in "${candidates[@]}"; do
        key=$(peer_of "$name")_$(threads_of "$name")
        wait_s=$max_seconds
        if [ -n "${best[$key]-}" ] && [ -z "${excuse[${best[$key]}]-}" ]; then
            wait_s=$(calculate "$(median "${best[$key]}") / 1000 + 1")
            [ "$wait_s" -lt "$max_seconds" ] || wait_s=$max_seconds
        fi
        try_side "$name" "$wait_s"
        if [ -z "${best[$key]-}" ]; then
            best[$key]=$name
        elif [ -z "${excuse[$name]-}" ] && { [ -n "${excuse[${best[$key]}]-}" ] || holds "$(median "$name") < $(median "${best[$key]}")"; }; then
            best[$key]=$name
        fi
    done
    for name in "${candidates[@]}"; do
        if [ "${best[$(peer_of "$name")_$(threads_of "$name")]}" = "$name" ]; then sides+=("$name"); fi
    done
}

# ---- instances

load_instance() { # sets `rows_file`; status 1 and a message where the data is missing
    rows_file=$work/$instance.tsv
    case $instance in
        retail) has_fimi retail retail && fimi_rows retail > "$rows_file" || return ;;
        t40) has_fimi t40 T40I10D100K-regen && fimi_rows T40I10D100K-regen > "$rows_file" || return ;;
        *)
            make_generator
            say "loading $instance, scale $scale"
            build/generate "$instance" --scale "$scale" --format text > "$rows_file" 2> "$work/generate.log" ||
                fail "BENCH_INSTANCES: $(head -n 1 "$work/generate.log")"
            ;;
    esac
    run_sql "CREATE TABLE $instance (tid int4, item int4)"
    psql -X -q -v ON_ERROR_STOP=1 -c "COPY $instance FROM STDIN" < "$rows_file"
    run_sql "VACUUM (FREEZE, ANALYZE) $instance"
}

unload_instance() {
    local session
    for session in "${!to[@]}"; do
        if [ "$session" != pg ]; then drop_peer "$session"; fi
    done
    run_sql "DROP TABLE $instance"
    rm "$rows_file"
}

row() { # NAME OURS: a peer's side, and ours with as many threads
    local peer setting=${setting_of[$1]} label
    peer=$(peer_of "$1")
    label="${title[$peer]} ${version[$(script_of "$(session_of "$peer" 1)")]-}"
    label="| ${label% }${setting:+, $setting} | $(threads_of "$1")"
    if [ -n "${excuse[$1]-}" ]; then
        case ${excuse[$1]} in
            over*) emit "$label | ${excuse[$1]} | | | over $(calculate "$max_seconds * 1000 / $(median "$2")" 1) | |" ;;
            *) emit "$label | ${excuse[$1]} | | | | |" ;;
        esac
    else
        emit "$label | $(seconds "$1") ($(least "$1")) | $(seconds "$1" cpu) | $(runs "$1")" \
            "| $(calculate "$(median "$1") / $(median "$2")" 2) | $(calculate "$(median "$1" cpu) / $(median "$2" cpu)" 2) |"
    fi
}

# The best of the sides that answered with at most THREADS, compared with ours. Sets `factor` and `rival`;
# both are empty if no side answered.
closest() { # THREADS KIND OURS, batmap or rows
    local name line lines=''
    factor='' rival=''
    for name in "${sides[@]}"; do
        if [ -z "${excuse[$name]-}" ] && [ "$(threads_of "$name")" -le "$1" ]; then
            lines+="$(median "$name" "$2") $(peer_of "$name")"$'\n'
        fi
    done
    [ -n "$lines" ] || return 0
    line=$(printf %s "$lines" | sort -g | head -n 1)
    factor=$(calculate "${line%% *} / $(median "${instance}_$3_$1" "$2")" 2)
    rival=${title[${line#* }]}
}

summary=()
part_instance() {
    local name other round rows threads settings kind text ahead summary_line ours=()
    load_instance || return 0
    sql "SELECT count(*), count(DISTINCT tid), count(DISTINCT item) FROM $instance;"
    rows=$answer
    candidates=()
    list_candidates
    for threads in 1 2; do
        settings="SET batmap.threads = $threads; $(workers $((threads - 1)))"
        side "${instance}_batmap_$threads" pg "$settings" "$(batmap_query "$instance" 1)"
        side "${instance}_rows_$threads" pg "$settings SET batmap.enable_aggregate = off;" "$(batmap_query "$instance" 1)"
        ours+=("${instance}_batmap_$threads" "${instance}_rows_$threads")
    done
    for name in "${ours[@]}"; do run_side "$name" || fail "batmap_pairs gave no answer"; done
    choose_settings
    for ((round = 2; round <= max_runs; round++)); do
        for name in "${ours[@]}"; do run_side "$name" || fail "batmap_pairs gave no answer"; done
        for name in "${sides[@]}"; do
            if holds "${side_spent[$name]} < $max_seconds / 2"; then try_side "$name" "$max_seconds"; fi
        done
    done

    # Compare the answers first.
    agree "${ours[@]}"
    for name in "${candidates[@]}"; do
        if [ -z "${excuse[$name]-}" ]; then agree "${instance}_batmap_1" "$name"; fi
    done

    emit
    emit "## $instance"
    emit
    emit "$(awk -F '|' '{ print $1 " rows, " $2 " transactions, " $3 " items" }' <<< "$rows");" \
        "$(awk -F '|' '{ print $1 " pairs, sum of supports " $2 }' <<< "${side_answer[${instance}_batmap_1]}"): the answer of every side that has a time."
    emit
    emit "| | threads | s | CPU, s | runs | / batmap_pairs | CPU / batmap_pairs |"
    emit "|---|---|---|---|---|---|---|"
    for threads in 1 2; do
        name=${instance}_batmap_$threads
        emit "| batmap_pairs, from a table to these two numbers | $threads | $(seconds "$name") ($(least "$name")) | $(seconds "$name" cpu) | $(runs "$name") | 1 | 1 |"
    done
    for threads in 1 2; do
        name=${instance}_rows_$threads other=${instance}_batmap_$threads
        emit "| the same, each row handed to the server's Aggregate | $threads | $(seconds "$name") ($(least "$name")) | $(seconds "$name" cpu) | $(runs "$name")" \
            "| $(calculate "$(median "$name") / $(median "$other")" 2) | $(calculate "$(median "$name" cpu) / $(median "$other" cpu)" 2) |"
    done
    phase_sides+=("${ours[@]}")
    for name in "${sides[@]}"; do row "$name" "${instance}_batmap_$(threads_of "$name")"; done

    ahead=yes text='' summary_line="| $instance"
    for kind in "1 thread" "2 threads" "CPU time, 1 thread"; do
        case $kind in CPU*) closest 1 cpu batmap ;; *) closest "${kind%% *}" ms batmap ;; esac
        summary_line+=" | ${factor:+$factor, $rival}"
        [ -n "$factor" ] || continue
        text+="${text:+; }$kind: $factor ($rival)"
        holds "$factor > 1" || ahead=no
    done
    for threads in 1 2; do
        closest "$threads" ms rows
        summary_line+=" | ${factor}"
    done
    # A peer that was stopped before our own time had passed may be faster.
    for name in "${sides[@]}"; do
        if [[ $ahead = yes && ${excuse[$name]-} = over* ]] && holds "$max_seconds * 1000 < $(median "${instance}_batmap_$(threads_of "$name")")"; then
            ahead="not known"
        fi
    done
    summary+=("$summary_line | $ahead |")
    emit
    emit "**Ahead of every peer: $ahead.** Of the peer that comes closest, time / time of batmap_pairs: ${text:-no peer gave an answer}."
    if [ "$instance" = w2 ]; then part_threshold; fi
    unload_instance
}

# The largest instance, with a threshold that fewer than a million pairs reach.
part_threshold() {
    local threshold threads
    sql "SELECT min(support_count) + 1 FROM batmap_pairs('SELECT tid, item FROM $instance', top_k => 1000000);"
    threshold=$answer
    side "${instance}_few_1" pg "SET batmap.threads = 1; $(workers 0)" "$(batmap_query "$instance" "$threshold")"
    side "${instance}_few_2" pg "SET batmap.threads = 2; $(workers 1)" "$(batmap_query "$instance" "$threshold")"
    side "${instance}_few_default" pg "" "$(batmap_query "$instance" "$threshold")"
    alternate "${instance}_few_1" "${instance}_few_2" "${instance}_few_default"
    agree "${instance}_few_1" "${instance}_few_2" "${instance}_few_default"
    phase_sides+=("${instance}_few_1" "${instance}_few_2" "${instance}_few_default")
    emit
    emit "With min_count $threshold ${side_answer[${instance}_few_1]%|*} pairs are left; \`batmap_pairs\` takes (goal: at most 2 s on 16 quiet cores)"
    emit
    emit "| threads | s | CPU, s | runs |"
    emit "|---|---|---|---|"
    for threads in 1 2 default; do
        name=${instance}_few_$threads
        emit "| $threads | $(seconds "$name") ($(least "$name")) | $(seconds "$name" cpu) | $(runs "$name") |"
    done
}

# ---- the run

started=$SECONDS
set_up_peers
open_psql pg
version[self-join]=$(psql -X -A -t -c 'SHOW server_version_num' | sed -E 's/0*([0-9]+)(..)$/\1.\2/; s/00\././')
emit "# All pairs by batmap_pairs and by its peers, $(date -u +%Y-%m-%d)"
emit
emit_machine "bench/run peers"
emit "\`batmap_pairs\` from rows in a table to the number of pairs and the sum of their supports; the peers with their data in memory, and without what they need to get it there." \
    "Medians, and the least in brackets; the sides take turns. A run is stopped after $max_seconds s, a peer has $memory_gb GB."
sql "SELECT 1 FROM batmap_last_run();"
for instance in $instances; do part_instance; done

emit
emit "## All instances: the peer that comes closest, time / time of batmap_pairs"
emit
emit "*rows*: where each row is handed to the Aggregate of the server."
emit
emit "| | 1 thread | 2 threads | CPU time, 1 thread | rows, 1 thread | rows, 2 threads | ahead of every peer |"
emit "|---|---|---|---|---|---|---|"
for line in "${summary[@]}"; do emit "$line"; done
phase_table
emit
emit "Load at the end $(load); $((SECONDS - started)) s in all."
save_report -peers
