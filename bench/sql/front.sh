# The part `front` of run.sh, which sources this file: questions that read little of a large answer, all pairs of retail. Each beside
# the same question where every pair is a row for the server.

front_line() { # WHAT SIDE OTHER
    agree "$2" "$3"
    emit "| $1 | ${side_answer[$2]//|/; } | $(seconds "$2") ($(least "$2")) | $(runs "$2") | $(seconds "$3") ($(least "$3")) | $(runs "$3")" \
        "| $(calculate "$(median "$3") / $(median "$2")" 1) |"
}

part_front() {
    local pairs="batmap_pairs('SELECT tid, item FROM retail', min_count => 1)" off="SET batmap.enable_aggregate = off;"
    local joined="SELECT a.item AS item_a, b.item AS item_b, count(*) AS support_count FROM retail a JOIN retail b USING (tid) WHERE a.item < b.item GROUP BY 1, 2"
    local numbers="count(*), sum(support_count), max(support_count)" order="ORDER BY support_count DESC" limit="LIMIT 20" ordered name
    sql "SELECT 1 FROM batmap_last_run();" # loads the library
    side front_numbers pg "" "SELECT $numbers FROM $pairs;"
    side front_numbers_rows pg "$off" "SELECT $numbers FROM $pairs;"
    local partners="count(*), sum(n), max(m)" grouped="SELECT item_a, count(*) AS n, max(support_count) AS m"
    side front_groups pg "" "SELECT $partners FROM ($grouped FROM $pairs GROUP BY 1) q;"
    side front_groups_rows pg "$off" "SELECT $partners FROM ($grouped FROM $pairs GROUP BY 1) q;"
    side front_both pg "" "SELECT $partners FROM ($grouped FROM (${joined/</<>}) p GROUP BY 1) q;"
    side front_both_rows pg "$off" "SELECT $partners FROM ($grouped FROM (${joined/</<>}) p GROUP BY 1) q;"
    side front_joined pg "" "SELECT $numbers FROM ($joined) p;"
    side front_joined_rows pg "$off" "SELECT $numbers FROM ($joined) p;"
    for name in best ties; do
        ordered=$order
        [ "$name" = best ] || ordered+=", item_a, item_b"
        side "front_$name" pg "" "SELECT sum(support_count) FROM (SELECT * FROM $pairs $ordered $limit) p;"
        side "front_${name}_rows" pg "" "SELECT sum(support_count) FROM (SELECT * FROM (SELECT * FROM $pairs OFFSET 0) q $ordered $limit) p;"
    done
    emit
    emit "## Questions that read little of the answer"
    emit
    emit "All pairs of retail. Above 1, the question takes less time than with a row for each pair: by \`batmap.enable_aggregate = off\`," \
        "or with OFFSET 0 between the pairs and their order."
    emit
    emit "| | answer | s | runs | with rows, s | runs | with rows / without |"
    emit "|---|---|---|---|---|---|---|"
    for name in numbers joined groups both best ties; do alternate "front_$name" "front_${name}_rows"; done
    front_line "number of pairs, sum and maximum of their counts" front_numbers front_numbers_rows
    front_line "the same of a plain join" front_joined front_joined_rows
    front_line "number and best of the partners, by the first item" front_groups front_groups_rows
    front_line "the same of a plain join with \`<>\`" front_both front_both_rows
    front_line "\`$order $limit\`" front_best front_best_rows
    front_line "\`$order, item_a, item_b $limit\`" front_ties front_ties_rows
}
