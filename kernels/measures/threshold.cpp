// Multiplies decimal digits in 128-bit integers, unless the fraction is a quotient. See threshold.h.
#include "measures/threshold.h"

#include <algorithm>
#include <charconv>

namespace batmap {

namespace {

struct Product {
  uint64_t whole;
  bool remainder;
};

Product exact_product(double fraction, uint64_t total) {
  // Shortest round-trip form d.ddde-XX: at most 17 digits, so mantissa * total stays below 2^57 * 2^64.
  char text[40];
  char* const end = std::to_chars(text, text + sizeof text - 1, fraction, std::chars_format::scientific).ptr;
  *end = '\0';  // to_chars writes no terminator, but atoi needs one
  unsigned __int128 mantissa = 0;
  int scale = 0;  // fraction = mantissa / 10^scale
  const char* at = text;
  for (bool after_point = false; at < end && *at != 'e'; ++at) {
    if (*at == '.') {
      after_point = true;
      continue;
    }
    mantissa = mantissa * 10 + static_cast<unsigned>(*at - '0');
    scale += after_point;
  }
  scale -= std::atoi(at + 1);

  unsigned __int128 product = mantissa * total;
  bool remainder = false;
  for (; scale > 0 && product != 0; --scale) {
    remainder |= product % 10 != 0;
    product /= 10;
  }
  const auto whole = static_cast<uint64_t>(product);
  // For larger totals, almost any double is the quotient of some count.
  if (remainder && total <= UINT32_MAX)
    for (const uint64_t count : {whole, whole + 1})
      if (static_cast<double>(count) / static_cast<double>(total) == fraction) return {count, false};
  return {whole, remainder};
}

}  // namespace

uint64_t count_of_fraction(double fraction, uint64_t total) {
  const Product product = exact_product(fraction, total);
  return std::max<uint64_t>(1, product.whole + product.remainder);
}

uint64_t max_count_of_fraction(double fraction, uint64_t total) { return exact_product(fraction, total).whole; }

}  // namespace batmap
