#include "report/lane_pattern.hpp"

#include <algorithm>
#include <cstdlib>

#include "gpu/shared_banks.hpp"

namespace tilescope::report {
namespace {

using observe::LaneSample;

constexpr int lanes = emulator::kWarpSize;

std::array<std::int64_t, 3> coordinates(std::uint32_t warp, int lane, const Dim3& block) {
  const Dim3 t = thread_of_lane(warp, lane, block);
  return {t.x, t.y, t.z};
}

bool takes_part(const LaneSample& sample, int lane) {
  return (sample.mask >> static_cast<unsigned>(lane) & 1U) != 0;
}

/// The step along `axis`, from two lanes that differ in nothing else.
std::optional<std::int64_t> step_along(const LaneSample& sample, const Dim3& block,
                                       std::size_t axis) {
  for (int a = 0; a < lanes; ++a) {
    if (!takes_part(sample, a)) continue;
    const auto at = coordinates(sample.warp, a, block);
    for (int b = a + 1; b < lanes; ++b) {
      if (!takes_part(sample, b)) continue;
      auto other = coordinates(sample.warp, b, block);
      const std::int64_t distance = other[axis] - at[axis];
      other[axis] = at[axis];
      if (distance == 0 || other != at) continue;
      const auto difference =
          static_cast<std::int64_t>(sample.addresses[static_cast<std::size_t>(b)] -
                                    sample.addresses[static_cast<std::size_t>(a)]);
      if (difference % distance != 0) return std::nullopt;
      return difference / distance;
    }
  }
  return std::nullopt;
}

}  // namespace

Dim3 thread_of_lane(std::uint32_t warp, int lane, const Dim3& block) {
  const std::uint32_t linear = warp * lanes + static_cast<std::uint32_t>(lane);
  const std::uint32_t x = std::max(block.x, 1U), y = std::max(block.y, 1U);
  return {linear % x, linear / x % y, linear / x / y};
}

std::optional<LanePattern> lane_pattern(const LaneSample& sample, const Dim3& block) {
  LanePattern pattern;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    pattern.step[axis] = step_along(sample, block, axis);
  }
  std::optional<std::int64_t> constant;
  for (int lane = 0; lane < lanes; ++lane) {
    if (!takes_part(sample, lane)) continue;
    auto rest = static_cast<std::int64_t>(sample.addresses[static_cast<std::size_t>(lane)]);
    const auto at = coordinates(sample.warp, lane, block);
    for (std::size_t axis = 0; axis < 3; ++axis) rest -= pattern.step[axis].value_or(0) * at[axis];
    if (constant && *constant != rest) return std::nullopt;
    constant = rest;
  }
  return pattern;
}

std::optional<Padding> curing_padding(const LaneSample& sample, const Dim3& block,
                                      const LanePattern& pattern) {
  const std::int64_t element = sample.bytes;
  std::int64_t row = 0;
  for (const auto& step : pattern.step) row = std::max(row, std::abs(step.value_or(0)));
  constexpr std::int64_t most_padding = 8;
  if (sample.ways < 2 || row <= element || row % element != 0) return std::nullopt;
  for (std::int64_t padding = 1; padding <= most_padding; ++padding) {
    std::array<std::uint64_t, emulator::kWarpSize> moved{};
    for (int lane = 0; lane < lanes; ++lane) {
      const auto at = coordinates(sample.warp, lane, block);
      std::int64_t address = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t step = pattern.step[axis].value_or(0);
        // A step of whole rows grows with the rows; a step within a row stays.
        const std::int64_t rows = step % row == 0 ? step / row : 0;
        address += (step + rows * padding * element) * at[axis];
      }
      moved[static_cast<std::size_t>(lane)] = static_cast<std::uint64_t>(address);
    }
    const gpu::SharedWavefronts waves =
        gpu::shared_wavefronts(moved.data(), sample.mask, static_cast<int>(sample.bytes));
    if (waves.conflicts() == 0) return Padding{row / element, padding, moved};
  }
  return std::nullopt;
}

}  // namespace tilescope::report
