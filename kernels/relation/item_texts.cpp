// Reads, writes, checks and sorts texts. See item_texts.h for the bytes.
#include "relation/item_texts.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/error.h"
#include "core/polled.h"

namespace batmap {

namespace {

[[noreturn]] void refuse_texts(const char* what) {
  throw Error(ErrorCode::kInvalidData, std::string("invalid items: ") + what);
}

/// The first eight bytes of a text as a number that compares as they do.
uint64_t prefix_of(std::string_view text) {
  uint64_t prefix = 0;
  std::memcpy(&prefix, text.data(), std::min(text.size(), sizeof prefix));
  return __builtin_bswap64(prefix);
}

struct NumberedPrefix {
  uint64_t prefix;
  uint32_t number;
};

}  // namespace

std::byte* put_text(std::byte* to, std::string_view text) {
  to = put_varint(to, text.size());
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

bool ItemTexts::next() {
  if (rest_.empty()) return false;
  uint64_t length = 0;
  size_t used = 0;
  for (int shift = 0;; shift += 7) {
    if (used == rest_.size() || used == kMaxVarint) refuse_texts("a length is cut off");
    const auto byte = static_cast<uint64_t>(rest_[used++]);
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  if (length > rest_.size() - used) refuse_texts("a text is cut off");
  text_ = {reinterpret_cast<const char*>(rest_.data()) + used, length};
  rest_ = rest_.subspan(used + length);
  return true;
}

void read_texts(std::span<const std::byte> bytes, std::span<std::string_view> texts, const CancelToken& cancel) {
  ItemTexts from(bytes);
  size_t count = 0;
  while (from.next()) {
    if (count == texts.size()) refuse_texts("more texts than their number says");
    if (count % 65536 == 0) cancel.throw_if_requested();
    texts[count++] = from.text();
  }
  if (count != texts.size()) refuse_texts("fewer texts than their number says");
}

void validate_texts(std::span<const std::byte> bytes, uint32_t count, const CancelToken& cancel) {
  ItemTexts texts(bytes);
  std::string_view before;
  uint32_t found = 0;
  for (size_t left = bytes.size(); texts.next(); left = texts.rest().size()) {
    if (found % 65536 == 0) cancel.throw_if_requested();
    std::byte varint[kMaxVarint];
    const size_t shortest = static_cast<size_t>(put_varint(varint, texts.text().size()) - varint);
    if (left - texts.rest().size() != shortest + texts.text().size()) refuse_texts("a length is longer than need be");
    if (found > 0 && texts.text() <= before) refuse_texts("texts do not ascend");
    before = texts.text();
    ++found;
  }
  if (found != count) refuse_texts("number of texts and their bytes disagree");
}

size_t rank_of_text(std::span<const std::string_view> texts, std::string_view text) {
  const auto at = std::lower_bound(texts.begin(), texts.end(), text);
  return at == texts.end() || *at != text ? texts.size() : static_cast<size_t>(at - texts.begin());
}

void rank_texts(std::span<const std::string_view> texts, std::span<uint32_t> ranks, std::span<uint32_t> order,
                MemoryMeter& meter, const CancelToken& cancel) {
  Buffer<NumberedPrefix> sorted(meter, texts.size());
  for (uint32_t k = 0; k < texts.size(); ++k) {
    if (k % 65536 == 0) cancel.throw_if_requested();
    sorted[k] = {prefix_of(texts[k]), k};
  }
  std::sort(sorted.begin(), sorted.end(), polled(cancel, [&](const NumberedPrefix& x, const NumberedPrefix& y) {
              return x.prefix != y.prefix ? x.prefix < y.prefix : texts[x.number] < texts[y.number];
            }));
  for (uint32_t rank = 0; rank < texts.size(); ++rank) {
    order[rank] = sorted[rank].number;
    ranks[sorted[rank].number] = rank;
  }
}

}  // namespace batmap
