// Files for what does not fit into memory. To the engine each is a file of its own: written once, front to back, and then
// read front to back any number of times, by the thread that the run was called from and no other.
//
// All of them lie in one file of the host, in regions that are taken from it and given back: a run has one file, however
// many parts its rows are in, and removing what it left takes one step. A region is written as a whole, so that a file is
// read in pieces of that size. Cost: 4 bytes of memory a region. Source: ours.
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
  /// To the first byte, for reading.
  void rewind() { read_ = 0; }
  /// Exactly so many bytes. @throws what the host throws
  void read(std::span<std::byte> bytes);
  /// Gives back its regions. Not to be used again.
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

  /// An empty file, which lives as long as the object that made it.
  TempFile& create() { return files_.emplace_back(*this); }

 protected:
  ~TempFiles() = default;
  /// Forgets all files and regions: the host's file is gone.
  void clear();

 private:
  friend TempFile;

  /// Writes or reads bytes of the host's file from `at` on, within a region. Regions are first written in the order of their
  /// places, and only what was written is read.
  virtual void write_at(uint64_t at, std::span<const std::byte> bytes) = 0;
  virtual void read_at(uint64_t at, std::span<std::byte> bytes) = 0;

  uint32_t take_region();

  std::deque<TempFile> files_;
  std::vector<uint32_t> free_;  // regions that were given back; has room for all
  uint32_t regions_ = 0;
};

}  // namespace batmap
