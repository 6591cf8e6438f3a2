// The checks of one block: CheckObserver keeps one for each block in flight.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "emulator/byte_flags.hpp"
#include "emulator/events.hpp"
#include "observe/check/async_checks.hpp"
#include "observe/check/bulk_writes.hpp"
#include "observe/check/child_grids.hpp"
#include "observe/check/fault_findings.hpp"
#include "observe/check/found_so_far.hpp"
#include "observe/check/grid_order.hpp"
#include "observe/check/grid_summary.hpp"
#include "observe/check/known_loads.hpp"
#include "observe/check/local_escapes.hpp"
#include "observe/check/protocol_checks.hpp"
#include "observe/check/race_checker.hpp"
#include "observe/check/undefined_reads.hpp"
#include "observe/describe.hpp"

namespace tilescope::observe {

/// The common state of a launch's blocks. Only `summary`, `bulk_writes`, `async` and `found` change
/// while blocks run (they lock), and `grid_order` and `children`, with which blocks run on one host
/// thread.
struct LaunchChecks {
  /// `before`: what the launch before has written, if this one may overlap it.
  LaunchChecks(const emulator::LaunchInfo& info, Stretches before, FoundSoFar& found);
  /// Whether the access is an exchange whose old value is unused.
  bool only_stores(const emulator::Access& access) const;

  emulator::LaunchInfo info;
  Stretches before;
  Describer describer;
  PlaceTable places;
  StoreValues values;
  std::vector<AccessRole> roles;  ///< by instruction
  GridSummary summary;
  BulkWrites bulk_writes;
  ChildGrids children;
  std::optional<GridOrder> grid_order;  ///< if the program orders its blocks itself
  std::optional<AsyncLaunch> async;     ///< if it uses engines or clusters
  FoundSoFar& found;
  std::vector<ReadRule> read_rules;  ///< by instruction
  bool fences_blocks = false;        ///< it does so by fences
  bool polls = false;                ///< by flags for which loads wait
  bool synchronises = false;         ///< by any strong access
  bool all_initialised;              ///< all global memory, when the launch began

  // Merged from the blocks.
  RaceLog races;
  VolatileRaces volatile_races;
  FlagWords flags;
  WildThreads wild_threads;
  UndefinedReads undefined;
  FaultLog faults;
  ProtocolChecks protocols;
  bool overflowed = false;
};

class CheckBlock : public emulator::BlockObserver {
 public:
  explicit CheckBlock(LaunchChecks& launch);

  void begin_block(const emulator::BlockInfo& block, const emulator::BlockView& view) override;
  void end_block(bool complete) override;
  void access(const emulator::Access& access) override;
  void known_accesses(const emulator::KnownAccesses& known) override;
  void remote_access(const emulator::Access& access, std::uint32_t rank) override;
  void neighbour_access(const emulator::Access& access, std::uint32_t rank) override;
  void barrier_arrival(const emulator::BarrierArrival& arrival) override;
  void barrier_completion(const emulator::BarrierCompletion& completion) override;
  void cluster_barrier(const emulator::ClusterBarrier& barrier) override;
  void warp_sync(const emulator::WarpSync& sync) override;
  void fence(const emulator::Fence& fence) override;
  void async_group(const emulator::AsyncGroup& group) override;
  void bulk_issued(const emulator::BulkEvent& issued) override;
  void bulk_done(const emulator::BulkEvent& done) override;
  void bulk_group(const emulator::BulkGroup& group) override;
  void matrix_product(const emulator::MatrixIssue& issue) override;
  void matrix_order(const emulator::MatrixOrder& order) override;
  void mbarrier(const emulator::MbarrierUse& use) override;
  void proxy_fence(const emulator::ProxyFence& fence) override;
  void tile(const emulator::TileUse& use) override { protocols_.tiles.tile(use); }
  void registers(const emulator::RegisterChange& change) override {
    protocols_.pool.change(change);
  }
  void grid_dependency(const emulator::GridDependency& dependency) override {
    protocols_.grid.wait(dependency);
  }
  void grid_launch(const emulator::GridLaunch& launch) override {
    launch_.children.launch(block_, launch, order_.passed(launch.warp));
  }
  void frame_entry(const emulator::FrameEntry& entry) override;
  void fault(const emulator::Fault& fault) override;
  void deadlock(const emulator::Deadlock& deadlock) override;

  void merge_into(LaunchChecks& launch) const;

 private:
  /// A lane's cp.async that was not waited for.
  struct Copy {
    std::uint64_t address, source;
    std::uint32_t bytes, source_bytes;
    std::uint32_t group;  ///< number of the lane's group
    std::uint8_t lane;
    Event start;
  };
  /// Cells that hold values until the block ends.
  struct FilledCells {
    std::uint64_t cells_and_base = 0;  ///< LaneCells::number, address
    std::uint64_t block = 0;           ///< blocks_seen_
    friend bool operator==(const FilledCells&, const FilledCells&) = default;
  };
  struct WarpCopies {
    std::vector<Copy> pending;
    std::array<std::uint32_t, emulator::kWarpSize> committed{};
  };

  /// Whether all bytes were written, counted from a base address.
  bool has_contents(std::span<const Run> runs, std::uint64_t base) const;
  const KnownPlan& known_plan(const emulator::KnownAccesses& known);
  const LaneCells& known_cells(const emulator::KnownAccesses& known, std::size_t which);
  bool loads_only_race(std::uint32_t warp) const;
  bool finds_values(emulator::InstructionId load, const LaneCells& cells, std::uint64_t base);
  bool logs_reads(std::uint32_t warp) const;
  bool stays_filled(std::uint64_t number, std::span<const Run> runs, std::uint64_t base);
  bool note_loads(const KnownLoads& loads, const emulator::KnownAccesses& known);
  bool note_load(emulator::InstructionId instruction, std::uint32_t warp, emulator::Space space,
                 emulator::AccessKind kind, emulator::MemoryOrder order, const LaneCells& cells,
                 std::uint64_t base);
  void judge(const emulator::Access& access, const LaneCells& cells);
  void shared_access(const emulator::Access& access, const LaneCells& cells);
  void global_access(const emulator::Access& access, const LaneCells& cells);
  void local_access(const emulator::Access& access);
  bool has_written(std::uint64_t address) const;
  void bulk_load(const emulator::BulkPiece& piece);
  void bulk_store(const emulator::BulkPiece& piece);
  void check_global_contents(const emulator::Access& access, const LaneCells& cells);
  const emulator::Allocation* read_from(emulator::InstructionId load, std::uint64_t address);
  void begin_copies(const emulator::Access& target);
  void follow_local_addresses(const emulator::Access& access, AccessRole role);
  void check_copy_sources(const emulator::Access& access);
  void synchronise(const emulator::Access& access);
  void synchronise_cluster(const emulator::Access& access, std::uint32_t rank);
  void publish(std::uint32_t warp, std::uint64_t variable);
  void learn(std::uint64_t variable);
  std::uint64_t cluster_word(std::uint32_t rank, std::uint64_t address) const;
  void fence(std::uint32_t warp, emulator::Scope scope);
  void undefined(const emulator::Access& access, int lane, const std::string& variable = {});
  /// Adds new faults and races to those that are found so far.
  void note_found();

  LaunchChecks& launch_;
  BlockOrder order_;
  std::shared_ptr<AsyncChecks> async_;  ///< those of its cluster, while the block runs
  RaceChecker races_;
  SharedShadow shared_;
  GlobalShadow global_;
  emulator::ByteFlags shared_contents_;
  std::vector<std::array<emulator::ByteFlags, emulator::kWarpSize>> local_contents_;  ///< by warp
  /// By instruction, and for either space: copies have both.
  std::vector<LaneCells> cells_;
  std::vector<std::unique_ptr<LaneCells>> known_cells_;  ///< by LanePattern::number and space
  std::vector<std::unique_ptr<KnownPlan>> known_plans_;  ///< by KnownGroup::number
  std::vector<std::uint64_t> starts_;                    ///< of the loads that are being noted
  std::uint64_t last_cells_ = 0;                         ///< LaneCells::number so far
  /// Reads of shared memory that found values everywhere, at a place that cells and address give.
  std::array<FilledCells, 512> with_contents_{};
  std::uint64_t blocks_seen_ = 0;
  std::vector<const emulator::Allocation*> found_last_;  ///< by instruction; null: none
  std::vector<WarpCopies> copies_;
  bool has_copied_ = false;      ///< since the block began
  bool copies_pending_ = false;  ///< some may be
  /// Address and bytes that the lanes of the present cp.async read.
  std::array<std::pair<std::uint64_t, std::uint32_t>, emulator::kWarpSize> copy_sources_{};
  LoneStores lone_stores_;
  LocalEscapes escapes_;
  PendingReads pending_reads_;
  UndefinedReads undefined_;
  FaultLog faults_;
  ProtocolChecks protocols_;
  std::size_t noted_ = 0;  ///< entries of both logs that note_found() has seen
  bool overflowed_ = false;
  std::uint64_t block_ = 0;
  std::uint64_t cluster_ = 0;
  std::uint32_t rank_ = 0;
  std::unordered_set<std::uint64_t> neighbour_words_;  ///< flags that neighbours have written
  const emulator::BlockView* view_ = nullptr;
};

}  // namespace tilescope::observe
