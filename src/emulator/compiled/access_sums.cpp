#include "emulator/compiled/access_sums.hpp"

namespace tilescope::emulator::compiled {
namespace {

using WarpAddresses = std::array<std::uint64_t, kWarpSize>;

/// Addresses of a warp that is far from address zero.
WarpAddresses addresses_at(const SummedAccess& access, std::uint64_t first) {
  constexpr std::uint64_t kFarFromZero = std::uint64_t{1} << 30;
  WarpAddresses result;
  for (std::size_t lane = 0; lane < result.size(); ++lane) {
    result[lane] = kFarFromZero + first + static_cast<std::uint64_t>(access.differences[lane]);
  }
  return result;
}

}  // namespace

AccessSum sum_of(const SummedAccess& access, const SumGroup& group, std::uint32_t entry,
                 std::uint64_t times) {
  const Code& code = *access.code;
  AccessSum sum{.instruction = code.id,
                .bytes = code.bytes,
                .space = access.space,
                .kind = access.kind,
                .addresses = {},
                .sources = {},
                .times = times};
  const std::uint64_t number = entry - group.first_entry;
  if (group.copies) {
    sum.sources = addresses_at(group.accesses.front(), number / group.halves * group.step);
    sum.addresses = addresses_at(access, number % group.halves * kHalfSector);
    return sum;
  }
  // Where there is one entry, only the differences matter.
  const std::int64_t offset = group.entries() == 1 ? 0 : access.offset - group.lowest;
  sum.addresses = addresses_at(access, number * group.step + static_cast<std::uint64_t>(offset));
  return sum;
}

}  // namespace tilescope::emulator::compiled
