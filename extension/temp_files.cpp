// BufFile behind the engine's interface. See temp_files.h.
#include "extension/temp_files.h"

#include <utility>

#include "extension/boundary.h"

#include "extension/pg.h"

namespace batmap::pg {

TempFile& ServerFiles::create() {
  BufFile* file = nullptr;
  server_call([&] {
    const MemoryContext caller = MemoryContextSwitchTo(context_);
    file = BufFileCreateTemp(false);
    MemoryContextSwitchTo(caller);
  });
  return files_.emplace_back(file);
}

void ServerFiles::close_all() {
  for (const File& file : files_)
    if (file.file() != nullptr) BufFileClose(file.file());
  files_.clear();
}

void ServerFiles::File::write(std::span<const std::byte> bytes) {
  server_call([&] { BufFileWrite(file_, const_cast<std::byte*>(bytes.data()), bytes.size()); });
}

void ServerFiles::File::rewind() {
  server_call([&] {
    if (BufFileSeek(file_, 0, 0, SEEK_SET) != 0)
      ereport(ERROR, (errcode_for_file_access(), errmsg("could not rewind temporary file: %m")));
  });
}

void ServerFiles::File::read(std::span<std::byte> bytes) {
  server_call([&] {
    const size_t count = BufFileRead(file_, bytes.data(), bytes.size());
    if (count != bytes.size())
      ereport(ERROR, (errcode_for_file_access(),
                      errmsg("could not read from temporary file: read only %zu of %zu bytes", count, bytes.size())));
  });
}

void ServerFiles::File::close() {
  BufFile* const file = std::exchange(file_, nullptr);
  server_call([&] { BufFileClose(file); });
}

}  // namespace batmap::pg
