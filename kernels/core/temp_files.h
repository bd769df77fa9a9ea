// Files for what does not fit into memory, from the host. A file is written once, front to back, and then read front to back
// any number of times, by the thread that the run was called from and no other.
#pragma once

#include <cstddef>
#include <span>

namespace batmap {

class TempFile {
 public:
  /// @throws what the host throws: no space, a limit, an error of the device
  virtual void write(std::span<const std::byte> bytes) = 0;
  /// To the first byte, for reading.
  virtual void rewind() = 0;
  /// Exactly so many bytes.
  virtual void read(std::span<std::byte> bytes) = 0;
  /// Gives back its space and its buffer. Not to be used again.
  virtual void close() = 0;

 protected:
  ~TempFile() = default;
};

class TempFiles {
 public:
  /// An empty file, which lives as long as the object that made it.
  virtual TempFile& create() = 0;

 protected:
  ~TempFiles() = default;
};

}  // namespace batmap
