// The engine's temporary files as the server's: in temp_tablespaces, under temp_file_limit, counted in pg_stat_database, and
// removed with the transaction whatever happens.
#pragma once

#include <deque>

#include "core/temp_files.h"

#include "extension/pg.h"

namespace batmap::pg {

/// Server calls happen under the engine's frames: an error of the server is caught, travels as a ServerError, and is raised
/// again by guarded() (boundary.h). Files are closed by close_all(), or by the server when the transaction fails; the
/// destructor touches none.
class ServerFiles final : public TempFiles {
 public:
  /// @param context  outlives the files
  explicit ServerFiles(MemoryContext context) : context_(context) {}

  TempFile& create() override;
  /// A server call. To be made when the run has ended without an error.
  void close_all();

 private:
  class File final : public TempFile {
   public:
    explicit File(BufFile* file) : file_(file) {}
    void write(std::span<const std::byte> bytes) override;
    void rewind() override;
    void read(std::span<std::byte> bytes) override;
    void close() override;
    BufFile* file() const { return file_; }

   private:
    BufFile* file_;  // nullptr: closed
  };

  MemoryContext context_;
  std::deque<File> files_;
};

}  // namespace batmap::pg
