// Texts of items in one block of bytes: of each its length as a varint (core/varint.h), then its bytes. The
// texts of a dictionary are distinct and ascend in the order of their bytes, so equal sets of texts have equal
// bytes, and the number of a text is its rank. Source: ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/memory.h"
#include "core/options.h"
#include "core/varint.h"

namespace batmap {

/// Bytes of one text in a block, at most.
constexpr size_t text_bytes_at_most(size_t length) { return length + kMaxVarint; }

/// Writes one text. @param to  room for text_bytes_at_most() @return the byte behind it
std::byte* put_text(std::byte* to, std::string_view text);

/// Iterates over the texts of a block. It checks that each lies within the block.
class ItemTexts {
 public:
  explicit ItemTexts(std::span<const std::byte> bytes) : rest_(bytes) {}

  /// @return false after the last text @throws Error{kInvalidData} if a text is cut off
  bool next();
  std::string_view text() const { return text_; }
  std::span<const std::byte> rest() const { return rest_; }  // bytes behind the text

 private:
  std::span<const std::byte> rest_;
  std::string_view text_;
};

/// The texts of a block. They point into it.
/// @param texts  [number of texts in the block] out
/// @throws Error{kInvalidData} unless the block has that many; Error{kCancelled}
void read_texts(std::span<const std::byte> bytes, std::span<std::string_view> texts, const CancelToken& cancel);

/// Checks an untrusted dictionary in full.
/// @throws Error{kInvalidData} unless it has `count` ascending texts, each with its length in as few bytes as
/// possible; Error{kCancelled}
void validate_texts(std::span<const std::byte> bytes, uint32_t count, const CancelToken& cancel);

/// The rank of a text. @param texts  ascending @return texts.size() if it is not there
size_t rank_of_text(std::span<const std::string_view> texts, std::string_view text);

/// For each of some distinct texts, its rank. @param ranks  [texts] out @param order  [texts] out: the texts by rank
/// @throws Error{kMemoryLimit, kCancelled}
void rank_texts(std::span<const std::string_view> texts, std::span<uint32_t> ranks, std::span<uint32_t> order,
                MemoryMeter& meter, const CancelToken& cancel);

}  // namespace batmap
