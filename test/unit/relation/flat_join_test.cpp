// States of a join: what is laid out is found again, and every truncated or changed length is refused.
#include "relation/flat_join.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"

namespace batmap::test {
namespace {

std::vector<std::byte> finished(const std::vector<TidItem>& pairs) {
  std::vector<std::byte> state(kFlatHeaderBytes + pairs.size() * sizeof(TidItem) + kFlatSlack);
  flat_init(state.data());
  for (const TidItem& pair : pairs) EXPECT_TRUE(flat_append(state.data(), state.size(), pair));
  std::vector<std::byte> out(flat_finished_capacity(flat_header(state.data())));
  out.resize(flat_finish(state.data(), out.data()));
  return out;
}

std::vector<std::byte> joined(const std::vector<std::byte>& left, const std::vector<std::byte>& right) {
  std::vector<std::byte> value(kFlatJoinHeaderBytes);
  flat_join_layout(value.data(), left.size());
  value.insert(value.end(), left.begin(), left.end());
  value.insert(value.end(), right.begin(), right.end());
  return value;
}

bool valid(std::span<const std::byte> bytes) {
  try {
    flat_join_validate(bytes);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    return false;
  }
}

TEST(FlatJoin, SidesAreFoundAgain) {
  const std::vector<std::byte> left = finished({{1, 10}, {2, 11}});
  const std::vector<std::byte> right = finished({{1, -5}, {7, 1000000}, {8, 1}});
  std::vector<std::byte> value = joined(left, right);
  EXPECT_TRUE(valid(value));
  const std::span<std::byte> left_side = flat_join_side(value, FlatSide::kLeft);
  const std::span<std::byte> right_side = flat_join_side(value, FlatSide::kRight);
  EXPECT_TRUE(std::equal(left_side.begin(), left_side.end(), left.begin(), left.end()));
  EXPECT_TRUE(std::equal(right_side.begin(), right_side.end(), right.begin(), right.end()));
  EXPECT_TRUE(valid(joined(finished({}), finished({}))));
}

TEST(FlatJoin, EveryOtherLengthIsRefused) {
  const std::vector<std::byte> left = finished({{1, 10}, {2, 11}});
  const std::vector<std::byte> right = finished({{1, -5}, {7, 1000000}, {8, 1}});
  const std::vector<std::byte> value = joined(left, right);
  for (size_t size = 0; size < value.size(); ++size) EXPECT_FALSE(valid(std::span(value).first(size))) << size;
  std::vector<std::byte> longer = value;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(valid(longer));
  for (uint64_t left_bytes = 0; left_bytes <= value.size() + 1; ++left_bytes) {
    std::vector<std::byte> other = value;
    flat_join_layout(other.data(), left_bytes);
    EXPECT_EQ(valid(other), left_bytes == left.size()) << left_bytes;
  }
  std::vector<std::byte> huge = value;
  flat_join_layout(huge.data(), UINT64_MAX);
  EXPECT_FALSE(valid(huge));
}

// A state has room and unpacked pairs, so it is not a value that may come from outside.
TEST(FlatJoin, StatesAreNoValues) {
  std::vector<std::byte> state(200);
  flat_init(state.data());
  flat_append(state.data(), state.size(), {1, 2});
  EXPECT_FALSE(valid(joined(state, finished({}))));
  EXPECT_FALSE(valid(joined(finished({}), state)));
  EXPECT_TRUE(is_flat_join(joined(state, finished({}))));
}

// The check that every function makes before it reads.
TEST(FlatJoin, SoundHeadersAreToldFromOthers) {
  std::vector<std::byte> state(200);
  flat_init(state.data());
  flat_append(state.data(), state.size(), {1, 2});
  const std::vector<std::byte> value = joined(state, state);
  EXPECT_TRUE(is_flat_join(value));
  const size_t used = kFlatJoinHeaderBytes + state.size() + flat_used(flat_header(state.data()));
  for (size_t size = 0; size < value.size(); ++size)
    EXPECT_EQ(is_flat_join(std::span(value).first(size)), size >= used) << size;
  for (const uint64_t left_bytes : {uint64_t{0}, uint64_t{199}, uint64_t{401}, UINT64_MAX}) {
    std::vector<std::byte> other = value;
    flat_join_layout(other.data(), left_bytes);
    EXPECT_FALSE(is_flat_join(other)) << left_bytes;
  }
}

}  // namespace
}  // namespace batmap::test
