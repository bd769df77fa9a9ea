// Reads and writes portable Roaring bytes. See roaring_format.h.
#include "set/roaring_format.h"

#include <algorithm>
#include <bit>
#include <string>

#include "set/set_format.h"

namespace batmap {

namespace {

constexpr uint32_t kCookieNoRuns = 12346;
constexpr uint32_t kCookieRuns = 12347;
constexpr size_t kOffsetsFrom = 4;  // a bitmap with runs has an offset header if it has this many containers or more
constexpr size_t kArrayMax = 4096;  // elements
constexpr size_t kBitsetBytes = 8192;
constexpr size_t kContainerMax = 65536;  // elements of a container, and containers of a bitmap

[[noreturn]] void invalid(const char* what) {
  throw Error(ErrorCode::kInvalidData, std::string("invalid roaring bitmap: ") + what);
}

/// Reads untrusted bytes front to back.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  const std::byte* take(size_t count) {
    if (bytes_.size() - at_ < count) invalid("cut off");
    at_ += count;
    return bytes_.data() + at_ - count;
  }
  template <typename T>
  T number() {
    return load_le<T>(take(sizeof(T)));
  }
  size_t position() const { return at_; }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

uint64_t unsigned16(const std::byte* from, size_t i) { return load_le<uint16_t>(from + 2 * i); }

/// Reads the elements of one container into exactly `cardinality` places. So do the next two functions.
void read_array(ByteReader& in, uint64_t base, size_t cardinality, uint64_t* out) {
  const std::byte* from = in.take(2 * cardinality);
  for (size_t i = 0; i < cardinality; ++i) {
    out[i] = base | unsigned16(from, i);
    if (i > 0 && out[i] <= out[i - 1]) invalid("array is not ascending");
  }
}

void read_bitset(ByteReader& in, uint64_t base, size_t cardinality, uint64_t* out) {
  const std::byte* from = in.take(kBitsetBytes);
  size_t count = 0;
  for (size_t w = 0; w < kBitsetBytes / 8; ++w) count += static_cast<size_t>(std::popcount(load_le<uint64_t>(from + 8 * w)));
  if (count != cardinality) invalid("cardinality and bits disagree");
  for (size_t w = 0; w < kBitsetBytes / 8; ++w)
    for (uint64_t rest = load_le<uint64_t>(from + 8 * w); rest != 0; rest &= rest - 1)
      *out++ = base | 64 * w | static_cast<uint64_t>(std::countr_zero(rest));
}

void read_runs(ByteReader& in, uint64_t base, size_t cardinality, uint64_t* out) {
  const size_t runs = in.number<uint16_t>();
  const std::byte* from = in.take(4 * runs);
  uint64_t free_from = 0;
  size_t count = 0;
  for (size_t i = 0; i < runs; ++i) {
    const uint64_t start = unsigned16(from, 2 * i);
    const uint64_t length = unsigned16(from, 2 * i + 1) + 1;
    if (start < free_from || start + length > kContainerMax) invalid("runs overlap");
    if (count + length > cardinality) invalid("cardinality and runs disagree");
    for (uint64_t x = start; x < start + length; ++x) out[count++] = base | x;
    free_from = start + length;
  }
  if (count != cardinality) invalid("cardinality and runs disagree");
}

void read_bitmap32(ByteReader& in, uint64_t high, GrowingBuffer<uint64_t>& out, const CancelToken& cancel) {
  const size_t begin = in.position();
  const auto cookie = in.number<uint32_t>();
  const bool with_runs = (cookie & 0xffff) == kCookieRuns;
  if (!with_runs && cookie != kCookieNoRuns) invalid("unknown cookie");
  const size_t containers = with_runs ? (cookie >> 16) + 1 : in.number<uint32_t>();
  if (containers > kContainerMax) invalid("too many containers");
  const std::byte* run_flags = with_runs ? in.take((containers + 7) / 8) : nullptr;
  const std::byte* descriptions = in.take(4 * containers);
  const std::byte* offsets = !with_runs || containers >= kOffsetsFrom ? in.take(4 * containers) : nullptr;
  for (size_t i = 0; i < containers; ++i) {
    if (i % 16 == 0) cancel.throw_if_requested();
    const uint64_t key = unsigned16(descriptions, 2 * i);
    const size_t cardinality = unsigned16(descriptions, 2 * i + 1) + 1;
    if (i > 0 && key <= unsigned16(descriptions, 2 * i - 2)) invalid("containers are not ascending");
    if (offsets != nullptr && load_le<uint32_t>(offsets + 4 * i) != in.position() - begin)
      invalid("offsets and containers disagree");
    const bool runs = with_runs && (std::to_integer<unsigned>(run_flags[i / 8]) >> (i % 8) & 1) != 0;
    const auto read = runs ? read_runs : cardinality <= kArrayMax ? read_array : read_bitset;
    read(in, high << 32 | key << 16, cardinality, out.room(cardinality));
    out.add(cardinality);
  }
}

// ---- writing

/// The elements of one container, and how it is written.
struct Part {
  std::span<const uint64_t> elements;
  size_t runs;
  size_t bytes;
  bool as_runs;
};

Part part_of(std::span<const uint64_t> elements) {
  size_t runs = 1;
  for (size_t i = 1; i < elements.size(); ++i) runs += elements[i] != elements[i - 1] + 1;
  const size_t plain = elements.size() <= kArrayMax ? 2 * elements.size() : kBitsetBytes;
  const bool as_runs = 2 + 4 * runs < plain;
  return {elements, runs, as_runs ? 2 + 4 * runs : plain, as_runs};
}

/// The longest prefix of `elements` whose bits from `shift` up are equal.
std::span<const uint64_t> leading(std::span<const uint64_t> elements, int shift) {
  const uint64_t high = elements[0] >> shift;
  const auto end = std::partition_point(elements.begin(), elements.end(), [&](uint64_t x) { return x >> shift == high; });
  return elements.first(static_cast<size_t>(end - elements.begin()));
}

template <typename T>
std::byte* put(std::byte* out, uint64_t value) {
  store_le<T>(out, static_cast<T>(value));
  return out + sizeof(T);
}

std::byte* write_part(const Part& part, std::byte* out) {
  const std::span<const uint64_t> elements = part.elements;
  if (part.as_runs) {
    out = put<uint16_t>(out, part.runs);
    for (size_t i = 0, first = 0; i < elements.size(); ++i) {
      if (i + 1 < elements.size() && elements[i + 1] == elements[i] + 1) continue;
      out = put<uint16_t>(out, elements[first]);
      out = put<uint16_t>(out, i - first);
      first = i + 1;
    }
    return out;
  }
  if (elements.size() <= kArrayMax) {
    for (const uint64_t x : elements) out = put<uint16_t>(out, x);
    return out;
  }
  std::memset(out, 0, kBitsetBytes);
  for (const uint64_t x : elements) out[x % kContainerMax / 8] |= std::byte{1} << (x % 8);
  return out + kBitsetBytes;
}

void write_bitmap32(std::span<const uint64_t> elements, GrowingBuffer<Part>& parts, GrowingBuffer<std::byte>& out,
                    const CancelToken& cancel) {
  parts.shrink(0);
  bool with_runs = false;
  size_t bytes = 0;
  while (!elements.empty()) {
    cancel.throw_if_requested();
    parts.push_back(part_of(leading(elements, 16)));
    const Part& part = parts[parts.size() - 1];
    elements = elements.subspan(part.elements.size());
    with_runs |= part.as_runs;
    bytes += part.bytes;
  }
  const bool with_offsets = !with_runs || parts.size() >= kOffsetsFrom;
  const size_t flag_bytes = with_runs ? (parts.size() + 7) / 8 : 4;  // without runs: the number of containers, 4 bytes
  const size_t header = 4 + flag_bytes + parts.size() * (with_offsets ? 8 : 4);
  std::byte* at = out.room(header + bytes);
  out.add(header + bytes);

  at = put<uint32_t>(at, with_runs ? kCookieRuns | (parts.size() - 1) << 16 : kCookieNoRuns);
  if (with_runs) {
    std::memset(at, 0, flag_bytes);
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].as_runs) at[i / 8] |= std::byte{1} << (i % 8);
    at += flag_bytes;
  } else {
    at = put<uint32_t>(at, parts.size());
  }
  for (const Part& part : parts) {
    at = put<uint16_t>(at, part.elements[0] >> 16);
    at = put<uint16_t>(at, part.elements.size() - 1);
  }
  size_t offset = header;
  for (const Part& part : parts) {
    if (with_offsets) at = put<uint32_t>(at, offset);
    offset += part.bytes;
  }
  for (const Part& part : parts) {
    cancel.throw_if_requested();
    at = write_part(part, at);
  }
}

}  // namespace

void read_roaring(std::span<const std::byte> bytes, RoaringForm form, GrowingBuffer<uint64_t>& out,
                  const ExecutionOptions& options) {
  ByteReader in(bytes);
  if (form == RoaringForm::k32) {
    read_bitmap32(in, 0, out, options.cancel);
  } else {
    uint64_t free_from = 0;
    for (auto bitmaps = in.number<uint64_t>(); bitmaps > 0; --bitmaps) {
      const auto high = in.number<uint32_t>();
      if (high < free_from) invalid("high halves are not ascending");
      free_from = uint64_t{high} + 1;
      if (high >= uint32_t{1} << (kMaxWidth - 32))
        throw Error(ErrorCode::kInvalidParameter, "the roaring bitmap holds elements of 2^62 or more",
                    "Elements are integers from 0 to 4611686018427387903");
      read_bitmap32(in, high, out, options.cancel);
    }
  }
  if (!in.at_end()) invalid("bytes behind the end");
}

void write_roaring(std::span<const uint64_t> elements, RoaringForm form, GrowingBuffer<std::byte>& out,
                   const ExecutionOptions& options) {
  GrowingBuffer<Part> parts(*options.memory);
  if (form == RoaringForm::k32) {
    if (!elements.empty() && elements.back() > UINT32_MAX)
      throw Error(ErrorCode::kInvalidParameter,
                  "element " + std::to_string(elements.back()) + " does not fit into a 32-bit roaring bitmap",
                  "Use the 64-bit form");
    return write_bitmap32(elements, parts, out, options.cancel);
  }
  const size_t count_at = out.size();
  put<uint64_t>(out.room(8), 0);
  out.add(8);
  uint64_t count = 0;
  for (; !elements.empty(); ++count) {
    options.cancel.throw_if_requested();
    const std::span<const uint64_t> low = leading(elements, 32);
    put<uint32_t>(out.room(4), low[0] >> 32);
    out.add(4);
    write_bitmap32(low, parts, out, options.cancel);
    elements = elements.subspan(low.size());
  }
  put<uint64_t>(out.begin() + count_at, count);
}

}  // namespace batmap
