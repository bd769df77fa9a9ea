// Golden files: the bytes of values as they are in tables, test/golden/NAME.hex. Digits of hexadecimal numbers; a comment
// follows after '#'.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace batmap::test {

/// @param source  the test that asks; its path may begin at the build folder
inline std::vector<std::byte> golden_bytes(const std::string& name, const std::string& source = __builtin_FILE()) {
  std::ifstream file(source.substr(0, source.rfind("/unit/")) + "/golden/" + name + ".hex");
  if (!file) throw std::runtime_error("there is no golden file " + name);
  std::string digits, line;
  while (std::getline(file, line))
    for (const char c : line.substr(0, line.find('#')))
      if (std::isxdigit(static_cast<unsigned char>(c))) digits += c;
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// For messages, and to write a new file.
inline std::string hex_of(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    for (const int shift : {4, 0}) text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> shift & 15];
  return text;
}

}  // namespace batmap::test
