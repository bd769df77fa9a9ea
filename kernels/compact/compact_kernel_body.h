// What the kernels of compact_kernel.h share: the ends of arrays that do not fill a register, and the loops over
// words, which each file compiles for its instruction set. Included inside a namespace and a target region.

size_t count_rest(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count) {
  size_t i = 0;
  size_t j = 0;
  size_t count = 0;
  while (i < a_count && j < b_count) {
    const uint16_t x = load_le<uint16_t>(a + 2 * i);
    const uint16_t y = load_le<uint16_t>(b + 2 * j);
    count += x == y;
    i += x <= y;
    j += y <= x;
  }
  return count;
}

size_t keep_rest(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, uint16_t* out) {
  size_t i = 0;
  size_t j = 0;
  uint16_t* at = out;
  while (i < a_count && j < b_count) {
    const uint16_t x = load_le<uint16_t>(a + 2 * i);
    const uint16_t y = load_le<uint16_t>(b + 2 * j);
    *at = x;
    at += x == y;
    i += x <= y;
    j += y <= x;
  }
  return static_cast<size_t>(at - out);
}

uint32_t count_runs(const uint64_t* words, uint32_t enough) {
  constexpr size_t kStep = 64;
  uint32_t runs = 0;
  uint64_t before = 0;  // the highest bit of the word before
  for (size_t w = 0; w < kBitmapBlockWords && runs < enough; w += kStep)
    for (size_t i = w; i < w + kStep; ++i) {
      runs += static_cast<uint32_t>(std::popcount(words[i] & ~(words[i] << 1 | before)));
      before = words[i] >> 63;
    }
  return runs;
}
