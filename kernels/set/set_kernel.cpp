// The table of kernels, and the portable kernel. See set_kernel.h.
#include "set/set_kernel.h"

#include <array>
#include <bit>
#include <cstring>

#include "core/cpu.h"
#include "set/permutation.h"

namespace batmap {

namespace {

struct Bits {
  uint64_t words[8];

  static Bits load(const void* from) {
    Bits x;
    std::memcpy(x.words, from, sizeof x);
    return x;
  }
  void store(void* to) const { std::memcpy(to, words, sizeof words); }
  static Bits all_if(bool c) {
    Bits x;
    for (uint64_t& word : x.words) word = c ? ~uint64_t{0} : 0;
    return x;
  }
  static Bits lanes(uint32_t lane) {
    Bits x;
    for (uint64_t& word : x.words) word = uint64_t{lane} << 32 | lane;
    return x;
  }
  template <typename Operation>
  static Bits each(Bits a, const Bits& b, Operation operation) {
    for (int i = 0; i < 8; ++i) a.words[i] = operation(a.words[i], b.words[i]);
    return a;
  }
  friend Bits operator&(const Bits& a, const Bits& b) {
    return each(a, b, [](uint64_t x, uint64_t y) { return x & y; });
  }
  friend Bits operator|(const Bits& a, const Bits& b) {
    return each(a, b, [](uint64_t x, uint64_t y) { return x | y; });
  }
  friend Bits operator^(const Bits& a, const Bits& b) {
    return each(a, b, [](uint64_t x, uint64_t y) { return x ^ y; });
  }
  static Bits match(const Bits& m, const Bits& a, const Bits& b) {
    return each(m, a ^ b, [](uint64_t x, uint64_t y) { return x & ~y; });
  }
  bool any() const {
    uint64_t all = 0;
    for (const uint64_t word : words) all |= word;
    return all != 0;
  }
  uint64_t popcount() const {
    int count = 0;
    for (const uint64_t word : words) count += std::popcount(word);
    return static_cast<uint64_t>(count);
  }

  using Lanes = std::array<uint32_t, 16>;
  template <typename Operation>
  static Bits each_lane(const Bits& a, Operation operation) {
    Lanes x;
    std::memcpy(x.data(), a.words, sizeof x);
    for (size_t i = 0; i < x.size(); ++i) x[i] = operation(x[i], i);
    return load(x.data());
  }
  static bool has_lane(const Bits& v, uint32_t lane) {
    Lanes x;
    std::memcpy(x.data(), v.words, sizeof x);
    bool found = false;
    for (const uint32_t one : x) found |= one == lane;
    return found;
  }
  static Bits narrow(const uint64_t* from) {
    Lanes x;
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint32_t>(from[i]);
    return load(x.data());
  }
  void widen(uint64_t* to) const {
    Lanes x;
    std::memcpy(x.data(), words, sizeof x);
    for (size_t i = 0; i < x.size(); ++i) to[i] = x[i];
  }
  static Bits up(const Bits& a, int n) {
    return each_lane(a, [n](uint32_t x, size_t) { return x << n; });
  }
  static Bits down(const Bits& a, int n) {
    return each_lane(a, [n](uint32_t x, size_t) { return x >> n; });
  }
  static Bits times(const Bits& a, const Bits& b) {
    Lanes factors;
    std::memcpy(factors.data(), b.words, sizeof factors);
    return each_lane(a, [&factors](uint32_t x, size_t i) { return x * factors[i]; });
  }
};

#include "set/set_kernel_body.h"

bool runs_here(const SetKernel& kernel) { return (cpu_features() & kernel.needs) == kernel.needs; }

}  // namespace

constinit const SetKernel kSetKernelScalar = this_kernel("scalar", 0, kCompactKernelScalar);

std::span<const SetKernel> set_kernels() {
  static const std::array kernels = {
#if defined(__x86_64__)
    kSetKernelAvx512,
    kSetKernelAvx2,
#elif defined(__aarch64__)
    kSetKernelNeon,
#endif
    kSetKernelScalar,
  };
  return kernels;
}

const SetKernel& best_set_kernel() {
  static const SetKernel& best = [&]() -> const SetKernel& {
    for (const SetKernel& kernel : set_kernels())
      if (runs_here(kernel)) return kernel;
    return kSetKernelScalar;
  }();
  return best;
}

const SetKernel* find_set_kernel(std::string_view name) {
  if (name == "auto") return &best_set_kernel();
  for (const SetKernel& kernel : set_kernels())
    if (name == kernel.name) return runs_here(kernel) ? &kernel : nullptr;
  return nullptr;
}

}  // namespace batmap
