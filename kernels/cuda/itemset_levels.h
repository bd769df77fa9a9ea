// The levels of a search for itemsets on one device: the DeviceItemsets of accel/device_itemsets.h.
//
// A row has a bit for every column. For a support, two rows are ANDed and counted plane by plane, and the count
// of a plane is shifted by its weight. Eight candidates of one parent are counted together, so that the
// parent's row is read once for them. Where candidates are too few to fill the device, rows are cut into slices.
// Frequent candidates are packed by CUB's select (scan and scatter); then their rows are made. Cost: the rows of
// the levels on the stack, 24 bytes for each candidate in flight, 12 for each frequent itemset of the step.
// Source: Fang et al. 2009, 3.2 and 3.3; Losiak 2009, 5.5; counting several candidates at once is ours.
#pragma once

#include <vector>

#include "accel/device_itemsets.h"
#include "cuda/device_memory.h"
#include "cuda/pinned_block.h"

namespace batmap {

struct DeviceItemsets {
 public:
  explicit DeviceItemsets(const DeviceItemsetJob& job);
  DeviceItemsets(const DeviceItemsets&) = delete;
  DeviceItemsets& operator=(const DeviceItemsets&) = delete;
  ~DeviceItemsets();

  uint64_t extend(const DeviceExtension& step, const DeviceItemsetSink& sink);
  void count(JoinedItemset* candidates, size_t size);
  void push(const JoinedItemset* kept, size_t size);
  void pop();
  void drop_lower();
  uint64_t room();
  DeviceItemsetTimes times();

  /// How columns lie in a row, in vectors of 16 bytes.
  struct RowLayout {
    uint32_t vectors;
    uint32_t planes;
    struct {
      uint32_t begin;
      uint32_t end;
      uint32_t shift;
    } plane[32];
  };

 private:
  struct Level {
    uint32_t size = 0;
    std::vector<uint64_t> begin;  // [size + 1] candidates before those of each parent; empty: the level is not extended
    cuda::DeviceArray<uint64_t> begin_on_device;
    cuda::DeviceArray<uint4> rows;
    cuda::DeviceArray<uint32_t> items;    // the last item of each itemset
    cuda::DeviceArray<uint64_t> bitmaps;  // [size][bitmap_words_]; the highest bit of the first word is item 0
  };

  Level& top() { return levels_[depth_ - 1]; }
  void use();
  template <typename T>
  void reserve(cuda::DeviceArray<T>& array, size_t size);
  template <typename Select>
  void select(const JoinedItemset* from, uint32_t size, JoinedItemset* to, Select wanted);
  uint32_t read_count();
  JoinedItemset* few() { return reinterpret_cast<JoinedItemset*>(pinned_.data()) + 1; }
  void settle();
  void count_on_device(const Level& level, JoinedItemset* candidates, uint32_t size);
  uint32_t candidates_at_once() const;
  Level& next_level(uint32_t size);
  void make_rows(const Level& from, const JoinedItemset* kept, Level& to);

  int32_t device_;
  cuda::Stream stream_;
  cuda::DeviceBudget budget_;
  cuda::StopToken stop_;
  RowLayout layout_{};
  uint32_t bitmap_words_;
  uint32_t multiprocessors_ = 1;
  cuda::Event events_[5];
  bool is_timed_ = false;      // the time between the last two events has not been added
  std::vector<Level> levels_;  // levels above depth_ only keep their memory
  size_t depth_ = 0;
  cuda::DeviceArray<JoinedItemset> candidates_[2];
  cuda::DeviceArray<JoinedItemset> kept_;
  cuda::DeviceArray<unsigned char> scratch_;
  cuda::DeviceArray<uint32_t> selected_;
  cuda::PinnedBlock pinned_;  // see read_count() and few()
  DeviceItemsetTimes times_{};
};

/// The C functions over DeviceItemsets.
extern const DeviceItemsetApi kItemsetApi;

}  // namespace batmap
