// What a session and the GPU process say to each other: packets over a Unix socket, and one piece of shared memory
// a channel. A channel does one call at a time: a request, then its reply. Arrays lie in the shared memory, or in a
// file in memory that travels with the packet. The first fields of both packets never change, so that a session
// and a process of different versions understand that they do not understand each other. Source: ours.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "accel/accelerator.h"

namespace batmap::process {

inline constexpr uint32_t kMagic = 0x75706742;  // "Bgpu"
/// Changes with every change of a packet, an operation or the module's ABI.
inline constexpr uint32_t kProtocol = (2u << 16) | kAcceleratorAbi;

/// The shared memory of a channel: a header, what the session sends, what the process answers.
inline constexpr size_t kHeaderBytes = 4096;
inline constexpr size_t kAreaBytes = size_t{1} << 20;
inline constexpr size_t kChannelBytes = kHeaderBytes + 2 * kAreaBytes;
/// Rows of one kAddRows: tids fill the first half of the area, items the second.
inline constexpr size_t kAreaRows = kAreaBytes / 2 / sizeof(uint32_t);
inline constexpr size_t kMaxChannels = 24;  // of one session, with those that it has just given up

struct ChannelHeader {
  std::atomic<uint32_t> cancel;  // the session wants the running call to end
  std::atomic<uint32_t> beat;    // moves while the process is alive and the call runs
};
static_assert(sizeof(ChannelHeader) <= kHeaderBytes && std::atomic<uint32_t>::is_always_lock_free);

enum class Op : uint32_t {
  kHello,    // args: key of the session (two words), both 0 for a new one; the file is the memory of the channel
  kStatus,   // reply: sessions, bytes in use on each device, sessions that run (low half) or wait for a turn
  kDevices,  // answer: DeviceTraits[]
  kPrepare,  // args: device. Answer: DeviceTraits
  // Pairs
  kOpenPairs,  // DevicePairJob
  kAddRows,    // args: rows
  kAddSets,    // args: sets, width, stash elements. Cardinalities, begins, stash
  kAddPlanes,  // args: offset. Bytes
  kBuild,      // args: rows, as of kAddRows. Answer: supports
  kCountRows,  // args: first, last, threshold. Answer: DevicePair[]
  kCountList,  // args: size. Arrays a and b; answer: counts
  kPairTimes,  // reply: two doubles
  kClosePairs,
  // Episodes
  kOpenEpisodes,   // args: axes, has_order, device, memory limit. For each axis four words, then the begins of all
  kSendEvents,     // args: axis, array, first, size. Values
  kCountEpisodes,  // args: length, size, method. Symbols, gaps; answer: what is to be added
  kKernelMs,       // reply: a double
  kCloseEpisodes,
  // Itemsets
  kOpenItemsets,  // args: items, words, planes, has_bitmaps, device, memory limit. Planes, rows
  kExtend,        // DeviceExtension. Reply: candidates; answer: JoinedItemset[]
  kCountJoined,   // args: size. JoinedItemset[]; answer: supports
  kPush,          // args: size. JoinedItemset[]
  kPop,
  kDropLower,
  kRoom,          // reply: bytes
  kItemsetTimes,  // answer: DeviceItemsetTimes
  kCloseItemsets,
  kOps
};

struct Request {
  uint32_t magic = kMagic;
  uint32_t protocol = kProtocol;
  Op op = Op::kHello;
  uint32_t has_file = 0;  // the arrays are in the file that travels with it
  uint64_t job = 0;
  uint64_t bytes = 0;  // of the arrays
  uint64_t args[8] = {};
};

struct Reply {
  uint32_t magic = kMagic;
  uint32_t protocol = kProtocol;
  AcceleratorStatus status = AcceleratorStatus::kOk;
  uint32_t has_file = 0;
  uint64_t bytes = 0;  // of the answer
  uint64_t values[2 + kMaxDevices] = {};
  AcceleratorMessage why = {};
};

}  // namespace batmap::process
