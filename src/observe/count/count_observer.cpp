#include "observe/count/count_observer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

#include "base/one_of.hpp"
#include "emulator/access_sum.hpp"
#include "gpu/coalescing.hpp"
#include "gpu/shared_banks.hpp"
#include "observe/count/bulk_sectors.hpp"
#include "observe/count/copy_sources.hpp"
#include "observe/count/divergence_cost.hpp"
#include "observe/count/operation_kind.hpp"
#include "observe/count/request_costs.hpp"
#include "observe/lane_runs.hpp"
#include "observe/shared_use.hpp"
#include "observe/source_place.hpp"

namespace tilescope::observe {
namespace {

using emulator::Access;
using emulator::AccessKind;
using emulator::Space;

bool writes(AccessKind kind) {
  return is_one_of(kind, {AccessKind::store, AccessKind::atomic, AccessKind::reduction,
                          AccessKind::surface_store, AccessKind::surface_reduction});
}
bool reads(AccessKind kind) {
  return is_one_of(
      kind, {AccessKind::load, AccessKind::async_load, AccessKind::atomic, AccessKind::reduction,
             AccessKind::texture_load, AccessKind::surface_load, AccessKind::surface_reduction});
}

/// The sectors of bytes that lie so far from `base`.
gpu::Sectors sectors_of_runs(std::uint64_t base, const std::vector<Run>& runs) {
  std::array<gpu::Interval, emulator::kWarpSize> intervals;
  std::size_t count = 0;
  for (const Run& run : runs) {
    const std::uint64_t begin = base + static_cast<std::uint64_t>(run.offset);
    intervals[count++] = {begin, begin + run.bytes};
  }
  return gpu::cover(intervals.data(), intervals.data() + count);
}

class BlockCounts : public emulator::BlockObserver {
 public:
  /// `sample`, if not null, receives the counts of each block by itself.
  BlockCounts(const emulator::Program& program, const MergePlan& plan, Footprint& footprint,
              std::unique_ptr<SampledCounts> sample)
      : slots_(program.instructions().size()),
        sources_(program),
        divergent_(slots_.size()),
        diverged_(slots_.size()),
        sample_(std::move(sample)),
        program_(program),
        plan_(plan),
        footprint_(footprint) {}

  void begin_block(const emulator::BlockInfo& block, const emulator::BlockView&) override {
    block_ = block.linear;
  }

  void end_block(bool /*complete*/) override {
    if (sample_) sample_->add(block_, take());
  }

  void access(const Access& a) override {
    if (emulator::uses_textures(a.kind)) return mark_elements(a);
    if (a.kind == AccessKind::async_load) {
      mark_elements(a);
      return sources_.keep(a);
    }
    if (a.kind == AccessKind::async_store) sources_.count(a);
    PatternSlot& slot = slots_[a.instruction];
    const std::uint64_t base = base_address(a);
    const bool same = a.pattern != 0 && a.pattern == slot.pattern && a.space == slot.space &&
                      base % kWordBytes == slot.low_bits;
    if (!same) begin_pattern(a, base, slot);
    const std::size_t index = a.space == Space::shared ? 0 : base / kWordBytes % slot.costs.size();
    if ((slot.known >> index & 1U) == 0) learn(a, index, slot);
    ++slot.costs[index].hits;
    if (a.space != Space::global || (same && base == slot.last_base)) return;
    mark(a, base, slot);
  }

  void access_sum(const emulator::AccessSum& sum) override {
    if (sum.kind == AccessKind::async_store) sources_.add(sum);
    Access a{};
    a.instruction = sum.instruction;
    a.mask = ~emulator::LaneMask{0};
    a.bytes = sum.bytes;
    a.space = sum.space;
    a.kind = sum.kind;
    a.addresses = sum.addresses.data();
    PatternSlot slot;
    slot.space = a.space;
    slot.kind = a.kind;
    if (a.space == Space::global) find_runs(a, slot.runs);
    learn(a, 0, slot);
    slot.costs[0].hits = sum.times;
    slot.flush();
    add_tallies(slot.tallies, slots_[sum.instruction].tallies);
  }

  void bulk_issued(const emulator::BulkEvent& e) override {
    using emulator::BulkKind;
    const bool loads = e.kind == BulkKind::load;
    if (e.copies == 0 || e.kind == BulkKind::prefetch || e.kind == BulkKind::registers) return;
    Counts& tally = units_[e.origin.instruction];
    BulkCounts& counts = loads                          ? tally.bulk_load
                         : e.kind == BulkKind::exchange ? tally.bulk_exchange
                         : e.reduces                    ? tally.bulk_reduction
                                                        : tally.bulk_store;
    ++counts.requests;
    if (e.kind != BulkKind::exchange) {
      const ptx::Instruction& copy = *program_.instruction(e.origin.instruction).source;
      counts.sectors += bulk_sectors(e, copy.modifiers.has(ptx::Flag::multicast));
    }
    for (const emulator::BulkPiece& piece : e.pieces) {
      if (piece.filled) continue;
      counts.bytes += piece.bytes;
      if (e.kind == BulkKind::exchange) continue;
      const std::uint64_t address = loads ? piece.from : piece.to;
      const std::uint32_t region = footprint_.find(address, Footprint::kNowhere);
      if (region == Footprint::kNowhere) continue;
      if (loads || e.reduces) footprint_.mark(region, address, piece.bytes, false);
      if (!loads) footprint_.mark(region, address, piece.bytes, true);
    }
  }

  void cluster_request(const emulator::ClusterRequest& r) override {
    using emulator::ClusterOperation;
    if (passes_by(*program_.instruction(r.instruction).source)) return;
    Counts& counts = units_[r.instruction];
    const UnitCounts cost = cluster_cost(r);
    switch (r.operation) {
      case ClusterOperation::load:
        counts.dshared_load += cost;
        return;
      case ClusterOperation::store:
      case ClusterOperation::async_store:
        counts.dshared_store += cost;
        return;
      case ClusterOperation::atomic:
        counts.dshared_atomic += cost;
        return;
      case ClusterOperation::async_reduction:
        counts.dshared_async_reduction += cost;
        return;
    }
  }

  void texel_request(const emulator::TexelRequest& r) override {
    Counts& counts = units_[r.instruction];
    (r.surface ? counts.surface : counts.texture) += texel_cost(r);
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
    for (PatternSlot& slot : slots_) slot.flush();
    sources_.flush();
  }
  std::vector<PatternSlot> slots_;
  CopySources sources_;
  std::vector<std::uint64_t> divergent_;
  std::vector<std::optional<DivergedWarp>> diverged_;
  std::map<emulator::InstructionId, Counts> units_;  ///< bulk copies, textures, the cluster
  std::unique_ptr<SampledCounts> sample_;

 private:
  /// The counts since the last call.
  BlockTally take() {
    flush();
    BlockTally tally = std::exchange(units_, {});
    for (std::vector<PatternSlot>* slots : {&slots_, &sources_.slots()}) {
      for (std::size_t id = 0; id < slots->size(); ++id) {
        std::vector<AccessTally>& tallies = (*slots)[id].tallies;
        for (const AccessTally& one : tallies) {
          add_tally(tally[static_cast<emulator::InstructionId>(id)], one);
        }
        tallies.clear();
      }
    }
    for (std::size_t id = 0; id < divergent_.size(); ++id) {
      if (divergent_[id] == 0) continue;
      tally[static_cast<emulator::InstructionId>(id)].divergent_branches =
          std::exchange(divergent_[id], 0);
    }
    return tally;
  }

  void begin_pattern(const Access& a, std::uint64_t base, PatternSlot& slot) {
    slot.flush();
    slot.pattern = a.pattern;
    slot.space = a.space;
    slot.kind = a.kind;
    slot.low_bits = static_cast<std::uint32_t>(base % kWordBytes);
    slot.counted = true;
    slot.ways = 0;
    if (a.space == Space::global) find_runs(a, slot.runs);
  }

  void learn(const Access& a, std::size_t index, PatternSlot& slot) {
    slot.known |= static_cast<std::uint8_t>(1U << index);
    PatternCost& cost = slot.costs[index];
    if (a.space == Space::shared) {
      learn_shared(a, cost, slot);
    } else if (a.space == Space::global || a.space == Space::local) {
      const gpu::Sectors s = a.space == Space::global
                                 ? sectors_of_runs(base_address(a), slot.runs)
                                 : gpu::coalesce_local(a.addresses, a.mask, a.bytes);
      cost.units = s.sectors;
      cost.ideal = s.ideal;
    }
  }

  void learn_shared(const Access& a, PatternCost& cost, PatternSlot& slot) const {
    const MergedAccess merged = plan_.empty() ? MergedAccess{} : plan_[a.instruction];
    const ptx::Instruction& source = *program_.instruction(a.instruction).source;
    slot.counted = merged.role != MergeRole::member && !passes_by(source);
    if (!slot.counted) return;
    const gpu::SharedUse use = shared_use(source, a.kind);
    gpu::SharedWavefronts w;
    if (a.kind == AccessKind::matrix_load || a.kind == AccessKind::matrix_store) {
      w = gpu::matrix_wavefronts(a.addresses, a.mask);
    } else if (merged.role == MergeRole::leader) {
      std::array<std::uint64_t, emulator::kWarpSize> lowest;
      for (std::size_t l = 0; l < lowest.size(); ++l) {
        lowest[l] = a.addresses[l] + static_cast<std::uint64_t>(std::int64_t{merged.shift});
      }
      w = gpu::shared_wavefronts(lowest.data(), a.mask, merged.bytes, use);
    } else {
      w = gpu::shared_wavefronts(a.addresses, a.mask, a.bytes, use);
    }
    cost.units = w.wavefronts;
    cost.ideal = w.ideal;
    slot.ways = w.ways;
  }

  /// From compute capability 9.0 on mbarriers have a unit of their own: what is done to them does
  /// not cross the data path of shared memory.
  bool passes_by(const ptx::Instruction& source) const {
    return program_.capability() >= 90 &&
           ptx::name(source.opcode).find("mbarrier.") != std::string_view::npos;
  }

  /// Lane by lane: textures, whose requests are counted as a whole, and sources of cp.async.
  void mark_elements(const Access& a) {
    for (emulator::LaneMask m = a.mask; m != 0; m &= m - 1) {
      const std::uint64_t address = a.addresses[std::countr_zero(m)];
      region_ = footprint_.find(address, region_);
      if (region_ == Footprint::kNowhere) continue;
      if (reads(a.kind)) footprint_.mark(region_, address, a.bytes, false);
      if (writes(a.kind)) footprint_.mark(region_, address, a.bytes, true);
    }
  }

  void mark(const Access& a, std::uint64_t base, PatternSlot& slot) {
    slot.last_base = base;
    for (const Run& run : slot.runs) {
      const std::uint64_t address = base + static_cast<std::uint64_t>(run.offset);
      slot.region = footprint_.find(address, slot.region);
      if (slot.region == Footprint::kNowhere) continue;
      if (reads(a.kind)) footprint_.mark(slot.region, address, run.bytes, false);
      if (writes(a.kind)) footprint_.mark(slot.region, address, run.bytes, true);
    }
  }

  const emulator::Program& program_;
  const MergePlan& plan_;
  Footprint& footprint_;
  std::uint64_t block_ = 0;
  std::uint32_t region_ = Footprint::kNowhere;
};

bool jumps_back(const emulator::Program& program, emulator::InstructionId id) {
  const emulator::InstructionInfo& info = program.instruction(id);
  if (ptx::info(info.source->opcode).end != ptx::BlockEnd::branch) return false;
  const std::uint32_t label = info.source->operands[0].label;
  const auto& labels = program.functions()[info.function].source->labels;
  return label < labels.size() && labels[label].instruction <= info.index;
}

}  // namespace

CountObserver::CountObserver(std::optional<MergePlan> plan) : given_plan_(std::move(plan)) {}
CountObserver::CountObserver(std::optional<BlockSample> sample) : sample_(std::move(sample)) {}
CountObserver::~CountObserver() = default;

std::uint32_t CountObserver::events() const {
  return emulator::kGlobalAccess | emulator::kSharedAccess | emulator::kLocalAccess |
         emulator::kDivergence | emulator::kBulk;
}

void CountObserver::begin_launch(const emulator::LaunchInfo& launch) {
  program_ = &launch.program;
  plan_ = given_plan_ ? *given_plan_ : merge_by_rule(launch.program);
  footprint_ = std::make_unique<Footprint>(launch.memory);
  const std::size_t count = launch.program.instructions().size();
  tallies_.assign(count, {});
  divergent_.assign(count, 0);
  diverged_.assign(count, std::nullopt);
  units_.clear();
  places_ = PlaceTable(launch.program, counted_place);
  blocks_ = BlockPlan(sample_, launch.grid);
  sampled_ = blocks_.counts_all() ? nullptr : std::make_unique<SampledCounts>(blocks_, places_);
  result_ = {};
  result_.kernel = launch.kernel;
  result_.grid = launch.grid;
  result_.block = launch.block;
}

std::unique_ptr<emulator::BlockObserver> CountObserver::make_block_observer() {
  return std::make_unique<BlockCounts>(
      *program_, plan_, *footprint_,
      sampled_ ? std::make_unique<SampledCounts>(blocks_, places_) : nullptr);
}

void CountObserver::merge(emulator::BlockObserver& block) {
  auto& counts = static_cast<BlockCounts&>(block);
  counts.flush();
  const std::vector<PatternSlot>& sources = counts.sources_.slots();
  for (std::size_t id = 0; id < tallies_.size(); ++id) {
    add_tallies(counts.slots_[id].tallies, tallies_[id]);
    if (!sources.empty()) add_tallies(sources[id].tallies, tallies_[id]);
    divergent_[id] += counts.divergent_[id];
    const std::optional<DivergedWarp>& other = counts.diverged_[id];
    if (other && (!diverged_[id] || other->block < diverged_[id]->block)) diverged_[id] = other;
  }
  for (const auto& [id, unit] : counts.units_) units_[id] += unit;
  if (sampled_) sampled_->merge(*counts.sample_);
}

Counts CountObserver::counted(emulator::InstructionId id) const {
  if (sampled_) return sampled_->estimate(id);
  Counts counts;
  for (const AccessTally& tally : tallies_[id]) add_tally(counts, tally);
  if (const auto unit = units_.find(id); unit != units_.end()) counts += unit->second;
  counts.divergent_branches = divergent_[id];
  return counts;
}

void CountObserver::end_launch(const emulator::LaunchTotals& totals) {
  DivergenceCost cost(*program_, totals.counts);
  std::vector<Counts> lines(places_.places().size());
  for (std::uint32_t id = 0; id < tallies_.size(); ++id) {
    const ptx::Instruction& source = *program_->instruction(id).source;
    if (totals.counts.executed[id] == 0) continue;
    Counts counts = counted(id);
    counts.instructions = totals.counts.executed[id];
    counts.thread_instructions = totals.counts.active[id];
    counts.guarded_on = totals.counts.on[id];
    const ptx::BlockEnd end = ptx::info(source.opcode).end;
    const bool jump = end == ptx::BlockEnd::branch && source.guarded();
    if (jump || end == ptx::BlockEnd::branch_indexed) counts.branches = counts.instructions;
    if (diverged_[id]) {
      diverged_[id]->backward = jumps_back(*program_, id);
      diverged_[id]->idle_lanes = cost.idle_lanes(id);
    }
    if (end == ptx::BlockEnd::barrier) counts.barriers = counts.instructions;
    counts.operations =
        operations_of(source, counts.guarded_on, counts.instructions, program_->capability());
    lines[places_.index(id)] += counts;
    result_.totals += counts;
    result_.instructions.push_back({id, places_.place(id), counts, diverged_[id]});
  }
  for (std::uint32_t i = 0; i < lines.size(); ++i) {
    if (lines[i].instructions == 0) continue;
    result_.lines.push_back(
        {places_.places()[i], lines[i], sampled_ ? sampled_->spread_of_line(i) : Spreads{}});
  }
  result_.blocks = result_.blocks_counted = result_.grid.count();
  if (sampled_) {
    result_.blocks_counted = blocks_.counted();
    result_.spread = sampled_->spread_of_totals();
  } else {
    result_.footprint = footprint_->result();
  }
  result_.complete = totals.end == emulator::LaunchEnd::complete && totals.deadlocked_blocks == 0;
  footprint_.reset();
}

}  // namespace tilescope::observe
