// Lists of symbols, and axes in files. See event_axis.h.
#include "episodes/event_axis.h"

#include <utility>

#include "core/polled.h"

namespace batmap {

EventAxis::EventAxis(size_t events, Buffer<int64_t> times, Buffer<uint32_t> symbols, uint32_t symbol_count, int64_t reach,
                     GrowingBuffer<Stretch> stretches, EpisodeCounting counting, const ExecutionOptions& options,
                     const PieceBounds& piece)
    : events_(events),
      reach_(reach),
      piece_(piece),
      times_(std::move(times)),
      symbols_(std::move(symbols)),
      begin_(*options.memory, size_t{symbol_count} + 1, Fill::kZero),
      list_times_(*options.memory, events),
      stretches_(std::move(stretches)) {
  // at[symbol] is the next free index of each list.
  Buffer<uint32_t> at(*options.memory, size_t{symbol_count} + 1, Fill::kZero);
  in_parts(events, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) ++at[symbols_[k] + 1];
  });
  for (uint32_t symbol = 0; symbol < symbol_count; ++symbol) at[symbol + 1] += at[symbol];
  std::copy(at.begin(), at.end(), begin_.begin());
  in_parts(events, options.cancel, [&](size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) list_times_[at[symbols_[k]]++] = times_[k];
  });
  if (counting != EpisodeCounting::kStreams) return;
  stream_ends_ = Buffer<int64_t>(*options.memory, stretches_.size());
  for (size_t k = 0; k + 1 < stretches_.size(); ++k) stream_ends_[k] = stretches_[k + 1].at - 1;
  stream_ends_[stretches_.size() - 1] = INT64_MAX;
}

void EventAxis::write(TempFile& file, const CancelToken& cancel) const {
  const auto put = [&](const auto* values, size_t count) {
    in_parts(count, cancel,
             [&](size_t first, size_t last) { file.write(std::as_bytes(std::span(values + first, last - first))); });
  };
  const uint64_t sizes[2] = {events_, stretches_.size()};
  put(sizes, 2);
  put(times_.data(), events_);
  put(symbols_.data(), events_);
  put(stretches_.begin(), stretches_.size());
}

EventAxis::Sizes EventAxis::read_sizes(TempFile& file) {
  Sizes sizes;
  file.read(std::as_writable_bytes(std::span(&sizes, 1)));
  return sizes;
}

void EventAxis::read_events(TempFile& file, const Sizes& sizes, int64_t* times, uint32_t* symbols,
                            GrowingBuffer<Stretch>& stretches, const CancelToken& cancel) {
  const auto get = [&](auto* values, size_t count) {
    in_parts(count, cancel,
             [&](size_t first, size_t last) { file.read(std::as_writable_bytes(std::span(values + first, last - first))); });
  };
  get(times, sizes.events);
  get(symbols, sizes.events);
  get(stretches.room(sizes.stretches), sizes.stretches);
  stretches.add(sizes.stretches);
}

EventAxisView EventAxis::view() const {
  return {.events = events_,
          .times = times_.data(),
          .symbols = symbols_.data(),
          .symbol_count = static_cast<uint32_t>(begin_.size() - 1),
          .begin = begin_.data(),
          .list_times = list_times_.data(),
          .reach = reach_,
          .stream_ends = {stream_ends_.data(), stream_ends_.size()},
          .piece = piece_};
}

const EventAxis::Stretch& EventAxis::stretch_of(int64_t time) const {
  const auto behind = std::upper_bound(stretches_.begin(), stretches_.end(), time,
                                       [](int64_t wanted, const Stretch& stretch) { return wanted < stretch.at; });
  return *(behind - 1);
}

}  // namespace batmap
