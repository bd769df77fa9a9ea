// Pieces of every class, taken and given back in random order: none overlaps another that is held, and memory is used again.
#include "core/memory_source.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "test/unit/shared/shapes.h"

namespace batmap::test {
namespace {

class SlabSource final : public MemorySource {
 public:
  std::byte* take(size_t bytes) override {
    taken_ += bytes;
    slabs_.emplace_back(bytes / sizeof(uint64_t) + 1);
    return reinterpret_cast<std::byte*>(slabs_.back().data());
  }
  void give(std::byte*, size_t) noexcept override { ADD_FAILURE() << "a pool gives nothing back"; }
  size_t taken() const { return taken_; }

 private:
  std::deque<std::vector<uint64_t>> slabs_;
  size_t taken_ = 0;
};

TEST(PiecePool, ClassesHoldTheirBytes) {
  for (size_t bytes = 0; bytes <= size_t{1} << PiecePool::kLargest; ++bytes) {
    const unsigned size_class = PiecePool::size_class(bytes);
    ASSERT_GE(size_class, PiecePool::kSmallest);
    ASSERT_GE(size_t{1} << size_class, bytes);
    ASSERT_TRUE(size_class == PiecePool::kSmallest || size_t{1} << (size_class - 1) < bytes) << bytes;
  }
}

TEST(PiecePool, PiecesDoNotOverlap) {
  Random random(77);
  SlabSource source;
  PiecePool pool(source);
  std::map<std::byte*, unsigned> held;
  size_t held_bytes = 0;
  size_t most_held = 0;
  for (int step = 0; step < 20000; ++step) {
    if (held.empty() || (random.chance(55) && held.size() < 200)) {
      const auto size_class =
          PiecePool::kSmallest + static_cast<unsigned>(random.below(PiecePool::kLargest - PiecePool::kSmallest + 1));
      const size_t bytes = size_t{1} << size_class;
      std::byte* const piece = pool.take(size_class);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(piece) % 8, 0u);
      const auto after = held.lower_bound(piece);
      ASSERT_TRUE(after == held.end() || piece + bytes <= after->first);
      if (after != held.begin()) {
        const auto before = std::prev(after);
        ASSERT_LE(before->first + (size_t{1} << before->second), piece);
      }
      std::memset(piece, step & 255, bytes);
      held.emplace(piece, size_class);
      held_bytes += bytes;
      most_held = std::max(most_held, held_bytes);
    } else {
      const auto piece = std::next(held.begin(), static_cast<ptrdiff_t>(random.below(held.size())));
      pool.give(piece->first, piece->second);
      held_bytes -= size_t{1} << piece->second;
      held.erase(piece);
    }
  }
  // Each class keeps what it had at its own peak.
  EXPECT_LE(source.taken(), 4 * most_held);
}

}  // namespace
}  // namespace batmap::test
