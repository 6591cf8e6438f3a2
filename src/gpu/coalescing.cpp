#include "gpu/coalescing.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace tilescope::gpu {
namespace {

struct Interval {
  std::uint64_t begin, end;
};

/// Blocks and bytes covered together by sorted or unsorted intervals.
Sectors cover(Interval* begin, Interval* end, unsigned block_bytes) {
  std::sort(begin, end, [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  const int shift = std::countr_zero(block_bytes);
  std::uint64_t blocks = 0, bytes = 0;
  std::uint64_t next_block = 0, next_byte = 0;  // the first not counted yet
  for (const Interval* i = begin; i != end; ++i) {
    const std::uint64_t last = (i->end - 1) >> shift;
    const std::uint64_t first = std::max(i->begin >> shift, next_block);
    if (last >= first) {
      blocks += last - first + 1;
      next_block = last + 1;
    }
    const std::uint64_t from = std::max(i->begin, next_byte);
    if (i->end > from) {
      bytes += i->end - from;
      next_byte = i->end;
    }
  }
  return {static_cast<std::uint32_t>(blocks),
          static_cast<std::uint32_t>((bytes + block_bytes - 1) >> shift)};
}

}  // namespace

Sectors coalesce(const std::uint64_t* addresses, std::uint32_t mask, int bytes, int block_bytes) {
  std::array<Interval, 32> intervals;
  std::size_t count = 0;
  for (std::uint32_t m = mask; m != 0; m &= m - 1) {
    const std::uint64_t address = addresses[std::countr_zero(m)];
    intervals[count++] = {address, address + static_cast<unsigned>(bytes)};
  }
  return cover(intervals.data(), intervals.data() + count, static_cast<unsigned>(block_bytes));
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
  return cover(intervals.data(), intervals.data() + count, kSectorBytes);
}

}  // namespace tilescope::gpu
