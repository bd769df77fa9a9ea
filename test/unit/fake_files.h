// Temporary files in memory, which can be made to fail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/temp_files.h"

namespace batmap::test {

struct FileFailed {};

/// Stand-ins for files, in memory. Writing fails when `room` is used up.
class FakeFiles final : public TempFiles {
 public:
  explicit FakeFiles(uint64_t room = UINT64_MAX) : room_(room) {}

  TempFile& create() override { return files_.emplace_back(room_); }
  size_t count() const { return files_.size(); }

 private:
  class File final : public TempFile {
   public:
    explicit File(uint64_t& room) : room_(room) {}
    void write(std::span<const std::byte> bytes) override {
      if (bytes.size() > room_) throw FileFailed();
      room_ -= bytes.size();
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    void rewind() override { at_ = 0; }
    void read(std::span<std::byte> bytes) override {
      if (bytes_.size() - at_ < bytes.size()) throw FileFailed();
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), bytes.size(), bytes.begin());
      at_ += bytes.size();
    }

   private:
    uint64_t& room_;
    std::vector<std::byte> bytes_;
    size_t at_ = 0;
  };

  uint64_t room_;
  std::deque<File> files_;
};

}  // namespace batmap::test
