// The events of a run, and the interface of the observers that receive them.
//
// One `Observer` accompanies one launch. For every block that is in flight the emulator asks it for
// a `BlockObserver`, which then receives the events of that block in the order in which they
// happened, from one host thread at a time. Blocks run on several host threads at once, and a block
// that spins on another one is set aside while others run: so keep a block's state in its
// BlockObserver, which never changes host thread. Only `begin_launch`, `make_block_observer` and
// `merge` may touch state that blocks share; one host thread at a time calls them (the emulator
// holds a lock).
//
// Life of an observer in one launch:
//   begin_launch
//     make_block_observer         as often as blocks are in flight; objects are used again
//       begin_block, events..., end_block      once per block and object at a time
//     merge                       once for each object made, after the last block
//   end_launch
//
// `events()`, called once per launch, subscribes to events; events without a subscriber cost
// nothing. Counting how often instructions ran needs no event at all: see InstructionCounts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "emulator/bulk_events.hpp"
#include "emulator/fault_kind.hpp"
#include "emulator/launch_totals.hpp"
#include "emulator/matrix_events.hpp"
#include "emulator/protocol_events.hpp"
#include "emulator/request_events.hpp"
#include "tilescope/execution.hpp"
#include "tilescope/launch.hpp"

namespace tilescope::emulator {

struct AccessSum;      // access_sum.hpp
struct KnownAccesses;  // known_access.hpp
struct Code;
struct Context;
class TouchedBytes;  // touched_bytes.hpp
class Program;       // program.hpp: the instructions of a launch, by InstructionId
class MemoryMap;     // memory_map.hpp: the device's allocations

inline constexpr int kWarpSize = 32;

/// One bit per lane of a warp, lane 0 lowest.
using LaneMask = std::uint32_t;

/// Index into Program::instructions(): dense over the kernel and all functions it may call.
using InstructionId = std::uint32_t;

using Space = MemorySpace;

// --- memory accesses -----------------------------------------------------------------------------

enum class AccessKind : std::uint8_t {
  load,
  store,
  atomic,        ///< reads, changes and returns the old value
  reduction,     ///< an atomic change whose old value is unused (`red`, or `atom` without use)
  async_load,    ///< the global side of cp.async
  async_store,   ///< the shared side of cp.async; visible to the thread after its group is waited
                 ///< for
  matrix_load,   ///< ldmatrix: the lanes in `mask` name rows of 16 bytes (not what they receive)
  matrix_store,  ///< stmatrix: likewise
  texture_load,  ///< one element of each lane, of those that a texture's filter reads
  surface_load,
  surface_store,
  surface_reduction,
};

/// Through the texture unit: by coordinates, of textures and surfaces.
constexpr bool uses_textures(AccessKind kind) {
  return kind >= AccessKind::texture_load;
}

/// The pattern of the participating lanes' addresses. The emulator recognises it cheaply, so that
/// observers need not read 32 addresses for the two commonest patterns.
enum class AccessShape : std::uint8_t {
  uniform,      ///< every lane in `mask` has the address of the lowest one
  consecutive,  ///< lane l has address[0] + l * bytes, for every l in `mask`
  scattered,    ///< anything else (or not examined)
};

enum class MemoryOrder : std::uint8_t {
  weak,
  relaxed,
  acquire,
  release,
  acquire_release,
  volatile_
};

enum class Scope : std::uint8_t { none, block, cluster, gpu, system };

/// One warp instruction's access to one space. A generic access whose lanes fall in several spaces
/// gives one event per space. A lane whose access was faulty is not in `mask`; a Fault reports it.
/// The event describes the access before it happens. It carries no values; stored_bits() and
/// present_bits() look at those of a store while the event lasts.
struct Access {
  InstructionId instruction;
  std::uint32_t warp;   ///< within the block
  LaneMask mask;        ///< the lanes that access memory; never empty
  std::uint16_t bytes;  ///< per lane: 1, 2, 4, 8, 16 or 32 (a vector counts as a whole)
  Space space;
  AccessKind kind;
  AccessShape shape;
  MemoryOrder order;
  Scope scope;  ///< `none` where order is weak
  /// Not 0: the same number as in an earlier event from the same instruction to the same
  /// BlockObserver means the same mask and the same differences between the lanes' addresses.
  /// (Results that depend on those alone, such as bank conflicts, can be reused.)
  std::uint32_t pattern;
  /// One address per lane; lanes outside `mask` hold nothing meaningful.
  /// global: device address. shared: byte offset in the block's shared memory. local: byte offset
  /// in that thread's local memory. constant: device address in the constant bank. parameter: byte
  /// offset in the parameter buffer.
  const std::uint64_t* addresses;
  Context* context;  ///< for the functions below
  const Code* code;

  std::uint64_t address(int lane) const { return addresses[lane]; }
};

/// The bits that a lane of an `st` is about to write at `address`, and those that are there. At
/// most 8 bytes, which lie in the lane's access.
std::uint64_t stored_bits(const Access& store, int lane, std::uint64_t address,
                          std::uint32_t bytes);
std::uint64_t present_bits(const Access& store, std::uint64_t address, std::uint32_t bytes);

// --- order between threads -----------------------------------------------------------------------

enum class BarrierOperation : std::uint8_t { sync, arrive, reduce };

/// Lanes of a warp reach a barrier of the block (bar.*, barrier.cta.*). A warp may arrive in
/// pieces.
struct BarrierArrival {
  InstructionId instruction;
  std::uint32_t warp;
  LaneMask mask;
  std::uint8_t barrier;  ///< 0..15
  BarrierOperation operation;
  std::uint32_t expected_threads;  ///< 0: every thread of the block
  std::uint64_t generation;        ///< how often this barrier has been completed before
};

/// A barrier of the block is complete: everything its participants did before happened before
/// everything they do after it (`arrive` participants: only the former).
struct BarrierCompletion {
  std::uint8_t barrier;
  std::uint64_t generation;
  /// One entry per piece in which warps arrived, in order of arrival. Entries with different
  /// instructions mean that threads met at different places.
  std::span<const BarrierArrival> arrivals;
  /// Per warp: the lanes that had left the kernel already and never reached this barrier.
  std::span<const LaneMask> exited;
};

/// Lanes of a warp reach barrier.cluster.arrive, or continue behind barrier.cluster.wait.
struct ClusterBarrier {
  InstructionId instruction;
  std::uint32_t warp;
  LaneMask mask;
  bool waited;               ///< they continue: all live threads of the cluster have arrived
  std::uint64_t generation;  ///< how often the barrier had been completed when they arrived
};

enum class WarpOperation : std::uint8_t { sync, shuffle, vote, match, reduce, elect, matrix };

/// Lanes of a warp met at a warp-level instruction with a member mask. Each named lane's earlier
/// accesses happened before each named lane's later ones.
struct WarpSync {
  InstructionId instruction;  ///< where the lanes in `arrived` are
  std::uint32_t warp;
  WarpOperation operation;
  LaneMask members;  ///< the mask that the program names
  LaneMask arrived;  ///< lanes that take part; an event of their own reports lanes that met
                     ///< elsewhere
};

/// fence.*, membar.*: orders the earlier accesses of each lane before its later ones, at a scope.
struct Fence {
  InstructionId instruction;
  std::uint32_t warp;
  LaneMask mask;
  Scope scope;
  bool sequential;  ///< fence.sc and membar, against fence.acq_rel
};

/// cp.async.commit_group (pending == -1) or wait_group: after the latter at most `pending` of the
/// youngest groups of each lane in `mask` may still be under way; all older copies have landed.
struct AsyncGroup {
  InstructionId instruction;
  std::uint32_t warp;
  LaneMask mask;
  std::int32_t pending;
  bool ungrouped;  ///< copies without a group have landed too: wait_all, mbarrier.arrive
};

// --- control flow --------------------------------------------------------------------------------

/// A conditional branch of a warp, or a brx. Divergent when lanes go different ways.
struct Branch {
  InstructionId instruction;
  std::uint32_t warp;
  LaneMask active;
  LaneMask taken;  ///< subset of active; for brx.idx the lanes that follow the lowest active one
  bool divergent() const { return taken != 0 && taken != active; }
};

/// Lanes entered a function (the kernel itself included): their local memory from `local_base` on,
/// `local_bytes` long, is new and undefined.
struct FrameEntry {
  std::uint32_t warp;
  LaneMask mask;
  std::uint32_t function;  ///< index into Program::functions()
  std::uint64_t local_base;
  std::uint32_t local_bytes;
};

// --- defects that the emulator itself meets ------------------------------------------------------

/// An operation that the emulator could not do as written. The run continues: a faulty load gives
/// 0, a faulty store or atomic is dropped, and an absent lane is skipped.
struct Fault {
  FaultKind kind;
  InstructionId instruction;
  std::uint32_t warp;
  LaneMask lanes;  ///< the affected lanes
  Space space;
  AccessKind access;
  std::uint32_t bytes;    ///< per lane
  std::uint64_t address;  ///< of the lowest lane in `lanes`, as in Access::addresses
  /// The allocation or variable that the lowest lane missed (the nearest one): its name, size and
  /// how far off the access was: > 0 bytes past its end (1 is the first byte behind), < 0 bytes
  /// before its start. The name is empty if nothing is near. Shared memory of another block of the
  /// cluster has addresses as in emulator/address_space.hpp.
  std::string_view object;
  std::uint64_t object_bytes;
  std::int64_t distance;
  const std::uint64_t* addresses;  ///< of all lanes, or null where there are none
  std::string_view operand = {};   ///< of wgmma: "A" or "B", which lies in shared memory
  SurfaceCoordinates surface{};    ///< of the lowest lane in `lanes`, where kind says so
};

/// The reason why lanes of a block cannot continue.
enum class StuckReason : std::uint8_t {
  barrier,
  cluster,  ///< the barrier of the cluster
  warp_sync,
  reconvergence,
  spin,  ///< they look at memory again and again, and nobody is left who would change it
};

struct StuckLanes {
  std::uint32_t warp;
  LaneMask mask;
  InstructionId instruction;  ///< where they wait
  StuckReason reason;
  std::uint8_t barrier;  ///< where reason is `barrier`
  // Where reason is `spin`: the memory that the lowest lane looks at; no bytes if it is none.
  Space space = Space::global;
  std::uint64_t address = 0;
  std::uint16_t bytes = 0;
};

/// The name of the allocation through which cooperative launches synchronise the grid.
inline constexpr std::string_view kGridWorkspace = "grid workspace";

/// No thread of the block can continue: some wait at a barrier that others never reach, or for a
/// change of memory that nobody makes. The block ends here (its later stores do not happen); the
/// other blocks continue.
struct Deadlock {
  std::span<const StuckLanes> stuck;
  std::span<const LaneMask> exited;  ///< per warp
};

// --- the interface -------------------------------------------------------------------------------

/// A named piece of shared memory. Dynamic shared memory has one entry too.
struct SharedVariable {
  std::string_view name;
  std::uint32_t offset;
  std::uint32_t bytes;
  bool dynamic;
};

struct LaunchInfo {
  const Program& program;
  MemoryMap& memory;
  std::string_view kernel;
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;  ///< blocks
  std::uint32_t threads_per_block;
  std::uint32_t warps_per_block;
  std::uint32_t shared_bytes;  ///< static and dynamic
  std::span<const SharedVariable> shared_variables;
  bool cooperative;
  /// The begin of the system's part of shared memory; only a program that uses it has one.
  std::uint64_t reserved_shared_begin = ~std::uint64_t{0};
  bool overlaps_previous = false;  ///< on a chip the grid before it may still run
  std::uint64_t child = 0;         ///< number of a launch by a kernel; 0: the host's
};

struct BlockInfo {
  std::uint64_t linear;  ///< x + grid.x * (y + grid.y * z)
  Dim3 index;
  std::uint64_t cluster = 0;  ///< number of its cluster, linear as that of blocks
  std::uint32_t rank = 0;     ///< in the cluster
};

/// The object that an address belongs to.
struct Place {
  std::string_view object;  ///< empty if unknown
  std::uint64_t object_bytes = 0;
  std::uint64_t offset = 0;  ///< of the address from the object's start
};

/// Queries of a BlockObserver about its block, between begin_block and end_block.
class BlockView {
 public:
  virtual ~BlockView() = default;
  /// The object at an address in the form of Access. For local memory the present frames of `lane`.
  virtual Place place(Space space, std::uint64_t address, std::uint32_t warp, int lane) const = 0;
  /// The lanes of a warp that exist and have not left the kernel.
  virtual LaneMask live(std::uint32_t warp) const = 0;
};

/// The events that a BlockObserver subscribes to; combine with |.
enum EventSet : std::uint32_t {
  kNoEvents = 0,
  kGlobalAccess = 1u << 0,
  kSharedAccess = 1u << 1,
  kLocalAccess = 1u << 2,
  kOtherAccess = 1u << 3,  ///< constant and parameter space
  kBranches = 1u << 4,
  kOrder = 1u << 5,  ///< barriers, warp syncs, fences, async groups
  kFrames = 1u << 6,
  kFaults = 1u << 7,       ///< faults and deadlocks
  kBulk = 1u << 8,         ///< asynchronous bulk work
  kMatrix = 1u << 9,       ///< asynchronous matrix products
  kProtocol = 1u << 10,    ///< mbarriers, fences between proxies, tiles, registers, grid waits
  kDivergence = 1u << 11,  ///< of the branches the divergent ones; part of kBranches
  kAllAccess = kGlobalAccess | kSharedAccess | kLocalAccess | kOtherAccess,
  kAllEvents = 0x7ff,
};

/// The event for accesses to a space.
constexpr std::uint32_t access_event(Space space) {
  return space == Space::global   ? kGlobalAccess
         : space == Space::shared ? kSharedAccess
         : space == Space::local  ? kLocalAccess
                                  : kOtherAccess;
}

class BlockObserver {
 public:
  virtual ~BlockObserver() = default;

  /// `view` stays valid until end_block.
  virtual void begin_block(const BlockInfo& /*block*/, const BlockView& /*view*/) {}
  /// `complete` is false if the run was stopped, trapped or the block deadlocked.
  virtual void end_block(bool /*complete*/) {}

  virtual void access(const Access&) {}
  /// The block accesses the shared memory of the block of this rank in its cluster; the addresses
  /// are offsets there.
  virtual void remote_access(const Access&, std::uint32_t /*rank*/) {}
  /// The block of this rank accesses this block's shared memory. Instruction and warp are those of
  /// the other block.
  virtual void neighbour_access(const Access&, std::uint32_t /*rank*/) {}
  virtual void cluster_request(const ClusterRequest&) {}  ///< with kSharedAccess
  virtual void texel_request(const TexelRequest&) {}      ///< with kGlobalAccess
  virtual void branch(const Branch&) {}
  virtual void barrier_arrival(const BarrierArrival&) {}
  virtual void barrier_completion(const BarrierCompletion&) {}
  virtual void cluster_barrier(const ClusterBarrier&) {}
  virtual void warp_sync(const WarpSync&) {}
  virtual void fence(const Fence&) {}
  virtual void async_group(const AsyncGroup&) {}
  virtual void bulk_issued(const BulkEvent&) {}
  virtual void bulk_done(const BulkEvent&) {}
  virtual void bulk_group(const BulkGroup&) {}
  virtual void matrix_product(const MatrixIssue&) {}
  virtual void matrix_order(const MatrixOrder&) {}
  virtual void mbarrier(const MbarrierUse&) {}
  virtual void proxy_fence(const ProxyFence&) {}
  virtual void tile(const TileUse&) {}
  virtual void registers(const RegisterChange&) {}
  virtual void grid_dependency(const GridDependency&) {}
  virtual void grid_launch(const GridLaunch&) {}
  virtual void frame_entry(const FrameEntry&) {}
  virtual void fault(const Fault&) {}
  virtual void deadlock(const Deadlock&) {}
  // Instead of access(), for those of Observer::sums():
  virtual void first_access(const Access&) {}
  virtual void access_sum(const AccessSum&) {}
  /// Instead of access(), where Observer::takes_known_accesses().
  virtual void known_accesses(const KnownAccesses&) {}
};

class Observer {
 public:
  virtual ~Observer() = default;

  /// The EventSet to receive; called once, after begin_launch.
  virtual std::uint32_t events() const = 0;
  /// True: blocks run one after the other in linear order (on one host thread). Slower; only for
  /// observers whose verdict depends on the order of blocks. Called once, after begin_launch.
  virtual bool wants_block_order() const { return false; }
  /// True: the observer keeps MemoryMap's record of initialised bytes itself. Otherwise the machine
  /// takes every allocation as initialised once a launch has run.
  virtual bool tracks_initialisation() const { return false; }
  /// True: the observer knows all that it wants to know, and the launch ends soon, unfinished.
  /// Asked now and then while blocks run, from any host thread.
  virtual bool has_seen_enough() const { return false; }
  /// False: the observer receives nothing of this block, not even its begin, and what it subscribes
  /// to costs nothing there. Asked from any host thread before the block begins.
  virtual bool wants_block(std::uint64_t /*linear*/) const { return true; }

  virtual void begin_launch(const LaunchInfo&) {}
  virtual std::unique_ptr<BlockObserver> make_block_observer() = 0;
  /// Receives the results of a block observer. How many there are and which blocks each has seen
  /// depends on the number of host threads; the merged result must not.
  virtual void merge(BlockObserver&) {}
  virtual void end_launch(const LaunchTotals&) {}

  /// The access events of events() that may come added up (access_sum.hpp): where all lanes of a
  /// warp access memory in a known pattern. That is several times as fast.
  virtual std::uint32_t sums() const { return kNoEvents; }
  /// True: accesses to global and shared memory, both of which it subscribes to, may also come in
  /// groups of known patterns (known_access.hpp). That is twice as fast.
  virtual bool takes_known_accesses() const { return false; }
  /// True: the sums of a block come before its end. Otherwise they come before merge(), for all
  /// blocks. An observer that does not want all blocks needs this.
  virtual bool sums_by_block() const { return false; }
  /// Receives the bytes of global memory that added up accesses touch; may be null. Called after
  /// begin_launch.
  virtual TouchedBytes* touched_bytes() { return nullptr; }
};

}  // namespace tilescope::emulator
