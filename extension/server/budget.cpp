// Counts memory and threads for the session and for the server. See budget.h.
//
// A session counts its bytes exactly, under its own mutex. It adds only whole megabytes to the sum of the
// server, so a function that takes a few kilobytes for each row does not write to memory that other sessions
// write. The bytes of a session beyond its last whole megabyte are not in the sum. Threads are counted one by
// one, because starting a thread costs more than counting it.
#include "extension/server/budget.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "core/error.h"
#include "extension/server/shared_memory.h"

#include "extension/server/pg.h"

namespace batmap::pg {

namespace {

constexpr uint64_t kStep = uint64_t{1} << 20;  // the sum of the server counts in these steps

struct alignas(64) Share {
  std::atomic<uint64_t> memory;
  std::atomic<uint64_t> threads;
};

struct Sums {
  alignas(64) std::atomic<uint64_t> memory;
  alignas(64) std::atomic<uint64_t> threads;
  Share shares[1];  // [MaxBackends]; written by its own session, read by all
};

Sums* sums;  // nullptr: the library was not preloaded
std::atomic<uint64_t> memory_cap{UINT64_MAX};
std::atomic<uint64_t> thread_cap{0};

/// Adds to `sum` as much as `cap` allows, at most `wanted`. @return what was added: 0 if that would be
/// less than `min_granted`
uint64_t add_below(std::atomic<uint64_t>& sum, uint64_t min_granted, uint64_t wanted, uint64_t cap) {
  uint64_t seen = sum.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t granted = std::min(wanted, seen < cap ? cap - seen : 0);
    if (granted < min_granted || granted == 0) return 0;
    if (sum.compare_exchange_weak(seen, seen + granted, std::memory_order_relaxed)) return granted;
  }
}

std::string in_megabytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

class SessionBudget final : public MemoryBudget, public ThreadBudget {
 public:
  void charge(size_t bytes) override {
    const uint64_t cap = memory_cap.load(std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    const uint64_t now = memory_ + bytes;
    if (now < bytes || now > cap) refuse("this session", memory_, bytes, cap);
    const uint64_t wanted = now / kStep * kStep;
    if (own_ != nullptr && wanted > in_sum_) {
      const uint64_t more = wanted - in_sum_;
      if (add_below(sums->memory, more, more, cap) == 0)
        refuse("all sessions", sums->memory.load(std::memory_order_relaxed), bytes, cap);
      in_sum_ = wanted;
    }
    set_memory(now);
  }

  void release(size_t bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    set_memory(memory_ - bytes);
    const uint64_t wanted = memory_ / kStep * kStep;
    // One step is kept, so that memory that grows and shrinks around a step does not change the
    // sum each time.
    if (own_ == nullptr || in_sum_ == wanted || (wanted > 0 && in_sum_ - wanted < 2 * kStep)) return;
    sums->memory.fetch_sub(in_sum_ - wanted, std::memory_order_relaxed);
    in_sum_ = wanted;
  }

  size_t attainable() const noexcept override {
    const uint64_t cap = memory_cap.load(std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    return memory_ < cap ? cap - memory_ : 0;
  }

  size_t available() const noexcept override {
    const uint64_t cap = memory_cap.load(std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    const uint64_t own_left = memory_ < cap ? cap - memory_ : 0;
    if (own_ == nullptr) return own_left;
    // The sum grows by whole steps.
    const uint64_t sum = sums->memory.load(std::memory_order_relaxed);
    const uint64_t steps = sum < cap ? (cap - sum) / kStep * kStep : 0;
    const uint64_t most = in_sum_ + steps + kStep - 1;
    return memory_ < most ? std::min(own_left, most - memory_) : 0;
  }

  size_t take(size_t wanted) noexcept override {
    const uint64_t cap = thread_cap.load(std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    const uint64_t granted = own_ != nullptr ? add_below(sums->threads, 0, wanted, cap)
                                             : std::min<uint64_t>(wanted, threads_ < cap ? cap - threads_ : 0);
    set_threads(threads_ + granted);
    return granted;
  }

  void give_back(size_t threads) noexcept override {
    const std::lock_guard lock(mutex_);
    if (own_ != nullptr) sums->threads.fetch_sub(threads, std::memory_order_relaxed);
    set_threads(threads_ - threads);
  }

  /// From now on this session counts in the sums of the server.
  void join_server() {
    const int slot = own_slot();
    if (sums == nullptr || own_ != nullptr || left_ || slot < 0) return;
    on_shmem_exit([](int, Datum) { session_.leave_server(); }, Datum{0});
    own_ = &sums->shares[slot];
  }

  BudgetShare share() const {
    const std::lock_guard lock(mutex_);
    return {memory_, threads_};
  }

  static SessionBudget session_;

 private:
  /// The session ends, perhaps with runs that an error left open.
  void leave_server() {
    const std::lock_guard lock(mutex_);
    sums->memory.fetch_sub(in_sum_, std::memory_order_relaxed);
    sums->threads.fetch_sub(threads_, std::memory_order_relaxed);
    own_->memory.store(0, std::memory_order_relaxed);
    own_->threads.store(0, std::memory_order_relaxed);
    own_ = nullptr;
    left_ = true;
  }

  void set_memory(uint64_t bytes) {
    memory_ = bytes;
    if (own_ != nullptr) own_->memory.store(bytes, std::memory_order_relaxed);
  }
  void set_threads(uint64_t threads) {
    threads_ = threads;
    if (own_ != nullptr) own_->threads.store(threads, std::memory_order_relaxed);
  }

  [[noreturn]] static void refuse(const char* whose, uint64_t used, uint64_t bytes, uint64_t cap) {
    throw Error(
        ErrorCode::kMemoryLimit,
        "runs of " + std::string(whose) + " need more than batmap.max_memory, which is " + in_megabytes(cap) + " (" +
            in_megabytes(used) + " are in use, " + std::to_string(bytes >> 10) + " kB more were asked for)",
        "Close cursors or wait until other runs have ended, ask for less, or have a superuser raise batmap.max_memory.");
  }

  mutable std::mutex mutex_;
  uint64_t memory_ = 0;   // bytes of this session
  uint64_t in_sum_ = 0;   // the part of memory_ that is in the sum of the server
  uint64_t threads_ = 0;  // of this session
  Share* own_ = nullptr;  // nullptr: this session counts only for itself
  bool left_ = false;
};

SessionBudget SessionBudget::session_;

SessionBudget* session() {
  SessionBudget::session_.join_server();
  return &SessionBudget::session_;
}

Size shared_bytes() {
  const Size sums_bytes = add_size(offsetof(Sums, shares), mul_size(static_cast<Size>(MaxBackends), sizeof(Share)));
  return add_size(sums_bytes, alignof(Sums));
}

void attach_sums(void* memory, bool is_new) {
  const auto aligned = (reinterpret_cast<uintptr_t>(memory) + alignof(Sums) - 1) / alignof(Sums) * alignof(Sums);
  sums = reinterpret_cast<Sums*>(aligned);
  if (is_new) memset(memory, 0, shared_bytes());
}

constexpr SharedPart kBudgetPart = {"batmap budget", shared_bytes, attach_sums};

}  // namespace

MemoryBudget* session_memory() { return session(); }
ThreadBudget* session_threads() { return session(); }

int processors() {
  static const int count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return count;
}

uint64_t max_memory_bytes() { return memory_cap.load(std::memory_order_relaxed); }
uint64_t max_helper_threads() { return thread_cap.load(std::memory_order_relaxed); }

void assign_max_memory(int megabytes, void*) {
  const auto machine = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  memory_cap.store(megabytes < 0 ? machine / 2 : static_cast<uint64_t>(megabytes) << 20, std::memory_order_relaxed);
}

void assign_max_threads(int threads, void*) {
  thread_cap.store(static_cast<uint64_t>(threads < 0 ? processors() : threads), std::memory_order_relaxed);
}

BudgetShare budget_share(int slot) {
  const Share& share = sums->shares[slot];
  return {share.memory.load(std::memory_order_relaxed), share.threads.load(std::memory_order_relaxed)};
}

int own_slot() {
  if (MyProc == nullptr) return -1;
  const auto slot = MyProc - ProcGlobal->allProcs;
  return slot < MaxBackends ? static_cast<int>(slot) : -1;
}

void request_budget_memory() {
  if (process_shared_preload_libraries_in_progress) request_shared_part(kBudgetPart);
}

}  // namespace batmap::pg

using namespace batmap::pg;

BATMAP_FUNCTION(batmap_usage) {
  TupleDesc descriptor;
  if (get_call_result_type(fcinfo, nullptr, &descriptor) != TYPEFUNC_COMPOSITE)
    elog(ERROR, "return type must be a row type");
  const BudgetShare used = sums == nullptr ? SessionBudget::session_.share()
                                           : BudgetShare{sums->memory.load(std::memory_order_relaxed),
                                                         sums->threads.load(std::memory_order_relaxed)};
  Datum values[] = {BoolGetDatum(sums != nullptr), Int64GetDatum(static_cast<int64>(used.threads)),
                    Int64GetDatum(static_cast<int64>(max_helper_threads())), Int64GetDatum(static_cast<int64>(used.memory)),
                    Int64GetDatum(static_cast<int64>(max_memory_bytes()))};
  bool nulls[5] = {};
  PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}
