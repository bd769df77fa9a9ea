// What the kernels of compact_kernel.h share: the ends of arrays that do not fill a register, and the loops over
// words, which each file compiles for its instruction set. Included inside a namespace and a target region.

/// What a walk through two arrays has left of one of them.
struct Rest {
  const std::byte* from;
  size_t count;

  uint16_t* copy_to(uint16_t* to) const {
    if (count > 0) std::memcpy(to, from, 2 * count);
    return to + count;
  }
};
struct Rests {
  Rest a;
  Rest b;
};

/// Calls see(x, y) for an element of each array; the smaller one goes on, both if they are equal. Ends with one of the arrays. By
/// arithmetic: a branch would be unpredictable.
template <typename See>
Rests walk_elements(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, See see) {
  size_t i = 0;
  size_t j = 0;
  while (i < a_count && j < b_count) {
    const uint16_t x = load_le<uint16_t>(a + 2 * i);
    const uint16_t y = load_le<uint16_t>(b + 2 * j);
    see(x, y);
    i += x <= y;
    j += y <= x;
  }
  return {{a + 2 * i, a_count - i}, {b + 2 * j, b_count - j}};
}

/// Every step writes, and arithmetic decides what stays. @param keep_both  whether an element of both stays
size_t merge_rest(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count, bool keep_both, uint16_t* out) {
  uint16_t* to = out;
  const Rests rests = walk_elements(a, a_count, b, b_count, [&](uint16_t x, uint16_t y) {
    *to = x < y ? x : y;
    to += x != y || keep_both;
  });
  return static_cast<size_t>(rests.b.copy_to(rests.a.copy_to(to)) - out);
}

uint32_t count_array_runs_from(const uint16_t* elements, size_t first, size_t count) {
  uint32_t runs = 0;
  for (size_t i = first; i < count; ++i) runs += elements[i] != static_cast<uint16_t>(elements[i - 1] + 1);
  return runs;
}

[[maybe_unused]] uint32_t count_word_runs(const uint64_t* words, uint32_t enough) {
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

/// Calls with(combined), a function that combines two words, or two registers of bits.
template <typename With>
auto with_combination(SetCombination operation, With with) {
  switch (operation) {
    case SetCombination::kAnd: return with([](auto x, auto y) { return x & y; });
    case SetCombination::kOr: return with([](auto x, auto y) { return x | y; });
    case SetCombination::kAndNot: return with([](auto x, auto y) { return x & ~y; });
    case SetCombination::kXor: break;
  }
  return with([](auto x, auto y) { return x ^ y; });
}

void mark_words_from(const std::byte* array, size_t first, size_t count, uint64_t* words) {
  const auto mark = [&](size_t i) {
    const uint32_t x = load_le<uint16_t>(array + 2 * i);
    words[x / 64] |= uint64_t{1} << (x % 64);
  };
  size_t i = first;
  for (; i + 4 <= count; i += 4) {
    mark(i);
    mark(i + 1);
    mark(i + 2);
    mark(i + 3);
  }
  for (; i < count; ++i) mark(i);
}
