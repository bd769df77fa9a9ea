// Times, warnings and planner support of the table functions. See run_stream.h.
#include "extension/functions/run_stream.h"

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

void report_notice(const std::string& notice) {
  ereport(WARNING, (errcode(ERRCODE_WARNING), errmsg("%s", notice.c_str()),
                    errhint("batmap_devices() says whether the GPU is used again in this session.")));
}

Node* bound_rows(Node* request, int top_k_from_end, int max_results_from_end) {
  if (!IsA(request, SupportRequestRows)) return nullptr;
  auto* const rows = reinterpret_cast<SupportRequestRows*>(request);
  if (rows->node == nullptr || !IsA(rows->node, FuncExpr)) return nullptr;
  List* const arguments = castNode(FuncExpr, rows->node)->args;
  bool bounded = false;
  for (const int from_end : {top_k_from_end, max_results_from_end}) {
    const auto* const value = static_cast<Node*>(list_nth(arguments, list_length(arguments) - from_end));
    if (!IsA(value, Const) || reinterpret_cast<const Const*>(value)->constisnull) continue;
    const auto bound = static_cast<double>(DatumGetInt64(reinterpret_cast<const Const*>(value)->constvalue));
    rows->rows = bounded ? Min(rows->rows, bound) : bound;
    bounded = true;
  }
  return bounded ? request : nullptr;
}

}  // namespace batmap::pg
