// Files in the regions of one file: each reads back what was written to it, whatever the others
// wrote; regions are reused.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "test/unit/shared/fake_files.h"
#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

constexpr size_t kRegion = TempFiles::kRegionBytes;

std::vector<std::byte> noise(uint64_t seed, size_t bytes) {
  Random random(seed);
  std::vector<std::byte> all(bytes);
  for (std::byte& byte : all) byte = static_cast<std::byte>(random.below(256));
  return all;
}

std::vector<std::byte> read_all(TempFile& file, size_t bytes, size_t piece) {
  std::vector<std::byte> all(bytes);
  file.rewind();
  for (size_t at = 0; at < bytes; at += piece) file.read(std::span(all).subspan(at, std::min(piece, bytes - at)));
  return all;
}

TEST(TempFiles, AFileGivesBackWhatWasWritten) {
  for (const size_t bytes : {size_t{0}, size_t{1}, kRegion - 1, kRegion, kRegion + 1, 3 * kRegion, 5 * kRegion + 77}) {
    FakeFiles files;
    const std::vector<std::byte> wanted[] = {noise(1, bytes), noise(2, bytes), noise(3, bytes)};
    TempFile* const all[] = {&files.create(), &files.create(), &files.create()};
    for (size_t at = 0; at < bytes; at += 4099)  // takes turns, so that the regions of the files are mixed
      for (size_t k = 0; k < std::size(all); ++k)
        all[k]->write(std::span(wanted[k]).subspan(at, std::min<size_t>(4099, bytes - at)));
    for (const size_t piece : {size_t{1} << 10, kRegion, 10 * kRegion})
      for (size_t k = 0; k < std::size(all); ++k)
        ASSERT_EQ(read_all(*all[k], bytes, piece), wanted[k]) << bytes << " " << piece;
  }
}

TEST(TempFiles, RegionsOfClosedFilesAreUsedAgain) {
  FakeFiles files;
  const std::vector<std::byte> wanted = noise(4, 10 * kRegion);
  TempFile& stays = files.create();
  stays.write(wanted);
  for (int k = 0; k < 100; ++k) {
    TempFile& file = files.create();
    file.write(wanted);
    ASSERT_EQ(read_all(file, wanted.size(), 5000), wanted);
    file.close();
  }
  EXPECT_EQ(read_all(stays, wanted.size(), 5000), wanted);
  EXPECT_EQ(files.bytes(), 20 * kRegion);
}

}  // namespace
}  // namespace batmap::test
