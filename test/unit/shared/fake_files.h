// Temporary files in memory, which can be made to fail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/temp_files.h"

namespace batmap::test {

struct FileFailed {};

/// Replaces files by memory. Writing fails when `room` bytes are used up; bytes that are written again count again. Reading fails
/// after `reads` calls of the host.
class FakeFiles final : public TempFiles {
 public:
  explicit FakeFiles(uint64_t room = UINT64_MAX, uint64_t reads = UINT64_MAX) : room_(room), reads_(reads) {}

  /// Bytes of the host's file, including regions that were given back.
  uint64_t bytes() const { return bytes_.size(); }
  /// How often a region was written from its beginning.
  uint64_t regions_begun() const { return regions_begun_; }

 private:
  void write_at(uint64_t at, std::span<const std::byte> bytes) override {
    if (bytes.size() > room_) throw FileFailed();
    room_ -= bytes.size();
    regions_begun_ += at % kRegionBytes == 0;
    if (at > bytes_.size() && at % kRegionBytes != 0) throw FileFailed();  // a region is written from its beginning
    bytes_.resize(std::max<uint64_t>(bytes_.size(), at + bytes.size()));
    std::ranges::copy(bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void read_at(uint64_t at, std::span<std::byte> bytes) override {
    if (reads_-- == 0) throw FileFailed();
    if (bytes_.size() < at || bytes_.size() - at < bytes.size()) throw FileFailed();
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at), bytes.size(), bytes.begin());
  }

  uint64_t room_;
  uint64_t reads_;
  uint64_t regions_begun_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace batmap::test
