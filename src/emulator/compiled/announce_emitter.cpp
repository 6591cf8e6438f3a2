#include "emulator/compiled/announce_emitter.hpp"

#include <algorithm>

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

void AnnounceEmitter::add(const Item& item, KnownGroup& group) const {
  const AccessGroup& of = segment_.groups[static_cast<std::size_t>(item.group)];
  const int place = of.address_slot == kNoSlot ? kNoSlot : a_.dense(of.address_slot);
  const KnownBase base{place, of.address, of.address_bytes == 4 ? 0xffffffffu : ~std::uint64_t{0}};
  const auto same = [&](const KnownBase& other) {
    return other.slot == base.slot && other.address == base.address && other.mask == base.mask;
  };
  auto found = std::find_if(group.bases.begin(), group.bases.end(), same);
  if (found == group.bases.end()) found = group.bases.insert(found, base);
  const Code& code = *item.operation->code;
  std::array<std::uint64_t, kWarpSize> differences{};
  for (int lane = 0; lane < kWarpSize; ++lane) {
    differences[static_cast<std::size_t>(lane)] =
        static_cast<std::uint64_t>(shapes_.difference(of.shape, lane, of.address_bytes));
  }
  group.accesses.push_back({code.id, of.shared ? Space::shared : Space::global,
                            static_cast<AccessKind>(code.access),
                            &numbers_.patterns.number(code.bytes, differences), &code,
                            static_cast<std::uint32_t>(found - group.bases.begin()),
                            static_cast<std::uint64_t>(code.offset)});
}

void AnnounceEmitter::emit_loads() {
  KnownGroup loads;
  for (const Item& item : segment_.items) {
    if (is_watched(item) && item.operation->act == Act::load) add(item, loads);
  }
  if (!loads.accesses.empty()) announce(std::move(loads));
}

void AnnounceEmitter::emit_store(const Item& store) {
  for (std::size_t i = 1; i < store.operation->in.size(); ++i) {
    if (store.in_slots[i] == kNoSlot) continue;
    write_lanes(a_, plan_.registers()[store.operation->in[i]],
                {store.in_slots[i], store.in_numbers[i]},
                store.in_shapes[i] == kUniform ? nullptr : &shapes_[store.in_shapes[i]]);
  }
  KnownGroup group;
  add(store, group);
  announce(std::move(group));
}

void AnnounceEmitter::announce(KnownGroup&& group) {
  group.number = numbers_.groups++;
  auto kept = std::make_unique<const KnownGroup>(std::move(group));
  a_.mov_constant(rsi, reinterpret_cast<std::uint64_t>(kept.get()));
  emit_call(a_, &announce_accesses);
  announced_.push_back(std::move(kept));
}

}  // namespace tilescope::emulator::compiled
