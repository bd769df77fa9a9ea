// Compares detected CPU features with what the operating system reports about the same machine.
#include "core/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace batmap::test {
namespace {

TEST(Cpu, AsTheOperatingSystemSays) {
  std::set<std::string> flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(word);
    break;
  }
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
#if defined(__aarch64__)
  // An emulator of a processor may show the file of the machine that it runs on.
  if (!flags.contains("asimd")) GTEST_SKIP() << "/proc/cpuinfo is that of another processor";
#endif
  const auto all = [&](std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (!flags.contains(name)) return false;
    return true;
  };
  const uint32_t features = cpu_features();
  EXPECT_EQ((features & kCpuPopcnt) != 0, all({"popcnt"}));
  EXPECT_EQ((features & kCpuAvx2) != 0, all({"popcnt", "avx2", "bmi1", "bmi2"}));
  EXPECT_EQ((features & kCpuAvx512) != 0,
            all({"popcnt", "avx2", "bmi1", "bmi2", "avx512f", "avx512bw", "avx512vl", "avx512_vbmi2", "avx512_vpopcntdq"}));
  EXPECT_TRUE((features & kCpuFastBmi2) == 0 || all({"bmi2"}));
  EXPECT_EQ((features & kCpuNeon) != 0, all({"asimd"}));
  EXPECT_EQ(cpu_features(), features);
}

}  // namespace
}  // namespace batmap::test
