// Reads, writes, adds and checks the parts of counts that add up. See counted_tree.h.
#include "core/counted_tree.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/polled.h"
#include "core/varint.h"

namespace batmap {

void AscendingWriter::add(int64_t number) {
  poll_.after(8);
  write_varint(bytes_, count_ == 0 ? zigzag(number) : static_cast<uint64_t>(number) - static_cast<uint64_t>(before_) - 1);
  before_ = number;
  ++count_;
}

Buffer<int64_t> read_ascending(const std::byte* bytes, uint32_t count, const ExecutionOptions& options) {
  Buffer<int64_t> numbers(*options.memory, count);
  in_parts(count, options.cancel, [&](size_t begin, size_t end) {
    for (size_t index = begin; index < end; ++index) {
      const uint64_t written = read_varint(bytes);
      numbers[index] =
          index == 0 ? unzigzag(written) : static_cast<int64_t>(static_cast<uint64_t>(numbers[index - 1]) + written + 1);
    }
  });
  return numbers;
}

AscendingUnion::AscendingUnion(std::span<const int64_t> x, std::span<const int64_t> y,
                               const std::function<void(uint64_t size)>& check, const ExecutionOptions& options)
    : numbers(options), of_x(*options.memory, x.size()), of_y(*options.memory, y.size()) {
  for (size_t at_x = 0, at_y = 0; at_x < x.size() || at_y < y.size();) {
    const bool take_x = at_x < x.size() && (at_y == y.size() || x[at_x] <= y[at_y]);
    const bool take_y = at_y < y.size() && (at_x == x.size() || y[at_y] <= x[at_x]);
    const uint32_t position = numbers.count();
    check(uint64_t{position} + 1);
    numbers.add(take_x ? x[at_x] : y[at_y]);
    if (take_x) of_x[at_x++] = position;
    if (take_y) of_y[at_y++] = position;
  }
}

Buffer<uint32_t> positions_among(std::span<const int64_t> all, std::span<const int64_t> some,
                                 const ExecutionOptions& options) {
  Buffer<uint32_t> positions(*options.memory, some.size());
  in_parts(some.size(), options.cancel, [&](size_t begin, size_t end) {
    for (size_t index = begin; index < end; ++index)
      positions[index] = static_cast<uint32_t>(std::lower_bound(all.begin(), all.end(), some[index]) - all.begin());
  });
  return positions;
}

bool TreeNodes::next() {
  uint32_t before = UINT32_MAX;
  if (has_below_) {
    if (at_ == end_) return false;
    if (below_ == CodesBelow::kAscend && !path_.empty()) before = path_.back();
    path_.push_back(0);
  } else {
    while (path_.size() > 1 && *at_ == std::byte{0}) {
      ++at_;
      path_.pop_back();
    }
    if (at_ == end_) return false;
    before = path_.back();
  }
  path_.back() = before + static_cast<uint32_t>(read_varint(at_));
  const uint64_t number = read_varint(at_);
  count_ = number >> 1;
  has_below_ = (number & 1) != 0;
  return true;
}

void TreeWriter::add(uint32_t length, uint32_t code, uint64_t count) {
  poll_.after(8);
  end_node(length);
  uint32_t before = UINT32_MAX;
  if (length <= path_.size())
    before = path_[length - 1];
  else if (below_ == CodesBelow::kAscend && !path_.empty())
    before = path_.back();
  path_.resize(length);
  path_.back() = code;
  write_varint(bytes_, code - before);
  count_ = count;
  counted_ += count > 0;
}

/// Writes the count of the last node, and the ends of what lies between it and the next.
void TreeWriter::end_node(uint32_t next_length) {
  if (path_.empty()) return;
  write_varint(bytes_, count_ << 1 | (next_length > path_.size() ? 1 : 0));
  for (size_t length = path_.size(); length > std::max<size_t>(next_length, 1); --length) bytes_.push_back(std::byte{0});
}

const GrowingBuffer<std::byte>& TreeWriter::finish() {
  end_node(0);
  return bytes_;
}

void TreeWords::refuse(const std::string& what) const {
  throw Error(ErrorCode::kInvalidData, std::string("invalid ") + value + ": " + what);
}

void check_ascending(std::span<const std::byte> bytes, uint32_t count, const TreeWords& words,
                     const ExecutionOptions& options) {
  Poll poll(options.cancel);
  int64_t number = 0;
  for (uint32_t index = 0; index < count; ++index) {
    poll.after(8);
    const uint64_t written = checked_varint(bytes, [&](const char* what) { words.refuse(what); });
    if (index == 0) {
      number = unzigzag(written);
    } else {
      if (written >= static_cast<uint64_t>(INT64_MAX) - static_cast<uint64_t>(number))
        words.refuse(std::string("an ") + words.number + " is too large");
      number = static_cast<int64_t>(static_cast<uint64_t>(number) + written + 1);
    }
  }
  if (!bytes.empty()) words.refuse(std::string("number of ") + words.numbers + " and their bytes disagree");
}

void check_tree(std::span<const std::byte> bytes, CodesBelow below, const TreeSizes& sizes, const TreeWords& words,
                const ExecutionOptions& options,
                const std::function<void(std::span<const uint32_t> path, uint64_t count)>& look) {
  Poll poll(options.cancel);
  const auto varint = [&] { return checked_varint(bytes, [&](const char* what) { words.refuse(what); }); };
  const uint64_t codes = uint64_t{sizes.numbers} * sizes.kinds;
  Buffer<bool> is_used(*options.memory, sizes.numbers, Fill::kZero);
  uint32_t used = 0;
  uint64_t counted = 0;
  GrowingBuffer<uint32_t> path(*options.memory);
  bool has_below = true;  // whether nodes below the last node must follow
  while (!bytes.empty()) {
    poll.after(8);
    const uint64_t distance = varint();
    if (distance == 0) {
      if (has_below || path.size() < 2) words.refuse("an end without nodes");
      path.shrink(path.size() - 1);
      continue;
    }
    const bool from_the_start = path.empty() || (has_below && below == CodesBelow::kAny);
    const uint64_t before = from_the_start ? UINT64_MAX : path.end()[-1];
    if (distance > codes - 1 - before)
      words.refuse(std::string("an ") + words.path + " with an " + words.number + " that is not there");
    if (has_below) path.push_back(0);
    if (path.size() > kMaxPathLength)
      words.refuse(std::string("an ") + words.path + " of more than " + std::to_string(kMaxPathLength) + " " +
                   words.numbers);
    const auto code = static_cast<uint32_t>(before + distance);
    path.end()[-1] = code;
    bool& is_known = is_used[code / sizes.kinds];
    used += !is_known;
    is_known = true;
    const uint64_t number = varint();
    has_below = (number & 1) != 0;
    counted += number >> 1 != 0;
    if (number == 0) words.refuse("a path to nowhere");
    look(path.span(), number >> 1);
  }
  if ((!path.empty() && has_below) || path.size() > 1) words.refuse("the nodes are cut off");
  if (counted != sizes.counted) words.refuse(std::string("number of ") + words.paths + " and nodes disagree");
  if (used != sizes.numbers) words.refuse(std::string("an ") + words.number + " that is in no " + words.path);
}

}  // namespace batmap
