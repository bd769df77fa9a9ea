// Runs a fuzz target over files instead of under libFuzzer. So every test run includes the corpora, which
// contain past crashers, without a fuzzing engine.
//
// Usage: NAME_fuzz PATH...   each PATH is a file, or a folder whose files are all read. The target reports a
// failure by crashing.
// A path that does not exist is an error, and so is a run without input: a missing corpus must not pass. The
// empty input always runs first.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    const fs::path path = argv[i];
    if (fs::is_directory(path)) {
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
    } else if (fs::is_regular_file(path)) {
      files.push_back(path);
    } else {
      std::fprintf(stderr, "%s: no such file or folder\n", argv[i]);
      return 2;
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: %s FILE_OR_FOLDER...  (no input found)\n", argv[0]);
    return 2;
  }
  std::sort(files.begin(), files.end());

  const std::uint8_t nothing = 0;
  LLVMFuzzerTestOneInput(&nothing, 0);
  for (const fs::path& file : files) {
    // Printed before the run, so that after a crash the last line names the input.
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    // In a heap block of the exact size AddressSanitizer detects an access one byte past the end.
    const std::vector<std::uint8_t> bytes = read_file(file);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%zu inputs\n", files.size());
  return 0;
}
