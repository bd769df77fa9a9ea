// Reads and writes portable Roaring bytes. See roaring_format.h.
#include "compact/roaring_format.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace batmap {

namespace {

constexpr uint32_t kCookieNoRuns = 12346;
constexpr uint32_t kCookieRuns = 12347;
constexpr size_t kOffsetsFrom = 4;       // a bitmap with runs has an offset header if it has this many containers or more
constexpr size_t kArrayMax = 4096;       // elements
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

/// The room for one container.
struct Container32 {
  alignas(64) uint64_t words[kBitmapBlockWords];
  uint16_t elements[kArrayMax];
  BlockRun runs[kBlockSpan / 2];
};

/// Reads one container and appends it as a block. So do the next two functions.
void read_array(ByteReader& in, uint64_t key, size_t cardinality, const CompactKernel& kernel, Container32& room,
                CompactWriter& out) {
  std::memcpy(room.elements, in.take(2 * cardinality), 2 * cardinality);
  for (size_t i = 1; i < cardinality; ++i)
    if (room.elements[i] <= room.elements[i - 1]) invalid("array is not ascending");
  out.add_array(key, {room.elements, cardinality}, kernel);
}

void read_bitset(ByteReader& in, uint64_t key, size_t cardinality, const CompactKernel& kernel, Container32& room,
                 CompactWriter& out) {
  std::memcpy(room.words, in.take(kBitmapBlockBytes), kBitmapBlockBytes);
  const uint64_t before = out.cardinality();
  out.add_words(key, room.words, kernel);
  if (out.cardinality() - before != cardinality) invalid("cardinality and bits disagree");
}

void read_runs(ByteReader& in, uint64_t key, size_t cardinality, const CompactKernel&, Container32& room,
               CompactWriter& out) {
  const size_t runs = in.number<uint16_t>();
  const std::byte* from = in.take(4 * runs);
  uint32_t free_from = 0;
  size_t count = 0;
  size_t kept = 0;
  for (size_t i = 0; i < runs; ++i) {
    const auto start = static_cast<uint32_t>(unsigned16(from, 2 * i));
    const uint32_t last = start + static_cast<uint32_t>(unsigned16(from, 2 * i + 1));
    if (start < free_from || last >= kBlockSpan) invalid("runs overlap");
    count += last - start + 1;
    if (kept > 0 && room.runs[kept - 1].last + 1 == start)
      room.runs[kept - 1].last = last;
    else
      room.runs[kept++] = {start, last};
    free_from = last + 1;
  }
  if (count != cardinality) invalid("cardinality and runs disagree");
  out.add_runs(key, {room.runs, kept});
}

void read_bitmap32(ByteReader& in, uint64_t high, const CompactKernel& kernel, Container32& room, CompactWriter& out,
                   const CancelToken& cancel) {
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
    read(in, high << 16 | key, cardinality, kernel, room, out);
  }
}

// ---- writing

/// How a block is written as a container.
struct Part {
  CompactBlock block;
  size_t bytes;
  bool as_runs;
};

Part part_of(const CompactBlock& block) {
  const size_t plain = block.count <= kArrayMax ? 2 * size_t{block.count} : kBitmapBlockBytes;
  if (block.shape.kind != BlockKind::kRuns) return {block, plain, false};
  const size_t as_runs = 2 + 4 * size_t{block.runs()};
  return {block, std::min(plain, as_runs), as_runs < plain};
}

template <typename T>
std::byte* put(std::byte* out, uint64_t value) {
  store_le<T>(out, static_cast<T>(value));
  return out + sizeof(T);
}

std::byte* write_part(const Part& part, std::byte* out) {
  const CompactBlock& block = part.block;
  if (part.as_runs) {
    out = put<uint16_t>(out, block.runs());
    for (uint32_t i = 0; i < block.runs(); ++i) {
      const BlockRun run = block.run(i);
      out = put<uint16_t>(out, run.first);
      out = put<uint16_t>(out, run.last - run.first);
    }
    return out;
  }
  if (part.bytes == block.bytes()) {
    // A bitmap of 4,096 elements is as long as the array that the format wants.
    if (block.shape.kind == BlockKind::kArray || block.count > kArrayMax) {
      std::memcpy(out, block.data, block.bytes());
      return out + block.bytes();
    }
  }
  if (block.shape.kind == BlockKind::kRuns) {
    for (uint32_t i = 0; i < block.runs(); ++i)
      for (uint32_t x = block.run(i).first; x <= block.run(i).last; ++x) out = put<uint16_t>(out, x);
    return out;
  }
  for (uint32_t w = 0; w < kBitmapBlockWords; ++w)
    for_each_bit(block.word(w), [&](uint32_t bit) { out = put<uint16_t>(out, 64 * w + bit); });
  return out;
}

/// Writes blocks up to the one that ends the 32-bit bitmap, and goes on behind it.
void write_bitmap32(BlockCursor& blocks, GrowingBuffer<Part>& parts, GrowingBuffer<std::byte>& out,
                    const CancelToken& cancel) {
  parts.shrink(0);
  bool with_runs = false;
  size_t bytes = 0;
  for (; !blocks.at_end() && (parts.empty() || blocks.key() >> 16 == parts[0].block.key >> 16); blocks.next()) {
    parts.push_back(part_of(blocks.block()));
    with_runs |= parts[parts.size() - 1].as_runs;
    bytes += parts[parts.size() - 1].bytes;
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
    at = put<uint16_t>(at, part.block.key);
    at = put<uint16_t>(at, part.block.count - 1);
  }
  size_t offset = header;
  for (const Part& part : parts) {
    if (with_offsets) at = put<uint32_t>(at, offset);
    offset += part.bytes;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i % 16 == 0) cancel.throw_if_requested();
    at = write_part(parts[i], at);
  }
}

}  // namespace

void read_roaring(std::span<const std::byte> bytes, RoaringForm form, const CompactKernel& kernel, CompactWriter& out,
                  const ExecutionOptions& options) {
  ByteReader in(bytes);
  Buffer<Container32> room(*options.memory, 1);
  if (form == RoaringForm::k32) {
    read_bitmap32(in, 0, kernel, room[0], out, options.cancel);
  } else {
    uint64_t free_from = 0;
    for (auto bitmaps = in.number<uint64_t>(); bitmaps > 0; --bitmaps) {
      const auto high = in.number<uint32_t>();
      if (high < free_from) invalid("high halves are not ascending");
      free_from = uint64_t{high} + 1;
      if (high > kMaxKey >> 16)
        throw Error(ErrorCode::kInvalidParameter, "the roaring bitmap holds elements of 2^62 or more",
                    "Elements are integers from 0 to 4611686018427387903.");
      read_bitmap32(in, high, kernel, room[0], out, options.cancel);
    }
  }
  if (!in.at_end()) invalid("bytes behind the end");
}

void write_roaring(const CompactView& set, RoaringForm form, GrowingBuffer<std::byte>& out,
                   const ExecutionOptions& options) {
  GrowingBuffer<Part> parts(*options.memory);
  BlockCursor blocks(set);
  if (form == RoaringForm::k32) {
    if (set.last_key() > UINT16_MAX)
      throw Error(ErrorCode::kInvalidParameter,
                  "element " + std::to_string(compact_max(set)) + " does not fit into a 32-bit roaring bitmap",
                  "Use the 64-bit form");
    return write_bitmap32(blocks, parts, out, options.cancel);
  }
  const size_t count_at = out.size();
  put<uint64_t>(out.room(8), 0);
  out.add(8);
  uint64_t count = 0;
  for (; !blocks.at_end(); ++count) {
    put<uint32_t>(out.room(4), blocks.key() >> 16);
    out.add(4);
    write_bitmap32(blocks, parts, out, options.cancel);
  }
  put<uint64_t>(out.begin() + count_at, count);
}

}  // namespace batmap
