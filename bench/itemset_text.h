// Writes itemsets as lines of text ("1 2 3 (57)"), for bench/itemset_peers.cpp. The text of each name and support is
// made once. The text of the prefix is kept for each length, and the texts of all subsets of the perfect extensions
// as long as these stay the same. So most lines are three copies of known length: prefix, subset, support.
//
// Texts are stored in whole vectors and loaded as they were stored: a load that spans several recent stores
// would have to wait for them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "itemsets/answers/itemset_visitor.h"
#include "itemsets/itemset_run.h"

namespace batmap::bench {

inline char* put_number(char* at, uint64_t number) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
  } while ((number /= 10) != 0);
  while (count > 0) *at++ = digits[--count];
  return at;
}

class ItemsetText final : public ItemsetVisitor {
 public:
  ItemsetText(const ItemsetRun& run, FILE* out)
      : out_(out), names_(run.ranks()), prefixes_(1), lines_(kLines + (kRoom << kListed)), supports_(kSupports) {
    for (uint32_t rank = 0; rank < names_.size(); ++rank) {
      Name& name = names_[rank];
      char* const end = put_number(name.text + sizeof(Vector), static_cast<uint64_t>(run.value(Rank{rank})));
      *end = ' ';
      name.length = static_cast<size_t>(end + 1 - name.text) - sizeof(Vector);
      if (name.length > sizeof(Vector)) fail("a name");
    }
    lists_[0].push_back({});
  }

  void visit(Rank item, uint32_t length, uint32_t support) override {
    if (length >= prefixes_.size()) prefixes_.resize(length + 1);
    Prefix& prefix = prefixes_[length];
    append(prefixes_[length - 1], names_[index_of(item)], prefix);
    if (support != 0) write_subsets(perfect(), prefix, tail_of(support), 0);
  }
  void visit_perfect(uint32_t support) override { write_subsets(perfect(), prefixes_[0], tail_of(support), 1); }

  void flush() {
    std::fwrite(lines_.data(), 1, used_, out_);
    used_ = 0;
  }

  long itemsets = 0;

 private:
  static constexpr size_t kLines = 1 << 16;
  static constexpr size_t kRoom = 512;  // longest line
  static constexpr size_t kListed = 8;  // for this many perfect extensions or fewer, short texts of all subsets are listed
  static constexpr size_t kSupports = 1 << 12;

  typedef char Vector __attribute__((vector_size(16)));
  struct Prefix {
    alignas(16) char text[kRoom - 64] = {};  // zeros from `length` to the end of the next vector
    size_t length = 0;
  };
  struct Name {
    char text[3 * sizeof(Vector)] = {};  // the second vector, with a blank behind it
    size_t length = 0;
  };
  struct Subset {
    char text[2 * sizeof(Vector)];
    size_t length;
  };
  struct Tail {
    alignas(16) char text[sizeof(Vector)];
    uint32_t length = 0;
    uint32_t support = 0;
  };

  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "itemset_peers: %s is too long\n", what);
    std::exit(1);
  }

  static void copy(char* to, const char* from) {
    Vector text;
    std::memcpy(&text, from, sizeof text);
    std::memcpy(to, &text, sizeof text);
  }

  void push(Rank item) override {
    perfect_.push_back(item);
    const size_t height = perfect_.size();
    if (height > kListed) return;
    const Name& name = names_[index_of(item)];
    const std::vector<Subset>& before = lists_[height - 1];
    std::vector<Subset>& list = lists_[height];
    list.clear();
    if (before.empty() || before[height - 1].length + name.length > sizeof(Subset::text)) return;
    list.reserve(2 * before.size());
    list.emplace_back();
    for (const Subset& subset : before) {
      char text[4 * sizeof(Vector)];
      copy(text, name.text + sizeof(Vector));
      copy(text + name.length, subset.text);
      copy(text + name.length + sizeof(Vector), subset.text + sizeof(Vector));
      Subset& longer = list.emplace_back();
      std::memcpy(longer.text, text, sizeof longer.text);
      longer.length = name.length + subset.length;
    }
    list.insert(list.end(), before.begin() + 1, before.end());
  }
  void shrink(size_t height) override { perfect_.resize(height); }

  static void append(const Prefix& before, const Name& name, Prefix& after) {
    const size_t begin = before.length;
    if (begin + name.length > sizeof after.text - sizeof(Vector)) fail("an itemset");
    size_t at = 0;
    for (; at + sizeof(Vector) <= begin; at += sizeof(Vector)) copy(after.text + at, before.text + at);
    // Shifts the name to its position, which may be in two vectors. Name and prefix have zeros on both sides.
    const char* const shifted = name.text + sizeof(Vector) - (begin - at);
    Vector text;
    Vector first;
    std::memcpy(&text, before.text + at, sizeof text);
    std::memcpy(&first, shifted, sizeof first);
    first |= text;
    std::memcpy(after.text + at, &first, sizeof first);
    copy(after.text + at + sizeof(Vector), shifted + sizeof(Vector));
    after.length = begin + name.length;
  }

  const Tail& tail_of(uint32_t support) {
    Tail& tail = supports_[support % kSupports];
    if (tail.support != support) set(tail, support);
    return tail;
  }
  [[gnu::noinline]] static void set(Tail& tail, uint32_t support) {
    tail.support = support;
    tail.text[0] = '(';
    char* at = put_number(tail.text + 1, support);
    *at++ = ')';
    *at++ = '\n';
    tail.length = static_cast<uint32_t>(at - tail.text);
  }

  /// Writes the lines of a prefix with each subset of the lowest `height` perfect extensions, from subset
  /// `first` on: 0, or 1 to leave out the empty one.
  void write_subsets(size_t height, const Prefix& prefix, const Tail& tail, size_t first) {
    if (height <= kListed && !lists_[height].empty())
      return write_list(std::span(lists_[height]).subspan(first), prefix, tail);
    if (first == 0) write_list(std::span(lists_[0]), prefix, tail);
    Prefix longer;
    append(prefix, names_[index_of(perfect_[height - 1])], longer);
    write_subsets(height - 1, longer, tail, 0);
    write_subsets(height - 1, prefix, tail, 1);
  }

  void write_list(std::span<const Subset> subsets, const Prefix& prefix, const Tail& tail) {
    if (used_ > kLines) flush();
    itemsets += static_cast<long>(subsets.size());
    if (prefix.length <= sizeof(Vector))
      write_list<1>(subsets, prefix, tail);
    else
      write_list<2>(subsets, prefix, tail);
  }
  /// @tparam kHead  vectors of the prefix that stay in registers
  template <size_t kHead>
  void write_list(std::span<const Subset> subsets, const Prefix& prefix, const Tail& tail) {
    // Local copies: for all the compiler knows, stores of characters might change the members.
    const size_t begin = prefix.length;
    const size_t end = tail.length;
    Vector head[kHead];
    Vector last;
    std::memcpy(head, prefix.text, sizeof head);
    std::memcpy(&last, tail.text, sizeof last);
    char* line = lines_.data() + used_;
    for (const Subset& subset : subsets) {
      std::memcpy(line, head, sizeof head);
      for (size_t at = sizeof head; kHead > 1 && at < begin; at += sizeof(Vector)) copy(line + at, prefix.text + at);
      line += begin;
      copy(line, subset.text);
      copy(line + sizeof(Vector), subset.text + sizeof(Vector));
      line += subset.length;
      std::memcpy(line, &last, sizeof last);
      line += end;
    }
    used_ = static_cast<size_t>(line - lines_.data());
  }

  FILE* out_;
  std::vector<Name> names_;
  std::vector<Prefix> prefixes_;  // [length]
  std::vector<char> lines_;
  std::vector<Tail> supports_;  // by their lowest bits
  size_t used_ = 0;
  std::vector<Rank> perfect_;
  std::vector<Subset>
      lists_[kListed + 1];  // [height]; empty: not listed. The empty subset first, then as ItemsetWriter has them
};

}  // namespace batmap::bench
