# The part `surface` of run.sh, which sources this file: what columns cost that a query uses or does not use, and the ways in which
# rows are given to a table function.

# One line: SIDE against BASE. @ WHAT SIDE BASE BOUND
surface_line() {
    local ratio verdict
    ratio=$(calculate "$(median "$2" cpu) / $(median "$3" cpu)" 2)
    verdict=$(holds "$ratio <= $4" && echo met || echo '**missed**')
    [ "$scale" = 1 ] || verdict="(not at this scale)"
    emit "| $1 | ${side_answer[$2]/|/; } | $(seconds "$2") ($(least "$2")) | $(runs "$2") | $ratio | at most $4: $verdict |"
}

part_surface() {
    local all few
    emit
    emit "## Columns and input"
    emit
    emit "The ratio is of CPU time. Columns: all pairs of w1, against \`count(*), sum(support_count)\`. Input: no pair is frequent, so that most of" \
        "the time goes into reading; against the text \`SELECT tid, item FROM w1\`, or, with a condition, against the same text with the value in it." \
        "The arrays hold the rows of w1, one array a transaction. Text items: \`batmap_relation_agg\` and \`batmap_pairs_of\` over its relation," \
        "against the text \`SELECT tid, item FROM w1_text\`, both without workers."
    emit
    emit "| | answer | s | runs | ratio | goal |"
    emit "|---|---|---|---|---|---|"
    all="FROM batmap_pairs('SELECT tid, item FROM w1', min_count => 1, measure => 'cosine');"
    side columns_none pg "" "SELECT count(*), sum(support_count) $all"
    side columns_old pg "" "SELECT count(*), sum(support_count), count(count_a), count(count_b), count(total) $all"
    side columns_all pg "" "SELECT count(*), sum(support_count), count(count_a), count(count_b), count(total),
        count(support), count(confidence), count(confidence_ba), count(lift), count(score) $all"
    alternate columns_none columns_old columns_all
    surface_line "no more columns" columns_none columns_none 1
    surface_line "\`count_a\`, \`count_b\`, \`total\`" columns_old columns_none 1.5
    surface_line "and support, confidence both ways, lift, score" columns_all columns_none 1.5

    sql "CREATE TABLE w1_arrays AS SELECT tid, array_agg(item) AS items FROM w1 GROUP BY tid; ANALYZE w1_arrays;"
    few="min_count => 10000000"
    side input_text pg "" "SELECT count(*), 0 FROM batmap_pairs('SELECT tid, item FROM w1', $few);"
    side input_columns pg "" "SELECT count(*), 0 FROM batmap_pairs('TABLE w1', $few, tid_column => 'tid', item_column => 'item');"
    side input_arrays pg "" "SELECT count(*), 0 FROM batmap_pairs('SELECT tid, items FROM w1_arrays', $few);"
    side input_unnest pg "" "SELECT count(*), 0 FROM batmap_pairs('SELECT tid, unnest(items) FROM w1_arrays', $few);"
    side input_literal pg "" "SELECT count(*), 0 FROM batmap_pairs('SELECT tid, item FROM w1 WHERE tid > 0', $few);"
    side input_params pg "" "SELECT count(*), 0 FROM batmap_pairs('SELECT tid, item FROM w1 WHERE tid > \$1', $few, params => ROW(0));"
    alternate input_text input_columns input_arrays input_unnest input_literal input_params
    surface_line "text" input_text input_text 1
    surface_line "names of columns" input_columns input_text 1.25
    surface_line "a value in the text" input_literal input_literal 1
    surface_line "\`params\`" input_params input_literal 1.25
    surface_line "arrays" input_arrays input_text 1.25
    surface_line "the same, by \`unnest\` in the text" input_unnest input_text 1.25

    sql "CREATE TABLE w1_text AS SELECT tid, 'product ' || item AS item FROM w1; ANALYZE w1_text;"
    side items_text pg "$(workers 0)" "SELECT count(*), 0 FROM batmap_pairs_of('SELECT tid, item FROM w1_text', $few);"
    side items_relation pg "$(workers 0)" "SELECT count(*), 0 FROM (SELECT batmap_relation_agg(tid, item) AS r FROM w1_text) q, batmap_pairs_of(q.r, $few);"
    alternate items_text items_relation
    surface_line "text items" items_text items_text 1
    surface_line "text items in a relation" items_relation items_text 1.25
}
