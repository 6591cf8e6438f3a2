// Tiling divides the traffic to global memory by the tile's width: with the same blocks of W x W
// threads, the kernel without tiles loads W times as often as the one with tiles of W.
#include <gtest/gtest.h>

#include "matmul_rungs.hpp"
#include "observe/count/count_observer.hpp"

namespace tilescope::observe {
namespace {

SectorCounts loads_of(const testing::Rung& rung, std::uint32_t n) {
  CountObserver counter;
  testing::run_rung(rung, n, {&counter});
  return counter.result().totals.global_load;
}

TEST(TileTraffic, LoadsFallByTheWidth) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  constexpr std::uint32_t n = 64;
  for (const std::uint32_t width : {2u, 4u, 8u, 16u, 32u}) {
    SCOPED_TRACE(width);
    const Launch launch{{n / width, n / width}, {width, width}};
    const SectorCounts naive = loads_of({"naive", "03_register_accumulator", {}, launch}, n);
    const SectorCounts tiled =
        loads_of({"tiled", "06_tiled", {{"TILE", std::to_string(width)}}, launch}, n);
    EXPECT_EQ(naive.requests, width * tiled.requests);
    // Every thread of the naive kernel loads 2n floats, in warps of at most width * width threads.
    EXPECT_EQ(naive.requests * std::min(32u, width * width), std::uint64_t{2} * n * n * n);
  }
}

TEST(TileTraffic, OfTheLadderItself) {
  if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  constexpr std::uint32_t n = 64;
  const auto rung = [&](const std::string& name) {
    for (const testing::Rung& r : testing::rungs(n)) {
      if (r.name == name) return r;
    }
    throw std::logic_error(name);
  };
  // From a width on that fills warps the requests themselves fall.
  const std::uint64_t naive = loads_of(rung("register_accumulator_32"), n).requests;
  for (const std::uint32_t width : {8u, 16u, 32u}) {
    EXPECT_EQ(loads_of(rung("tiled_" + std::to_string(width)), n).requests, naive / width) << width;
  }
}

}  // namespace
}  // namespace tilescope::observe
