#include "gpu/coalescing.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace tilescope::gpu {
namespace {

constexpr std::uint32_t kAll = 0xffffffffu;

std::array<std::uint64_t, 32> lanes(const std::function<int(int)>& address) {
  std::array<std::uint64_t, 32> result{};
  for (int l = 0; l < 32; ++l) {
    result[static_cast<std::size_t>(l)] = static_cast<std::uint64_t>(address(l));
  }
  return result;
}
Sectors sectors(int bytes, const std::function<int(int)>& address, std::uint32_t mask = kAll,
                int block = kSectorBytes) {
  return coalesce(lanes(address).data(), mask, bytes, block);
}

TEST(Coalescing, ConsecutiveFloats) {
  EXPECT_EQ(sectors(4, [](int l) { return 512 + 4 * l; }), (Sectors{4, 4}));
  EXPECT_EQ(sectors(4, [](int l) { return 516 + 4 * l; }), (Sectors{5, 4}));
  EXPECT_EQ(sectors(
                4, [](int l) { return 512 + 4 * l; }, kAll, kLineBytes),
            (Sectors{1, 1}));
}
TEST(Coalescing, OneWordForAll) {
  EXPECT_EQ(sectors(4, [](int) { return 100; }), (Sectors{1, 1}));
}
TEST(Coalescing, StridedAccessTouchesASectorPerLane) {
  EXPECT_EQ(sectors(4, [](int l) { return 1024 * l; }), (Sectors{32, 4}));
  EXPECT_EQ(sectors(4, [](int l) { return 8 * l; }), (Sectors{8, 4}));
  EXPECT_EQ(sectors(4, [](int l) { return 4096 - 4 * l; }), (Sectors{5, 4}));
}
TEST(Coalescing, WideAccesses) {
  EXPECT_EQ(sectors(16, [](int l) { return 16 * l; }), (Sectors{16, 16}));
  EXPECT_EQ(sectors(8, [](int l) { return 24 * l; }), (Sectors{24, 8}));
}
TEST(Coalescing, OnlyLanesOfTheMaskCount) {
  EXPECT_EQ(sectors(
                4, [](int l) { return 4 * l; }, 0x0000000f),
            (Sectors{1, 1}));
  EXPECT_EQ(sectors(
                1, [](int l) { return 64 * l; }, 0x80000001),
            (Sectors{2, 1}));
}
TEST(Coalescing, LocalMemoryInterleavesTheLanes) {
  EXPECT_EQ(coalesce_local(lanes([](int) { return 8; }).data(), kAll, 4), (Sectors{4, 4}));
  EXPECT_EQ(coalesce_local(lanes([](int) { return 16; }).data(), kAll, 16), (Sectors{16, 16}));
  EXPECT_EQ(coalesce_local(lanes([](int l) { return 4 * l; }).data(), kAll, 4), (Sectors{32, 4}));
}

/// Copies of a warp by cp.async with the sectors that Nsight Compute counted on an H200
/// (bench/copy_sectors.cu).
TEST(Coalescing, CopiesToSharedMemoryAreThoseOfAnH200) {
  std::ifstream lines(TILESCOPE_TEST_DATA "/ncu/async_copies_h200.txt");
  std::string line;
  std::getline(lines, line);  // describes the others
  int past_l1 = 0, through_l1 = 0;
  for (; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string cache;
    int bytes = 0;
    std::uint32_t mask = 0, measured = 0;
    in >> cache >> bytes >> std::hex >> mask >> std::dec >> measured;
    std::array<std::uint64_t, 32> from{}, to{};
    for (std::size_t l = 0; l < from.size(); ++l) {
      int read = 0;
      in >> from[l] >> to[l] >> read;
      if (read == 0) mask &= ~(1u << l);
    }
    ASSERT_TRUE(in) << line;
    const bool past = cache == "cg";
    ++(past ? past_l1 : through_l1);
    const Sectors ours = past ? coalesce_to_shared(from.data(), to.data(), mask)
                              : coalesce(from.data(), mask, bytes);
    EXPECT_EQ(ours.sectors, measured) << line;
  }
  EXPECT_GT(past_l1, 60);
  EXPECT_GT(through_l1, 40);
}

}  // namespace
}  // namespace tilescope::gpu
