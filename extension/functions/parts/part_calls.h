// Asks all parts of a table at the same time, in rounds: one statement for each part, which returns one value as text.
//
//   a foreign server    through dblink, with the server's definition and the user mapping of the caller. Each server reads in
//                       one transaction (REPEATABLE READ, READ ONLY), so that all rounds see the same rows
//   a node of Citus     through master_run_on_worker, as the caller. Each statement is a transaction of its own
//   this server         through SPI, in the snapshot of the caller
// Both extensions are looked for when a part needs them.
//
// A part that fails fails the call with its error. If the call ends early, the statements of the parts are cancelled.
#pragma once

#include "extension/functions/parts/part_list.h"
#include "extension/server/progress.h"

#include "extension/server/pg.h"

namespace batmap::pg {

/// Makes the statement for a part. @param schema  of the extension where the part is, quoted @return nullptr: it is not asked
using MakeStatement = const char* (*)(void* argument, const char* schema, const Part& part, int index);

class PartCalls {
 public:
  /// To be made in a memory context that lives as long as the calls. @param schema  of the extension here, quoted
  PartCalls(const PartList& list, const char* operation, const char* schema, ProgressReport* progress);

  /// Connects to the foreign servers, and tells Citus to wait for nodes in short steps, to the end of the caller's
  /// NewGUCNestLevel(). SPI must be connected.
  void open();
  /// Asks the parts. @return [parts] their answers; nullptr: NULL, or it was not asked @raises the error of a part
  char** round(const char* name, MakeStatement make, void* argument);
  /// Disconnects, after the last round.
  void close();
  /// Cancels what is under way, and disconnects, after an error. Raises none. SPI is not connected.
  void abandon();

  /// Bytes that the parts on other servers were sent, and that they answered with.
  uint64_t bytes_sent() const { return sent_; }
  uint64_t bytes_received() const { return received_; }

 private:
  void connect(int part);
  void send(int part);
  bool collect(int part);
  void ask_nodes();
  void ask_here(int part);
  void answered(int part, const char* answer);

  PartList list_;
  const char* operation_;
  const char* schema_;
  ProgressReport* progress_;
  const char* dblink_ = nullptr;  // its schema, quoted
  const char** connections_;      // [parts] names; nullptr: not open
  const char** schemas_;          // [parts] of the extension there
  const char** statements_;       // [parts]
  char** answers_;                // [parts]
  bool* busy_;                    // [parts]
  SPIPlanPtr is_busy_ = nullptr;
  MemoryContext context_;
  const char* round_ = "";
  int done_ = 0;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

}  // namespace batmap::pg
