// The kernel with four registers of 128 bits. See set_kernel.h for the contract.
#include "set/set_kernel.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <bit>

#include "core/cpu.h"
#include "set/permutation.h"

namespace batmap {

namespace {

struct Bits {
  uint32x4_t quarters[4];

  static Bits load(const void* from) {
    const auto* const at = static_cast<const uint8_t*>(from);
    return each([at](int i) { return vreinterpretq_u32_u8(vld1q_u8(at + 16 * i)); });
  }
  void store(void* to) const {
    for (int i = 0; i < 4; ++i) vst1q_u8(static_cast<uint8_t*>(to) + 16 * i, vreinterpretq_u8_u32(quarters[i]));
  }
  static Bits all_if(bool c) { return lanes(c ? ~uint32_t{0} : 0); }
  static Bits lanes(uint32_t lane) {
    return each([lane](int) { return vdupq_n_u32(lane); });
  }
  friend Bits operator&(const Bits& a, const Bits& b) {
    return each([&](int i) { return vandq_u32(a.quarters[i], b.quarters[i]); });
  }
  friend Bits operator|(const Bits& a, const Bits& b) {
    return each([&](int i) { return vorrq_u32(a.quarters[i], b.quarters[i]); });
  }
  friend Bits operator^(const Bits& a, const Bits& b) {
    return each([&](int i) { return veorq_u32(a.quarters[i], b.quarters[i]); });
  }
  static Bits match(const Bits& m, const Bits& a, const Bits& b) {
    return each([&](int i) { return vbicq_u32(m.quarters[i], veorq_u32(a.quarters[i], b.quarters[i])); });
  }
  bool any() const {
    return vmaxvq_u32(vorrq_u32(vorrq_u32(quarters[0], quarters[1]), vorrq_u32(quarters[2], quarters[3]))) != 0;
  }
  uint64_t popcount() const {
    const auto counts = [this](int i) { return vcntq_u8(vreinterpretq_u8_u32(quarters[i])); };
    return vaddlvq_u8(vaddq_u8(vaddq_u8(counts(0), counts(1)), vaddq_u8(counts(2), counts(3))));
  }
  static bool has_lane(const Bits& v, uint32_t lane) {
    const uint32x4_t x = vdupq_n_u32(lane);
    return each([&](int i) { return vceqq_u32(v.quarters[i], x); }).any();
  }
  static Bits narrow(const uint64_t* from) {
    return each(
        [from](int i) { return vcombine_u32(vmovn_u64(vld1q_u64(from + 4 * i)), vmovn_u64(vld1q_u64(from + 4 * i + 2))); });
  }
  void widen(uint64_t* to) const {
    for (int i = 0; i < 4; ++i) {
      vst1q_u64(to + 4 * i, vmovl_u32(vget_low_u32(quarters[i])));
      vst1q_u64(to + 4 * i + 2, vmovl_high_u32(quarters[i]));
    }
  }
  static Bits up(const Bits& a, int n) {
    const int32x4_t count = vdupq_n_s32(n);
    return each([&](int i) { return vshlq_u32(a.quarters[i], count); });
  }
  static Bits down(const Bits& a, int n) { return up(a, -n); }
  static Bits times(const Bits& a, const Bits& b) {
    return each([&](int i) { return vmulq_u32(a.quarters[i], b.quarters[i]); });
  }

 private:
  template <typename Quarter>
  static Bits each(Quarter quarter) {
    return {{quarter(0), quarter(1), quarter(2), quarter(3)}};
  }
};

#include "set/set_kernel_body.h"

}  // namespace

constinit const SetKernel kSetKernelNeon = this_kernel("neon", kCpuNeon, kCompactKernelScalar);

}  // namespace batmap

#endif
