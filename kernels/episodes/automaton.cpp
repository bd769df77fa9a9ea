// State machines that wait for symbols, and the pass that moves them. See automaton.h.
#include "episodes/automaton.h"

namespace batmap {

EpisodeMachine::EpisodeMachine(const EventAxisView& view, EpisodeView episode, const ExecutionOptions& options)
    : symbols_(episode.symbols), stream_ends_(view.stream_ends) {
  for (size_t k = 0; k + 1 < episode.length(); ++k) {
    gaps_.push_back(view.cut(episode.gaps[k]));
    lists_.emplace_back(*options.memory);
  }
}

void count_by_automaton(const EventAxisView& view, const EpisodeBatch& batch, size_t first, size_t last, uint64_t* counts,
                        int64_t* blocked_to, const ExecutionOptions& options) {
  std::vector<EpisodeMachine> machines;
  machines.reserve(last - first);
  // Which machines a symbol moves, and at which positions of the episode; for one machine the last position first.
  struct Position {
    uint32_t machine;
    uint32_t position;
  };
  Buffer<size_t> begin(*options.memory, size_t{view.symbol_count} + 1, Fill::kZero);
  for (size_t k = first; k < last; ++k) {
    machines.emplace_back(view, batch[k], options);
    if (blocked_to != nullptr) machines.back().start_after(blocked_to[k - first]);
    for (const uint32_t symbol : batch[k].symbols) ++begin[symbol];
  }
  for (uint32_t symbol = 0; symbol < view.symbol_count; ++symbol) begin[symbol + 1] += begin[symbol];
  // Filled from the end: each beginning ends up where it belongs, and later positions come first.
  Buffer<Position> positions(*options.memory, (last - first) * batch.length);
  for (size_t k = last; k-- > first;)
    for (size_t position = 0; position < batch.length; ++position)
      positions[--begin[batch[k].symbols[position]]] = {static_cast<uint32_t>(k - first), static_cast<uint32_t>(position)};

  for (size_t at = 0; at < view.events; ++at) {
    if (at % 4096 == 0) options.cancel.throw_if_requested();
    const uint32_t symbol = view.symbols[at];
    for (size_t k = begin[symbol]; k < begin[symbol + 1]; ++k)
      counts[positions[k].machine] += machines[positions[k].machine].step(positions[k].position, view.times[at]);
  }
  if (blocked_to == nullptr) return;
  for (size_t k = 0; k < machines.size(); ++k) blocked_to[k] = machines[k].after();
}

}  // namespace batmap
