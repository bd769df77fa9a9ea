// The temporary files of the engine as a temporary file of the server: in temp_tablespaces, limited by
// temp_file_limit, counted in pg_stat_database, and removed with the transaction in any case. (The server
// starts a new segment for each GB.)
#pragma once

#include <span>

#include "core/temp_files.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// These functions call the server below frames of the engine. An error of the server is caught, passes
/// through the engine as a ServerError, and is raised again by guarded() (boundary.h). close_all() closes the
/// file, or the server does when the transaction fails; the destructor does not touch it.
class ServerFiles final : public TempFiles {
 public:
  /// @param context  must live longer than the files
  explicit ServerFiles(MemoryContext context) : context_(context) {}

  /// Calls the server. To be called when the run has ended without an error.
  void close_all();

 private:
  void write_at(uint64_t at, std::span<const std::byte> bytes) override;
  void read_at(uint64_t at, std::span<std::byte> bytes) override;

  MemoryContext context_;
  BufFile* file_ = nullptr;  // nullptr until the first byte is written
};

}  // namespace batmap::pg
