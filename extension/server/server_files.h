// The engine's temporary files as one of the server's: in temp_tablespaces, under temp_file_limit, counted in
// pg_stat_database, and removed with the transaction whatever happens. (The server begins another for each GB.)
#pragma once

#include "core/temp_files.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Server calls happen under the engine's frames: an error of the server is caught, travels as a ServerError, and is raised
/// again by guarded() (boundary.h). The file is closed by close_all(), or by the server when the transaction fails; the
/// destructor does not touch it.
class ServerFiles final : public TempFiles {
 public:
  /// @param context  outlives the files
  explicit ServerFiles(MemoryContext context) : context_(context) {}

  /// A server call. To be made when the run has ended without an error.
  void close_all();

 private:
  void write_at(uint64_t at, std::span<const std::byte> bytes) override;
  void read_at(uint64_t at, std::span<std::byte> bytes) override;

  MemoryContext context_;
  BufFile* file_ = nullptr;  // from the first byte that is written
};

}  // namespace batmap::pg
