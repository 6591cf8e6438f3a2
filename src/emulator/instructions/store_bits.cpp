// The bits of a store for observers, while its event lasts.
#include <bit>
#include <cstring>

#include "emulator/events.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {

std::uint64_t stored_bits(const Access& store, int lane, std::uint64_t address,
                          std::uint32_t bytes) {
  const Code& c = *store.code;
  const unsigned element = c.aux & kElementBytes, slot = (c.aux >> kSlotBytesShift) & 63;
  const unsigned count = (c.aux >> kElementCountShift) & 0xff;
  const auto begin = static_cast<unsigned>(address - store.addresses[lane]);
  std::uint64_t result = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    const unsigned at = begin + i;
    std::uint64_t value[2];
    read_lane(*store.context, count == 1 ? c.b : c.list[at / element], slot, lane, value);
    const unsigned in_element = at % element;
    result |= (value[in_element / 8] >> in_element % 8 * 8 & 0xff) << i * 8;
  }
  return result;
}

std::uint64_t present_bits(const Access& store, std::uint64_t address, std::uint32_t bytes) {
  const int lane = std::countr_zero(store.mask);
  std::uint64_t addresses[32] = {};
  addresses[lane] = address;
  const LaneTargets found =
      find_lanes(*store.context, *store.code, addresses, LaneMask{1} << lane,
                 static_cast<std::uint8_t>(store.space), bytes, 1, AccessKind::load);
  std::uint64_t bits = 0;
  if (found.host[lane] != nullptr) std::memcpy(&bits, found.host[lane], bytes);
  return bits;
}

}  // namespace tilescope::emulator
