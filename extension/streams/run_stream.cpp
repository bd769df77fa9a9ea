// Times and warnings of the table functions. See run_stream.h.
#include "extension/streams/run_stream.h"

#include "extension/server/pg.h"

namespace batmap::pg {

double lap_ms(instr_time& start) {
  instr_time now;
  INSTR_TIME_SET_CURRENT(now);
  instr_time lap = now;
  INSTR_TIME_SUBTRACT(lap, start);
  start = now;
  return INSTR_TIME_GET_MILLISEC(lap);
}

void report_truncation(const Truncation& truncation) {
  count_truncated_run();
  const bool is_error = settings.on_truncation == static_cast<int>(OnTruncation::kError);
  const auto limit = static_cast<long long>(truncation.limit);
  if (truncation.cause == Truncation::kTimeout)
    ereport(is_error ? ERROR : WARNING,
            (errcode(is_error ? ERRCODE_QUERY_CANCELED : ERRCODE_WARNING),
             errmsg("answer cut off after timeout = %lld ms", limit), errhint("Raise timeout or the threshold.")));
  else
    ereport(is_error ? ERROR : WARNING,
            (errcode(is_error ? ERRCODE_PROGRAM_LIMIT_EXCEEDED : ERRCODE_WARNING),
             errmsg("answer cut off after max_results = %lld rows", limit), errhint("Raise max_results or the threshold.")));
}

void report_swapped_columns(const RelationSizes& sizes) {
  if (!columns_look_swapped(sizes)) return;
  const auto number = [](uint64_t size) { return static_cast<unsigned long long>(size); };
  ereport(NOTICE,
          (errmsg("input query has %llu transactions but %llu items, none of them in more than %llu rows",
                  number(sizes.transactions), number(sizes.items), number(sizes.most_item_rows)),
           errhint("The first column is the transaction, the second the item. If they are swapped, turn them, or name "
                   "them with tid_column and item_column.")));
}

void report_single_events(uint64_t rows, uint64_t streams) {
  if (rows < 2 || streams < rows) return;
  ereport(NOTICE,
          (errmsg("each of the %llu rows of the input query has a stream of its own", static_cast<unsigned long long>(rows)),
           errhint("The first column is the time, the second the event, the third the stream. If they stand in "
                   "another order, turn them.")));
}

void report_swapped_times(const EventSizes& sizes) {
  if (!times_look_swapped(sizes)) return;
  const auto number = [](uint64_t size) { return static_cast<unsigned long long>(size); };
  ereport(NOTICE, (errmsg("input query has %llu times but %llu events, none of them in more than %llu rows",
                          number(sizes.times), number(sizes.events), number(sizes.most_event_rows)),
                   errhint("The first column is the time, the second the event. If they are swapped, turn them.")));
}

void report_notice(const std::string& notice) {
  ereport(WARNING, (errcode(ERRCODE_WARNING), errmsg("%s", notice.c_str()),
                    errhint("batmap_devices() says whether the GPU is used again in this session.")));
}

}  // namespace batmap::pg
