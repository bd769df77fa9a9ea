// Packets, files and shared memory. See gpu_channel.h.
#include "process/gpu_channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

namespace batmap::process {

namespace {

constexpr size_t kLargeBytes = size_t{4} << 20;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

File new_socket(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return File();
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return File(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

/// Is there so much memory, with as much again left? Unknown counts as yes.
bool has_memory(size_t bytes) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  uint64_t kilobytes = 0;
  std::string unit;
  while (file >> name >> kilobytes >> unit)
    if (name == "MemAvailable:") return bytes / 1024 <= kilobytes / 2;
  return true;
}

/// Takes all of the memory now. What is taken when it is written to ends the process if there is none.
bool reserve(int file, size_t bytes) {
  return has_memory(bytes) && posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0;
}

}  // namespace

void File::reset() {
  if (number_ >= 0) close(number_);
  number_ = -1;
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this != &other) {
    reset();
    file_ = std::move(other.file_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void SharedMemory::reset() {
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
  file_.reset();
}

SharedMemory SharedMemory::create(size_t bytes) {
  File file(memfd_create("batmap", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open() || ftruncate(file.number(), static_cast<off_t>(bytes)) != 0 ||
      (bytes > kLargeBytes && !reserve(file.number(), bytes)) || fcntl(file.number(), F_ADD_SEALS, kSeals) != 0)
    return {};
  return map(std::move(file), bytes, true);
}

SharedMemory SharedMemory::map(File file, size_t bytes, bool is_writable) {
  SharedMemory memory;
  struct stat state;
  if (!file.is_open() || bytes == 0 || fstat(file.number(), &state) != 0 || state.st_size < 0 ||
      static_cast<size_t>(state.st_size) < bytes)
    return memory;
  const int seals = fcntl(file.number(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return memory;
  void* const data = mmap(nullptr, bytes, is_writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.number(), 0);
  if (data == MAP_FAILED) return memory;
  memory.data_ = static_cast<std::byte*>(data);
  memory.bytes_ = bytes;
  memory.file_ = std::move(file);
  return memory;
}

bool send_packet(int socket, const void* packet, size_t bytes, int file) {
  iovec part{const_cast<void*>(packet), bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  for (;;) {
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<size_t>(sent) == bytes;
    if (errno != EINTR) return false;
  }
}

size_t receive_packet(int socket, void* packet, size_t bytes, File& file) {
  file.reset();
  iovec part{packet, bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // Room for one file: the kernel closes more.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t received;
  do {
    received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received <= 0) return 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t files = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < files; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof number);
      file = File(number);
    }
  }
  return static_cast<size_t>(received);
}

bool is_same_user(int socket) {
  ucred other{};
  socklen_t bytes = sizeof other;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 && other.uid == geteuid();
}

File connect_to(const std::string& path) {
  sockaddr_un address;
  File socket = new_socket(path, address);
  if (socket.is_open() && connect(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    socket.reset();
    errno = error;
  }
  return socket;
}

File listen_at(const std::string& path) {
  sockaddr_un address;
  File socket = new_socket(path, address);
  if (!socket.is_open()) return socket;
  unlink(path.c_str());
  const mode_t before = umask(077);
  const bool is_bound = bind(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  umask(before);
  if (!is_bound || listen(socket.number(), 1024) != 0) socket.reset();
  return socket;
}

}  // namespace batmap::process
