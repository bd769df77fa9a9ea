// The loops of every kernel, written once over words of 512 bits. Each set_kernel_ISA.cpp includes this inside its target
// region and its anonymous namespace, behind a type `Bits` made of that instruction set; so there is no include guard, and
// nothing may be included here.
//
//   load(p), store(p)     64 bytes, any alignment
//   a & b, a | b, a ^ b
//   match(m, a, b)        m AND NOT (a XOR b)
//   all_if(c)             all ones or zero
//   any(), popcount()     of all 512 bits
//   has_lane(v, x)        is one of its 16 lanes of 32 bits x?
//   lanes(x)              x in each of 16 lanes of 32 bits; on lanes: up(x, n), down(x, n) shift, times(x, f) multiply

/// Matching slots of one block against one block: `folded` low key bits of the small side must be `fold`, the others equal.
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
  // Tables are at most a third full, so 57 slots at most meet in a block: eight key bits leave a quarter of one by chance,
  // and it pays to look whether the rest of the block must be read at all.
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

/// sum:carry = a + b + c, bit by bit.
inline void carry_save_add(Bits& carry, Bits& sum, Bits a, Bits b) {
  const Bits c = sum;
  const Bits either = a ^ b;
  carry = (a & b) | (either & c);
  sum = either ^ c;
}

/// By carry-save adders (Mula, Kurz, Lemire 2018), so that one population count serves four words.
uint64_t count_bitmaps(const std::byte* a, const std::byte* b, size_t bytes) {
  const auto both = [&](size_t at) { return Bits::load(a + at) & Bits::load(b + at); };
  size_t at = 0;
  uint64_t fours_count = 0;
  Bits ones = Bits::all_if(false);
  Bits twos = ones;
  for (; at + 4 * kPlaneBytes <= bytes; at += 4 * kPlaneBytes) {
    Bits twos_a, twos_b, fours;
    carry_save_add(twos_a, ones, both(at), both(at + kPlaneBytes));
    carry_save_add(twos_b, ones, both(at + 2 * kPlaneBytes), both(at + 3 * kPlaneBytes));
    carry_save_add(fours, twos, twos_a, twos_b);
    fours_count += fours.popcount();
  }
  uint64_t count = 4 * fours_count + 2 * twos.popcount() + ones.popcount();
  for (; at < bytes; at += 8)
    count += static_cast<uint64_t>(std::popcount(load_le<uint64_t>(a + at) & load_le<uint64_t>(b + at)));
  return count;
}

/// For each element of a the window of 16 of b where it could be (Lemire, Boytsov, Kurz 2016, "V1").
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

/// rows[i] bit j <-> rows[j] bit i, in each of the 16 columns of 32-bit lanes (Hacker's Delight 7-3).
inline void transpose(Bits* rows) {
  uint32_t low = 0x0000ffff;
  for (int distance = 16; distance > 0; distance >>= 1, low ^= low << distance) {
    const Bits mask = Bits::lanes(low);
    for (int i = 0; i < 32; i = (i + distance + 1) & ~distance) {
      const Bits swap = (Bits::down(rows[i], distance) ^ rows[i + distance]) & mask;
      rows[i] = rows[i] ^ Bits::up(swap, distance);
      rows[i + distance] = rows[i + distance] ^ swap;
    }
  }
}

void transpose_slots(uint32_t* slots) {
  Bits rows[32];
  for (int i = 0; i < 32; ++i) rows[i] = Bits::load(slots + 16 * i);
  transpose(rows);
  for (int i = 0; i < 32; ++i) rows[i].store(slots + 16 * i);
}

/// 32 planes from `first` on, as slot words of 32 bits (slot p at [p % 32][p / 32]); planes at and behind `last` are zero.
inline void slots_of_planes(const std::byte* block, int first, int last, uint32_t* slots) {
  Bits rows[32];
  for (int i = 0; i < 32; ++i)
    rows[i] = first + i < last ? Bits::load(block + static_cast<size_t>(first + i) * kPlaneBytes) : Bits::all_if(false);
  transpose(rows);
  for (int i = 0; i < 32; ++i) rows[i].store(slots + 16 * i);
}

size_t read_images(const std::byte* block, BatmapShape shape, uint64_t position, const std::byte* plane, uint64_t* out) {
  alignas(64) uint32_t low[kBlockSlots];
  alignas(64) uint32_t high[kBlockSlots];
  const int planes = shape.key_bits;
  slots_of_planes(block + kPlaneBytes, 0, planes, low);
  if (planes > 32) slots_of_planes(block + kPlaneBytes, 32, planes, high);
  uint64_t* const begin = out;
  for (uint64_t w = 0; w < kBlockSlots / 64; ++w) {
    for (uint64_t rest = load_le<uint64_t>(plane + 8 * w); rest != 0; rest &= rest - 1) {
      const auto p = 64 * w + static_cast<uint64_t>(std::countr_zero(rest));
      const size_t at = (p & 31) << 4 | p >> 5;
      uint64_t key = low[at];
      if (planes > 32) key |= uint64_t{high[at]} << 32;
      *out++ = key << shape.range_bits | position | p;
    }
  }
  return static_cast<size_t>(out - begin);
}

void invert_images(uint64_t* images, size_t count, int table, int width) {
  if (width > 32) {
    const Permutation<uint64_t> pi(table, width);
    for (size_t i = 0; i < count; ++i) images[i] = pi.inverse(images[i]);
    return;
  }
  const Permutation<uint32_t> pi(table, width);
  const Bits mask = Bits::lanes(pi.mask);
  for (size_t done = 0; done < count; done += 16) {
    const size_t now = count - done < 16 ? count - done : 16;
    alignas(64) uint32_t lanes[16] = {};
    for (size_t i = 0; i < now; ++i) lanes[i] = static_cast<uint32_t>(images[done + i]);
    Bits y = Bits::load(lanes);
    for (const uint32_t factor : pi.inverses) {
      y = y ^ Bits::down(y, pi.shift);
      y = Bits::times(y, Bits::lanes(factor)) & mask;
    }
    y.store(lanes);
    for (size_t i = 0; i < now; ++i) images[done + i] = lanes[i];
  }
}

/// The row of the table; evaluated by the compiler, since nothing of this instruction set may run before somebody asks.
constexpr SetKernel this_kernel(const char* name, uint32_t needs) {
  return {name, needs, count_planes, count_bitmaps, count_arrays, read_images, invert_images, transpose_slots};
}
