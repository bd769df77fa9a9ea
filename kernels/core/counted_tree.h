// Bytes that itemset counts and episode counts have in common: ascending numbers, and a tree of paths with counts.
//
// Of ascending numbers the first is written as zigzag, the others as the distance from the one before, less 1.
//
// A tree has nodes, each before those below it. A node is a path, which is the codes from the top down to it. A code stands for
// one of the numbers, or for a number and a kind. Each node has: the distance of its last code from that of the node before it
// below the same node (at first, see CodesBelow); then twice its count, plus 1 if there are nodes below it. A 0 ends the nodes
// below a node. A node with a count of 0 only leads to others.
//
// All integers are varints, as short as possible. Each number is on a path, and below each node without a count there is one
// with a count. So equal trees have equal bytes. None is longer than 65,535 codes.
//
// Source: the tree is the one that candidates have since Agrawal, Srikant (1994); the bytes are ours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/memory.h"
#include "core/options.h"
#include "core/poll.h"

namespace batmap {

inline constexpr size_t kMaxPathLength = 65535;

/// Writes ascending numbers.
class AscendingWriter {
 public:
  explicit AscendingWriter(const ExecutionOptions& options) : poll_(options.cancel), bytes_(*options.memory) {}

  /// @throws Error{kMemoryLimit, kCancelled}
  void add(int64_t number);
  uint32_t count() const { return count_; }
  const GrowingBuffer<std::byte>& bytes() const { return bytes_; }

 private:
  Poll poll_;
  GrowingBuffer<std::byte> bytes_;
  uint32_t count_ = 0;
  int64_t before_ = 0;
};

/// Reads valid numbers. @throws Error{kMemoryLimit, kCancelled}
Buffer<int64_t> read_ascending(const std::byte* bytes, uint32_t count, const ExecutionOptions& options);

/// The union of two ascending lists, and where their numbers stand in it.
struct AscendingUnion {
  /// @param check  called with the size of the union whenever it grows; may throw
  /// @throws Error{kMemoryLimit, kCancelled}
  AscendingUnion(std::span<const int64_t> x, std::span<const int64_t> y, const std::function<void(uint64_t size)>& check,
                 const ExecutionOptions& options);

  AscendingWriter numbers;
  Buffer<uint32_t> of_x;
  Buffer<uint32_t> of_y;
};

/// Where each of some ascending numbers stands among others, which have them all. @throws Error{kMemoryLimit, kCancelled}
Buffer<uint32_t> positions_among(std::span<const int64_t> all, std::span<const int64_t> some,
                                 const ExecutionOptions& options);

/// From where the code of the first node below another is counted.
enum class CodesBelow {
  kAscend,  // from the code above: codes ascend along a path
  kAny,     // from -1, as at the top
};

/// Iterates over the nodes of a valid tree. Memory: 4 bytes for each code of the longest path.
class TreeNodes {
 public:
  TreeNodes(const std::byte* begin, const std::byte* end, CodesBelow below) : at_(begin), end_(end), below_(below) {}

  /// @return false after the last node
  bool next();
  uint32_t length() const { return static_cast<uint32_t>(path_.size()); }
  uint32_t code() const { return path_.back(); }  // the last one
  std::span<const uint32_t> path() const { return path_; }
  uint64_t count() const { return count_; }  // 0: only leads to others

 private:
  const std::byte* at_;
  const std::byte* end_;
  CodesBelow below_;
  std::vector<uint32_t> path_;
  uint64_t count_ = 0;
  bool has_below_ = true;
};

/// Writes a tree, node by node.
class TreeWriter {
 public:
  TreeWriter(CodesBelow below, const ExecutionOptions& options)
      : below_(below), poll_(options.cancel), bytes_(*options.memory) {}

  /// @param length  of the path: that of the node before and 1, or less @throws Error{kMemoryLimit, kCancelled}
  void add(uint32_t length, uint32_t code, uint64_t count);
  /// The whole tree; nothing may be added then.
  const GrowingBuffer<std::byte>& finish();
  uint64_t counted() const { return counted_; }  // nodes with a count

 private:
  void end_node(uint32_t next_length);

  CodesBelow below_;
  Poll poll_;
  GrowingBuffer<std::byte> bytes_;
  std::vector<uint32_t> path_;  // of the last node
  uint64_t count_ = 0;          // of the last node, which is not written in full yet
  uint64_t counted_ = 0;
};

/// Writes the sum of two trees. @param code_of_x, code_of_y  (code) -> uint64_t: that in the sum, in the same order
/// @return whether no path is counted in both
template <typename CodeOfX, typename CodeOfY>
bool add_trees(TreeNodes x, TreeNodes y, CodeOfX code_of_x, CodeOfY code_of_y, TreeWriter& out) {
  bool more_x = x.next();
  bool more_y = y.next();
  bool disjoint = true;
  while (more_x || more_y) {
    // Both walks have the path above the shorter of the two nodes in common. So a longer one lies below a node that the
    // other walk has passed, and comes first.
    const uint32_t length_x = more_x ? x.length() : 0;
    const uint32_t length_y = more_y ? y.length() : 0;
    const uint64_t code_x = more_x ? code_of_x(x.code()) : UINT64_MAX;
    const uint64_t code_y = more_y ? code_of_y(y.code()) : UINT64_MAX;
    const bool take_x = length_x > length_y || (length_x == length_y && code_x <= code_y);
    const bool take_y = length_y > length_x || (length_x == length_y && code_y <= code_x);
    out.add(std::max(length_x, length_y), static_cast<uint32_t>(take_x ? code_x : code_y),
            (take_x ? x.count() : 0) + (take_y ? y.count() : 0));
    disjoint = disjoint && !(take_x && take_y && x.count() > 0 && y.count() > 0);
    if (take_x) more_x = x.next();
    if (take_y) more_y = y.next();
  }
  return disjoint;
}

/// Calls visit(path, count) for the counted paths of a tree that have no count in another one, which has no further paths.
/// @param code_of_some  (code) -> uint64_t: that in the tree, in the same order @throws Error{kCancelled}
template <typename CodeOfSome, typename Visit>
void visit_missing(TreeNodes all, TreeNodes some, CodeOfSome code_of_some, const ExecutionOptions& options, Visit visit) {
  // The other tree's nodes come in the same order among those of the tree. Up to the next of them, all nodes lie below the one
  // above it; so its length and its last code are enough to know it.
  bool more = some.next();
  Poll poll(options.cancel);
  while (all.next()) {
    poll.after(8);
    const bool is_there = more && some.length() == all.length() && code_of_some(some.code()) == all.code();
    if (all.count() > 0 && (!is_there || some.count() == 0)) visit(all.path(), all.count());
    if (is_there) more = some.next();
  }
}

/// What a value calls its parts where untrusted bytes are refused.
struct TreeWords {
  const char* value;    // "itemset counts"
  const char* number;   // "item"
  const char* numbers;  // "items"
  const char* path;     // "itemset"
  const char* paths;    // "itemsets"

  /// @throws Error{kInvalidData}
  [[noreturn]] void refuse(const std::string& what) const;
};

/// Checks untrusted bytes of ascending numbers. @throws Error{kInvalidData, kCancelled}
void check_ascending(std::span<const std::byte> bytes, uint32_t count, const TreeWords& words,
                     const ExecutionOptions& options);

/// What the header of a value says about its tree.
struct TreeSizes {
  uint32_t numbers;
  uint32_t kinds;    // codes of a number
  uint64_t counted;  // nodes with a count
};

/// Checks untrusted bytes of a tree. Memory: 1 byte a number, and 4 for each code of the longest path.
/// @param look  called with each path and its count; may refuse them
/// @throws Error{kInvalidData, kMemoryLimit, kCancelled}
void check_tree(std::span<const std::byte> bytes, CodesBelow below, const TreeSizes& sizes, const TreeWords& words,
                const ExecutionOptions& options,
                const std::function<void(std::span<const uint32_t> path, uint64_t count)>& look);

}  // namespace batmap
