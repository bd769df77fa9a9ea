# The part `corpus` of run.sh, which sources this file: the queries of test/plain_corpus over larger tables, with the plan nodes
# and without, at the planner's own choice. BENCH_CORPUS: number of orders (default 10000).

part_corpus() {
    local number name query ratio taken all=0 by_engine=0 slower=0 path="SET search_path = corpus, public;"
    say "making the tables of the corpus"
    psql -X -q -v ON_ERROR_STOP=1 -v scale="${BENCH_CORPUS:-10000}" -c 'CREATE SCHEMA corpus' -c 'SET search_path = corpus, public' \
        -f test/plain_corpus/schema.sql -f test/plain_corpus/queries.sql > /dev/null
    sql "SELECT count(*) FROM batmap_last_run();" # loads the library
    emit
    emit "## Queries as people write them"
    emit
    emit "test/plain_corpus with ${BENCH_CORPUS:-10000} orders. Seconds with the planner's choice, and with batmap.enable_join_project off;" \
        "medians. A query is slower if it takes more than 1.1 times as long as its plain plan and at least 5 ms more."
    emit
    emit "| query | by | planner's choice, s | plain plan, s | plain / choice |"
    emit "|---|---|---|---|---|"
    while IFS=$'\t' read -r number name query; do
        taken=$(psql -X -q -A -t -c "LOAD 'batmap'" -c "$path" -c "EXPLAIN $query")
        case $taken in *'Custom Scan (Batmap'*) taken=engine ;; *) taken='plain plan' ;; esac
        side "corpus_$number" pg "$path $generous" "SELECT count(*), count(q) FROM ($query) q;"
        side "corpus_plain_$number" pg "$path $plain $generous" "SELECT count(*), count(q) FROM ($query) q;"
        alternate "corpus_$number" "corpus_plain_$number"
        agree "corpus_$number" "corpus_plain_$number"
        ratio=$(calculate "$(median "corpus_plain_$number") / $(median "corpus_$number")" 2)
        all=$((all + 1))
        [ "$taken" != engine ] || by_engine=$((by_engine + 1))
        if holds "$(median "corpus_$number") > 1.1 * $(median "corpus_plain_$number") && $(median "corpus_$number") > $(median "corpus_plain_$number") + 5"; then
            slower=$((slower + 1)) ratio="**$ratio**"
        fi
        emit "| $name | $taken | $(seconds "corpus_$number") | $(seconds "corpus_plain_$number") | $ratio |"
    done < <(psql -X -q -A -t -F $'\t' -c "$path" -c "SELECT number, name, regexp_replace(query, '\s+', ' ', 'g') FROM corpus ORDER BY number")
    emit
    emit "$by_engine of $all by the engine, $slower slower than their plain plans."
}
