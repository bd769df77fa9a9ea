// Streams, pieces behind their contexts, and pieces by twos. See event_parts.h.
#include "episodes/event_parts.h"

#include <algorithm>
#include <string>
#include <utility>

namespace batmap {

namespace {

constexpr uint64_t kAxisBytesAnEvent = 36;  // while an axis is made

PieceBounds context_of(size_t length, int64_t step) {
  const uint64_t gaps = length > 0 ? length - 1 : 0;
  if (gaps > 0 && static_cast<uint64_t>(step) > EventAxis::kMaxSpan / gaps)
    return {.context = static_cast<int64_t>(EventAxis::kMaxSpan)};  // the whole stream
  return {.context = static_cast<int64_t>(gaps) * step, .step = step};
}

}  // namespace

bool StoredParts::have_long_windows(const ExecutionOptions& options) const {
  uint64_t most = 0;
  for (size_t begin = 0; begin < parts.size();) {
    uint64_t events = 0;
    size_t end = begin;
    const int64_t counted_to = parts[begin].continues ? parts[begin - 1].last_time : -1;
    // As ContextReader, but with all events of a piece that is partly in the context.
    for (size_t k = begin; k-- > 0 && parts[k + 1].continues && parts[k].last_time > counted_to - reach;)
      events += parts[k].events;
    do {
      events += parts[end++].events;
    } while (end < parts.size() && parts[end].continues && parts[end - 1].last_time - counted_to < reach);
    if (parts[begin].is_piece) most = std::max(most, events);
    begin = end;
  }
  return most > options.work_bytes / kAxisBytesAnEvent;
}

std::optional<EventPart> PartReader::next() {
  if (at_ == stored_.parts.size()) return std::nullopt;
  const StoredPart& part = stored_.parts[at_];
  std::span<const uint64_t> in_reach;
  if (part.is_piece)
    in_reach = load_piece();
  else
    load_streams(part);
  return EventPart{axes_, part.is_piece, part.continues, in_reach};
}

void PartReader::load_streams(const StoredPart& part) {
  ++at_;
  axes_.clear();
  axes_.reserve(part.axes);
  part.file->rewind();
  while (axes_.size() < part.axes) {
    const EventAxis::Sizes sizes = EventAxis::read_sizes(*part.file);
    Buffer<int64_t> times(*options_.memory, sizes.events);
    Buffer<uint32_t> symbols(*options_.memory, sizes.events);
    GrowingBuffer<EventAxis::Stretch> stretches(*options_.memory);
    EventAxis::read_events(*part.file, sizes, times.data(), symbols.data(), stretches, options_.cancel);
    axes_.emplace_back(sizes.events, std::move(times), std::move(symbols), stored_.symbols, stored_.reach,
                       std::move(stretches), stored_.counting, options_);
  }
}

void PartReader::read_piece(size_t piece, int64_t* times, uint32_t* symbols,
                            GrowingBuffer<EventAxis::Stretch>& stretches) const {
  TempFile& file = *stored_.parts[piece].file;
  file.rewind();
  const EventAxis::Sizes sizes = EventAxis::read_sizes(file);
  stretches.shrink(0);
  EventAxis::read_events(file, sizes, times, symbols, stretches, options_.cancel);
}

void PartReader::load_axis(std::initializer_list<PieceRange> ranges, Kept kept) {
  axes_.clear();
  const size_t kept_events = kept.times.size();
  uint64_t events = kept_events;
  for (const PieceRange& range : ranges)
    for (size_t k = range.begin; k < range.end; ++k) events += stored_.parts[k].events;
  if (events > EventAxis::kMaxEvents)
    throw Error(ErrorCode::kTooLarge,
                "a gap or window reaches over more than " + std::to_string(EventAxis::kMaxEvents) + " events",
                "Give smaller gaps, or a smaller window.");
  Buffer<int64_t> times(*options_.memory, events);
  Buffer<uint32_t> symbols(*options_.memory, events);
  std::copy_n(kept.times.begin(), kept_events, times.begin());
  std::copy_n(kept.symbols.begin(), kept_events, symbols.begin());
  kept = {};
  GrowingBuffer<EventAxis::Stretch> stretches(*options_.memory);  // those of the last: a stream has one origin
  size_t to = kept_events;
  for (const PieceRange& range : ranges) {
    for (size_t k = range.begin; k < range.end; ++k) {
      read_piece(k, times.data() + to, symbols.data() + to, stretches);
      to += stored_.parts[k].events;
    }
  }
  axes_.emplace_back(events, std::move(times), std::move(symbols), stored_.symbols, stored_.reach, std::move(stretches),
                     stored_.counting, options_, bounds_);
}

ContextReader::ContextReader(const StoredParts& stored, size_t length, int64_t step, const ExecutionOptions& options)
    : PartReader(stored, context_of(length, step), options) {}

std::span<const uint64_t> ContextReader::load_piece() {
  const std::span<const StoredPart> parts = stored_.parts;
  bounds_.counted_to = -1;
  Kept kept;  // copied, because the axis before leaves memory before the next one comes
  if (parts[at_].continues) {
    const EventAxisView before = axes_[0].view();
    bounds_.counted_to = before.times[before.events - 1];
    const std::span times(before.times, before.events);
    const size_t events = EventAxisView::later(times, bounds_.counted_to - bounds_.context).size();
    kept = {Buffer<int64_t>(*options_.memory, events), Buffer<uint32_t>(*options_.memory, events)};
    std::copy_n(before.times + before.events - events, events, kept.times.begin());
    std::copy_n(before.symbols + before.events - events, events, kept.symbols.begin());
  }
  const size_t begin = at_;
  do {
    ++at_;
  } while (at_ < parts.size() && parts[at_].continues && parts[at_ - 1].last_time - bounds_.counted_to < bounds_.context);
  load_axis({{begin, at_}}, std::move(kept));
  return {};
}

TwosReader::TwosReader(const StoredParts& stored, const ExecutionOptions& options)
    : PartReader(stored, context_of(2, stored.reach), options) {}

std::span<const uint64_t> TwosReader::load_piece() {
  axes_.clear();  // before count_in_reach() reads pieces
  const bool is_alone = !partner_;
  bounds_.crosses = !is_alone;
  if (is_alone) {
    count_in_reach();
    bounds_.counted_to = -1;
    load_axis({{at_, at_ + 1}});
  } else {
    bounds_.counted_to = stored_.parts[*partner_].last_time;
    load_axis({{*partner_, *partner_ + 1}, {at_, at_ + 1}});
  }
  const size_t behind = partner_.value_or(reach_from_);
  if (behind > stream_ && is_partly_in_reach(behind - 1)) {
    partner_ = behind - 1;
  } else {
    partner_.reset();
    ++at_;
  }
  if (is_alone && reach_from_ < reach_to_) return in_reach_.span();
  return {};
}

bool TwosReader::is_partly_in_reach(size_t earlier) const {
  return stored_.parts[earlier].last_time >= stored_.parts[at_].first_time - bounds_.context;
}

/// Counts the events of the earlier pieces that are wholly in reach of the whole piece. From one piece to the next, some
/// pieces come into reach, and some leave it.
void TwosReader::count_in_reach() {
  const std::span<const StoredPart> parts = stored_.parts;
  if (in_reach_.empty()) in_reach_ = Buffer<uint64_t>(*options_.memory, stored_.symbols, Fill::kZero);
  if (!parts[at_].continues) stream_ = at_;
  size_t from = std::max(stream_, reach_from_);
  while (from < at_ && parts[from].first_time < parts[at_].last_time - bounds_.context) ++from;
  if (from >= reach_to_) {
    std::fill(in_reach_.begin(), in_reach_.end(), 0);
    reach_from_ = reach_to_ = from;
  }
  while (reach_from_ < from) add_counts(reach_from_++, false);
  while (reach_to_ < at_) add_counts(reach_to_++, true);
}

void TwosReader::add_counts(size_t piece, bool add) {
  const uint64_t events = stored_.parts[piece].events;
  Buffer<int64_t> times(*options_.memory, events);
  Buffer<uint32_t> symbols(*options_.memory, events);
  GrowingBuffer<EventAxis::Stretch> stretches(*options_.memory);
  read_piece(piece, times.data(), symbols.data(), stretches);
  const uint64_t more = add ? 1 : ~uint64_t{0};
  for (const uint32_t symbol : symbols) in_reach_[symbol] += more;
}

}  // namespace batmap
