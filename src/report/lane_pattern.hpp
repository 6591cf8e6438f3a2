// The dependence of one warp access's addresses on threadIdx.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tilescope/launch.hpp>

#include "observe/trace/lane_samples.hpp"

namespace tilescope::report {

/// threadIdx of lane `lane` of warp `warp` in blocks of `block` threads.
Dim3 thread_of_lane(std::uint32_t warp, int lane, const Dim3& block);

/// address = constant + step[0] * threadIdx.x + step[1] * threadIdx.y + step[2] * threadIdx.z, in
/// bytes. A component that does not vary within the access has no step.
struct LanePattern {
  std::array<std::optional<std::int64_t>, 3> step;
};

/// Nothing if the addresses are no such sum.
std::optional<LanePattern> lane_pattern(const observe::LaneSample& sample, const Dim3& block);

/// The padding, in elements at the end of each row, that frees an access to shared memory of its
/// bank conflicts: `row_bytes` is the length of a row without it. Nothing if there is no conflict,
/// no row, or no padding up to 8 elements that cures it.
struct Padding {
  std::int64_t row_elements = 0;
  std::int64_t elements = 0;
  std::array<std::uint64_t, emulator::kWarpSize>
      addresses{};  ///< of the lanes, from the pattern's 0
};
std::optional<Padding> curing_padding(const observe::LaneSample& sample, const Dim3& block,
                                      const LanePattern& pattern);

}  // namespace tilescope::report
