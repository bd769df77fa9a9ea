// Direct and hashed key codes. See key_codes.h.
#include "relation/key_codes.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/polled.h"

namespace batmap {

namespace {
// A direct code costs up to 8 bytes of counters; a hashed one costs 40 to 80 bytes a key and 10 times the
// work. So direct codes pay even if most of them are unused.
constexpr uint64_t kAlwaysDirect = uint64_t{1} << 16;
constexpr uint64_t kDirectSlotsPerRow = 4;
constexpr uint64_t kMaxCodes = UINT32_MAX - 1;
}  // namespace

KeyCodes::KeyCodes(const ExecutionOptions& options, int64_t base, uint64_t range, uint64_t rows)
    : meter_(options.memory), cancel_(options.cancel), base_(base), keys_(*options.memory) {
  direct_ = are_direct(range, rows);
  if (direct_)
    direct_size_ = range + 1;
  else
    rehash(1024);
}

bool KeyCodes::are_direct(uint64_t range, uint64_t rows) {
  return range < std::min(std::max(kAlwaysDirect, rows * kDirectSlotsPerRow), kMaxCodes);
}

void KeyCodes::rehash(size_t slots) {
  Buffer<Slot> larger(*meter_, slots);
  in_parts(slots, cancel_, [&](size_t begin, size_t end) {
    for (size_t at = begin; at < end; ++at) larger[at] = {0, kFree, 0};
  });
  slots_ = std::move(larger);
  mask_ = slots - 1;
  in_parts(keys_.size(), cancel_, [&](size_t begin, size_t end) {
    for (size_t code = begin; code < end; ++code) {
      size_t at = slot_of(keys_[code]);
      while (slots_[at].code != kFree) at = (at + 1) & mask_;
      slots_[at] = {keys_[code], static_cast<uint32_t>(code), 0};
    }
  });
}

uint32_t KeyCodes::insert_at(size_t at, int64_t key) {
  if (keys_.size() >= kMaxCodes)
    throw Error(ErrorCode::kTooLarge, "more than 4294967294 distinct keys", "Select fewer rows.");
  const auto code = static_cast<uint32_t>(keys_.size());
  keys_.push_back(key);
  slots_[at] = {key, code, 0};
  if (keys_.size() * 2 > slots_.size()) rehash(slots_.size() * 2);
  return code;
}

uint32_t KeyCodes::find(int64_t key) const {
  if (direct_) {
    const uint64_t code = static_cast<uint64_t>(key) - static_cast<uint64_t>(base_);
    return key >= base_ && code < direct_size_ ? static_cast<uint32_t>(code) : kNone;
  }
  for (size_t at = slot_of(key); slots_[at].code != kFree; at = (at + 1) & mask_)
    if (slots_[at].key == key) return slots_[at].code;
  return kNone;
}

}  // namespace batmap
