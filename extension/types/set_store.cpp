// The fetched sets of an expression, in simplehash, the hash table of the server. See set_store.h.
#include "extension/types/set_store.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "extension/server/backend.h"
#include "extension/types/set_datum.h"
#include "set/set_decode.h"
#include "set/set_intersect.h"

#include "extension/server/pg.h"

struct StoredEntry {
  uint64_t key;
  batmap::pg::StoredSet* set;
  char status;
};

extern "C" {
#define SH_PREFIX stored
#define SH_ELEMENT_TYPE StoredEntry
#define SH_KEY_TYPE uint64_t
#define SH_KEY key
#define SH_HASH_KEY(table, key) (murmurhash32(static_cast<uint32_t>(key)) ^ static_cast<uint32_t>((key) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "lib/simplehash.h"
#pragma GCC diagnostic pop
}

namespace batmap::pg {

namespace {

/// The values that all expressions of the backend keep may use 1/4 of the work memory (batmap.work_mem).
constexpr size_t kShareOfWorkMemory = 4;
constexpr size_t kAlignment = 64;
/// If the data of a batmap without stash begins at this offset, its planes are aligned.
constexpr size_t kDataOffset = kAlignment - kSetHeaderBytes - kStashHeaderBytes;
/// Values up to this size are fetched whole: a slice would read as many pages.
constexpr size_t kSmallValue = 3 * TOAST_MAX_CHUNK_SIZE;
/// The cost of one probe by slices in bytes of a plain fetch: it makes three index searches instead of one.
constexpr size_t kProbeBytes = 16384;

/// While memory is short, one in this many new values still goes to the recent end, so that the store adapts
/// to the query.
constexpr uint32_t kWarmEvery = 32;

// Sets inside their rows. The meetings of 16,384 hashes are counted (256 kB), once that many calls have found no kept set: most
// statements end before. What preparing pays is asked after a few meetings, so that a scan does not pay for the question.
constexpr uint32_t kInlineCalls = 256;
constexpr size_t kMeetingSlots = 16384;
constexpr size_t kMeetingWays = 4;
constexpr uint32_t kFewMeetings = 4;
/// Both forms of a set and its entry take at most about this many times its bytes. From bench/small_sets.cpp.
constexpr size_t kInlineRoom = 8;
/// Finding a kept set by its hash, with the cache misses of a loop over more sets than the caches hold (bench/run, part
/// small_sets), and comparing a byte (bench/small_sets.cpp, column "comparing").
constexpr double kFindInlineNs = 200;
constexpr double kCompareByteNs = 0.02;
// About what a block, and a byte of an array or of runs, adds to a count of compact sets. From bench/small_sets.cpp ("compact").
constexpr double kBlockNs = 20;
constexpr double kArrayByteNs = 0.2;
constexpr double kRunByteNs = 1.5;

size_t used_by_all;  // bytes of the values in all stores of the backend

// Their addresses in fn_extra mark an expression that keeps nothing, and one that has been called once.
char no_store;
char called_once;

struct varatt_external toast_pointer(const struct varlena* pointer) {
  struct varatt_external external;
  VARATT_EXTERNAL_GET_POINTER(external, pointer);
  return external;
}

/// Replaces VARATT_EXTERNAL_IS_COMPRESSED, which compares a signed with an unsigned number.
bool is_compressed(const struct varatt_external& external) {
  return VARATT_EXTERNAL_GET_EXTSIZE(external) < static_cast<uint32>(external.va_rawsize - VARHDRSZ);
}

uint64_t key_of(const struct varatt_external& external) {
  return static_cast<uint64_t>(external.va_toastrelid) << 32 | external.va_valueid;
}

/// A hash of eight words of a value, evenly spaced. @param bytes  at least 8
uint64_t key_of(std::span<const std::byte> bytes) {
  constexpr size_t kWords = 8;
  uint64_t key = bytes.size();
  for (size_t i = 0; i < kWords; ++i) {
    key ^= load_le<uint64_t>(bytes.data() + (bytes.size() - 8) * i / (kWords - 1));
    key *= UINT64_C(0x9e3779b97f4a7c15);
    key ^= key >> 32;
  }
  return key;
}

uintptr_t round_up(uintptr_t address) { return (address + kAlignment - 1) & ~(kAlignment - 1); }

/// Replaces dlist_container(), which compiles only in C.
StoredSet* set_of_node(dlist_node* node) {
  return reinterpret_cast<StoredSet*>(reinterpret_cast<char*>(node) - offsetof(StoredSet, node));
}

/// Does the context survive the statement?
bool outlives_statement(MemoryContext context) {
  for (; context != nullptr; context = MemoryContextGetParent(context))
    if (context == CacheMemoryContext) return true;
  return false;
}

/// Writes the bytes of a toasted value to `data`. There must be room for a varlena header before `data`.
void fetch_data(const struct varlena* pointer, const struct varatt_external& external, std::byte* data, size_t bytes) {
  auto* const result = reinterpret_cast<struct varlena*>(data - VARHDRSZ);
  if (!is_compressed(external)) {
    SET_VARSIZE(result, bytes + VARHDRSZ);
    if (bytes == 0) return;
    const Relation relation = table_open(external.va_toastrelid, AccessShareLock);
    table_relation_fetch_toast_slice(relation, external.va_valueid, static_cast<int32>(bytes), 0, static_cast<int32>(bytes),
                                     result);
    table_close(relation, AccessShareLock);
    return;
  }
  struct varlena* const plain = PG_DETOAST_DATUM(PointerGetDatum(pointer));
  memcpy(data, VARDATA(plain), bytes);
  pfree(plain);
}

}  // namespace

SetStore* set_store(FunctionCallInfo fcinfo) {
  FmgrInfo* const function = fcinfo->flinfo;
  if (function == nullptr || function->fn_extra == &no_store) return nullptr;
  // Most statements call once; for them a store would cost more than it saves.
  if (function->fn_extra == nullptr) {
    function->fn_extra = &called_once;
    return nullptr;
  }
  if (function->fn_extra != &called_once) return static_cast<SetStore*>(function->fn_extra);
  if (outlives_statement(function->fn_mcxt)) {
    function->fn_extra = &no_store;
    return nullptr;
  }
  const MemoryContext context = AllocSetContextCreate(function->fn_mcxt, "batmap arguments", ALLOCSET_DEFAULT_SIZES);
  auto* const store = static_cast<SetStore*>(MemoryContextAllocZero(context, sizeof(SetStore)));
  store->context_ = context;
  store->at_end_.func = [](void* arg) { used_by_all -= static_cast<SetStore*>(arg)->used_; };
  store->at_end_.arg = store;
  MemoryContextRegisterResetCallback(context, &store->at_end_);
  store->sets_ = stored_create(context, 64, nullptr);
  dlist_init(&store->by_use_);
  store->budget_ = work_memory_bytes() / kShareOfWorkMemory;
  function->fn_extra = store;
  return store;
}

StoredSet* SetStore::find(int argument, const struct varlena* pointer) {
  const uint64_t key = key_of(toast_pointer(pointer));
  StoredSet* set = latest_[argument];
  if (set == nullptr || set->key != key || set->is_inline) {
    const StoredEntry* const entry = stored_lookup(sets_, key);
    if (entry == nullptr) return nullptr;
    set = latest_[argument] = entry->set;
  }
  set->call = call_;
  return set;
}

void SetStore::drop(StoredSet* set) {
  used_ -= set->charged;
  used_by_all -= set->charged;
  dlist_delete(&set->node);
  stored_delete(set->is_inline ? inline_sets_ : sets_, set->key);
  for (StoredSet*& latest : latest_)
    if (latest == set) latest = nullptr;
  if (set->is_prepared()) pfree(set->prepared_room);
  pfree(set);
}

StoredSet* SetStore::insert(uint64_t key, size_t bytes, size_t alignment) {
  const size_t charged = sizeof(StoredSet) + bytes + alignment;
  // The values that the current call uses stay (at most two), however large they are.
  int spared = 0;
  while (used_by_all + charged > budget_ && !dlist_is_empty(&by_use_)) {
    StoredSet* const coldest = set_of_node(dlist_tail_node(&by_use_));
    if (coldest->call == call_ && ++spared > 2) break;
    if (coldest->call == coldest->seen_call && coldest->call != call_) {
      drop(coldest);
      crowded_ = std::max(crowded_, 1u);
      continue;
    }
    coldest->seen_call = coldest->call;
    dlist_move_head(&by_use_, &coldest->node);
  }
  auto* const set = static_cast<StoredSet*>(MemoryContextAllocHuge(context_, charged));
  set->key = key;
  set->charged = charged;
  set->call = call_;
  set->seen_call = call_;
  set->probes = 0;
  set->view = SetView();
  set->prepared = SetView();
  set->prepared_room = nullptr;
  set->meetings = 0;
  set->worth_from = kNeverPrepared;
  set->is_inline = false;
  return set;
}

void SetStore::enlist(StoredSet* set) {
  used_ += set->charged;
  used_by_all += set->charged;
  if (crowded_ == 0 || ++crowded_ % kWarmEvery == 0)
    dlist_push_head(&by_use_, &set->node);
  else
    dlist_push_tail(&by_use_, &set->node);
}

StoredSet* SetStore::fetch(int argument, const struct varlena* pointer) {
  const struct varatt_external external = toast_pointer(pointer);
  const uint64_t key = key_of(external);
  if (const StoredEntry* const seen = stored_lookup(sets_, key)) drop(seen->set);
  const size_t bytes = static_cast<size_t>(external.va_rawsize) - VARHDRSZ;
  // Leaves room to shift the data until its planes are aligned.
  StoredSet* const set = insert(key, bytes, 3 * kAlignment);
  auto* data = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(set + 1)) + kDataOffset);
  fetch_data(pointer, external, data, bytes);
  set->view = open_set({data, bytes});
  if (set->view.container() == Container::kBatmap) {
    const auto planes = reinterpret_cast<uintptr_t>(set->view.planes());
    const size_t shift = round_up(planes) - planes;
    if (shift != 0) {
      memmove(data + shift, data, bytes);
      set->view = open_set({data + shift, bytes});
    }
  }
  bool found;
  stored_insert(sets_, key, &found)->set = set;
  enlist(set);
  latest_[argument] = set;
  return set;
}

InlineMeetings* SetStore::inline_meetings(uint64_t key) {
  if (meetings_ == nullptr) {
    constexpr size_t kTable = sizeof(InlineMeetings) * kMeetingSlots;
    if (used_by_all + kTable > budget_) return nullptr;
    meetings_ = static_cast<InlineMeetings*>(MemoryContextAllocZero(context_, kTable));
    used_ += kTable;
    used_by_all += kTable;
    inline_sets_ = stored_create(context_, 64, nullptr);
  }
  InlineMeetings* const bucket = meetings_ + key % (kMeetingSlots / kMeetingWays) * kMeetingWays;
  InlineMeetings* fewest = bucket;
  for (InlineMeetings* at = bucket; at != bucket + kMeetingWays; ++at) {
    if (at->key == key && at->meetings != 0) return at;
    if (at->meetings < fewest->meetings) fewest = at;
  }
  // As with kept values: of more sets than there is room for, some stay.
  if (fewest->meetings != 0 && inline_calls_ % kWarmEvery != 0) return nullptr;
  *fewest = {key, 0, 0};
  return fewest;
}

bool SetStore::may_keep_inline(const SetView& set) {
  const CompactView view = set.compact();
  if (view.blocks() == 0 || set.bytes() < sizeof(uint64_t)) return false;
  const double byte_ns = view.shape(0).kind == BlockKind::kRuns ? kRunByteNs : kArrayByteNs;
  return static_cast<double>(view.blocks()) * kBlockNs + static_cast<double>(set.bytes()) * byte_ns > 2 * kFindInlineNs;
}

StoredSet* SetStore::find_inline(int argument, SetView value) {
  const std::span<const std::byte> bytes = value.span();
  const uint64_t key = key_of(bytes);
  StoredSet* set = latest_[argument];
  if (set == nullptr || set->key != key || !set->is_inline) {
    const StoredEntry* const entry = inline_sets_ == nullptr ? nullptr : stored_lookup(inline_sets_, key);
    set = entry == nullptr ? nullptr : entry->set;
  }
  if (set != nullptr) {
    const std::span<const std::byte> kept = set->view.span();
    if (kept.size() != bytes.size() || memcmp(kept.data(), bytes.data(), bytes.size()) != 0) return nullptr;
    latest_[argument] = set;
    set->call = call_;
    return set;
  }
  if (++inline_calls_ < kInlineCalls) return nullptr;
  InlineMeetings* const seen = inline_meetings(key);
  if (seen == nullptr) return nullptr;
  if (++seen->meetings == kFewMeetings)
    seen->worth_from =
        meetings_worth_preparing(value, 2 * (kFindInlineNs + kCompareByteNs * static_cast<double>(bytes.size())));
  if (seen->meetings < kFewMeetings || seen->worth_from == kNeverPrepared || seen->meetings < seen->worth_from)
    return nullptr;
  // There must be room for the prepared form, too.
  if (used_by_all + kInlineRoom * bytes.size() > budget_) return nullptr;
  set = insert(key, bytes.size(), 0);
  set->is_inline = true;
  set->meetings = seen->meetings;
  set->worth_from = seen->worth_from;
  auto* const data = reinterpret_cast<std::byte*>(set + 1);
  memcpy(data, bytes.data(), bytes.size());
  set->view = open_set({data, bytes.size()});
  *seen = {};
  bool found;
  stored_insert(inline_sets_, key, &found)->set = set;
  enlist(set);
  latest_[argument] = set;
  return set;
}

void SetStore::prepare(StoredSet* set) {
  const int width = std::max(width_, width_for(compact_max(set->view.compact()) + 1));
  // While it is made, it takes about as much again.
  const uint64_t expected = encoded_size(set->view.cardinality(), width, compact_max(set->view.compact()));
  if (used_by_all + expected > budget_ || expected > MaxAllocSize / 2) {
    set->worth_from = kNeverPrepared;
    return;
  }
  SetWork* const work = open_work();
  size_t bytes = 0;
  const bool is_made = guarded_fits(true, [&] {
    decode(set->view, work->elements, work->options);
    bytes = work->encoder.prepare(work->elements.span(), width);
  });
  if (!is_made) {
    // Counting the compact form takes no memory.
    set->worth_from = kNeverPrepared;
    close_work(work);
    return;
  }
  const size_t room = bytes + 2 * kAlignment + 8 * work->encoder.stash().size();
  const size_t before = set->is_prepared() ? GetMemoryChunkSpace(set->prepared_room) : 0;
  if (used_by_all - before + room <= budget_) {
    void* const at = MemoryContextAllocHuge(context_, room);
    // The planes are aligned.
    const size_t front = kSetHeaderBytes + kStashHeaderBytes + 8 * work->encoder.stash().size();
    auto* const data = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(at) + front) - front);
    guarded([&] { work->encoder.write(data); });
    set->prepared = open_set({data, bytes});
    width_ = width;
    if (set->is_prepared()) pfree(set->prepared_room);
    set->prepared_room = at;
    const size_t charged = GetMemoryChunkSpace(at) - before;
    set->charged += charged;
    used_ += charged;
    used_by_all += charged;
  } else {
    set->worth_from = kNeverPrepared;
  }
  close_work(work);
}

bool SetStore::meet(StoredSet* a, StoredSet* b) {
  bool pays = true;
  for (StoredSet* set : {a, b}) {
    if (set->is_prepared()) continue;
    if (set->meetings++ == 0) set->worth_from = meetings_worth_preparing(set->view);
    pays = pays && set->worth_from != kNeverPrepared && set->meetings >= set->worth_from;
  }
  if (!pays) return false;
  for (StoredSet* set : {a, b})
    if (!set->is_prepared() || (set->prepared.width() < width_ && set->worth_from != kNeverPrepared)) prepare(set);
  return a->is_prepared() && b->is_prepared() && a->prepared.width() == b->prepared.width() &&
         is_faster_prepared(a->view, a->prepared.container(), b->view, b->prepared.container());
}

StoredSet* SetStore::note(const struct varlena* pointer) {
  const uint64_t key = key_of(toast_pointer(pointer));
  StoredSet* const set = insert(key, 0, 0);
  bool found;
  stored_insert(sets_, key, &found)->set = set;
  enlist(set);
  return set;
}

bool SetStore::worth_fetching(StoredSet* seen, const struct varlena* pointer) {
  const struct varatt_external external = toast_pointer(pointer);
  const auto bytes = static_cast<size_t>(external.va_rawsize);
  if (bytes <= kSmallValue || is_compressed(external)) return true;
  if (seen == nullptr) seen = note(pointer);
  // A value that exceeds the budget is never fetched whole.
  return bytes <= budget_ && ++seen->probes * kProbeBytes >= bytes;
}

}  // namespace batmap::pg
