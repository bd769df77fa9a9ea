// Reads and writes the text forms. See set_text.h.
#include "set/set_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <system_error>

#include "core/polled.h"
#include "core/sort_elements.h"
#include "set/set_decode.h"

namespace batmap {

namespace {

constexpr std::string_view kCompactPrefix = "b1:";
constexpr std::string_view kDigits64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kPollEvery = 65536;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

[[noreturn]] void malformed(const std::string& what, const char* hint = "A set is written as {1,5,9}.") {
  throw Error(ErrorCode::kInvalidData, "malformed batmap: " + what, hint);
}

/// Reads {1,5,9} or [1,5,9] from front to back.
class ListParser {
 public:
  explicit ListParser(std::string_view text) : text_(text) {}

  void parse(GrowingBuffer<uint64_t>& out, const CancelToken& cancel) {
    skip_space();
    is_json_ = accept('[');
    if (!is_json_) expect('{');
    const char closing = is_json_ ? ']' : '}';
    skip_space();
    if (!accept(closing)) {
      do {
        if (out.size() % kPollEvery == 0) cancel.throw_if_requested();
        skip_space();
        out.push_back(element());
        skip_space();
      } while (accept(','));
      expect(closing);
    }
    skip_space();
    if (at_ != text_.size()) refuse(is_json_ ? "junk after the closing bracket" : "junk after the closing brace");
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool accept(char c) {
    const bool there = at_ < text_.size() && text_[at_] == c;
    at_ += there;
    return there;
  }
  void expect(char c) {
    if (accept(c)) return;
    refuse("expected \"" + std::string(1, c) + "\" at position " + std::to_string(at_ + 1) +
           (at_ == text_.size() ? ", where the text ends" : ""));
  }
  [[noreturn]] void refuse(const std::string& what) const {
    if (is_json_) malformed(what, "A JSON array of integers is written as [1,5,9].");
    malformed(what);
  }

  uint64_t element() {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    const bool negative = begin != end && *begin == '-';
    const char* const first = begin + negative;
    const char* const last = std::find_if_not(first, end, is_digit);
    if (first == last) refuse("expected an element at position " + std::to_string(at_ + 1));
    uint64_t x = 0;
    const bool fits = std::from_chars(first, last, x).ec == std::errc();
    if (!fits || x >= universe_of(kMaxWidth) || (negative && x > 0))
      throw Error(ErrorCode::kInvalidParameter,
                  "element " + std::string(begin, std::min<size_t>(static_cast<size_t>(last - begin), 40)) +
                      " is out of range for type batmap",
                  "Elements are integers from 0 to 4611686018427387903.");
    at_ += static_cast<size_t>(last - begin);
    return x;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool is_json_ = false;
};

/// Values of the 64 digits; 255 for every other character.
constexpr std::array<uint8_t, 256> kValues64 = [] {
  std::array<uint8_t, 256> values{};
  for (uint8_t& value : values) value = 255;
  for (size_t i = 0; i < kDigits64.size(); ++i) values[static_cast<unsigned char>(kDigits64[i])] = static_cast<uint8_t>(i);
  return values;
}();

/// Skips white space. Padding is required, and its unused bits must be zero.
void decode_base64(std::string_view text, GrowingBuffer<std::byte>& out, const CancelToken& cancel) {
  uint32_t bits = 0;
  unsigned digits = 0;
  unsigned padding = 0;
  uint32_t seen = 0;
  for (const char c : text) {
    if (seen++ % kPollEvery == 0) cancel.throw_if_requested();
    if (is_space(c)) continue;
    const uint8_t value = kValues64[static_cast<unsigned char>(c)];
    if (c == '=')
      ++padding;
    else if (value == 255 || padding > 0)
      malformed("invalid base64");
    bits = bits << 6 | (c == '=' ? 0 : value);
    if (++digits % 4 != 0) continue;
    if (padding > 2 || (bits & ((1u << 8 * padding) - 1)) != 0) malformed("invalid base64");
    for (unsigned i = 0; i < 3 - padding; ++i) out.push_back(static_cast<std::byte>(bits >> (16 - 8 * i)));
    bits = 0;
    if (padding > 0) ++digits;  // only white space may follow
  }
  if (digits % 4 != (padding > 0 ? 1 : 0)) malformed("invalid base64");
}

}  // namespace

std::optional<int> parse_set_text(std::string_view text, GrowingBuffer<uint64_t>& elements,
                                  const ExecutionOptions& options) {
  elements.shrink(0);
  const std::string_view trimmed(std::find_if_not(text.begin(), text.end(), is_space), text.end());
  if (!trimmed.starts_with(kCompactPrefix)) {
    ListParser(text).parse(elements, options.cancel);
    sort_distinct(elements, options);
    return std::nullopt;
  }
  GrowingBuffer<std::byte> bytes(*options.memory);
  decode_base64(trimmed.substr(kCompactPrefix.size()), bytes, options.cancel);
  validate(bytes.span(), options.cancel);
  const SetView set = SetView::open(bytes.span());
  decode(set, elements, options);
  return set.width();
}

void print_set_text(std::span<const uint64_t> elements, GrowingBuffer<char>& out, const CancelToken& cancel) {
  constexpr size_t kAtOnce = 4096;
  constexpr size_t kWidest = 21;  // 20 digits and a comma
  out.push_back('{');
  for (size_t done = 0; done < elements.size(); done += kAtOnce) {
    cancel.throw_if_requested();
    char* const begin = out.room(kAtOnce * kWidest);
    char* at = begin;
    for (const uint64_t x : elements.subspan(done, std::min(kAtOnce, elements.size() - done))) {
      at = std::to_chars(at, at + kWidest, x).ptr;
      *at++ = ',';
    }
    out.add(static_cast<size_t>(at - begin));
  }
  if (elements.empty())
    out.push_back('}');
  else
    out[out.size() - 1] = '}';
}

}  // namespace batmap
