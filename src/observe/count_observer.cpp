#include "observe/count_observer.hpp"

#include <algorithm>
#include <array>

#include "gpu/coalescing.hpp"
#include "gpu/shared_banks.hpp"
#include "observe/divergence_cost.hpp"
#include "observe/lane_runs.hpp"

namespace tilescope::observe {
namespace {

using emulator::Access;
using emulator::AccessKind;
using emulator::Space;

bool writes(AccessKind kind) {
  return kind == AccessKind::store || kind == AccessKind::atomic || kind == AccessKind::reduction;
}
bool reads(AccessKind kind) {
  return kind == AccessKind::load || kind == AccessKind::async_load || kind == AccessKind::atomic ||
         kind == AccessKind::reduction;
}

/// Sectors depend on the addresses within a sector, wavefronts (on words) within a word.
std::uint64_t significant_bits(Space space) {
  return space == Space::shared ? 3 : 31;
}

/// The last pattern of an instruction and what one execution of it adds. Most executions find their
/// pattern here and only count a hit.
struct Slot {
  std::uint32_t pattern = 0;
  Space space = Space::global;
  AccessKind kind = AccessKind::load;
  std::uint64_t base = 0;  ///< low bits of the first lane's address
  std::uint64_t hits = 0;
  SectorCounts sectors;        ///< of one execution
  WavefrontCounts wavefronts;  ///< of one execution
  std::vector<AccessTally> tallies;
  // global memory only
  std::vector<Run> runs;
  std::uint64_t last_base = 0;
  std::uint32_t region = Footprint::kNowhere;
};

AccessTally& tally_of(std::vector<AccessTally>& tallies, Space space, AccessKind kind) {
  for (AccessTally& tally : tallies) {
    if (tally.space == space && tally.kind == kind) return tally;
  }
  tallies.push_back({space, kind, {}, {}});
  return tallies.back();
}

class BlockCounts : public emulator::BlockObserver {
 public:
  BlockCounts(std::size_t instructions, const MergePlan& plan, Footprint& footprint)
      : slots_(instructions),
        divergent_(instructions),
        diverged_(instructions),
        plan_(plan),
        footprint_(footprint) {}

  void begin_block(const emulator::BlockInfo& block, const emulator::BlockView&) override {
    block_ = block.linear;
  }

  void access(const Access& a) override {
    Slot& slot = slots_[a.instruction];
    const std::uint64_t base = base_address(a);
    if (a.pattern != 0 && a.pattern == slot.pattern && a.space == slot.space &&
        (base & significant_bits(a.space)) == slot.base) [[likely]] {
      ++slot.hits;
      if (a.space != Space::global || base == slot.last_base) return;
    } else {
      learn(a, base, slot);
    }
    if (a.space == Space::global) mark(a, base, slot);
  }

  void branch(const emulator::Branch& b) override {
    if (!b.divergent()) return;
    ++divergent_[b.instruction];
    std::optional<DivergedWarp>& kept = diverged_[b.instruction];
    const bool first =
        !kept || block_ < kept->block || (block_ == kept->block && b.warp < kept->warp);
    if (first) kept = {block_, b.warp, b.active, b.taken, false, 0};
  }

  void flush() {
    for (Slot& slot : slots_) flush(slot);
  }
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> divergent_;
  std::vector<std::optional<DivergedWarp>> diverged_;

 private:
  static void flush(Slot& slot) {
    if (slot.hits == 0) return;
    AccessTally& tally = tally_of(slot.tallies, slot.space, slot.kind);
    const std::uint64_t n = slot.hits;
    tally.sectors +=
        {slot.sectors.requests * n, slot.sectors.sectors * n, slot.sectors.ideal_sectors * n};
    tally.wavefronts += {slot.wavefronts.requests * n, slot.wavefronts.wavefronts * n,
                         slot.wavefronts.ideal_wavefronts * n, slot.wavefronts.ways};
    slot.hits = 0;
  }

  void learn(const Access& a, std::uint64_t base, Slot& slot) {
    flush(slot);
    slot.pattern = a.pattern;
    slot.space = a.space;
    slot.kind = a.kind;
    slot.base = base & significant_bits(a.space);
    slot.hits = 1;
    slot.sectors = {};
    slot.wavefronts = {};
    if (a.space == Space::global) {
      const gpu::Sectors s = gpu::coalesce(a.addresses, a.mask, a.bytes);
      slot.sectors = {1, s.sectors, s.ideal};
      find_runs(a, slot.runs);
    } else if (a.space == Space::local) {
      const gpu::Sectors s = gpu::coalesce_local(a.addresses, a.mask, a.bytes);
      slot.sectors = {1, s.sectors, s.ideal};
    } else if (a.space == Space::shared) {
      slot.wavefronts = shared(a);
    }
  }

  WavefrontCounts shared(const Access& a) const {
    const MergedAccess merged = plan_.empty() ? MergedAccess{} : plan_[a.instruction];
    if (merged.role == MergeRole::member) return {};
    gpu::SharedWavefronts w;
    if (a.kind == AccessKind::matrix_load || a.kind == AccessKind::matrix_store) {
      w = gpu::matrix_wavefronts(a.addresses, a.mask);
    } else if (merged.role == MergeRole::leader) {
      std::array<std::uint64_t, emulator::kWarpSize> lowest;
      for (std::size_t l = 0; l < lowest.size(); ++l) {
        lowest[l] = a.addresses[l] + static_cast<std::uint64_t>(std::int64_t{merged.shift});
      }
      w = gpu::shared_wavefronts(lowest.data(), a.mask, merged.bytes);
    } else {
      const bool atomic = a.kind == AccessKind::atomic || a.kind == AccessKind::reduction;
      w = gpu::shared_wavefronts(a.addresses, a.mask, a.bytes, atomic);
    }
    return {1, w.wavefronts, w.ideal, w.ways};
  }

  void mark(const Access& a, std::uint64_t base, Slot& slot) {
    slot.last_base = base;
    for (const Run& run : slot.runs) {
      const std::uint64_t address = base + static_cast<std::uint64_t>(run.offset);
      slot.region = footprint_.find(address, slot.region);
      if (slot.region == Footprint::kNowhere) continue;
      if (reads(a.kind)) footprint_.mark(slot.region, address, run.bytes, false);
      if (writes(a.kind)) footprint_.mark(slot.region, address, run.bytes, true);
    }
  }

  const MergePlan& plan_;
  Footprint& footprint_;
  std::uint64_t block_ = 0;
};

void add_tally(Counts& counts, const AccessTally& tally) {
  switch (tally.space) {
    case Space::global:
      switch (tally.kind) {
        case AccessKind::load:
        case AccessKind::async_load:
          counts.global_load += tally.sectors;
          return;
        case AccessKind::atomic:
          counts.global_atomic += tally.sectors;
          return;
        case AccessKind::reduction:
          counts.global_reduction += tally.sectors;
          return;
        default:
          counts.global_store += tally.sectors;
          return;
      }
    case Space::local:
      (writes(tally.kind) ? counts.local_store : counts.local_load) += tally.sectors;
      return;
    case Space::shared:
      switch (tally.kind) {
        case AccessKind::load:
        case AccessKind::matrix_load:
          counts.shared_load += tally.wavefronts;
          return;
        case AccessKind::atomic:
        case AccessKind::reduction:
          counts.shared_atomic += tally.wavefronts;
          return;
        case AccessKind::async_store:
          counts.shared_async += tally.wavefronts;
          return;
        default:
          counts.shared_store += tally.wavefronts;
          return;
      }
    default:
      return;
  }
}

bool jumps_back(const emulator::Program& program, emulator::InstructionId id) {
  const emulator::InstructionInfo& info = program.instruction(id);
  if (info.source->opcode != ptx::Opcode::bra || info.source->operands.empty()) return false;
  const std::uint32_t label = info.source->operands[0].label;
  const auto& labels = program.functions()[info.function].source->labels;
  return label < labels.size() && labels[label].instruction <= info.index;
}

}  // namespace

CountObserver::CountObserver(std::optional<MergePlan> plan) : given_plan_(std::move(plan)) {}
CountObserver::~CountObserver() = default;

std::uint32_t CountObserver::events() const {
  return emulator::kGlobalAccess | emulator::kSharedAccess | emulator::kLocalAccess |
         emulator::kBranches;
}

void CountObserver::begin_launch(const emulator::LaunchInfo& launch) {
  program_ = &launch.program;
  plan_ = given_plan_ ? *given_plan_ : merge_by_rule(launch.program);
  footprint_ = std::make_unique<Footprint>(launch.memory);
  const std::size_t count = launch.program.instructions().size();
  tallies_.assign(count, {});
  divergent_.assign(count, 0);
  diverged_.assign(count, std::nullopt);
  result_ = {};
  result_.kernel = launch.kernel;
}

std::unique_ptr<emulator::BlockObserver> CountObserver::make_block_observer() {
  return std::make_unique<BlockCounts>(tallies_.size(), plan_, *footprint_);
}

void CountObserver::merge(emulator::BlockObserver& block) {
  auto& counts = static_cast<BlockCounts&>(block);
  counts.flush();
  for (std::size_t id = 0; id < tallies_.size(); ++id) {
    for (const AccessTally& tally : counts.slots_[id].tallies) {
      AccessTally& sum = tally_of(tallies_[id], tally.space, tally.kind);
      sum.sectors += tally.sectors;
      sum.wavefronts += tally.wavefronts;
    }
    divergent_[id] += counts.divergent_[id];
    const std::optional<DivergedWarp>& other = counts.diverged_[id];
    if (other && (!diverged_[id] || other->block < diverged_[id]->block)) diverged_[id] = other;
  }
}

void CountObserver::end_launch(const emulator::LaunchTotals& totals) {
  const PlaceTable places(*program_, counted_place);
  DivergenceCost cost(*program_, totals.counts);
  std::vector<Counts> lines(places.places().size());
  for (std::uint32_t id = 0; id < tallies_.size(); ++id) {
    const ptx::Instruction& source = *program_->instruction(id).source;
    Counts counts;
    counts.instructions = totals.counts.executed[id];
    if (counts.instructions == 0) continue;
    counts.thread_instructions = totals.counts.active[id];
    counts.guarded_on = totals.counts.on[id];
    for (const AccessTally& tally : tallies_[id]) add_tally(counts, tally);
    const bool jump = source.opcode == ptx::Opcode::bra && source.guarded();
    if (jump || source.opcode == ptx::Opcode::brx_idx) counts.branches = counts.instructions;
    counts.divergent_branches = divergent_[id];
    if (diverged_[id]) {
      diverged_[id]->backward = jumps_back(*program_, id);
      diverged_[id]->idle_lanes = cost.idle_lanes(id);
    }
    if (source.opcode == ptx::Opcode::bar || source.opcode == ptx::Opcode::barrier) {
      counts.barriers = counts.instructions;
    }
    counts.operations = operations_of(source, counts.guarded_on, counts.instructions);
    lines[places.index(id)] += counts;
    result_.totals += counts;
    result_.instructions.push_back({id, places.place(id), counts, diverged_[id]});
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].instructions != 0) result_.lines.push_back({places.places()[i], lines[i]});
  }
  result_.footprint = footprint_->result();
  result_.complete = totals.end == emulator::LaunchEnd::complete && totals.deadlocked_blocks == 0;
  footprint_.reset();
}

}  // namespace tilescope::observe
