// Table function batmap_generate_spikes: the spikes of a simulated network, for tests and
// benchmarks of episodes.
#include <optional>
#include <vector>

#include "episodes/spike_train.h"
#include "extension/server/boundary.h"
#include "extension/server/context_owned.h"
#include "extension/streams/row_stream.h"

#include "extension/server/pg.h"

using namespace batmap;
using namespace batmap::pg;

namespace {

struct SpikeCall {
  explicit SpikeCall(MemoryContext) {}
  std::optional<SpikeTrain> train;
  std::vector<Spike> spikes;
};

struct SpikeQuery {
  SpikeModel model;
  int64_t bins;  // of a millisecond
};

class SpikeRows final : public RowStream {
 public:
  SpikeRows(SpikeCall* call, int64_t bins) : call_(call), bins_(bins) {}

  bool next(Datum* values) override {
    while (handed_over_ == call_->spikes.size()) {
      if (bin_ == bins_) return false;
      if (bin_++ % 64 == 0) CHECK_FOR_INTERRUPTS();
      guarded([&] { call_->train->next(call_->spikes); });
      handed_over_ = 0;
    }
    const Spike& spike = call_->spikes[handed_over_++];
    values[0] = Int64GetDatum(spike.time_us);
    values[1] = Int32GetDatum(static_cast<int32_t>(spike.neuron));
    return true;
  }
  void finish() override {}  // this is no run: batmap_last_run() keeps its record
  void explain(ExplainState* state) override { ExplainPropertyInteger("Milliseconds", nullptr, bin_, state); }

 private:
  SpikeCall* call_;
  int64_t bins_;
  int64_t bin_ = 0;
  size_t handed_over_ = 0;
};

SpikeQuery read_arguments(FunctionCallInfo fcinfo) {
  constexpr double kMaxSeconds = 1e9;
  const double seconds = PG_GETARG_FLOAT8(0);
  if (!(seconds >= 0 && seconds <= kMaxSeconds))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("seconds must be between 0 and %g, not %g", kMaxSeconds, seconds)));
  return {{.neurons = PG_GETARG_INT32(2),
           .rate = PG_GETARG_FLOAT8(3),
           .episodes = PG_GETARG_INT32(4),
           .length = PG_GETARG_INT32(5),
           .strength = PG_GETARG_FLOAT8(6),
           .seed = static_cast<uint64_t>(PG_GETARG_INT64(1))},
          static_cast<int64_t>(seconds * 1000)};
}

}  // namespace

// There are no rows to read.
BATMAP_TABLE_FUNCTION(batmap_generate_spikes) {
  for (int k = 0; k < PG_NARGS(); ++k)
    if (PG_ARGISNULL(k)) return nullptr;
  const SpikeQuery query = read_arguments(fcinfo);
  SpikeCall* const call = ContextOwned<SpikeCall>::reserve(context)->emplace(context);
  guarded([&] { call->train.emplace(query.model); });
  return new (MemoryContextAlloc(context, sizeof(SpikeRows))) SpikeRows(call, query.bins);
}
