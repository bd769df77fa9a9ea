// Every form and kernel of the CUDA module against plain loops: triangles and rectangles, sizes at the edges of
// blocks and tiles, duplicates, thresholds, ranges of rows, lists of pairs, sets of many shapes with stashes.
// Runs on a machine with a GPU. BATMAP_ACCELERATOR names the module.
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "accel/accelerator.h"
#include "core/options.h"
#include "device_module.h"
#include "set/set_builder.h"

namespace batmap {
namespace {

using Row = std::pair<uint32_t, uint32_t>;  // tid, item
using Counts = std::map<Row, uint64_t>;     // (a, b)

struct Found {
  std::vector<DevicePair> pairs;
  static DevicePair* room(void* arg, size_t size) {
    auto& found = *static_cast<Found*>(arg);
    const size_t before = found.pairs.size();
    found.pairs.resize(before + size);
    return found.pairs.data() + before;
  }
};

struct Shape {
  uint32_t items;
  uint32_t tids;
  double density;
  uint32_t leading;       // 0: all items
  uint32_t first_column;  // 0: a triangle
  int times = 1;          // how often each row is there
};

std::vector<Row> random_rows(const Shape& shape, std::mt19937_64& random) {
  std::vector<Row> rows;
  const auto count = static_cast<uint64_t>(shape.density * shape.items * shape.tids);
  for (uint64_t i = 0; i < count; ++i)
    rows.emplace_back(random() % shape.tids,
                      random() % 4 == 0 ? random() % ((shape.items + 9) / 10) : random() % shape.items);
  const size_t once = rows.size();
  for (int time = 1; time < shape.times; ++time)
    for (size_t i = 0; i < once; ++i) rows.push_back(rows[i]);
  return rows;
}

DevicePairJob job_of(const Shape& shape, DeviceMethod method, uint64_t rows) {
  DevicePairJob job{};
  job.items = shape.items;
  job.leading = shape.leading == 0 ? shape.items : shape.leading;
  job.first_column = shape.first_column;
  job.tid_slots = shape.tids;
  job.rows = rows;
  job.method = method;
  DeviceTraits traits[kMaxDevices];
  AcceleratorMessage why{};
  EXPECT_EQ(api().devices(traits, &job.device_count, &why), AcceleratorStatus::kOk) << why.text;
  for (uint32_t i = 0; i < job.device_count; ++i) job.devices[i] = traits[i].index;
  return job;
}

bool is_wanted(const DevicePairJob& job, uint32_t a, uint32_t b) {
  return a < b && a < job.leading && b >= job.first_column;
}

Counts plain_counts(const DevicePairJob& job, const std::vector<Row>& rows) {
  std::map<uint32_t, std::set<uint32_t>> transactions;
  for (const Row& row : rows) transactions[row.first].insert(row.second);
  Counts counts;
  for (const auto& [tid, items] : transactions)
    for (auto a = items.begin(); a != items.end(); ++a)
      for (auto b = std::next(a); b != items.end(); ++b)
        if (is_wanted(job, *a, *b)) ++counts[{*a, *b}];
  return counts;
}

void expect_counts(DevicePairs* pairs, const DevicePairJob& job, const Counts& expected, const char* what) {
  AcceleratorMessage why{};
  uint64_t largest = 1;
  for (const auto& [pair, count] : expected) largest = std::max(largest, count);
  for (const uint32_t threshold :
       {uint32_t{1}, uint32_t{2}, static_cast<uint32_t>(largest), static_cast<uint32_t>(largest) + 1}) {
    Found found;
    const DevicePairSink sink{Found::room, &found};
    const uint32_t middle = job.leading / 256 * 128;  // two ranges of rows
    for (const auto& [first, last] : {std::pair(0u, middle), std::pair(middle, job.leading)})
      if (first < last) {
        ASSERT_EQ(api().count_rows(pairs, first, last, threshold, &sink, &why), AcceleratorStatus::kOk) << what << why.text;
      }
    size_t at = 0;
    for (const auto& [pair, count] : expected) {
      if (count < threshold) continue;
      ASSERT_LT(at, found.pairs.size()) << what << " threshold " << threshold;
      ASSERT_EQ(found.pairs[at].a, pair.first) << what << " threshold " << threshold << " at " << at;
      ASSERT_EQ(found.pairs[at].b, pair.second) << what << " threshold " << threshold << " at " << at;
      ASSERT_EQ(found.pairs[at].count, count) << what << " pair " << pair.first << ", " << pair.second;
      ++at;
    }
    ASSERT_EQ(at, found.pairs.size()) << what << " threshold " << threshold;
  }
}

void expect_list(DevicePairs* pairs, const DevicePairJob& job, const Counts& expected, std::mt19937_64& random) {
  std::vector<uint32_t> a;
  std::vector<uint32_t> b;
  for (int i = 0; i < 5000; ++i) {
    a.push_back(static_cast<uint32_t>(random() % job.items));
    b.push_back(static_cast<uint32_t>(random() % job.items));
    if (a.back() > b.back()) std::swap(a.back(), b.back());
    if (!is_wanted(job, a.back(), b.back())) a.pop_back(), b.pop_back();
  }
  std::vector<uint32_t> smaller = a;
  for (size_t i = 0; i < a.size(); i += 3) std::swap(a[i], b[i]);  // either may come first
  std::vector<uint32_t> counts(a.size(), 0xdeadbeef);
  AcceleratorMessage why{};
  ASSERT_EQ(api().count_list(pairs, a.data(), b.data(), a.size(), counts.data(), &why), AcceleratorStatus::kOk) << why.text;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto at = expected.find({smaller[i], std::max(a[i], b[i])});
    ASSERT_EQ(counts[i], at == expected.end() ? 0 : at->second) << a[i] << ", " << b[i];
  }
}

const Shape kShapes[] = {
    {1, 1, 1, 0, 0},
    {2, 3, 2, 0, 0},
    {127, 255, 0.2, 0, 0},
    {128, 256, 0.2, 0, 0},
    {129, 257, 0.2, 0, 0},
    {130, 1023, 0.1, 0, 0},
    {300, 1024, 0.1, 0, 0},
    {300, 1025, 0.1, 0, 0},
    {1000, 5000, 0.01, 0, 0},
    {400, 20000, 0.02, 0, 0},
    {513, 700, 0.3, 100, 0},
    {513, 700, 0.1, 200, 200},
    {700, 3000, 0.05, 1, 1},
    {700, 3000, 0.05, 699, 699},
    {3000, 800, 0.004, 0, 0},
    {60000, 300, 0.0005, 0, 0},
    // More rows than are staged at once, more pairs than there is room for at first.
    {1600, 100, 0.3, 0, 0, 24},
};

TEST(DevicePairs, RowsByEveryMethod) {
  std::mt19937_64 random(7);
  for (const Shape& shape : kShapes) {
    if (is_small() && (shape.items * shape.tids > 400000 || shape.times > 1)) continue;
    const std::vector<Row> rows = random_rows(shape, random);
    for (const DeviceMethod method : {DeviceMethod::kBitmap, DeviceMethod::kHorizontal}) {
      const DevicePairJob job = job_of(shape, method, rows.size());
      const std::string what = std::to_string(shape.items) + " items, " + std::to_string(shape.tids) + " tids, leading " +
                               std::to_string(shape.leading) + ", method " + std::to_string(static_cast<int>(method)) + ": ";
      AcceleratorMessage why{};
      DevicePairs* pairs = nullptr;
      ASSERT_EQ(api().open_pairs(&job, &pairs, &why), AcceleratorStatus::kOk) << what << why.text;
      std::vector<uint32_t> tids;
      std::vector<uint32_t> items;
      std::vector<std::set<uint32_t>> sets(shape.items);
      for (const Row& row : rows) {
        tids.push_back(row.first);
        items.push_back(row.second);
        sets[row.second].insert(row.first);
      }
      const size_t half = rows.size() / 2;
      ASSERT_EQ(api().add_rows(pairs, tids.data(), items.data(), half, &why), AcceleratorStatus::kOk) << why.text;
      ASSERT_EQ(api().add_rows(pairs, tids.data() + half, items.data() + half, rows.size() - half, &why),
                AcceleratorStatus::kOk)
          << why.text;
      std::vector<uint32_t> supports(shape.items, 0xdeadbeef);
      ASSERT_EQ(api().build(pairs, supports.data(), &why), AcceleratorStatus::kOk) << what << why.text;
      for (uint32_t item = 0; item < shape.items; ++item) ASSERT_EQ(supports[item], sets[item].size()) << what << item;
      const Counts expected = plain_counts(job, rows);
      expect_counts(pairs, job, expected, what.c_str());
      if (method == DeviceMethod::kBitmap) expect_list(pairs, job, expected, random);
      api().close_pairs(pairs);
    }
  }
}

/// Memory of whole pages that devices read directly.
class PinnedWords {
 public:
  explicit PinnedWords(size_t size) : bytes_((size * sizeof(uint32_t) + 4095) / 4096 * 4096) {
    void* const data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) std::abort();
    data_ = static_cast<uint32_t*>(data);
    AcceleratorMessage why{};
    EXPECT_EQ(api().pin(0, data_, bytes_, &why), AcceleratorStatus::kOk) << why.text;
  }
  PinnedWords(const PinnedWords&) = delete;
  PinnedWords& operator=(const PinnedWords&) = delete;
  ~PinnedWords() {
    api().unpin(data_);
    munmap(data_, bytes_);
  }
  uint32_t* data() { return data_; }

 private:
  size_t bytes_;
  uint32_t* data_ = nullptr;
};

TEST(DevicePairs, RowsAndListsInPinnedMemory) {
  std::mt19937_64 random(11);
  const Shape shape{300, 2000, 0.5, 0, 0};  // more rows than are sent at once
  const std::vector<Row> rows = random_rows(shape, random);
  PinnedWords tids(rows.size());
  PinnedWords items(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) tids.data()[i] = rows[i].first, items.data()[i] = rows[i].second;
  AcceleratorMessage why{};
  for (const DeviceMethod method : {DeviceMethod::kBitmap, DeviceMethod::kHorizontal}) {
    const DevicePairJob job = job_of(shape, method, rows.size());
    DevicePairs* pairs = nullptr;
    ASSERT_EQ(api().open_pairs(&job, &pairs, &why), AcceleratorStatus::kOk) << why.text;
    ASSERT_EQ(api().add_rows(pairs, tids.data(), items.data(), rows.size(), &why), AcceleratorStatus::kOk) << why.text;
    std::vector<uint32_t> supports(shape.items);
    ASSERT_EQ(api().build(pairs, supports.data(), &why), AcceleratorStatus::kOk) << why.text;
    const Counts expected = plain_counts(job, rows);
    expect_counts(pairs, job, expected, "pinned");
    if (method == DeviceMethod::kBitmap) {
      const size_t size = expected.size();
      PinnedWords list(3 * size);
      size_t at = 0;
      for (const auto& [pair, count] : expected) {
        list.data()[at] = pair.second;
        list.data()[size + at++] = pair.first;
      }
      ASSERT_EQ(api().count_list(pairs, list.data(), list.data() + size, size, list.data() + 2 * size, &why),
                AcceleratorStatus::kOk)
          << why.text;
      at = 2 * size;
      for (const auto& [pair, count] : expected) ASSERT_EQ(list.data()[at++], count) << pair.first << ", " << pair.second;
    }
    api().close_pairs(pairs);
  }
}

// What another process writes to pinned memory after it was checked: the counts are wrong, and nothing else happens.
TEST(DevicePairs, WildRowsStayInsideOfTheJob) {
  std::mt19937_64 random(12);
  const Shape shape{200, 1000, 0.1, 0, 0};
  constexpr size_t kRows = 20000;
  PinnedWords tids(kRows);
  PinnedWords items(kRows);
  std::vector<Row> rows;
  for (size_t i = 0; i < kRows; ++i) {
    tids.data()[i] = static_cast<uint32_t>(random());
    items.data()[i] = static_cast<uint32_t>(random());
    rows.emplace_back(std::min(tids.data()[i], shape.tids - 1), std::min(items.data()[i], shape.items - 1));
  }
  AcceleratorMessage why{};
  for (const DeviceMethod method : {DeviceMethod::kBitmap, DeviceMethod::kHorizontal}) {
    const DevicePairJob job = job_of(shape, method, kRows);
    DevicePairs* pairs = nullptr;
    ASSERT_EQ(api().open_pairs(&job, &pairs, &why), AcceleratorStatus::kOk) << why.text;
    ASSERT_EQ(api().add_rows(pairs, tids.data(), items.data(), kRows, &why), AcceleratorStatus::kOk) << why.text;
    std::vector<uint32_t> supports(shape.items);
    ASSERT_EQ(api().build(pairs, supports.data(), &why), AcceleratorStatus::kOk) << why.text;
    expect_counts(pairs, job, plain_counts(job, rows), "wild");
    if (method == DeviceMethod::kBitmap) {
      std::vector<uint32_t> counts(kRows);
      ASSERT_EQ(api().count_list(pairs, items.data(), tids.data(), kRows, counts.data(), &why), AcceleratorStatus::kOk)
          << why.text;
    }
    api().close_pairs(pairs);
  }
}

TEST(DevicePairs, ManyJobsAtOnce) {
  std::mt19937_64 random(13);
  const Shape shape{400, 1500, 0.05, 0, 0};
  const std::vector<Row> rows = random_rows(shape, random);
  std::vector<uint32_t> tids;
  std::vector<uint32_t> items;
  for (const Row& row : rows) tids.push_back(row.first), items.push_back(row.second);
  const Counts expected = plain_counts(job_of(shape, DeviceMethod::kBitmap, rows.size()), rows);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int run = 0; run < (is_small() ? 2 : 20); ++run) {
        const DevicePairJob job =
            job_of(shape, (thread + run) % 2 == 0 ? DeviceMethod::kBitmap : DeviceMethod::kHorizontal, rows.size());
        AcceleratorMessage why{};
        DevicePairs* pairs = nullptr;
        ASSERT_EQ(api().open_pairs(&job, &pairs, &why), AcceleratorStatus::kOk) << why.text;
        ASSERT_EQ(api().add_rows(pairs, tids.data(), items.data(), rows.size(), &why), AcceleratorStatus::kOk) << why.text;
        std::vector<uint32_t> supports(shape.items);
        ASSERT_EQ(api().build(pairs, supports.data(), &why), AcceleratorStatus::kOk) << why.text;
        expect_counts(pairs, job, expected, "at once");
        api().close_pairs(pairs);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(api().memory_used(0), 0u);
}

/// Sets with much in common, with tables of several ranges; some hostile sets have stashes.
struct StoredSets {
  /// @param copies  sets of each size below 600
  StoredSets(uint32_t its_width, int copies, std::mt19937_64& random) : width(its_width) {
    const uint64_t universe = uint64_t{1} << width;
    for (const size_t size : {1u, 100u, 256u, 257u, 300u, 511u, 512u, 513u, 900u, 1024u, 1025u, 3000u}) {
      for (int copy = 0; copy < (size < 600 ? copies : (copies + 5) / 6); ++copy) {
        std::set<uint64_t> set;
        while (set.size() < size) {
          const uint64_t x = random() % 3 == 0 ? random() % universe : (random() % 5000 * 7919) % universe;
          set.insert(x);
        }
        sets.emplace_back(set.begin(), set.end());
      }
    }
    MemoryMeter meter;
    const ExecutionOptions options{1, &meter, {}};
    for (const std::vector<uint64_t>& set : sets) {
      SetEncoder encoder(options);
      encoder.place_batmap(set, static_cast<int>(width));
      bytes.emplace_back(batmap_shape(set.size(), static_cast<int>(width)).bytes());
      encoder.write_planes(bytes.back().data());
      for (const uint64_t x : encoder.stash()) stash.push_back(x);
      stash_begin.push_back(static_cast<uint32_t>(stash.size()));
      cardinality.push_back(set.size());
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(sets.size()); }

  /// Sends them, the first third in one call, then a piece from pinned memory, the rest in small pieces on four threads.
  DevicePairs* open(const DevicePairJob& job) const {
    AcceleratorMessage why{};
    DevicePairs* pairs = nullptr;
    EXPECT_EQ(api().open_pairs(&job, &pairs, &why), AcceleratorStatus::kOk) << why.text;
    const DeviceSets given{size(), width, cardinality.data(), stash_begin.data(), stash.data()};
    EXPECT_EQ(api().add_sets(pairs, &given, &why), AcceleratorStatus::kOk) << why.text;
    std::vector<PlanePiece> pieces;
    std::vector<unsigned char> all;
    for (const auto& set : bytes) {
      const auto* const data = reinterpret_cast<const unsigned char*>(set.data());
      all.insert(all.end(), data, data + set.size());
      if (pieces.size() < bytes.size() / 3) pieces.push_back({data, set.size()});
    }
    uint64_t at = 0;
    for (const PlanePiece& piece : pieces) at += piece.bytes;
    EXPECT_EQ(api().add_planes(pairs, 0, pieces.data(), pieces.size(), &why), AcceleratorStatus::kOk) << why.text;
    PinnedWords pinned(1 << 14);
    const uint64_t now = std::min<uint64_t>(all.size() - at, 60'001);
    std::memcpy(pinned.data(), &all[at], now);
    const PlanePiece in_pinned{reinterpret_cast<const unsigned char*>(pinned.data()), now};
    EXPECT_EQ(api().add_planes(pairs, at, &in_pinned, 1, &why), AcceleratorStatus::kOk) << why.text;
    at += now;
    const uint64_t step = all.size() / 50 + 1;
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, first = at + thread * step] {
        AcceleratorMessage message{};
        for (uint64_t from = first; from < all.size(); from += 4 * step) {
          const PlanePiece piece{&all[from], std::min<uint64_t>(step, all.size() - from)};
          EXPECT_EQ(api().add_planes(pairs, from, &piece, 1, &message), AcceleratorStatus::kOk) << message.text;
        }
      });
    for (std::thread& thread : threads) thread.join();
    const PlanePiece outside{all.data(), 2};
    EXPECT_EQ(api().add_planes(pairs, all.size() - 1, &outside, 1, &why), AcceleratorStatus::kDeclined);
    std::vector<uint32_t> supports(size());
    EXPECT_EQ(api().build(pairs, supports.data(), &why), AcceleratorStatus::kOk) << why.text;
    for (uint32_t i = 0; i < size(); ++i) EXPECT_EQ(supports[i], sets[i].size());
    return pairs;
  }

  uint32_t width;
  std::vector<std::vector<uint64_t>> sets;
  std::vector<uint64_t> cardinality;
  std::vector<std::vector<std::byte>> bytes;  // planes of a set
  std::vector<uint32_t> stash_begin{0};
  std::vector<uint64_t> stash;
};

TEST(DevicePairs, SetsOfManyShapes) {
  std::mt19937_64 random(8);
  for (const uint32_t width : {14u, 17u, 24u, 40u}) {
    if (is_small() && width != 17) continue;
    const StoredSets stored(width, is_small() ? 6 : 40, random);
    const uint32_t count = stored.size();
    for (const auto& [leading, first_column] : {std::pair(count, 0u), std::pair(50u, 50u)}) {
      const Shape shape{count, 1, 0, leading, first_column};
      const DevicePairJob job = job_of(shape, DeviceMethod::kBatmap, 0);
      Counts expected;
      for (uint32_t a = 0; a < count; ++a)
        for (uint32_t b = a + 1; b < count; ++b) {
          std::vector<uint64_t> common;
          std::ranges::set_intersection(stored.sets[a], stored.sets[b], std::back_inserter(common));
          if (is_wanted(job, a, b) && !common.empty()) expected[{a, b}] = common.size();
        }
      DevicePairs* const pairs = stored.open(job);
      expect_counts(pairs, job, expected, ("width " + std::to_string(width) + ": ").c_str());
      expect_list(pairs, job, expected, random);
      api().close_pairs(pairs);
    }
  }
}

/// Of a list that names many of all pairs, and pairs of an item with itself. @param open  opens the job and sends all
template <typename Open>
void expect_same_list(DevicePairJob job, std::mt19937_64& random, Open open) {
  std::vector<uint32_t> a(100'000);
  std::vector<uint32_t> b(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<uint32_t>(random() % job.items);
    b[i] = i % 50 == 0 ? a[i] : static_cast<uint32_t>(random() % job.items);
  }
  std::vector<uint32_t> counts[2];
  uint64_t bytes[2];
  for (int is_tiled = 0; is_tiled < 2; ++is_tiled) {
    job.counts_all = static_cast<uint32_t>(is_tiled);
    counts[is_tiled].resize(a.size());
    DevicePairs* const pairs = open(job);
    AcceleratorMessage why{};
    ASSERT_EQ(api().count_list(pairs, a.data(), b.data(), a.size(), counts[is_tiled].data(), &why), AcceleratorStatus::kOk)
        << why.text;
    bytes[is_tiled] = api().memory_used(0);
    api().close_pairs(pairs);
  }
  EXPECT_GE(bytes[1], bytes[0] + uint64_t{job.items} * (job.items - 1) / 2 * sizeof(uint32_t)) << "all pairs were counted";
  EXPECT_GT(*std::ranges::max_element(counts[0]), 100u);
  for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(counts[0][i], counts[1][i]) << a[i] << ", " << b[i];
}

TEST(DevicePairs, ListsOfManyOfAllPairs) {
  std::mt19937_64 random(12);
  const Shape shape{1030, 3000, 0.1, 0, 0};
  const std::vector<Row> rows = random_rows(shape, random);
  for (const DeviceMethod all : {DeviceMethod::kBitmap, DeviceMethod::kHorizontal})
    expect_same_list(job_of(shape, DeviceMethod::kBitmap, rows.size()), random, [&](DevicePairJob job) {
      if (job.counts_all != 0) job.method = all;
      std::vector<uint32_t> tids;
      std::vector<uint32_t> items;
      for (const Row& row : rows) tids.push_back(row.first), items.push_back(row.second);
      AcceleratorMessage why{};
      DevicePairs* pairs = nullptr;
      EXPECT_EQ(api().open_pairs(&job, &pairs, &why), AcceleratorStatus::kOk) << why.text;
      EXPECT_EQ(api().add_rows(pairs, tids.data(), items.data(), rows.size(), &why), AcceleratorStatus::kOk) << why.text;
      std::vector<uint32_t> supports(shape.items);
      EXPECT_EQ(api().build(pairs, supports.data(), &why), AcceleratorStatus::kOk) << why.text;
      return pairs;
    });
  const StoredSets stored(17, 140, random);
  ASSERT_GT(stored.size(), 1024u);
  expect_same_list(job_of({stored.size(), 1, 0, 0, 0}, DeviceMethod::kBatmap, 0), random,
                   [&](const DevicePairJob& job) { return stored.open(job); });
  EXPECT_EQ(api().memory_used(0), 0u);
}

/// The tid whose hash this is, by the inverse of the finalizer of MurmurHash3 (cuda/list_form.cu).
uint32_t tid_of_hash(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7ed1b41du;
  x ^= x >> 13 ^ x >> 26;
  x *= 0xa5cb9243u;
  return x ^ x >> 16;
}

/// Pairs in no order and in runs with one b; lists whose hashes all fall into one bucket.
TEST(DevicePairs, ListsOfManyLengths) {
  std::mt19937_64 random(13);
  for (const uint32_t longest : {6u, 3000u, 50000u}) {
    if (is_small() && longest != 3000) continue;
    const uint32_t count = longest > 3000 ? 40 : 300;
    std::vector<std::vector<uint32_t>> lists(count);  // some of no tid, of one, and of the same
    DevicePairJob job = job_of({count, UINT32_MAX, 0, 0, 0}, DeviceMethod::kLists, 0);
    std::vector<uint32_t> tids;
    std::vector<uint32_t> items;
    for (uint32_t item = 0; item < count; ++item) {
      if (item % 10 == 1) continue;
      lists[item] =
          item % 10 == 2 ? std::vector<uint32_t>{0, UINT32_MAX - 1} : std::vector<uint32_t>(random() % longest + 1);
      if (item % 10 != 2)
        for (uint32_t& tid : lists[item]) tid = static_cast<uint32_t>(random() % (item % 3 == 0 ? 2 * longest : UINT32_MAX));
      if (item % 10 == 3) lists[item] = lists[item - 3];
      if (item % 10 == 4)
        for (uint32_t k = 0; k < lists[item].size(); ++k) lists[item][k] = tid_of_hash(0x12345000u + k * (item % 7 + 1));
      for (const uint32_t tid : lists[item]) tids.push_back(tid), items.push_back(item);
      std::ranges::sort(lists[item]);
      lists[item].erase(std::unique(lists[item].begin(), lists[item].end()), lists[item].end());
    }
    job.rows = tids.size();
    AcceleratorMessage why{};
    DevicePairs* pairs = nullptr;
    ASSERT_EQ(api().open_pairs(&job, &pairs, &why), AcceleratorStatus::kOk) << why.text;
    ASSERT_EQ(api().add_rows(pairs, tids.data(), items.data(), tids.size(), &why), AcceleratorStatus::kOk) << why.text;
    std::vector<uint32_t> supports(count);
    ASSERT_EQ(api().build(pairs, supports.data(), &why), AcceleratorStatus::kOk) << why.text;
    for (uint32_t item = 0; item < count; ++item) ASSERT_EQ(supports[item], lists[item].size());
    std::vector<uint32_t> a(is_small() ? 500 : 5000);
    std::vector<uint32_t> b(a.size());
    std::vector<uint32_t> counts(a.size());
    for (const size_t run : {1u, 3u, 40u, 700u}) {
      for (size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<uint32_t>(random() % count);
        b[i] = i % run != 0 ? b[i - 1] : static_cast<uint32_t>(random() % count);
        if (i % 20 == 0) a[i] = b[i];
      }
      ASSERT_EQ(api().count_list(pairs, a.data(), b.data(), a.size(), counts.data(), &why), AcceleratorStatus::kOk)
          << why.text;
      for (size_t i = 0; i < a.size(); ++i) {
        std::vector<uint32_t> common;
        std::ranges::set_intersection(lists[a[i]], lists[b[i]], std::back_inserter(common));
        ASSERT_EQ(counts[i], common.size()) << a[i] << ", " << b[i] << ", longest " << longest << ", runs of " << run;
      }
    }
    Found found;
    const DevicePairSink sink{Found::room, &found};
    EXPECT_EQ(api().count_rows(pairs, 0, count, 1, &sink, &why), AcceleratorStatus::kDeclined);
    api().close_pairs(pairs);
  }
  EXPECT_EQ(api().memory_used(0), 0u);
}

TEST(DevicePairs, TransactionsCountListsOnlyAmongAllPairs) {
  DevicePairJob job = job_of({3000, 100, 0, 0, 0}, DeviceMethod::kHorizontal, 2);
  const uint32_t tids[] = {7, 7};
  const uint32_t items[] = {1, 2999};
  std::vector<uint32_t> supports(3000);
  const auto count = [&] {
    AcceleratorMessage why{};
    DevicePairs* pairs = nullptr;
    EXPECT_EQ(api().open_pairs(&job, &pairs, &why), AcceleratorStatus::kOk) << why.text;
    EXPECT_EQ(api().add_rows(pairs, tids, items, 2, &why), AcceleratorStatus::kOk) << why.text;
    AcceleratorStatus status = api().build(pairs, supports.data(), &why);
    uint32_t found = 0;
    if (status == AcceleratorStatus::kOk) status = api().count_list(pairs, items, items + 1, 1, &found, &why);
    EXPECT_EQ(found, status == AcceleratorStatus::kOk ? 1u : 0u);
    api().close_pairs(pairs);
    return status;
  };
  EXPECT_EQ(count(), AcceleratorStatus::kDeclined);
  job.counts_all = 1;
  EXPECT_EQ(count(), AcceleratorStatus::kOk);
  job.memory_limit = uint64_t{16} << 20;  // their counts have 18 MB
  EXPECT_EQ(count(), AcceleratorStatus::kOutOfMemory);
  EXPECT_EQ(api().memory_used(0), 0u);
}

TEST(DevicePairs, LimitOfMemoryAndCancel) {
  const Shape shape{2000, 100000, 0, 0, 0};
  DevicePairJob job = job_of(shape, DeviceMethod::kBitmap, 0);
  AcceleratorMessage why{};
  DevicePairs* pairs = nullptr;
  job.memory_limit = 1 << 20;
  EXPECT_EQ(api().open_pairs(&job, &pairs, &why), AcceleratorStatus::kOutOfMemory);
  EXPECT_STRNE(why.text, "");
  job.memory_limit = 0;
  bool stop = false;
  job.stop = [](void* arg) { return *static_cast<bool*>(arg); };
  job.stop_arg = &stop;
  ASSERT_EQ(api().open_pairs(&job, &pairs, &why), AcceleratorStatus::kOk) << why.text;
  std::vector<uint32_t> supports(shape.items);
  ASSERT_EQ(api().build(pairs, supports.data(), &why), AcceleratorStatus::kOk) << why.text;
  stop = true;
  Found found;
  const DevicePairSink sink{Found::room, &found};
  EXPECT_EQ(api().count_rows(pairs, 0, shape.items, 1, &sink, &why), AcceleratorStatus::kCancelled);
  api().close_pairs(pairs);
}

TEST(DevicePairs, RangesOfRowsByManyThreads) {
  std::mt19937_64 random(9);
  const Shape shape{2000, is_small() ? 200u : 3000u, 0.05, 0, 0};
  const std::vector<Row> rows = random_rows(shape, random);
  const Counts expected = plain_counts(job_of(shape, DeviceMethod::kBitmap, rows.size()), rows);
  for (const DeviceMethod method : {DeviceMethod::kBitmap, DeviceMethod::kHorizontal}) {
    const DevicePairJob job = job_of(shape, method, rows.size());
    AcceleratorMessage why{};
    DevicePairs* pairs = nullptr;
    ASSERT_EQ(api().open_pairs(&job, &pairs, &why), AcceleratorStatus::kOk) << why.text;
    for (const Row& row : rows)
      ASSERT_EQ(api().add_rows(pairs, &row.first, &row.second, 1, &why), AcceleratorStatus::kOk) << why.text;
    std::vector<uint32_t> supports(shape.items);
    ASSERT_EQ(api().build(pairs, supports.data(), &why), AcceleratorStatus::kOk) << why.text;
    std::vector<Found> found((shape.items + 127) / 128);
    std::atomic<uint32_t> next{0};
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
      threads.emplace_back([&] {
        for (uint32_t range; (range = next++) < found.size();) {
          const DevicePairSink sink{Found::room, &found[range]};
          AcceleratorMessage mine{};
          const uint32_t last = std::min(shape.items, (range + 1) * 128);
          failed += api().count_rows(pairs, range * 128, last, 1, &sink, &mine) != AcceleratorStatus::kOk;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failed, 0);
    Counts counted;
    for (const Found& range : found)
      for (const DevicePair& pair : range.pairs) counted[{pair.a, pair.b}] = pair.count;
    EXPECT_EQ(counted, expected);
    api().close_pairs(pairs);
  }
}

TEST(DevicePairs, StopsSoon) {
  if (is_small()) GTEST_SKIP() << "a sanitizer's time says nothing";
  const Shape shape{30000, 2000000, 0, 0, 0};  // 7.5 GB of bit rows: some hundred milliseconds of counting
  DevicePairJob job = job_of(shape, DeviceMethod::kBitmap, 0);
  std::atomic<bool> stop{false};
  job.stop = [](void* arg) { return static_cast<std::atomic<bool>*>(arg)->load(); };
  job.stop_arg = &stop;
  AcceleratorMessage why{};
  DevicePairs* pairs = nullptr;
  const AcceleratorStatus opened = api().open_pairs(&job, &pairs, &why);
  if (opened == AcceleratorStatus::kOutOfMemory) GTEST_SKIP() << why.text;
  ASSERT_EQ(opened, AcceleratorStatus::kOk) << why.text;
  std::vector<uint32_t> supports(shape.items);
  ASSERT_EQ(api().build(pairs, supports.data(), &why), AcceleratorStatus::kOk) << why.text;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop = true;
  });
  Found found;
  const DevicePairSink sink{Found::room, &found};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(api().count_rows(pairs, 0, shape.items, 1, &sink, &why), AcceleratorStatus::kCancelled);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  stopper.join();
  EXPECT_LT(elapsed, std::chrono::milliseconds(120));
  api().close_pairs(pairs);
}

TEST(DevicePairs, PrepareMeasures) {
  DeviceTraits traits[kMaxDevices];
  uint32_t count = 0;
  AcceleratorMessage why{};
  ASSERT_EQ(api().devices(traits, &count, &why), AcceleratorStatus::kOk) << why.text;
  for (uint32_t i = 0; i < count; ++i) {
    DeviceTraits prepared{};
    ASSERT_EQ(api().prepare(traits[i].index, &prepared, &why), AcceleratorStatus::kOk) << why.text;
    const DeviceRates& r = prepared.rates;
    std::printf(
        "%s (%s, sm_%d%d): context %.0f ms, up %.1f GB/s, down %.1f GB/s, %.2g bits/ns, %.3g increments/ns, %.3g "
        "rows/ns grouped, %.2f ms for nothing\n",
        prepared.name, prepared.bit_kernel, prepared.major, prepared.minor, r.context_ms, r.upload_bytes, r.download_bytes,
        r.and_bits, r.increments, r.grouped_rows, r.launch_ms);
    for (const double rate : {r.upload_bytes, r.download_bytes, r.and_bits, r.increments, r.grouped_rows, r.launch_ms})
      EXPECT_GT(rate, 0);
    EXPECT_EQ(prepared.ready, 1);
  }
}

}  // namespace
}  // namespace batmap
