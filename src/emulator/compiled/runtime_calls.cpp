#include "emulator/compiled/runtime_calls.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "emulator/block.hpp"
#include "emulator/compiled/chip_nans.hpp"
#include "emulator/compiled/segment.hpp"
#include "emulator/memory_access.hpp"
#include "emulator/touched_bytes.hpp"

namespace tilescope::emulator::compiled {

void emit_call(Assembler& a, std::uint64_t function) {
  a.vzeroupper();
  a.mov(rdi, kState, 8);
  a.store(at(kState, offsetof(CompiledState, turn)), kTurn, 8);
  a.mov_constant(rax, function);
  a.call(rax);
}

void bind_context(CompiledState& state) {
  Rounds& rounds = state.rounds;
  Block& block = *state.context->block;
  Warp& warp = block.warps()[static_cast<std::size_t>(rounds.current - rounds.warps)];
  warp.enter(*state.worker, warp.running_frame());
  rounds.limit -= rounds.steps;
  block.count_steps(std::exchange(rounds.steps, 0));
  rounds.ends = 0;  // what runs now may be what others wait for
}

namespace {

/// In rounds code does not tell the context which warp runs.
Context& context_of(CompiledState* state) {
  if (state->rounds.current != nullptr) bind_context(*state);
  state->context->warp->turn() = state->turn;
  return *state->context;
}

}  // namespace

std::uint32_t find_bounds(CompiledState* state, std::uint32_t bounds, std::uint64_t low,
                          std::uint64_t span, std::uint32_t constant_space) {
  AccessPattern pattern;
  const Space space = constant_space != 0 ? Space::constant : Space::global;
  if (!find_allocation(context_of(state), pattern, low, span, space)) return 0;
  AccessBounds& found = state->bounds[bounds];
  if (state->touched != nullptr && space == Space::global) {
    const std::uint32_t region = state->touched->find(low, TouchedBytes::kNowhere);
    if (region == TouchedBytes::kNowhere) return 0;
    const TouchedBytes::MarkAddresses marks = state->touched->mark_addresses(region);
    found.read = marks.read;
    found.written = marks.written;
    found.region = region;
  }
  found.begin = pattern.begin;
  found.limit = pattern.end - pattern.begin - span + 1;
  found.to_host = reinterpret_cast<std::uint64_t>(pattern.host) - pattern.begin;
  return 1;
}

namespace {

/// For those of `lanes` whose guard holds.
void run_for(Context& w, const Code& code, LaneMask lanes) {
  w.mask = lanes;
  if (code.guard != kNone) {
    w.mask &= predicate(w, code.guard) ^ code.guard_flip;
    w.lanes_on[code.id] += static_cast<unsigned>(std::popcount(w.mask));
    if (w.mask == 0) return;
  }
  code.execute(w, code);
}

}  // namespace

void run_operation(CompiledState* state, const Code* code) {
  run_for(context_of(state), *code, kAllLanes);
}

void run_masked_operation(CompiledState* state, const Code* code) {
  Context& w = context_of(state);
  const auto lanes = static_cast<LaneMask>(state->mask);
  w.active = lanes;
  run_for(w, *code, lanes);
  w.active = kAllLanes;
}

void announce_parting(CompiledState* state, const Code* code, LaneMask lanes, LaneMask taken) {
  context_of(state).warp->announce_parting(*code, lanes, taken);
}

namespace {

/// Learns the bounds from the access of one lane.
void learn_bounds(CompiledState* state, const Code& code, std::uint32_t bounds, unsigned lane) {
  if (static_cast<Space>(code.space) != Space::global) return;
  std::uint64_t address = 0;
  std::memcpy(&address, state->frame + code.a + lane * sizeof address, sizeof address);
  find_bounds(state, bounds, address + static_cast<std::uint64_t>(code.offset), code.bytes, 0);
}

}  // namespace

void run_lanes(CompiledState* state, const Code* code, std::uint32_t bounds) {
  learn_bounds(state, *code, bounds, 0);
  run_operation(state, code);
}

void run_masked_lanes(CompiledState* state, const Code* code, std::uint32_t bounds) {
  learn_bounds(state, *code, bounds, static_cast<unsigned>(std::countr_zero(state->mask)));
  run_masked_operation(state, code);
}

void run_together(CompiledState* state, const Code* code) {
  context_of(state).warp->run_together(*state->worker, *code);
}

void announce_together(CompiledState* state, const Code* code) {
  context_of(state).warp->announce_sync(*code, kAllLanes, kAllLanes);
}

void announce_first(CompiledState* state, const SumGroup* group, SumEntry* entry) {
  if (entry->place == kNoPlace) {
    state->used->push_back({group, static_cast<std::uint32_t>(entry - state->sums)});
  }
  entry->place = state->place;
  Context& w = context_of(state);
  for (const SummedAccess& access : group->accesses) {
    const Code& code = *access.code;
    std::uint64_t base =
        access.address_place < 0 ? access.address : dense_number(*state, access.address_place);
    base += static_cast<std::uint64_t>(access.offset);
    if (access.address_bytes == 4) base &= 0xffffffffu;
    for (std::size_t lane = 0; lane < access.differences.size(); ++lane) {
      w.addresses[lane] = base + static_cast<std::uint64_t>(access.differences[lane]);
    }
    const Access event{
        code.id,      w.warp_index,      kAllLanes,   code.bytes, access.space, access.kind,
        access.shape, MemoryOrder::weak, Scope::none, 0,          w.addresses,  &w,
        &code};
    for (const BlockObserverSlot& slot : w.block->observers()) {
      if ((slot.events & access_event(access.space)) != 0) slot.observer->first_access(event);
    }
  }
}

void mark_touched(CompiledState* state, const MarkGroup* marks, std::uint64_t address) {
  if (state->touched == nullptr) return;
  std::uint32_t region = state->bounds[marks->bounds].region;
  for (const MarkGroup::Run& run : marks->runs) {
    const std::uint64_t begin = address + static_cast<std::uint64_t>(run.offset);
    region = state->touched->find(begin, region);
    state->touched->mark(region, begin, run.bytes, marks->write);
  }
}

void announce_accesses(CompiledState* state, const KnownGroup* group) {
  std::uint64_t bases[kMostItems];
  std::size_t count = 0;
  for (const KnownBase& base : group->bases) {
    bases[count++] = base.slot < 0 ? base.address : dense_number(*state, base.slot);
  }
  Context& w = context_of(state);
  const KnownAccesses event{*group, bases, w.warp_index, &w};
  for (const BlockObserverSlot& slot : w.block->observers()) {
    if ((slot.events & (kGlobalAccess | kSharedAccess)) != 0) slot.observer->known_accesses(event);
  }
}

namespace {

template <class Real>
void replace_lanes(std::uint8_t* lanes, Real nan) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    Real value;
    std::memcpy(&value, lanes + static_cast<std::size_t>(lane) * sizeof value, sizeof value);
    if (std::isnan(value)) {
      std::memcpy(lanes + static_cast<std::size_t>(lane) * sizeof value, &nan, sizeof nan);
    }
  }
}

}  // namespace

void replace_nans(CompiledState* state, const RealRegister* registers, std::uint64_t count) {
  for (const RealRegister& real : std::span(registers, count)) {
    std::uint8_t* const lanes = state->frame + real.offset;
    if (real.width == 8) {
      replace_lanes(lanes, std::bit_cast<double>(kNan64));
    } else {
      replace_lanes(lanes, std::bit_cast<float>(kNan32));
    }
  }
}

Condition condition_of(const Operation& comparison) {
  using ptx::Compare;
  const bool s = comparison.is_signed;
  switch (comparison.comparison) {
    case Compare::eq:
      return Condition::equal;
    case Compare::ne:
      return Condition::not_equal;
    case Compare::lt:
    case Compare::lo:
      return s ? Condition::less : Condition::below;
    case Compare::le:
    case Compare::ls:
      return s ? Condition::less_equal : Condition::below_equal;
    case Compare::gt:
    case Compare::hi:
      return s ? Condition::greater : Condition::above;
    default:
      return s ? Condition::greater_equal : Condition::above_equal;
  }
}

}  // namespace tilescope::emulator::compiled
