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

  TempFile& create() override {
    most_open_ = std::max(most_open_, ++open_);
    return files_.emplace_back(room_, open_);
  }
  size_t count() const { return files_.size(); }
  size_t most_open() const { return most_open_; }

 private:
  class File final : public TempFile {
   public:
    File(uint64_t& room, size_t& open) : room_(room), open_(open) {}
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
    void close() override {
      --open_;
      std::vector<std::byte>().swap(bytes_);  // reading fails from here on
    }

   private:
    uint64_t& room_;
    size_t& open_;
    std::vector<std::byte> bytes_;
    size_t at_ = 0;
  };

  uint64_t room_;
  size_t open_ = 0;
  size_t most_open_ = 0;
  std::deque<File> files_;
};

}  // namespace batmap::test
