// The findings of a check, as data: a kind, a severity, places, threads and the facts of the case.
// The functions at the end put it into words:
//
//     for (const Finding& finding : findings) {
//       std::cout << finding.first.place.file << ':' << finding.first.place.line << ": "
//                 << to_string(finding.kind) << ": " << message(finding) << "; "
//                 << cure(finding) << '\n';
//     }
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/execution.hpp>
#include <tilescope/launch.hpp>
#include <variant>
#include <vector>

namespace tilescope {

/// The rule that was broken. The comment names the facts that a finding of this kind carries.
enum class FindingKind : std::uint8_t {
  out_of_bounds,       ///< BoundsMiss, if a buffer or variable is near
  misaligned,          ///< an address that is no multiple of the width of the access
  null_pointer,        ///< an access near address 0
  freed_memory,        ///< an access to a buffer that the host has freed
  wrong_space,         ///< an address of one space used as one of another
  read_only,           ///< a store to constant or parameter memory
  uninitialised_read,  ///< memory that was read before anything was written to it
  race,                ///< RaceFacts
  unfinished_copy,     ///< RaceFacts; cp.async data used before the copy was waited for
  missing_acquire,     ///< RaceFacts; data read behind a flag that was read without order
  barrier_unreached,   ///< WaitFacts; threads wait where others never arrive
  endless_wait,        ///< WaitFacts or, for an mbarrier, PhaseFacts; threads wait for a change of
                       ///< memory that nobody makes
  barrier_mismatch,    ///< threads met at different barrier instructions
  bad_barrier,         ///< OperandFacts
  warp_mask,           ///< MaskFacts
  bad_call,            ///< OperandFacts
  bad_operand,         ///< OperandFacts
  cluster_memory,      ///< ClusterFacts; shared memory of a block that cannot be reached
  cluster_arrival,     ///< a thread arrives twice at its cluster's barrier, or waits without
  bad_copy,            ///< CopyFacts; a bulk copy or tensor map that the copy engine refuses
  warpgroup_mismatch,  ///< the four warps of a warpgroup do not run the same wgmma
  // In asynchronous code. Those of engines carry AsyncFacts, those of barriers PhaseFacts.
  missing_proxy_fence,     ///< AsyncFacts; an engine reads what threads wrote without a proxy fence
  early_overwrite,         ///< AsyncFacts; an engine writes where threads may still read
  missing_mbarrier_fence,  ///< PhaseFacts; others use an mbarrier whose init was not fenced
  cluster_not_started,     ///< AsyncFacts; memory of a block that may not have started yet
  expected_bytes,          ///< PhaseFacts; the bytes that are expected are not those that come
  arrival_count,           ///< PhaseFacts; a count of arrivals that no phase can meet, or exceeds
  phase_parity,            ///< PhaseFacts; a wait that passes at once, or misses its phase
  named_barrier_reuse,     ///< WaitFacts; a barrier's number used again before it was waited for
  wgmma_order,             ///< AsyncFacts; a wgmma without its fence, commit or wait
  bulk_source_reuse,       ///< AsyncFacts; memory written while an engine may still read it
  cluster_exit,            ///< AsyncFacts; a block ends while others may still reach for its memory
  local_arrive_remote,     ///< ClusterFacts; an arrival for one's own barriers on another block's
  register_budget,         ///< BudgetFacts; setmaxnreg beyond the registers of the SM
  tile_alignment,          ///< TileFacts; a tile that does not fit its swizzle or its map
  tensor_map_in_use,       ///< AsyncFacts; a tensor map changed while engines may still read it
  missing_grid_wait,       ///< data of the grid before, without griddepcontrol.wait
  unfinished_async_work,   ///< AsyncFacts; nobody waits for it before the kernel ends
  order_dependent_result,  ///< ScheduleFacts; another order of blocks and engines, another result
  bad_texture,             ///< TextureFacts
  outside_surface,         ///< SurfaceMiss
  trap,                    ///< TrapFacts; the kernel ended the launch
  unfinished,              ///< LimitFacts; the limit of instructions was reached before the end
  wrote_nothing,           ///< the launch left no result
  compiled_away,           ///< the source stores to a shared variable that the compiler removed
  illegal_launch,          ///< LaunchRefusal; the device forbids the launch, nothing was run
  // In the host code of a program. All carry HostFacts, unless said otherwise.
  copy_bounds,         ///< a copy or fill that goes beyond an allocation
  copy_direction,      ///< `given` and `right` are directions of cudaMemcpy
  copy_size,           ///< a copy of part of an allocation, as a wrong sizeof makes it
  host_pointer,        ///< the host's memory given to a kernel; `argument` is its number
  use_after_free,      ///< a call with memory that was freed; `second` is where
  double_free,         ///< `second` is where it was freed first
  bad_free,            ///< an address that no allocation begins at
  leak,                ///< memory that was never freed; the place is its allocation
  unsynchronised,      ///< the host touches memory of work that it did not wait for: `second`
  unchecked_error,     ///< `given` is the error's name, `right` CUDA's description
  uncovered_elements,  ///< CoverageFacts; the host reads what nobody ever wrote
};

/// Results may still be right after a warning. Both make `tilescope check` fail; notes do not.
enum class Severity : std::uint8_t { error, warning, note };

/// A line of a source file, as in the line table. Line 0: unknown, and `file` is empty.
struct SourcePlace {
  std::string file;
  std::uint32_t line = 0;

  friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
  friend auto operator<=>(const SourcePlace&, const SourcePlace&) = default;
};

/// A thread by its block's index in the grid and its own index in the block.
struct ThreadName {
  Dim3 block{0, 0, 0};
  Dim3 thread{0, 0, 0};

  friend bool operator==(const ThreadName&, const ThreadName&) = default;
};

/// A place in memory, relative to the buffer or variable that holds it or lies nearest.
struct MemoryPlace {
  MemorySpace space = MemorySpace::global;
  /// Global and constant memory: the device address. Otherwise bytes from the start of the block's
  /// shared memory, the thread's local memory or the parameters.
  std::uint64_t address = 0;
  std::string object;               ///< buffer or variable; empty: it has no name, or none is near
  std::uint64_t object_bytes = 0;   ///< 0: not known
  std::int64_t offset = 0;          ///< from the object's start, bytes; negative before it
  std::uint32_t element_bytes = 1;  ///< size of the elements that the instruction accesses
  bool scalar = false;              ///< the object is a variable of one element
};

/// The action of a thread.
enum class ThreadAction : std::uint8_t { none, read, write, atomic, wait, exit };

/// One side of a finding.
struct FindingAccess {
  SourcePlace place;
  std::uint32_t ptx_line = 0;  ///< in the text of the PTX
  ThreadAction action = ThreadAction::none;
  std::uint32_t bytes = 0;  ///< that a read, write or atomic operation accesses; 0: one element
  std::optional<ThreadName> thread;  ///< nothing: no particular thread
  /// The calls through which the compiler inlined the line, innermost first: none in the kernel
  /// itself and in functions that are called.
  std::vector<SourcePlace> called_from = {};
};

/// How far an access misses its object, in bytes: > 0 past its end, < 0 before its start.
struct BoundsMiss {
  std::int64_t distance = 0;
  std::int64_t farthest = 0;    ///< the largest distance of all accesses that the finding counts
  bool dynamic_shared = false;  ///< the object is the dynamic shared memory of the launch
  std::string operand = {};     ///< of wgmma: "A" or "B", which a descriptor places there
};

/// The relation between the two threads of a race.
enum class RaceRelation : std::uint8_t {
  same_instruction,  ///< lanes of a warp store to one address with one instruction
  same_warp,
  same_block,
  two_blocks,
  unfinished_copy,  ///< cp.async data touched before the copy was waited for
  copy_source,      ///< the source of a cp.async overwritten before the copy was waited for
  relaxed_flag,     ///< a relaxed read of a flag told of the data: it orders nothing behind it
  unfenced_relay,   ///< a third thread passed the news on without a fence
  child_grid,       ///< a grid and one that its threads launched run at the same time
};

/// The facts that decide what would order the two accesses of a race.
struct RaceFacts {
  RaceRelation relation = RaceRelation::same_block;
  bool update = false;         ///< both accesses are parts of one `element += ...`
  bool both_strong = false;    ///< both are volatile, relaxed or the like
  bool same_bits = false;      ///< both write the bits that are there already
  bool block_scope = false;    ///< both are strong, one only within its block: not the other's
  bool several_warps = false;  ///< a block has more than one warp
  bool fences = false;         ///< the program has fences of GPU scope
  bool announces = false;  ///< it has atomics or flags that could announce data to another block
  std::string child = {};  ///< the kernel that the second access belongs to, if it was launched
};

/// The mistake with the number of a named barrier.
enum class BarrierMixup : std::uint8_t {
  none,
  arrived_twice,  ///< a warp arrives again before the others have come
  other_count,    ///< warps wait for different numbers of threads
  nobody_waits,   ///< it was completed by arrivals alone
};

/// The place where threads wait, and the absent threads.
struct WaitFacts {
  bool at_barrier = true;     ///< of the block or, for an endless wait, of the grid; else at an
                              ///< instruction of the warp, or in a loop
  std::uint32_t barrier = 0;  ///< its number; 0 is that of __syncthreads()
  std::uint32_t exited = 0;   ///< threads of the block that had left the kernel
  bool went_on = false;       ///< the barrier completed without the threads that had left
  bool of_cluster = false;    ///< the barrier is that of the cluster
  BarrierMixup mixup = BarrierMixup::none;
};

/// The defect of the member mask of a warp-level instruction.
enum class MaskFault : std::uint8_t {
  absent,        ///< it names lanes that do not arrive
  exited,        ///< it names lanes that have left the kernel
  not_a_member,  ///< it does not name lanes that run the instruction
};

/// A member mask, one bit per lane, lane 0 lowest.
struct MaskFacts {
  MaskFault fault = MaskFault::absent;
  std::uint32_t members = 0;  ///< the mask that the program names
  std::uint32_t lanes = 0;    ///< the lanes that are wrong
};

/// A value that its instruction does not accept: a barrier number or count, a function address.
struct OperandFacts {
  std::uint64_t value = 0;
};

/// The reason why shared memory of a block of the cluster cannot be accessed.
enum class ClusterFault : std::uint8_t {
  no_such_block,  ///< the cluster has no block of this rank
  exited_block,   ///< the block has ended
  other_block,    ///< the instruction reaches only the shared memory of its own block
};

/// An access to shared memory of the block of this rank in the cluster.
struct ClusterFacts {
  ClusterFault fault = ClusterFault::no_such_block;
  std::uint32_t rank = 0;
};

/// A bulk copy that the copy engine refuses.
struct CopyFacts {
  std::string rule;  ///< the rule and the value that breaks it
};

/// The mistake with a tile of shared memory.
enum class TileFault : std::uint8_t {
  beyond_variable,  ///< a copy goes beyond the variable in which it begins
  other_swizzle,    ///< wgmma reads it with another swizzle than the copy wrote it with
  not_aligned,      ///< it does not begin where the pattern of its swizzle begins
};

/// A tile that the copy engine writes, or wgmma reads.
struct TileFacts {
  TileFault fault = TileFault::not_aligned;
  std::uint64_t bytes = 0;        ///< beyond_variable: of the copy; not_aligned: behind the pattern
  std::uint64_t beyond = 0;       ///< of these, behind the variable
  std::uint32_t span = 0;         ///< bytes within which the reader swizzles; 16: it does not
  std::uint32_t copied_span = 0;  ///< likewise, of the copy
  std::uint32_t base_offset = 0;  ///< of the descriptor
  std::string operand = {};       ///< of wgmma: "A" or "B"
};

/// An agent that carries on behind the instruction that started its work.
enum class EngineKind : std::uint8_t {
  bulk_copy,     ///< cp.async.bulk
  tensor_copy,   ///< cp.async.bulk.tensor
  remote_store,  ///< st.async, red.async
  tensor_cores,  ///< wgmma
};

/// The missing link between a thread and an engine.
enum class AsyncFault : std::uint8_t {
  none,
  fence,      ///< of the proxy; wgmma.fence
  commit,     ///< the group was never committed
  wait,       ///< nobody waited for the group or the phase
  registers,  ///< registers of a product under way
  cluster,    ///< the barrier of the cluster
  order,      ///< the threads are not ordered, whatever the proxy
};

/// Registers that a product of a warpgroup uses.
enum class ProductRegisters : std::uint8_t { none, sums, a };

/// Work of an engine and the event that announces its end.
struct AsyncFacts {
  EngineKind engine = EngineKind::bulk_copy;
  AsyncFault fault = AsyncFault::none;
  bool engine_writes = false;  ///< the memory of the finding; else it reads it
  std::string barrier = {};    ///< the mbarrier that tells of its end, "full[1]"; empty: its group
  std::uint64_t phase = 0;     ///< of that barrier, from 0
  ProductRegisters registers = ProductRegisters::none;  ///< that were touched
  std::uint32_t rank = 0;                               ///< of the other block in the cluster
};

/// The mistake with an mbarrier.
enum class PhaseFault : std::uint8_t {
  none,
  not_fenced,      ///< its init, for engines or other blocks
  not_ordered,     ///< its init, for other threads of the block
  too_few_bytes,   ///< fewer come than are expected
  too_many_bytes,  ///< more come than are expected
  not_expected,    ///< bytes come and nobody expects any
  expected_twice,
  over_limit,  ///< more are expected than an mbarrier can count
  too_few_arrivals,
  too_many_arrivals,
  passes_at_once,  ///< a wait for a phase that is over before the work began
  phase_missed,    ///< a wait for a phase that has come and gone
  not_tested,      ///< a test whose answer decides nothing
};

/// A phase of an mbarrier: what it waits for, and what has come.
struct PhaseFacts {
  PhaseFault fault = PhaseFault::none;
  std::string barrier = {};  ///< "full[1]"
  std::uint64_t phase = 0;   ///< from 0
  std::uint64_t expected_arrivals = 0, arrivals = 0;
  std::int64_t expected_bytes = 0, bytes = 0;
};

/// The rule of setmaxnreg that is broken.
enum class BudgetFault : std::uint8_t {
  beyond_pool,  ///< the warps of a block ask for more than it was launched with
  bad_count,    ///< no multiple of 8, or none from 24 to 256
  wrong_way,    ///< .inc to fewer registers, or .dec to more
  not_uniform,  ///< some warps of a warpgroup run it, and some do not
};

/// Registers that the warps of a block ask for by setmaxnreg.
struct BudgetFacts {
  BudgetFault fault = BudgetFault::beyond_pool;
  std::uint64_t registers = 0;  ///< per thread, that the instruction names
  std::uint64_t asked = 0;      ///< in all, by the threads of a block; of wrong_way what the
                                ///< thread has
  std::uint64_t available = 0;  ///< that the block was launched with
};

/// An array's contents after a launch in the usual order, and in another one.
struct ScheduleFacts {
  std::uint32_t runs = 0, differing = 0;  ///< orders in which it ran, and with another result
  std::uint64_t seed = 0;                 ///< of the first run with another result
  std::uint64_t elements = 0;             ///< that differ in that run
  std::string usual, other;               ///< both values of the first that differs
  bool floating_atomics = false;  ///< floating-point atomics wrote all of them, or a kernel with
                                  ///< such made differences no greater than their rounding
  bool permuted = false;          ///< the array holds the same elements, in other places
  bool clock = false;             ///< the kernel reads a clock
  double greatest = 0.0;          ///< difference of two values, for floating point
};

/// A texture or surface object that an instruction cannot use. Without a flag it never was one.
struct TextureFacts {
  std::uint64_t handle = 0;
  bool surface = false;           ///< the instruction wants a surface
  bool destroyed = false;         ///< the object was destroyed before
  bool other_dimensions = false;  ///< the object has others than the instruction
};

/// Coordinates of a surface outside its extents, in elements; the first `dimensions` of each.
struct SurfaceMiss {
  std::array<std::int32_t, 3> at{};
  std::array<std::uint32_t, 3> extent{};
  unsigned dimensions = 1;
};

/// A kernel that ended its launch.
struct TrapFacts {
  TrapReason reason = TrapReason::trap;
  std::string what;                ///< what failed, in the device's words
  bool needs_cooperative = false;  ///< a grid-wide barrier in a launch that is not cooperative
};

/// The progress of a launch that reached the limit of instructions.
struct LimitFacts {
  std::uint64_t warp_instructions = 0;
  double percent = 0.0;  ///< share of them that ran in the finding's line
};

/// The reason why the launch is impossible.
struct LaunchRefusal {
  std::string reason;
};

/// A call of the CUDA run time with a mistake.
struct HostFacts {
  std::string call;            ///< its function, such as "cudaMemcpy"; empty: no call, an access
  std::uint64_t bytes = 0;     ///< that it was to access
  std::string given;           ///< the wrong word as CUDA names it: a direction, an error
  std::string right;           ///< the word in its place, or the meaning of the error
  std::uint32_t argument = 0;  ///< number of the wrong argument, from 1; 0: none
};

/// A part of an array that the host reads although nothing was written to it.
struct CoverageFacts {
  std::string call;                 ///< that reads it, such as "cudaMemcpy"
  std::uint64_t elements = 0;       ///< that it reads
  std::uint64_t missing = 0;        ///< of these, never written
  std::uint64_t first_missing = 0;  ///< index in the array
};

using FindingFacts = std::variant<std::monostate, BoundsMiss, RaceFacts, WaitFacts, MaskFacts,
                                  OperandFacts, ClusterFacts, CopyFacts, TileFacts, AsyncFacts,
                                  PhaseFacts, BudgetFacts, ScheduleFacts, TextureFacts, SurfaceMiss,
                                  TrapFacts, LimitFacts, LaunchRefusal, HostFacts, CoverageFacts>;

/// Accesses of the same kind, lines and object are one finding. Its places and threads are those of
/// the first example in block order.
struct Finding {
  FindingKind kind = FindingKind::race;
  Severity severity = Severity::error;
  std::string kernel;        ///< as its source names it
  std::uint64_t launch = 0;  ///< number of the launch in the run, from 0
  FindingAccess first;
  std::optional<FindingAccess> second;  ///< the other side of a race, or where the others met
  std::optional<MemoryPlace> memory;    ///< the accessed memory
  FindingFacts facts;
  std::uint64_t count =
      1;  ///< the number of occurrences; in the first of the schedules, if several
  /// Seeds of the orders in which it appeared, 0 being the usual one; ascending. Empty if the
  /// launch ran only once.
  std::vector<std::uint64_t> schedules;
};

/// The part of a launch that a check left out.
enum class Limitation : std::uint8_t {
  none,
  memory_records,  ///< accesses to more global memory than the checker keeps records for
};

/// "out-of-bounds", "race", ...: the name in reports and JSON.
std::string_view to_string(FindingKind kind);
/// "error", "warning" or "note".
std::string_view to_string(Severity severity);
/// "block (1,0,0), thread (3,2,0)"
std::string to_string(const ThreadName& name);
/// "tile", "local memory"; empty if `object` is and nothing else describes it.
std::string object_name(const MemoryPlace& place);
/// "tile[17]"; "x + 3 bytes" if the offset is no multiple of the element.
std::string to_string(const MemoryPlace& place);
/// "write of 4 bytes", "waits"; empty for ThreadAction::none.
std::string action(const FindingAccess& access);
/// The event in one sentence without its full stop. It does not name the source line.
std::string message(const Finding& finding);
/// How to cure it, in the same form.
std::string cure(const Finding& finding);
/// The part that was not checked, and why; empty for Limitation::none.
std::string_view message(Limitation limitation);

}  // namespace tilescope
