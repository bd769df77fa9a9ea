// Every kernel of this machine, loop by loop, against counting bit by bit; and the table of kernels.
#include "set/set_kernel.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "test/unit/shared/sets.h"

namespace batmap::test {
namespace {

Bytes random_bytes(Random& random, size_t size, int filling) {
  Bytes bytes(size);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>(filling == 0 ? random.bits() : filling == 1 ? 0xff : random.bits() & random.bits());
  return bytes;
}

bool bit(const std::byte* from, size_t i) { return (std::to_integer<unsigned>(from[i / 8]) >> (i % 8) & 1) != 0; }

TEST(SetKernel, CountsBitmapsOfEveryLengthAndAlignment) {
  Random random(1);
  for (const SetKernel* kernel : set_kernels_here())
    for (size_t bytes = 0; bytes <= 2400; bytes += 8)
      for (const int filling : {0, 1}) {
        const size_t offset = random.below(8);
        const Bytes a = random_bytes(random, bytes + offset, filling);
        const Bytes b = random_bytes(random, bytes, filling);
        uint64_t expected = 0;
        for (size_t i = 0; i < 8 * bytes; ++i) expected += bit(a.data() + offset, i) && bit(b.data(), i);
        ASSERT_EQ(kernel->count_bitmaps(a.data() + offset, b.data(), bytes), expected) << kernel->name << " " << bytes;
      }
}

TEST(SetKernel, CountsArraysOfEverySize) {
  Random random(2);
  for (const SetKernel* kernel : set_kernels_here())
    for (size_t n = 0; n < 70; ++n)
      for (size_t m = 0; m < 70; m += 1 + m / 20) {
        const Elements a = random_elements(random, n, 7);
        const Elements b = random_elements(random, m, 7);
        const std::vector<uint32_t> x(a.begin(), a.end());
        const std::vector<uint32_t> y(b.begin(), b.end());
        Elements both;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
        ASSERT_EQ(kernel->count_arrays(reinterpret_cast<const std::byte*>(x.data()), n,
                                       reinterpret_cast<const std::byte*>(y.data()), m),
                  both.size())
            << kernel->name << ": " << n << " and " << m;
      }
}

TEST(SetKernel, TransposesSlots) {
  Random random(3);
  for (const SetKernel* kernel : set_kernels_here()) {
    std::vector<uint32_t> slots(512);
    for (uint32_t& slot : slots) slot = static_cast<uint32_t>(random.bits());
    std::vector<uint32_t> planes = slots;
    kernel->transpose_slots(planes.data());
    for (size_t p = 0; p < 512; ++p)
      for (size_t i = 0; i < 32; ++i)
        ASSERT_EQ(planes[16 * i + p / 32] >> (p % 32) & 1, slots[p % 32 * 16 + p / 32] >> i & 1) << kernel->name;
    kernel->transpose_slots(planes.data());
    ASSERT_EQ(planes, slots) << kernel->name;
  }
}

TEST(SetKernel, ReadsImagesAndInvertsThem) {
  Random random(4);
  for (const SetKernel* kernel : set_kernels_here())
    for (const int width : {14, 20, 31, 32, 33, 40, 41, 42, 43, 55, 62}) {
      const int range_bits = 9 + static_cast<int>(random.below(2));
      const BatmapShape here{range_bits, width - range_bits};
      const Bytes block = random_bytes(random, here.block_bytes(), 0);
      const Bytes plane = random_bytes(random, kPlaneBytes, 2);
      uint64_t images[kBlockSlots];
      const uint64_t position = here.range_bits > 9 ? 512 : 0;
      const size_t count = kernel->read_images(block.data(), here, position, plane.data(), images);
      Elements expected;
      for (size_t p = 0; p < kBlockSlots; ++p) {
        if (!bit(plane.data(), p)) continue;
        uint64_t image = position + p;
        for (int k = 0; k < here.key_bits; ++k)
          image |= uint64_t{bit(block.data() + static_cast<size_t>(k + 1) * kPlaneBytes, p)} << (here.range_bits + k);
        expected.push_back(image);
      }
      ASSERT_EQ(Elements(images, images + count), expected) << kernel->name << " width " << width;
      for (int table = 0; table < kTables; ++table)
        for (const size_t some : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{17}, count}) {
          Elements elements(expected.begin(), expected.begin() + static_cast<ptrdiff_t>(some));
          kernel->invert_images(elements.data(), some, table, width);
          for (size_t i = 0; i < some; ++i)
            ASSERT_EQ(Permutation<>(table, width).forward(elements[i]), expected[i]) << kernel->name;
        }
    }
}

TEST(SetKernel, CountsPlanesSlotBySlot) {
  Random random(5);
  for (const SetKernel* kernel : set_kernels_here())
    for (int key_bits = 5; key_bits <= 51; ++key_bits)
      for (int folded = 0; folded <= 2; ++folded) {
        const BatmapShape large{11, key_bits};
        const BatmapShape small{11 - folded, key_bits + folded};
        // Copied planes, so that keys agree often.
        Bytes a = random_bytes(random, small.bytes(), 0);
        Bytes b = random_bytes(random, large.bytes(), 0);
        for (uint64_t g = 0; g < large.groups(); ++g)
          for (size_t t = 0; t < kTables; ++t)
            for (size_t k = 0; k < static_cast<size_t>(key_bits); ++k)
              if (!random.chance(3))
                std::memcpy(b.data() + g * large.group_bytes() + t * large.block_bytes() + (k + 1) * kPlaneBytes,
                            a.data() + g % small.groups() * small.group_bytes() + t * small.block_bytes() +
                                (k + 1 + static_cast<size_t>(folded)) * kPlaneBytes,
                            kPlaneBytes);
        uint64_t expected = 0;
        for (uint64_t g = 0; g < large.groups(); ++g)
          for (size_t t = 0; t < kTables; ++t)
            for (size_t p = 0; p < kBlockSlots; ++p) {
              const std::byte* x = a.data() + g % small.groups() * small.group_bytes() + t * small.block_bytes();
              const std::byte* y = b.data() + g * large.group_bytes() + t * large.block_bytes();
              const auto slot = [p](const std::byte* block, size_t plane) { return bit(block + plane * kPlaneBytes, p); };
              bool match = slot(x, 0) && slot(y, 0);
              uint64_t x_key = 0, y_key = 0;
              for (int k = 0; k < small.key_bits; ++k) x_key |= uint64_t{slot(x, static_cast<size_t>(k + 1))} << k;
              for (int k = 0; k < large.key_bits; ++k) y_key |= uint64_t{slot(y, static_cast<size_t>(k + 1))} << k;
              match &= x_key == (y_key << folded | g / small.groups());
              expected += match && (slot(x, small.planes() - 1) || slot(y, large.planes() - 1));
            }
        const PlanePair pair{a.data(), b.data(), small, large};
        ASSERT_EQ(kernel->count_planes(pair, 0, large.groups()), expected)
            << kernel->name << ", " << key_bits << " key bits, folded " << folded;
        ASSERT_EQ(kernel->count_planes(pair, 0, 1) + kernel->count_planes(pair, 1, 4), expected);
      }
}

TEST(SetKernel, TheTableEndsWithOneThatRunsEverywhere) {
  const auto table = set_kernels();
  EXPECT_STREQ(table.back().name, "scalar");
  EXPECT_EQ(table.back().needs, 0u);
  std::set<std::string> names;
  std::set<const void*> functions;
  for (const SetKernel& kernel : table) {
    EXPECT_TRUE(names.insert(kernel.name).second);
    EXPECT_TRUE(functions.insert(reinterpret_cast<const void*>(kernel.count_planes)).second) << kernel.name;
    const bool runs = (kernel.needs & cpu_features()) == kernel.needs;
    EXPECT_EQ(find_set_kernel(kernel.name), runs ? &kernel : nullptr);
  }
  EXPECT_STREQ(find_set_kernel("auto")->name, best_set_kernel().name);
  EXPECT_STREQ(best_set_kernel().name, set_kernels_here().front()->name);
  for (const SetKernel* kernel : set_kernels_here()) std::printf("kernels: sets %s\n", kernel->name);
  for (const char* none : {"", "AVX2", "sse", "scalar "}) EXPECT_EQ(find_set_kernel(none), nullptr) << none;
}

}  // namespace
}  // namespace batmap::test
