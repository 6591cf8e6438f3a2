// The checks of engines' work in the blocks of one cluster: what they read and write against what
// threads do meanwhile. All blocks of a cluster run on one host thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emulator/byte_flags.hpp"
#include "observe/check/async_log.hpp"
#include "observe/check/engine_work.hpp"
#include "observe/check/shadow_page.hpp"
#include "observe/lane_runs.hpp"

namespace tilescope::observe {

inline constexpr std::uint32_t kWarpsPerGroup = 4;

/// A block of the cluster, as its CheckBlock keeps it.
struct AsyncMember {
  BlockOrder* order = nullptr;
  const SharedShadow* accesses = nullptr;
  const GlobalShadow* global = nullptr;
  emulator::ByteFlags* contents = nullptr;
  std::uint64_t block = 0;  ///< linear
};

class AsyncChecks {
 public:
  explicit AsyncChecks(const emulator::LaunchInfo& launch);

  void enter(std::uint32_t rank, const AsyncMember& member);
  /// The block has ended; its complete end shows what nobody waited for.
  void leave(std::uint32_t rank, bool complete);

  AsyncOrder& order() { return order_; }
  const AsyncLog& log() const { return log_; }

  /// An access to shared memory of the block of this rank, by one of its warps. `same_bits`: it
  /// stores what is there already, which changes nothing for an engine that reads it.
  void access(std::uint32_t rank, const emulator::Access& access, std::span<const Run> runs,
              bool same_bits);
  void remote_access(std::uint32_t by, const emulator::Access& access, std::uint32_t rank);
  /// An atomic or strong access, which may be a flag; `rank`: of the block whose shared memory it
  /// is.
  void flag(std::uint32_t by, const emulator::Access& access, std::uint32_t rank);
  /// `relaxed`: the arrival does not release.
  void cluster_barrier(std::uint32_t by, const emulator::ClusterBarrier& barrier, bool relaxed);
  void proxy_fence(std::uint32_t by, const emulator::ProxyFence& fence);
  void mbarrier(std::uint32_t rank, const emulator::MbarrierUse& use);

  /// Whether copies use tensor maps in global memory; then `change_map` wants its writes.
  bool watches_maps() const { return !map_readers_.empty(); }
  void change_map(std::uint32_t by, const emulator::Access& access);

  /// Whether bulk stores have written global memory; then `global_access` wants its accesses.
  bool watches_global() const { return !global_writes_.empty(); }
  void global_access(std::uint32_t by, const emulator::Access& access, std::span<const Run> runs);

  void issued(std::uint32_t by, const emulator::BulkEvent& event);
  void done(std::uint32_t rank, const emulator::BulkEvent& event);
  void bulk_group(std::uint32_t by, const emulator::BulkGroup& group);
  void product(std::uint32_t by, const emulator::MatrixIssue& issue);
  void matrix_order(std::uint32_t by, const emulator::MatrixOrder& order);

 private:
  using Warp = AsyncOrder::Warp;
  struct LaneWork {
    std::uint64_t committed = 0;  ///< groups
    std::vector<WorkId> open;     ///< not waited for
    std::vector<WorkId> read;     ///< only the sources have been waited for
    WorkId forming = kNoWork;     ///< the products since the last commit
    bool fenced = false;          ///< wgmma.fence has been executed
  };
  /// A warp that accesses memory, in the block of rank `by`.
  struct Toucher {
    Warp warp;
    std::uint32_t by;
    const emulator::Access& access;
    bool writes;
  };
  /// A warp that touched another block's memory.
  struct Reach {
    std::uint32_t time = 0;  ///< of its block; 0: never
    AsyncSide side;
    std::uint64_t address = 0;
  };

  /// Bytes that a bulk store writes.
  struct GlobalWrite {
    std::uint64_t begin, end;
    WorkId work;
  };
  static constexpr std::uint64_t kGlobalPage = 4096;
  struct WarpEvent {
    Warp warp;
    Event event;
  };
  /// An acquire of a tensor map, and the writes that it shows.
  struct MapFence {
    Warp warp;
    std::uint32_t time;
    std::vector<std::uint32_t> released;  ///< as Knowledge::maps
  };

  bool ended(Warp warp, const EngineWork& work) const;
  WorkId add(EngineWork&& work);
  EngineWork& work(WorkId id) { return works_[id - 1]; }
  AsyncSide side_of(const EngineWork& work, ThreadAction action) const;
  AsyncSide side_of(std::uint32_t rank, const Event& event, ThreadAction action) const;
  AsyncSide side_of(const Toucher& toucher, std::uint64_t address) const;
  AsyncMistake mistake(FindingKind kind, AsyncFault fault, const EngineWork& work, bool writes,
                       std::uint64_t address) const;

  void touch(std::uint32_t rank, std::uint64_t address, std::uint32_t bytes,
             const Toucher& toucher);
  void touch_stores(std::uint32_t rank, std::uint64_t address, std::uint32_t bytes,
                    const Toucher& toucher);
  void report_unfinished(const EngineWork& writer, WorkId previous, std::uint64_t address,
                         const Toucher& toucher);
  void engine_reads(WorkId id, std::uint32_t rank, std::uint64_t address, std::uint32_t bytes);
  void engine_writes(WorkId id, std::uint32_t rank, std::uint64_t address, std::uint32_t bytes);
  void check_writers(const EngineWork& reader, std::uint32_t rank, std::uint64_t address,
                     const Cell& cell, const EngineWork* last);
  void check_users(const EngineWork& writer, std::uint32_t rank, std::uint64_t address,
                   const Cell& cell, const EngineWork* last);
  void check_readers(const EngineWork& writer, std::uint64_t address, const Granule& granule);
  template <class Visit>
  void visit_accesses(std::uint32_t rank, std::uint64_t address, Visit&& visit) const;
  void end_works(std::uint32_t rank);
  void check_started(Warp warp, std::uint32_t rank, const AsyncSide& side, std::uint64_t address);
  void reach(Warp warp, std::uint32_t rank, const AsyncSide& side, std::uint64_t address);
  void finish_groups(LaneWork& lane, std::uint64_t pending, std::uint32_t time, bool read);
  void finish_products(Warp warp, std::uint64_t pending);
  LaneWork& bulk_lane(Warp warp, int lane);
  bool has_written(Warp warp, const EngineWork& work) const;
  void store_to_global(WorkId id, std::uint64_t address, std::uint32_t bytes);
  template <class Visit>
  void visit_stores(Warp warp, std::uint64_t address, std::uint64_t bytes, Visit&& visit);
  void load_from_global(WorkId id, std::uint64_t address, std::uint32_t bytes);
  void check_global_writers(const EngineWork& load, std::uint32_t rank, std::uint64_t address,
                            const Cell& cell);
  void map_fence(Warp warp, const emulator::ProxyFence& fence);
  void use_map(WorkId id);
  bool is_acquired(const EngineWork& copy, const WarpEvent* write) const;
  std::optional<AsyncSide> unseen_change(const EngineWork& copy) const;

  const emulator::MemoryMap& memory_;
  AsyncOrder order_;
  std::vector<AsyncMember> members_;
  std::vector<EngineShadow> shadows_;  ///< by rank
  std::vector<EngineWork> works_;
  std::unordered_map<std::uint64_t, WorkId> by_serial_;  ///< works on mbarriers, not done yet
  std::unordered_map<std::uint64_t, LaneWork> bulk_lanes_;
  std::vector<LaneWork> products_;  ///< by warp
  /// By warpgroup and group of products: when each of its warps had waited for it; 0: not yet. The
  /// products are the warpgroup's: the wait of one of its warps tells of all.
  std::vector<std::vector<std::array<std::uint32_t, kWarpsPerGroup>>> product_ends_;
  std::vector<std::vector<Reach>> reaches_;  ///< by rank of the memory, and warp
  std::unordered_map<std::uint64_t, std::vector<GlobalWrite>> global_writes_;  ///< by page
  /// By tensor map: the copies that may still read it, and the acquires.
  std::map<std::uint64_t, std::vector<WorkId>> map_readers_;
  std::map<std::uint64_t, std::vector<MapFence>> map_fences_;
  std::unordered_set<std::uint64_t> same_bits_;  ///< stores of what was there: store_key
  emulator::BulkOrigin last_arrival_;            ///< at an mbarrier...
  std::uint32_t arrived_at_ = kNoMbarrier;       ///< ...of this number
  bool ended_phase_ = false;                     ///< ...which it completed
  AsyncLog log_;
};

/// The checks of a launch's clusters, and what they found.
class AsyncLaunch {
 public:
  explicit AsyncLaunch(const emulator::LaunchInfo& launch);
  /// Whether the launch uses engines or clusters at all.
  static bool concerns(const emulator::LaunchInfo& launch);

  std::shared_ptr<AsyncChecks> enter(std::uint64_t cluster, std::uint32_t rank,
                                     const AsyncMember& member);
  void leave(std::uint64_t cluster, std::shared_ptr<AsyncChecks>& checks);
  const AsyncLog& log() const { return log_; }
  bool on_mbarrier(emulator::InstructionId id) const { return on_mbarriers_[id]; }

 private:
  const emulator::LaunchInfo& launch_;
  std::vector<bool> on_mbarriers_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::weak_ptr<AsyncChecks>> clusters_;
  AsyncLog log_;
};

}  // namespace tilescope::observe
