// The loops of every kernel, written once over words of 512 bits. Each set_kernel_ISA.cpp includes this file
// inside its target region and its anonymous namespace, after defining a type `Bits` for its instruction set.
// So the file has no include guard and includes nothing. `Bits` has:
//
//   load(p), store(p)     64 bytes, any alignment
//   a & b, a | b, a ^ b
//   match(m, a, b)        m AND NOT (a XOR b)
//   all_if(c)             all ones if c, else all zeros
//   any(), popcount()     over all 512 bits
//   has_lane(v, x)        whether one of the 16 lanes of 32 bits is x
//   lanes(x)              x in each of 16 lanes of 32 bits; on lanes: up(x, n), down(x, n) shift, times(x, f) multiplies
//   narrow(p), widen(p)   16 lanes from the low halves of 16 words of 64 bits, and 16 lanes to 16 such words

/// Counts matching slots of one block and one block. The `folded` low key bits of the small side must equal
/// `fold`, the other key bits must agree.
inline uint64_t count_block(const std::byte* small, const std::byte* large, int folded, uint64_t fold, int key_bits) {
  const std::byte* s = small + kPlaneBytes;
  const std::byte* l = large + kPlaneBytes;
  Bits found = Bits::load(small) & Bits::load(large);
  for (int k = 0; k < folded; ++k, s += kPlaneBytes) found = Bits::match(found, Bits::load(s), Bits::all_if(fold >> k & 1));
  const auto compare_plane = [&] {
    found = Bits::match(found, Bits::load(s), Bits::load(l));
    s += kPlaneBytes;
    l += kPlaneBytes;
  };
  // At most a third of the slots are used, so at most 57 slots meet in a block on average. Eight key bits leave a
  // quarter of a chance match among them, so it pays to check whether the rest of the block must be read.
  int k = 0;
  for (; k + 4 <= key_bits; k += 4) {
    compare_plane();
    compare_plane();
    compare_plane();
    compare_plane();
    if (k >= 4 && !found.any()) return 0;
  }
  for (; k < key_bits; ++k) compare_plane();
  return (found & (Bits::load(s) | Bits::load(l))).popcount();
}

uint64_t count_planes(const PlanePair& pair, uint64_t first, uint64_t last) {
  const uint64_t small_groups = pair.small_shape.groups();
  const int folded = pair.large_shape.range_bits - pair.small_shape.range_bits;
  const int small_group_bits = pair.small_shape.range_bits - kBlockBits;
  uint64_t count = 0;
  for (uint64_t group = first; group < last; ++group) {
    const std::byte* small = pair.small + (group & (small_groups - 1)) * pair.small_shape.group_bytes();
    const std::byte* large = pair.large + group * pair.large_shape.group_bytes();
    for (int table = 0; table < kTables; ++table) {
      count += count_block(small, large, folded, group >> small_group_bits, pair.large_shape.key_bits);
      small += pair.small_shape.block_bytes();
      large += pair.large_shape.block_bytes();
    }
  }
  return count;
}

/// carry, sum = the two bits of a + b + sum, for each bit position.
inline void carry_save_add(Bits& carry, Bits& sum, Bits a, Bits b) {
  const Bits c = sum;
  const Bits either = a ^ b;
  carry = (a & b) | (either & c);
  sum = either ^ c;
}

/// Counts the bits set in a sequence of words, eight words at a time, with carry-save adders (Mula, Kurz,
/// Lemire 2018): one population count for eight words.
struct CarrySaveCounter {
  Bits ones = Bits::all_if(false);
  Bits twos = ones;
  Bits fours = ones;
  uint64_t eights_count = 0;

  template <typename Word>
  void add_eight(Word word) {
    Bits twos_a, twos_b, fours_a, fours_b, eights;
    carry_save_add(twos_a, ones, word(0), word(1));
    carry_save_add(twos_b, ones, word(2), word(3));
    carry_save_add(fours_a, twos, twos_a, twos_b);
    carry_save_add(twos_a, ones, word(4), word(5));
    carry_save_add(twos_b, ones, word(6), word(7));
    carry_save_add(fours_b, twos, twos_a, twos_b);
    carry_save_add(eights, fours, fours_a, fours_b);
    eights_count += eights.popcount();
  }
  uint64_t sum() const { return 8 * eights_count + 4 * fours.popcount() + 2 * twos.popcount() + ones.popcount(); }
};

uint64_t count_bitmaps(const std::byte* a, const std::byte* b, size_t bytes) {
  CarrySaveCounter counter;
  size_t at = 0;
  const auto line = [&](size_t i) { return Bits::load(a + at + i * kPlaneBytes) & Bits::load(b + at + i * kPlaneBytes); };
  for (; at + 8 * kPlaneBytes <= bytes; at += 8 * kPlaneBytes) counter.add_eight(line);
  uint64_t count = at > 0 ? counter.sum() : 0;
  for (; at + kPlaneBytes <= bytes; at += kPlaneBytes) count += line(0).popcount();
  for (; at < bytes; at += 8)
    count += static_cast<uint64_t>(std::popcount(load_le<uint64_t>(a + at) & load_le<uint64_t>(b + at)));
  return count;
}

/// Looks for each element of a in the one window of 16 elements of b that can hold it (Lemire,
/// Boytsov, Kurz 2016, "V1").
uint64_t count_arrays(const std::byte* a, size_t a_count, const std::byte* b, size_t b_count) {
  constexpr size_t kWindow = 16;
  uint64_t count = 0;
  size_t i = 0;
  size_t j = 0;
  for (; i < a_count && j + kWindow <= b_count; ++i) {
    const auto x = load_le<uint32_t>(a + 4 * i);
    while (load_le<uint32_t>(b + 4 * (j + kWindow - 1)) < x) {
      j += kWindow;
      if (j + kWindow > b_count) break;
    }
    if (j + kWindow > b_count) break;
    count += Bits::has_lane(Bits::load(b + 4 * j), x);
  }
  while (i < a_count && j < b_count) {
    const auto x = load_le<uint32_t>(a + 4 * i);
    const auto y = load_le<uint32_t>(b + 4 * j);
    count += x == y;
    i += x <= y;
    j += y <= x;
  }
  return count;
}

/// Swaps bit j of rows[i] with bit i of rows[j] in each column of kRows bits, kRows = 16 or 32 (Hacker's Delight 7-3).
template <int kRows>
inline void transpose(Bits* rows) {
  uint32_t low = kRows == 32 ? 0x0000ffff : 0x00ff00ff;
  for (int distance = kRows / 2; distance > 0; distance >>= 1, low ^= low << distance) {
    const Bits mask = Bits::lanes(low);
    for (int i = 0; i < kRows; i = (i + distance + 1) & ~distance) {
      const Bits swap = (Bits::down(rows[i], distance) ^ rows[i + distance]) & mask;
      rows[i] = rows[i] ^ Bits::up(swap, distance);
      rows[i + distance] = rows[i + distance] ^ swap;
    }
  }
}

void transpose_slots(uint32_t* slots) {
  Bits rows[32];
  for (int i = 0; i < 32; ++i) rows[i] = Bits::load(slots + 16 * i);
  transpose<32>(rows);
  for (int i = 0; i < 32; ++i) rows[i].store(slots + 16 * i);
}

/// Keys of 512 slots, from as many planes as Word has bits. Slot p is at [p % bits][p / bits].
template <typename Word>
struct SlotKeys {
  static constexpr int kRows = 8 * sizeof(Word);
  alignas(64) Word words[kBlockSlots];

  /// Reads planes [first, last); planes from `last` on count as zero.
  void read(const std::byte* block, int first, int last) {
    Bits rows[kRows];
    for (int i = 0; i < kRows; ++i)
      rows[i] = first + i < last ? Bits::load(block + static_cast<size_t>(first + i) * kPlaneBytes) : Bits::all_if(false);
    transpose<kRows>(rows);
    for (int i = 0; i < kRows; ++i) rows[i].store(words + static_cast<size_t>(i) * (kBlockSlots / kRows));
  }
  uint64_t of(uint64_t p) const { return words[p % kRows * (kBlockSlots / kRows) + p / kRows]; }
};

template <typename KeyOf>
inline size_t images_of(const std::byte* plane, int range_bits, uint64_t position, uint64_t* out, KeyOf key_of) {
  uint64_t* const begin = out;
  for (uint64_t w = 0; w < kBlockSlots / 64; ++w)
    for (uint64_t rest = load_le<uint64_t>(plane + 8 * w); rest != 0; rest &= rest - 1) {
      const auto p = 64 * w + static_cast<uint64_t>(std::countr_zero(rest));
      *out++ = key_of(p) << range_bits | position | p;
    }
  return static_cast<size_t>(out - begin);
}

size_t read_images(const std::byte* block, BatmapShape shape, uint64_t position, const std::byte* plane, uint64_t* out) {
  const int planes = shape.key_bits;
  const std::byte* keys = block + kPlaneBytes;
  if (planes <= 16) {
    SlotKeys<uint16_t> all;
    all.read(keys, 0, planes);
    return images_of(plane, shape.range_bits, position, out, [&](uint64_t p) { return all.of(p); });
  }
  SlotKeys<uint32_t> low;
  low.read(keys, 0, planes);
  if (planes <= 32) return images_of(plane, shape.range_bits, position, out, [&](uint64_t p) { return low.of(p); });
  SlotKeys<uint32_t> high;
  high.read(keys, 32, planes);
  return images_of(plane, shape.range_bits, position, out, [&](uint64_t p) { return high.of(p) << 32 | low.of(p); });
}

void invert_images(uint64_t* images, size_t count, int table, int width) {
  if (width > 32) {
    const Permutation<uint64_t> pi(table, width);
    for (size_t i = 0; i < count; ++i) images[i] = pi.inverse(images[i]);
    return;
  }
  const Permutation<uint32_t> pi(table, width);
  const Bits mask = Bits::lanes(pi.mask);
  const auto invert = [&](uint64_t* sixteen) {
    Bits y = Bits::narrow(sixteen);
    for (const uint32_t factor : pi.inverses) {
      y = y ^ Bits::down(y, pi.shift);
      y = Bits::times(y, Bits::lanes(factor)) & mask;
    }
    y.widen(sixteen);
  };
  size_t done = 0;
  for (; done + 16 <= count; done += 16) invert(images + done);
  if (done == count) return;
  uint64_t last[16] = {};
  std::memcpy(last, images + done, (count - done) * sizeof *last);
  invert(last);
  std::memcpy(images + done, last, (count - done) * sizeof *last);
}

/// The row of the table. Evaluated at compile time: no code of this instruction set may run before it is asked for.
constexpr SetKernel this_kernel(const char* name, uint32_t needs, const CompactKernel& compact) {
  return {name, needs, count_planes, count_bitmaps, count_arrays, read_images, invert_images, transpose_slots, &compact};
}
