# The part `surface` of run.sh, which sources this file: what columns cost that a query uses or does not use, and the ways in which
# rows are given to a table function.

# Columns: one line, SIDE against BASE by CPU time. @ WHAT SIDE BASE BOUND
columns_line() {
    local ratio verdict
    ratio=$(calculate "$(median "$2" cpu) / $(median "$3" cpu)" 3)
    verdict=$(holds "$ratio <= $4" && echo met || echo '**missed**')
    [ "$scale" = 1 ] || verdict="(not at this scale)"
    emit "| $1 | ${side_answer[$2]//|/; } | $(seconds "$2") ($(least "$2")) | $(runs "$2") | $(seconds "$2" cpu) | $ratio | at most $4: $verdict |"
}

input_head() {
    emit
    emit "| | s | runs | CPU s | million rows/s | ratio | ratio of CPU | goal |"
    emit "|---|---|---|---|---|---|---|---|"
}

# Input: one line, SIDE against BASE by rows a second, of wall and of CPU time. The goal is one of wall time, because some sides
# share their work among processes and others do not. @ WHAT SIDE BASE [BOUND]
input_line() {
    local ratio goal=''
    ratio=$(calculate "$(median "$3") / $(median "$2")" 2)
    if [ $# -gt 3 ]; then
        goal="at least $4: $(holds "$ratio >= $4" && echo met || echo '**missed**')"
        [ "$scale" = 1 ] || goal="(not at this scale)"
    fi
    emit "| $1 | $(seconds "$2") ($(least "$2")) | $(runs "$2") | $(seconds "$2" cpu) | $(calculate "$rows / 1000 / $(median "$2")" 1)" \
        "| $ratio | $(calculate "$(median "$3" cpu) / $(median "$2" cpu)" 2) | $goal |"
}

# What is compared must do the same with the rows. A column that is not read is compared below the same aggregates. Columns that
# are read are compared where the server throws all rows away, by an OFFSET beyond the last: ten aggregates cost the
# server more than the columns that they count.
surface_columns() {
    local pairs="FROM batmap_pairs('SELECT tid, item FROM w1', min_count => 1" all="OFFSET 1000000000;"
    local one_backend
    one_backend="$(workers 0) SET batmap.threads = 1;"
    emit
    emit "## Columns"
    emit
    emit "All pairs of w1, by one process and one thread. Ratios of CPU time. The first two lines sum the supports; the others read the columns and" \
        "throw the rows away (\`OFFSET\`), because aggregates over them would cost the server more than they do."
    emit
    emit "| columns that are read | rows; sum of supports | s | runs | CPU s | ratio | goal |"
    emit "|---|---|---|---|---|---|---|"
    side columns_summed pg "$one_backend" "SELECT count(*), sum(support_count) $pairs);"
    side columns_unread pg "$one_backend" "SELECT count(*), sum(support_count) $pairs, measure => 'cosine');"
    side columns_none pg "$one_backend" "SELECT item_a, item_b, support_count $pairs) $all"
    side columns_old pg "$one_backend" "SELECT item_a, item_b, support_count, count_a, count_b, total $pairs) $all"
    side columns_all pg "$one_backend" "SELECT * $pairs, measure => 'cosine') $all"
    alternate columns_summed columns_unread columns_none columns_old columns_all
    agree columns_summed columns_unread
    columns_line "\`support_count\`" columns_summed columns_summed 1
    columns_line "the same under a measure, whose \`score\` is not read" columns_unread columns_summed 1.02
    columns_line "\`item_a\`, \`item_b\`, \`support_count\`" columns_none columns_none 1
    columns_line "and \`count_a\`, \`count_b\`, \`total\`" columns_old columns_none 1.5
    columns_line "and \`support\`, \`confidence\` both ways, \`lift\`, \`score\`" columns_all columns_none 1.5
    emit
    emit "What the columns cost where the function did not have them is a question for \`bench/run revisions\`: its statement all_pairs_of_w1."
}

surface_inputs() {
    local few="min_count => 10000000"
    emit
    emit "## Input"
    emit
    emit "The ${rows} rows of w1, of which no pair is frequent, so that most of the time goes into reading. Ratios of rows a second against the line" \
        "above with a ratio of 1, which the goals are about, and of rows a second of CPU time, workers included. The arrays hold the items of a transaction."
    sql "CREATE TABLE w1_arrays AS SELECT tid, array_agg(item) AS items FROM w1 GROUP BY tid; ANALYZE w1_arrays;"
    sql "CREATE TABLE w1_text AS SELECT tid, 'product ' || item AS item FROM w1; ANALYZE w1_text;"
    side input_text pg "" "SELECT count(*), 0 FROM batmap_pairs('SELECT tid, item FROM w1', $few);"
    side input_columns pg "" "SELECT count(*), 0 FROM batmap_pairs('TABLE w1', $few, tid_column => 'tid', item_column => 'item');"
    side input_arrays pg "" "SELECT count(*), 0 FROM batmap_pairs('SELECT tid, items FROM w1_arrays', $few);"
    side input_unnest pg "" "SELECT count(*), 0 FROM batmap_pairs('SELECT tid, unnest(items) FROM w1_arrays', $few);"
    side input_literal pg "" "SELECT count(*), 0 FROM batmap_pairs('SELECT tid, item FROM w1 WHERE tid > 0', $few);"
    side input_params pg "" "SELECT count(*), 0 FROM batmap_pairs('SELECT tid, item FROM w1 WHERE tid > \$1', $few, params => ROW(0));"
    alternate input_text input_columns input_arrays input_unnest input_literal input_params
    input_head
    input_line "the text \`SELECT tid, item FROM w1\`" input_text input_text
    input_line "\`TABLE w1\` and names of columns" input_columns input_text 0.8
    input_line "arrays" input_arrays input_text 0.8
    input_line "arrays, by \`unnest\` in the text" input_unnest input_text
    input_line "the text, with \`WHERE tid > 0\`" input_literal input_literal
    input_line "the same by \`params\`" input_params input_literal 0.8

    local count
    emit
    emit "Items as texts: \`batmap_pairs_of\` over the text \`SELECT tid, item FROM w1_text\`, which no worker shares, and the aggregates, which workers share."
    input_head
    for count in 0 2; do
        side "items_text_$count" pg "$(workers $count)" "SELECT count(*), 0 FROM batmap_pairs_of('SELECT tid, item FROM w1_text', $few);"
        side "items_relation_$count" pg "$(workers $count)" "SELECT count(*), 0 FROM (SELECT batmap_relation_agg(tid, item) AS r FROM w1_text) q, batmap_pairs_of(q.r, $few);"
        side "items_array_$count" pg "$(workers $count)" "SELECT cardinality(batmap_pairs_agg(tid, item, 10000000)), 0 FROM w1_text;"
        alternate "items_text_$count" "items_relation_$count" "items_array_$count"
        agree "items_text_$count" "items_relation_$count" "items_array_$count"
        input_line "the text, max_parallel_workers_per_gather $count" "items_text_$count" "items_text_$count"
        input_line "\`batmap_relation_agg\` and \`batmap_pairs_of\`" "items_relation_$count" "items_text_$count" 0.8
        input_line "\`batmap_pairs_agg\`" "items_array_$count" "items_text_$count" 0.8
    done
}

part_surface() {
    surface_columns
    surface_inputs
}
