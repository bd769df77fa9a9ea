// The files of a run, laid out in regions of the host's one file. See temp_files.h.
#include "core/temp_files.h"

#include <algorithm>

namespace batmap {

namespace {

uint64_t offset_of(const std::vector<uint32_t>& regions, uint64_t at) {
  return uint64_t{regions[at / TempFiles::kRegionBytes]} * TempFiles::kRegionBytes + at % TempFiles::kRegionBytes;
}

/// How many of `bytes` bytes from `at` on lie in one region.
size_t within_region(uint64_t at, size_t bytes) {
  return std::min<size_t>(bytes, TempFiles::kRegionBytes - at % TempFiles::kRegionBytes);
}

}  // namespace

void TempFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (written_ == regions_.size() * TempFiles::kRegionBytes) regions_.push_back(host_->take_region());
    const size_t count = within_region(written_, bytes.size());
    host_->write_at(offset_of(regions_, written_), bytes.first(count));
    written_ += count;
    bytes = bytes.subspan(count);
  }
}

void TempFile::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const size_t count = within_region(read_, bytes.size());
    host_->read_at(offset_of(regions_, read_), bytes.first(count));
    read_ += count;
    bytes = bytes.subspan(count);
  }
}

void TempFile::close() noexcept {
  host_->free_.insert(host_->free_.end(), regions_.rbegin(), regions_.rend());
  std::vector<uint32_t>().swap(regions_);
}

uint32_t TempFiles::take_region() {
  if (free_.empty()) {
    // so that close() can return regions without allocating
    if (free_.capacity() <= regions_) free_.reserve(2 * size_t{regions_} + 64);
    return regions_++;
  }
  const uint32_t region = free_.back();
  free_.pop_back();
  return region;
}

void TempFiles::clear() {
  files_.clear();
  free_.clear();
  regions_ = 0;
}

}  // namespace batmap
