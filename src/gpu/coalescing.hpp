// Global and local memory: from the addresses of one warp instruction to its sectors.
//
// One warp instruction with at least one participating lane is one request. The request fetches the
// 32-byte blocks ("sectors") that its lanes touch, each once.
#pragma once

#include <cstdint>

namespace tilescope::gpu {

inline constexpr int kSectorBytes = 32;
inline constexpr int kLineBytes = 128;

struct Sectors {
  std::uint32_t sectors = 0;
  /// The fewest sectors for as many different bytes as the lanes touch, if they were contiguous
  /// from a sector's start.
  std::uint32_t ideal = 0;
  friend bool operator==(const Sectors&, const Sectors&) = default;
};

/// Bytes from `begin` on, before `end`.
struct Interval {
  std::uint64_t begin, end;
};
/// The sectors of intervals that begin in ascending order. They may overlap.
Sectors cover(const Interval* first, const Interval* end, int block_bytes = kSectorBytes);

/// The sectors of `addresses` of 32 lanes, of which those in `mask` count, `bytes` a lane (1 to
/// 32). `block_bytes`: a power of two; 32 for sectors, 128 for lines.
Sectors coalesce(const std::uint64_t* addresses, std::uint32_t mask, int bytes,
                 int block_bytes = kSectorBytes);

/// cp.async that passes by the L1 cache (.cg), 16 bytes a lane: each line of global memory counts
/// the sectors of shared memory that it fills, so that a sector counts twice if its two halves come
/// from different lines, or go to different sectors. Measured on an H200: tiles with rows of 64
/// bytes that begin in the middle of a sector have 18 sectors a request, where 20 are touched.
Sectors coalesce_to_shared(const std::uint64_t* from, const std::uint64_t* to, std::uint32_t mask);

/// The address of byte `offset` of a lane's local memory. The words of a warp's 32 lanes are
/// interleaved, so that lanes at the same offset touch one line.
constexpr std::uint64_t local_address(std::uint64_t offset, int lane) {
  return offset / 4 * 128 + static_cast<std::uint64_t>(lane) * 4 + offset % 4;
}

/// Sectors of an access to local memory, `offsets` in bytes.
Sectors coalesce_local(const std::uint64_t* offsets, std::uint32_t mask, int bytes);

}  // namespace tilescope::gpu
