#include "gpu/coalescing.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace tilescope::gpu {
namespace {

void sort(Interval* first, Interval* end) {
  const auto begins_earlier = [](const Interval& a, const Interval& b) {
    return a.begin < b.begin;
  };
  // Lanes mostly lie in ascending order.
  if (!std::is_sorted(first, end, begins_earlier)) std::sort(first, end, begins_earlier);
}

}  // namespace

Sectors cover(const Interval* first, const Interval* end, int block_bytes) {
  const auto bytes_of_block = static_cast<unsigned>(block_bytes);
  const int shift = std::countr_zero(bytes_of_block);
  std::uint64_t blocks = 0, bytes = 0;
  std::uint64_t next_block = 0, next_byte = 0;  // the first not counted yet
  for (const Interval* i = first; i != end; ++i) {
    const std::uint64_t last_block = (i->end - 1) >> shift;
    const std::uint64_t first_block = std::max(i->begin >> shift, next_block);
    if (last_block >= first_block) {
      blocks += last_block - first_block + 1;
      next_block = last_block + 1;
    }
    const std::uint64_t from = std::max(i->begin, next_byte);
    if (i->end > from) {
      bytes += i->end - from;
      next_byte = i->end;
    }
  }
  return {static_cast<std::uint32_t>(blocks),
          static_cast<std::uint32_t>((bytes + bytes_of_block - 1) >> shift)};
}

Sectors coalesce(const std::uint64_t* addresses, std::uint32_t mask, int bytes, int block_bytes) {
  std::array<Interval, 32> intervals;
  std::size_t count = 0;
  for (std::uint32_t m = mask; m != 0; m &= m - 1) {
    const std::uint64_t address = addresses[std::countr_zero(m)];
    intervals[count++] = {address, address + static_cast<unsigned>(bytes)};
  }
  sort(intervals.data(), intervals.data() + count);
  return cover(intervals.data(), intervals.data() + count, block_bytes);
}

Sectors coalesce_to_shared(const std::uint64_t* from, const std::uint64_t* to, std::uint32_t mask) {
  std::array<std::pair<std::uint64_t, std::uint64_t>, 32> fills;  // line, sector of shared memory
  std::size_t count = 0;
  for (std::uint32_t m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    fills[count++] = {from[lane] / kLineBytes, to[lane] / kSectorBytes};
  }
  const auto end = fills.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(fills.begin(), end);
  const auto sectors = std::unique(fills.begin(), end) - fills.begin();
  constexpr int copied_bytes = 16;
  return {static_cast<std::uint32_t>(sectors), coalesce(from, mask, copied_bytes).ideal};
}

Sectors coalesce_local(const std::uint64_t* offsets, std::uint32_t mask, int bytes) {
  std::array<Interval, 32 * 8> intervals;
  std::size_t count = 0;
  for (std::uint32_t m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    for (int done = 0; done < bytes; done += 4) {
      const std::uint64_t at = local_address(offsets[lane] + static_cast<unsigned>(done), lane);
      intervals[count++] = {at, at + static_cast<unsigned>(std::min(bytes, 4))};
    }
  }
  sort(intervals.data(), intervals.data() + count);
  return cover(intervals.data(), intervals.data() + count);
}

}  // namespace tilescope::gpu
