// Implements the file interface of the engine with BufFile. See server_files.h.
#include "extension/server/server_files.h"

#include <span>
#include <utility>

#include "extension/server/boundary.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

void seek(BufFile* file, uint64_t at) {
  if (BufFileSeek(file, 0, static_cast<off_t>(at), SEEK_SET) != 0)
    ereport(ERROR, (errcode_for_file_access(), errmsg("could not seek in temporary file: %m")));
}

}  // namespace

void ServerFiles::close_all() {
  if (file_ != nullptr) BufFileClose(std::exchange(file_, nullptr));
  clear();
}

void ServerFiles::write_at(uint64_t at, std::span<const std::byte> bytes) {
  server_call([&] {
    if (file_ == nullptr) {
      const MemoryContext caller = MemoryContextSwitchTo(context_);
      file_ = BufFileCreateTemp(false);
      MemoryContextSwitchTo(caller);
    }
    seek(file_, at);
    BufFileWrite(file_, const_cast<std::byte*>(bytes.data()), bytes.size());
  });
}

void ServerFiles::read_at(uint64_t at, std::span<std::byte> bytes) {
  server_call([&] {
    seek(file_, at);
    const size_t count = BufFileRead(file_, bytes.data(), bytes.size());
    if (count != bytes.size())
      ereport(ERROR, (errcode_for_file_access(),
                      errmsg("could not read from temporary file: read only %zu of %zu bytes", count, bytes.size())));
  });
}

}  // namespace batmap::pg
