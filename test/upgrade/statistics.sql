-- Of the columns that make.sql has analysed: what an upgrade keeps.
SELECT tablename, attname, null_frac, n_distinct <> 0, correlation IS NULL, md5(most_common_elems::text), most_common_elem_freqs IS NULL
  FROM pg_stats WHERE tablename IN ('sets', 'prepared', 'lines', 'kept') ORDER BY 1, 2;
