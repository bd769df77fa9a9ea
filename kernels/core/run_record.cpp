// The words of a record that several runs share. See run_record.h.
#include "core/run_record.h"

#include <cstdio>

namespace batmap {

std::string rows_in_files(uint64_t bytes, size_t parts, const char* taken) {
  char text[100];
  std::snprintf(text, sizeof text, "rows in %.0f MB of files, %s in %zu parts", static_cast<double>(bytes) / 1e6, taken,
                parts);
  return text;
}

}  // namespace batmap
