#include "observe/check/lane_cells.hpp"

#include <algorithm>
#include <bit>

namespace tilescope::observe {
namespace {

/// As std::has_single_bit, which is a call where the compiler may not count bits.
bool is_power_of_two(std::size_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

}  // namespace

void LaneCells::learn(const emulator::Access& access) {
  pattern = access.pattern;
  low_bits = static_cast<std::uint32_t>(base_address(access) & 3);
  const bool matrix = access.kind == emulator::AccessKind::matrix_load ||
                      access.kind == emulator::AccessKind::matrix_store;
  const std::uint32_t bytes = matrix ? 16 : access.bytes;
  unit = bytes % 4 == 0 ? 4 : 1;
  const std::uint64_t base = base_address(access);
  cells.clear();
  bool ascending = true;
  for (emulator::LaneMask m = access.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const emulator::LaneMask bit = emulator::LaneMask{1} << lane;
    const auto first = static_cast<std::int64_t>(access.addresses[lane] - base);
    for (std::uint32_t done = 0; done < bytes; done += unit) {
      const std::int64_t offset = first + done;
      if (!cells.empty() && cells.back().offset == offset) {
        cells.back().lanes |= bit;
      } else {
        ascending = ascending && (cells.empty() || cells.back().offset < offset);
        cells.push_back({offset, bit});
      }
    }
  }
  if (!ascending) sort_cells();
  runs.clear();
  for (const TouchedCell& cell : cells) {
    if (!runs.empty() && runs.back().offset + runs.back().bytes == cell.offset) {
      runs.back().bytes += unit;
    } else {
      runs.push_back({cell.offset, unit});
    }
  }
  apart = unit == 4 && runs.size() == cells.size() && cells.size() <= ScatteredWords::kMost;
  using emulator::AccessKind;
  const bool special = access.kind == AccessKind::atomic || access.kind == AccessKind::reduction ||
                       access.kind == AccessKind::async_store;
  if (special) return;
  find_lanes();
  if (access.space == emulator::Space::global) find_run_lanes();
}

/// In ascending order, each once.
void LaneCells::sort_cells() {
  std::sort(cells.begin(), cells.end(),
            [](const TouchedCell& a, const TouchedCell& b) { return a.offset < b.offset; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (cells[i].offset == cells[last].offset) {
      cells[last].lanes |= cells[i].lanes;
    } else {
      cells[++last] = cells[i];
    }
  }
  cells.resize(last + 1);
}

void LaneCells::find_lanes() {
  collides = false;
  first_lanes_.resize(cells.size() + 2 * kAround, kNoLane);
  second_lanes_.resize(cells.size() + 2 * kAround, kNoLane);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const emulator::LaneMask rest = cells[i].lanes & (cells[i].lanes - 1);
    collides = collides || rest != 0;
    first_lanes_[kAround + i] = static_cast<std::uint32_t>(std::countr_zero(cells[i].lanes)) << 2;
    second_lanes_[kAround + i] =
        rest == 0 ? kNoLane : static_cast<std::uint32_t>(std::countr_zero(rest)) << 2;
  }
}

void LaneCells::find_run_lanes() {
  run_lanes.clear();
  if (unit != 4) return;
  std::size_t first = 0;
  for (const Run& run : runs) {
    run_lanes.push_back(lanes_in_order(first, run.bytes / 4));
    first += run.bytes / 4;
  }
}

LaneCells::RunLanes LaneCells::lanes_in_order(std::size_t first, std::size_t count) const {
  const auto lane = [&](std::size_t i) { return first_lanes_[kAround + first + i] >> 2; };
  const auto second = [&](std::size_t i) { return second_lanes_[kAround + first + i]; };
  std::size_t alike = 1;  // words of the first lane
  while (alike < count && lane(alike) == lane(0)) ++alike;
  std::uint16_t shift = LaneOrder::kOne;
  if (alike < count) {
    shift = static_cast<std::uint16_t>(std::bit_width(alike) - (is_power_of_two(alike) ? 1 : 0));
    // The first lane may have fewer words in the run than the others.
    std::size_t next = alike;
    while (next < count && lane(next) == lane(alike)) ++next;
    const std::size_t of_next = next - alike;
    if (next < count && is_power_of_two(of_next)) {
      shift = static_cast<std::uint16_t>(std::bit_width(of_next) - 1);
    }
  }
  RunLanes result;
  const std::uint32_t from = lane(0);
  result.order.shift = shift;
  result.order.phase = static_cast<std::uint16_t>(
      shift == LaneOrder::kOne ? from << shift : ((from + 1) << shift) - alike);
  if (second(0) != kNoLane) result.second = (second(0) >> 2) - from;
  if (shift != LaneOrder::kOne && alike > std::size_t{1} << shift) return {};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t next = result.second == 0 ? kNoLane : (lane(i) + result.second) << 2;
    if (lane(i) != result.order.lane(static_cast<std::uint32_t>(i)) || second(i) != next) return {};
  }
  result.known = true;
  return result;
}

}  // namespace tilescope::observe
