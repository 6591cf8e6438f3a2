#include "emulator/compiled/announce_emitter.hpp"

#include "emulator/compiled/runtime_calls.hpp"
#include "emulator/compiled/vector_cache.hpp"

namespace tilescope::emulator::compiled {
namespace {

AccessShape shape_of(unsigned bytes, const std::array<std::uint64_t, kWarpSize>& differences) {
  bool uniform = true, consecutive = true;
  for (std::size_t lane = 0; lane < differences.size(); ++lane) {
    uniform = uniform && differences[lane] == 0;
    consecutive = consecutive && differences[lane] == lane * bytes;
  }
  return uniform       ? AccessShape::uniform
         : consecutive ? AccessShape::consecutive
                       : AccessShape::scattered;
}

}  // namespace

const LanePattern& LanePatterns::number(std::uint16_t bytes,
                                        const std::array<std::uint64_t, kWarpSize>& differences) {
  auto& pattern = patterns_[{bytes, differences}];
  if (!pattern) {
    pattern = std::make_unique<const LanePattern>(
        LanePattern{static_cast<std::uint32_t>(patterns_.size() - 1), bytes,
                    shape_of(bytes, differences), differences});
  }
  return *pattern;
}

bool AnnounceEmitter::is_watched(const Item& item) const {
  return item.group >= 0 && !segment_.groups[static_cast<std::size_t>(item.group)].constant;
}

KnownAccess AnnounceEmitter::access_of(const Item& item) const {
  const AccessGroup& group = segment_.groups[static_cast<std::size_t>(item.group)];
  const Code& code = *item.operation->code;
  std::array<std::uint64_t, kWarpSize> differences{};
  for (int lane = 0; lane < kWarpSize; ++lane) {
    differences[static_cast<std::size_t>(lane)] =
        static_cast<std::uint64_t>(shapes_.difference(group.shape, lane, group.address_bytes));
  }
  return {code.id,
          group.shared ? Space::shared : Space::global,
          static_cast<AccessKind>(code.access),
          &patterns_.number(code.bytes, differences),
          &code,
          group.address_slot,
          group.address_bytes,
          group.address};
}

void AnnounceEmitter::emit_loads() {
  Announced loads;
  for (const Item& item : segment_.items) {
    if (is_watched(item) && item.operation->act == Act::load) loads.push_back(access_of(item));
  }
  if (!loads.empty()) announce(std::move(loads));
}

void AnnounceEmitter::emit_store(const Item& store) {
  for (std::size_t i = 1; i < store.operation->in.size(); ++i) {
    if (store.in_slots[i] == kNoSlot) continue;
    write_lanes(a_, plan_.registers()[store.operation->in[i]], store.in_slots[i],
                store.in_shapes[i] == kUniform ? nullptr : &shapes_[store.in_shapes[i]]);
  }
  announce({access_of(store)});
}

void AnnounceEmitter::announce(Announced&& accesses) {
  auto kept = std::make_unique<const Announced>(std::move(accesses));
  a_.vzeroupper();
  a_.mov(rdi, kState, 8);
  a_.mov_constant(rsi, reinterpret_cast<std::uint64_t>(kept.get()));
  a_.mov_constant(rax, reinterpret_cast<std::uint64_t>(&announce_accesses));
  a_.call(rax);
  announced_.push_back(std::move(kept));
}

}  // namespace tilescope::emulator::compiled
