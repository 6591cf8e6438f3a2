#include "observe/lane_runs.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <vector>

#include "gpu/coalescing.hpp"

namespace tilescope::observe {
namespace {

/// Lanes in order, backwards, at random, on top of each other and apart: the runs are the bytes
/// that they touch, and have their sectors.
TEST(LaneRuns, AreTheBytesThatLanesTouch) {
  std::mt19937 random(5);
  std::vector<observe::Run> runs;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t bytes = std::uint64_t{1} << (i % 6), stride = bytes * (random() % 4);
    const std::uint64_t from = 1'000'000 + random() % 64 * bytes;
    const std::uint32_t mask = i % 4 == 0 ? static_cast<std::uint32_t>(random()) | 2 : ~0u;
    const int order = i / 6 % 4;
    std::array<std::uint64_t, 32> addresses{};
    std::set<std::uint64_t> touched;
    for (std::uint64_t l = 0; l < 32; ++l) {
      const std::uint64_t place = order == 0   ? l * stride
                                  : order == 1 ? (31 - l) * stride
                                  : order == 2 ? random() % 40 * bytes
                                               : l / 12 * 320 + l % 12 * stride;
      addresses[l] = from + place;
      for (std::uint64_t b = 0; b < bytes; ++b) {
        if ((mask >> l & 1) != 0) touched.insert(addresses[l] + b);
      }
    }
    emulator::Access access{};
    access.mask = mask;
    access.bytes = static_cast<std::uint16_t>(bytes);
    access.addresses = addresses.data();
    find_runs(access, runs);
    std::vector<gpu::Interval> intervals;
    std::set<std::uint64_t> found;
    for (const observe::Run& run : runs) {
      const std::uint64_t begin = base_address(access) + static_cast<std::uint64_t>(run.offset);
      EXPECT_TRUE(intervals.empty() || begin > intervals.back().end) << i;
      intervals.push_back({begin, begin + run.bytes});
      for (std::uint64_t b = 0; b < run.bytes; ++b) found.insert(begin + b);
    }
    EXPECT_EQ(found, touched) << i;
    EXPECT_EQ(gpu::cover(intervals.data(), intervals.data() + intervals.size()),
              gpu::coalesce(addresses.data(), mask, static_cast<int>(bytes)))
        << i;
  }
}

}  // namespace
}  // namespace tilescope::observe
