#include "observe/count/copy_sources.hpp"

#include <bit>

#include "gpu/coalescing.hpp"
#include "observe/lane_runs.hpp"

namespace tilescope::observe {

using emulator::Access;
using emulator::AccessKind;

void CopySources::keep(const Access& from) {
  const bool more = source_.mask != 0 && source_.instruction == from.instruction;
  const emulator::LaneMask others = more ? source_.mask : 0;
  for (emulator::LaneMask m = from.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    addresses_[static_cast<std::size_t>(lane)] = from.addresses[lane];
  }
  source_ = from;
  source_.addresses = addresses_.data();
  if (!more) return;
  source_.mask |= others;
  source_.pattern = 0;
}

void CopySources::count(const Access& to) {
  if (source_.mask == 0 || source_.instruction != to.instruction) return;
  PatternSlot& slot = slot_of(to.instruction);
  const bool past_l1 = goes_past_l1(to.instruction);
  const std::uint64_t base = base_address(source_);
  const std::uint64_t unit = past_l1 ? to.bytes : kWordBytes;
  const auto low_bits = static_cast<std::uint32_t>(past_l1 ? base_address(to) % gpu::kSectorBytes
                                                           : base % kWordBytes);
  const std::uint32_t target_pattern = past_l1 ? to.pattern : slot.target_pattern;
  const bool same = source_.pattern != 0 && source_.pattern == slot.pattern &&
                    target_pattern == slot.target_pattern && (!past_l1 || to.pattern != 0) &&
                    low_bits == slot.low_bits;
  if (!same) {
    slot.flush();
    slot.pattern = source_.pattern;
    slot.target_pattern = target_pattern;
    slot.kind = AccessKind::async_load;
    slot.low_bits = low_bits;
  }
  const std::size_t index = base / unit % slot.costs.size();
  PatternCost& cost = slot.costs[index];
  if ((slot.known >> index & 1U) == 0) {
    slot.known |= static_cast<std::uint8_t>(1U << index);
    learn(source_, to, cost);
  }
  ++cost.hits;
  source_.mask = 0;
}

void CopySources::add(const emulator::AccessSum& sum) {
  Access from{}, to{};
  from.instruction = to.instruction = sum.instruction;
  from.mask = to.mask = ~emulator::LaneMask{0};
  from.bytes = to.bytes = sum.bytes;
  from.addresses = sum.sources.data();
  to.addresses = sum.addresses.data();
  PatternSlot once;
  once.kind = AccessKind::async_load;
  once.known = 1;
  learn(from, to, once.costs[0]);
  once.costs[0].hits = sum.times;
  once.flush();
  add_tallies(once.tallies, slot_of(sum.instruction).tallies);
}

void CopySources::flush() {
  for (PatternSlot& slot : slots_) slot.flush();
}

PatternSlot& CopySources::slot_of(emulator::InstructionId id) {
  if (slots_.empty()) slots_.resize(program_.instructions().size());
  return slots_[id];
}

bool CopySources::goes_past_l1(emulator::InstructionId copy) const {
  return program_.instruction(copy).source->modifiers.cache == ptx::CacheOp::cg;
}

/// The cost of the global side.
void CopySources::learn(const Access& from, const Access& to, PatternCost& cost) const {
  const gpu::Sectors s = goes_past_l1(to.instruction)
                             ? gpu::coalesce_to_shared(from.addresses, to.addresses, from.mask)
                             : gpu::coalesce(from.addresses, from.mask, from.bytes);
  cost.units = s.sectors;
  cost.ideal = s.ideal;
}

}  // namespace tilescope::observe
