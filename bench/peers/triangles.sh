#!/bin/bash
# Triangles of graphs, and counts of listed pairs, beside GraphBLAS's masked product and NetworkX: `bench/run triangles`, or
# test/sandbox bench/peers/triangles.sh. The extension works end to end, from rows in a table to rows out; the peers have their
# matrices or their graph in memory. All answers are compared. Prints Markdown. bench/README.md says what the figures do not say.
#
# Variables: BENCH_RMAT (scales of the graphs, default "14 16"; a graph has 2^scale vertices and 16 edges a vertex), BENCH_PAIRS
# (numbers of listed pairs of items of w1, default "1000 100000"), BENCH_SCALE (fraction of the transactions of w1, default 1),
# BENCH_RUNS (runs of each side, default 3), BENCH_SECONDS (a side that has taken this long is not run again, default 60),
# BENCH_NETWORKX (the largest scale at which NetworkX runs, default 14).

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

scale=${BENCH_SCALE:-1}
max_runs=${BENCH_RUNS:-3}
max_seconds=${BENCH_SECONDS:-60}

# shellcheck source=bench/sides.sh
. bench/sides.sh
# shellcheck disable=SC2034  # read by run_side
phases=()

bench/peers/graphs.sh setup || { say "without GraphBLAS and NetworkX there is nothing to compare with"; exit 77; }
mkdir -p build
"${CXX:-g++}" -std=c++20 -O2 -o build/generate_graph bench/generate_graph.cpp
make_generator

open_psql pg
open_session graphs bench/peers/graphs.sh session
ask graphs version
peers=$answer
emit "# Triangles and listed pairs beside $peers, $(date -u +%Y-%m-%d)"
emit
emit_machine "bench/run triangles"

# One line: SIDE of the extension beside a peer. @ WHAT SIDE PEER NAME
peer_line() {
    emit "| $1 | ${side_answer[$2]//|/; } | $(seconds "$2") ($(least "$2")) | $(seconds "$2" cpu) | $4 | $(seconds "$3") ($(least "$3"))" \
        "| $(seconds "$3" cpu) | $(calculate "$(median "$3") / $(median "$2")" 2) | $(calculate "$(median "$3" cpu) / $(median "$2" cpu)" 2) |"
}

table_head() { # ANSWER
    emit
    emit "| | $1 | batmap, s | CPU s | peer | s | CPU s | peer / batmap | by CPU |"
    emit "|---|---|---|---|---|---|---|---|---|"
}

beside_graphblas() { # WHAT NAME QUERY STATEMENT
    local threads
    for threads in 1 2; do
        side "$2_$threads" pg "$(workers $((threads - 1))) SET batmap.threads = $threads;" "$3"
        side "$2_peer_$threads" graphs "" "$4 $threads"
    done
    alternate "$2_1" "$2_peer_1" "$2_2" "$2_peer_2"
    agree "$2_1" "$2_peer_1" "$2_2" "$2_peer_2"
    for threads in 1 2; do peer_line "$1, threads: $threads" "$2_$threads" "$2_peer_$threads" GraphBLAS; done
}

emit
emit "## Triangles"
emit
emit "R-MAT graphs with the parameters of Graph500 and 16 edges a vertex, as they are drawn: edges repeat, and those that do not count are" \
    "still read. \`batmap_triangles\` is beside the sum of L L' under the mask L, and \`batmap_edge_triangles\` beside A A under the mask of A's" \
    "upper triangle. The peers have made their matrices before, with each edge once and the vertices sorted by their numbers of edges."
for rmat in ${BENCH_RMAT:-14 16}; do
    say "making a graph of scale $rmat"
    build/generate_graph "$rmat" 16 > "$work/edges"
    run_sql "CREATE TABLE graph_$rmat (a int4, b int4)"
    psql -X -q -v ON_ERROR_STOP=1 -c "COPY graph_$rmat FROM STDIN" < "$work/edges"
    run_sql "VACUUM (FREEZE, ANALYZE) graph_$rmat"
    ask graphs "graph $work/edges"
    table_head "triangles; edges, or edges; sum of their triangles"
    beside_graphblas "scale $rmat, triangles" "triangles_$rmat" "SELECT triangles, edges FROM batmap_triangles('graph_$rmat');" triangles
    beside_graphblas "scale $rmat, of each edge" "edges_$rmat" "SELECT count(*), sum(triangles) FROM batmap_edge_triangles('graph_$rmat');" edges
    if [ "$rmat" -le "${BENCH_NETWORKX:-14}" ]; then
        side "networkx_$rmat" graphs "" networkx
        run_side "networkx_$rmat"
        agree "triangles_${rmat}_1" "networkx_$rmat"
        peer_line "scale $rmat, triangles, threads: 1" "triangles_${rmat}_1" "networkx_$rmat" NetworkX
    fi
done

emit
emit "## Listed pairs"
emit
emit "Random pairs of different items of w1, each listed once: \`batmap_count_pairs\` beside A'A under the mask of the list."
say "loading w1, scale $scale"
run_sql 'CREATE TABLE w1 (tid int4, item int4)'
build/generate w1 --scale "$scale" --format text > "$work/rows"
psql -X -q -v ON_ERROR_STOP=1 -c 'COPY w1 FROM STDIN' < "$work/rows"
run_sql 'VACUUM (FREEZE, ANALYZE) w1'
table_head "pairs; sum of supports"
for pairs in ${BENCH_PAIRS:-1000 100000}; do
    run_sql "CREATE TABLE list_$pairs AS SELECT DISTINCT (i * 2654435761 % 3989)::int4 AS a, (i * 40503 / 3 % 3967)::int4 AS b FROM generate_series(1::int8, $pairs) i"
    run_sql "VACUUM (FREEZE, ANALYZE) list_$pairs"
    psql -X -q -c "COPY list_$pairs TO STDOUT" > "$work/list"
    ask graphs "pairs $work/rows $work/list"
    beside_graphblas "w1, $pairs pairs drawn" "listed_$pairs" "SELECT count(*), sum(support_count) FROM batmap_count_pairs('SELECT tid, item FROM w1', 'list_$pairs');" listed
done

save_report "-triangles"
