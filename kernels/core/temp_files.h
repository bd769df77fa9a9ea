// Temporary files for what does not fit into memory. The engine sees separate files. Each is written once,
// front to back, and then read front to back any number of times, always by the thread that called the run.
//
// All of them lie in one file of the host, divided into regions of 32 KiB that a file takes and gives back.
// So a run has one file however many parts its rows are in, and one step removes everything. Reads and writes
// reach the host in pieces of at most a region. Cost: 4 bytes of memory a region. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace batmap {

class TempFiles;

class TempFile {
 public:
  explicit TempFile(TempFiles& host) : host_(&host) {}

  /// @throws what the host throws: no space, a limit, an error of the device; std::bad_alloc
  void write(std::span<const std::byte> bytes);
  /// Moves the read position to the first byte.
  void rewind() { read_ = 0; }
  /// Bytes between the read position and the end.
  uint64_t unread() const { return written_ - read_; }
  /// Reads exactly bytes.size() bytes. @throws what the host throws
  void read(std::span<std::byte> bytes);
  /// Gives its regions back. The file must not be used afterwards.
  void close() noexcept;

 private:
  TempFiles* host_;
  std::vector<uint32_t> regions_;
  uint64_t written_ = 0;
  uint64_t read_ = 0;
};

class TempFiles {
 public:
  static constexpr size_t kRegionBytes = size_t{32} << 10;

  /// An empty file; it lives as long as this object.
  TempFile& create() { return files_.emplace_back(*this); }

 protected:
  ~TempFiles() = default;
  /// Forgets all files and regions. For the host to call when its file is gone.
  void clear();

 private:
  friend TempFile;

  /// Write or read bytes of the host's file at offset `at`, within one region. The first write to each region
  /// comes in ascending order of the regions, and only bytes that were written are read.
  virtual void write_at(uint64_t at, std::span<const std::byte> bytes) = 0;
  virtual void read_at(uint64_t at, std::span<std::byte> bytes) = 0;

  uint32_t take_region();

  std::deque<TempFile> files_;
  std::vector<uint32_t> free_;  // regions given back; its capacity suffices for all regions
  uint32_t regions_ = 0;
};

}  // namespace batmap
