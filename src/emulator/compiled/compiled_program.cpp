#include "emulator/compiled/compiled_program.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/launch_state.hpp"

namespace tilescope::emulator::compiled {
namespace {

constexpr std::size_t kMostRegions = 5;         // of a head
constexpr int kMostNumbers = 2;                 // of them with other numbers
constexpr std::size_t kMostWarpRegions = 64;    // of a head
constexpr std::size_t kMostCode = 64 << 20;     // bytes of code of a program
constexpr std::uint32_t kMostRegisters = 8000;  // of a function

}  // namespace

void Head::add(std::unique_ptr<CompiledRegion> region) {
  std::atomic<const CompiledRegion*>* place = &first;
  const CompiledRegion* next = place->load();
  for (; next != nullptr && next->assumptions() >= region->assumptions(); next = place->load()) {
    place = &next->next;
  }
  region->next.store(next);
  place->store(region.get(), std::memory_order_release);
  regions.push_back(std::move(region));
  count.store(regions.size(), std::memory_order_release);
}
CompiledProgram::CompiledProgram(const Program& program, AccessWatch watch)
    : program_(program), watch_(watch) {
  for (const CodeFunction& function : program.functions()) {
    functions_.push_back(std::make_unique<CompiledFunction>(function.blocks.size()));
  }
}
/// Registers whose shape is another one than in all regions so far, of which there are several.
std::vector<bool> CompiledProgram::unstable(const CompiledFunction& function, const Head& head,
                                            const std::uint8_t* frame) const {
  const RegisterTable& registers = function.plan->registers();
  std::vector<bool> result(registers.size(), false);
  if (head.regions.empty()) return result;
  // The last region assumes only what no other contradicts.
  const std::size_t regions = head.regions.size() - head.warp_regions;
  const bool last = regions + 1 == kMostRegions;
  ShapeTable shapes;
  for (const auto& region : head.regions) {
    if (region->of_warp) continue;
    for (const auto& [reg, shape] : region->assumed) {
      const RegisterInfo& info = registers[reg];
      const ShapeNumber now = shapes.observe(frame + info.offset, info.width);
      const bool differs = now == kNoShape || shapes[now] != shape;
      if (differs && (last || regions >= 2)) result[reg] = true;
    }
  }
  return result;
}

/// Whether a number is another one than what the region assumes.
bool CompiledProgram::has_new_numbers(const CompiledFunction& function,
                                      const CompiledRegion& region,
                                      const PresentState& present) const {
  const auto differs = [](const std::uint8_t* place, unsigned bytes, std::uint64_t value) {
    return std::memcmp(place, &value, bytes) != 0;
  };
  return std::any_of(region.numbers.begin(), region.numbers.end(),
                     [&](const auto& number) {
                       const RegisterInfo& info = function.plan->registers()[number.first];
                       return differs(present.frame + info.offset, info.width, number.second);
                     }) ||
         std::any_of(region.parameters.begin(), region.parameters.end(),
                     [&](const KnownParameter& known) {
                       return differs(present.parameters + known.offset, known.width, known.value);
                     });
}

/// Whether a region for the warp whose state this is may be wanted. A warp gets few of them: each
/// is for other values of parameters.
bool CompiledProgram::may_know_lanes(const CompiledFunction& function, const Head& head,
                                     const PresentState& present) const {
  if (!head.knows_lanes || head.warp_regions >= kMostWarpRegions) return false;
  const auto is_of_warp = [&](const auto& region) {
    return region->of_warp &&
           std::all_of(region->numbers.begin(), region->numbers.end(), [&](const auto& number) {
             const RegisterInfo& info = function.plan->registers()[number.first];
             return info.kind != RegisterKind::special ||
                    std::memcmp(present.frame + info.offset, &number.second, info.width) == 0;
           });
  };
  return std::count_if(head.regions.begin(), head.regions.end(), is_of_warp) < kMostNumbers;
}

/// The caller holds the mutex.
const FunctionPlan& CompiledProgram::plan(std::size_t number) {
  CompiledFunction& function = *functions_[number];
  if (!function.plan) {
    function.plan = std::make_unique<FunctionPlan>(program_, program_.functions()[number], watch_);
  }
  return *function.plan;
}

const std::vector<FrameRange>& CompiledProgram::frame_resets() {
  const std::lock_guard lock(mutex_);
  if (!frame_resets_) {
    const auto bytes = static_cast<std::uint32_t>(program_.functions()[0].image.size());
    frame_resets_ = plan(0).frame_resets(bytes);
    knows_frame_resets_.store(true, std::memory_order_release);
  }
  return *frame_resets_;
}

void CompiledProgram::settle_counts(std::vector<AccessBounds>& bounds, const CompiledState& state) {
  const std::lock_guard lock(mutex_);
  for (const CountedWay* const way : ways_) {
    if (way->number >= bounds.size()) continue;
    const std::uint64_t times = std::exchange(bounds[way->number].begin, 0);
    if (times != 0) count_rest(*way, {}, state.counters, state.lanes_on, times);
  }
}

void CompiledProgram::add_executed(std::uint64_t instructions) {
  const std::lock_guard lock(mutex_);
  budget_.add_executed(instructions);
}

Wish CompiledProgram::compile(const Frame& frame, const CompiledState& state, std::uint32_t block,
                              std::size_t known, std::optional<std::uint64_t> executed) {
  const std::lock_guard lock(mutex_);
  budget_.add_executed(executed.value_or(0));
  CompiledFunction& function = *functions_[frame.index];
  Head& head = function.heads[block];
  if (head.regions.size() != known) return Wish::granted;
  if (code_bytes_ > kMostCode) return Wish::refused;
  if (executed && !budget_.is_left()) return Wish::postponed;
  const FunctionPlan& plan = this->plan(frame.index);
  if (plan.registers().size() > kMostRegisters) return Wish::refused;
  PresentState present{.frame = frame.registers,
                       .parameters = state.parameters,
                       .counters = state.counters,
                       .lane_accesses = watch_ == AccessWatch::nothing,
                       .masks = has_512_bits(),
                       .unstable = unstable(function, head, frame.registers),
                       .at_begin = frame.index == 0 && block == 0,
                       .warps = state.worker->launch.info().warps_per_block,
                       .sparing = executed.has_value()};
  present.values = std::count_if(head.regions.begin(), head.regions.end(), [&](const auto& other) {
                     return !other->of_warp && has_new_numbers(function, *other, present);
                   }) < kMostNumbers;
  std::optional<Region> region;
  if (frame.index == 0 && block == 0 && may_know_lanes(function, head, present)) {
    if (!head.possible_gain) {
      region = find_region(plan, block, present);
      head.possible_gain = possible_gain(plan, *region, present);
    }
    std::optional<WarpRegion> of_warp = find_warp_region(plan, block, present, *head.possible_gain);
    if (of_warp) return add_region(of_warp->plan, head, of_warp->region, state.counters);
    head.knows_lanes = false;
  }
  if (head.regions.size() - head.warp_regions >= kMostRegions) return Wish::refused;
  if (!region) region = find_region(plan, block, present);
  return add_region(plan, head, *region, state.counters);
}

/// Refused: there is no memory for its code.
Wish CompiledProgram::add_region(const FunctionPlan& plan, Head& head, Region& region,
                                 const BlockCounter* counters) {
  RegionCode code = RegionEmitter(plan, region, watch_, numbers_, counters).emit();
  auto result = std::make_unique<CompiledRegion>(CodeMemory(code.bytes, regions_));
  if (result->memory.data() == nullptr) return Wish::refused;
  for (const Assumption& assumption : region.assumptions) {
    result->assumed.emplace_back(assumption.reg, region.shapes[assumption.shape]);
    if (assumption.known) result->numbers.emplace_back(assumption.reg, assumption.value);
  }
  result->parameters = region.parameters;
  for (const std::uint32_t b : region.blocks) {
    result->blocks.push_back(plan.origin(b));
    budget_.add_compiled(plan.blocks()[b].size);
  }
  code_bytes_ += result->memory.bytes();
  bounds_.store(numbers_.bounds, std::memory_order_release);
  entries_.store(numbers_.sums.entries, std::memory_order_release);
  recent_.store(numbers_.sums.recent, std::memory_order_release);
  result->sums = std::move(code.sums);
  result->announced = std::move(code.announced);
  result->ways = std::move(code.ways);
  for (const CountedWay& way : result->ways) ways_.push_back(&way);
  for (const RegionExit& exit : code.exits) {
    const bool inside = exit.kind != ExitKind::refused && exit.kind != ExitKind::block &&
                        exit.kind != ExitKind::yield && exit.kind != ExitKind::spins;
    CompiledExit place{exit.block,
                       inside,
                       exit.index,
                       exit.kind == ExitKind::yield,
                       exit.kind == ExitKind::ends,
                       exit.kind == ExitKind::spins,
                       exit.parted_at};
    place.barrier = exit.barrier;
    result->exits.push_back(
        {exit.kind, exit.entry, exit.inner, exit.settle, place, exit.taken_back});
  }
  result->trusted_entry = code.trusted_entry;
  result->trusted_inner = code.trusted_inner;
  result->rounds_entry = code.rounds_entry;
  result->knows_block = code.knows_block;
  result->round_barrier = code.round_barrier;
  result->number = regions_++;
  result->counter = plan.blocks()[region.head].counter;
  result->of_warp = region.of_warp;
  if (region.of_warp) ++head.warp_regions;
  // The pointer to them points kSlotsBefore behind their begin.
  result->slots = static_cast<std::size_t>(std::max(code.slots, kSlotsBefore));
  head.add(std::move(result));
  return Wish::granted;
}

std::vector<std::uint32_t> CompiledProgram::patience(std::size_t blocks, std::uint32_t fresh) {
  const std::lock_guard lock(mutex_);
  if (patience_.empty()) patience_.assign(blocks, fresh);
  return patience_;
}

void CompiledProgram::keep_patience(const std::vector<std::uint32_t>& left) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < left.size(); ++i) patience_[i] = std::min(patience_[i], left[i]);
}

}  // namespace tilescope::emulator::compiled
