# The part `itemsets` of run.sh, which sources this file: the cost of a row between the search and the plan
# above it; the spectrum; recommendations.

part_itemsets() {
    local name file min_count found phase nanoseconds verdict
    emit
    emit "## Itemsets and recommendations"
    emit
    emit "*Itemsets* is count(*) and sum(support_count) over \`batmap_itemsets\`, *spectrum* the same numbers from \`batmap_itemset_spectrum\`, which reads" \
        "and searches but has few rows. *A row* is the time of the former, less what went into reading, grouping and waiting for the search, for each" \
        "itemset. Goals: 250 ns, and the spectrum of chess below 0.2 s. *Estimate* is that of \`batmap_itemset_estimate\` within 20 ms, over the exact" \
        "number, and its standard error."
    emit
    emit "| | itemsets; sum of supports | itemsets, s | spectrum, s | a row, ns | goal | estimate |"
    emit "|---|---|---|---|---|---|---|"
    while IFS='|' read -r file min_count; do
        name=${file,,}
        name=${name%%[!a-z0-9]*}
        if [ "$file" = retail ]; then load_retail_once || continue; else load_fimi "$file" "$name" || continue; fi
        side "itemsets_of_$name" pg "" \
            "SELECT count(*), sum(support_count) FROM batmap_itemsets('SELECT tid, item FROM $name', min_count => $min_count);"
        side "spectrum_of_$name" pg "" \
            "SELECT sum(itemsets), sum(itemsets * support_count) FROM batmap_itemset_spectrum('SELECT tid, item FROM $name', min_count => $min_count);"
        alternate "itemsets_of_$name" "spectrum_of_$name"
        agree "itemsets_of_$name" "spectrum_of_$name"
        phase_sides+=("itemsets_of_$name" "spectrum_of_$name")
        found=${side_answer[spectrum_of_$name]%%|*}
        nanoseconds=$(median "itemsets_of_$name")
        for phase in read group count; do nanoseconds+=" - $(median "itemsets_of_$name" $phase)"; done
        nanoseconds=$(calculate "($nanoseconds) * 1e6 / $found")
        verdict=$(holds "$nanoseconds <= 250" && echo met || echo '**missed**')
        if [ "$name" = chess ]; then verdict+=", $(holds "$(median spectrum_of_chess) < 200" && echo met || echo '**missed**')"; fi
        [ "$scale" = 1 ] || verdict="(not at this scale)"
        sql "SELECT CASE WHEN exact THEN 'exact' ELSE round((itemsets / $found)::numeric, 2) || ' ± ' || round((standard_error / $found)::numeric, 2) END
            FROM batmap_itemset_estimate('SELECT tid, item FROM $name', min_count => $min_count, timeout => '20 ms');"
        emit "| $file, $min_count | ${side_answer[spectrum_of_$name]/|/; } | $(seconds "itemsets_of_$name") ($(least "itemsets_of_$name"))" \
            "| $(seconds "spectrum_of_$name") ($(least "spectrum_of_$name")) | $nanoseconds | $verdict | $answer |"
    done <<'END'
chess|1279
mushroom|407
connect|47290
retail|9
T40I10D100K-regen|500
END
    load_retail_once || return 0
    side recommend_few pg "" "SELECT item FROM batmap_recommend('{32,38,39,41}', 'SELECT tid, item FROM retail', min_count => 9) LIMIT 3;"
    side recommend_many pg "" \
        "SELECT item FROM batmap_recommend((SELECT array_agg(i) FROM generate_series(30, 69) i), 'SELECT tid, item FROM retail', min_count => 9) LIMIT 3;"
    side retail_sums pg "" "SELECT sum(tid), sum(item) FROM retail;"
    alternate recommend_few recommend_many retail_sums
    phase_sides+=(recommend_few recommend_many)
    emit
    emit "The best for a basket, of all rows of retail: $(seconds recommend_few) s for one of 4 items, $(seconds recommend_many) s for one of 40," \
        "pairs of them included; sum(tid), sum(item) of the table take $(seconds retail_sums) s."
}
