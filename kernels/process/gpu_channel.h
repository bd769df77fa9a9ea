// Sockets that carry packets and files, and memory that two processes share. The memory is a file without a name:
// only who was given it can see it, and it is gone with the last process that has it. It is sealed, so that nobody
// can shrink it under another. Source: ours.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace batmap::process {

/// An open file that is closed at the end of its life.
class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~File() { reset(); }
  void reset();
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory() { reset(); }
  void reset();

  /// Large pieces are taken at once, and only if the machine has twice as much. @return empty if there is no memory
  static SharedMemory create(size_t bytes);
  /// What another process has created. @return empty if the file is not sealed, or has fewer bytes
  static SharedMemory map(File file, size_t bytes, bool is_writable);

  std::byte* data() { return data_; }
  size_t bytes() const { return bytes_; }
  bool is_empty() const { return data_ == nullptr; }
  int file() const { return file_.number(); }
  /// Both sides have mapped it.
  void close_file() { file_.reset(); }

 private:
  File file_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

/// @return false if the other side is gone. @param file  travels with it; -1: none
bool send_packet(int socket, const void* packet, size_t bytes, int file = -1);
/// @return bytes received; 0: the other side is gone. A longer packet is cut.
size_t receive_packet(int socket, void* packet, size_t bytes, File& file);
/// Does the process at the other end belong to the same user?
bool is_same_user(int socket);

/// @param path  relative to the working folder. @return not open, and errno, if nobody listens there
File connect_to(const std::string& path);
/// Replaces what is there.
File listen_at(const std::string& path);

}  // namespace batmap::process
