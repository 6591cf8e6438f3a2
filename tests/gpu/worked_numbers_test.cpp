// The numbers that the lectures work out by hand, each computed through the public API. Where a
// lecture slipped, the test names its figure beside the right one.
#include <gtest/gtest.h>

#include <tilescope/gpu/access.hpp>
#include <tilescope/gpu/banks.hpp>
#include <tilescope/gpu/dram.hpp>
#include <tilescope/gpu/gpu_table.hpp>
#include <tilescope/gpu/occupancy.hpp>
#include <tilescope/gpu/roofline.hpp>
#include <tilescope/gpu/tiles.hpp>
#include <tilescope/gpu/warps.hpp>

namespace tilescope::gpu {
namespace {

TilePlan tile(int width, const char* gpu_name) {
  const Gpu gpu = find_gpu(gpu_name);
  return plan_tile(TileShape::square(width), gpu.properties, gpu.units);
}

Occupancy blocks(const BlockNeeds& needs, const char* gpu_name) {
  const Gpu gpu = find_gpu(gpu_name);
  return occupancy(needs, gpu.properties, gpu.units);
}

// --- tiles ---------------------------------------------------------------------------------------

TEST(WorkedNumbers, TileOf16) {
  const TilePlan plan = tile(16, "h200");
  EXPECT_EQ(plan.needs.threads, 256);
  EXPECT_EQ(plan.loads_per_phase, 512);
  EXPECT_EQ(plan.operations_per_phase, 8192);
  EXPECT_DOUBLE_EQ(plan.operations_per_load, 16.0);
}

TEST(WorkedNumbers, TileOf32) {
  const TilePlan plan = tile(32, "h200");
  EXPECT_EQ(plan.needs.threads, 1024);
  EXPECT_EQ(plan.loads_per_phase, 2048);
  EXPECT_EQ(plan.operations_per_phase, 65536);
  EXPECT_DOUBLE_EQ(plan.operations_per_load, 32.0);
}

TEST(WorkedNumbers, SmWith48KB) {
  const TilePlan narrow = tile(16, "s0-48k"), wide = tile(32, "s0-48k");
  EXPECT_EQ(narrow.needs.shared_bytes, 2 * 1024);
  EXPECT_EQ(narrow.occupancy.blocks_per_sm, 24);
  EXPECT_EQ(narrow.pending_loads, 12 * 1024);
  EXPECT_EQ(wide.needs.shared_bytes, 8 * 1024);
  EXPECT_EQ(wide.occupancy.blocks_per_sm, 6);
  EXPECT_EQ(wide.pending_loads, 12 * 1024);
}

TEST(WorkedNumbers, SmWith16KB) {
  EXPECT_EQ(tile(16, "s3").occupancy.blocks_per_sm, 8);
  EXPECT_EQ(tile(16, "s3").pending_loads, 4096);
  EXPECT_EQ(tile(32, "s3").occupancy.blocks_per_sm, 2);
  EXPECT_EQ(tile(32, "s3-1536").occupancy.blocks_per_sm, 1);
  EXPECT_EQ(tile(32, "s3-1536").occupancy.limiters.front(), Limiter::threads);
}

// --- occupancy -----------------------------------------------------------------------------------

TEST(WorkedNumbers, RegistersLimitThreads) {
  const Gpu sm = find_gpu("s0");
  EXPECT_EQ(registers_for_full_occupancy(sm.properties, sm.units), 10);
  const Occupancy ten = blocks({.threads = 512, .registers_per_thread = 10}, "s0");
  EXPECT_EQ(ten.threads_per_sm, 1536);
  const Occupancy eleven = blocks({.threads = 512, .registers_per_thread = 11}, "s0");
  EXPECT_EQ(eleven.blocks_per_sm, 2);
  EXPECT_EQ(eleven.threads_per_sm, 1024);
  EXPECT_EQ(eleven.limiters, std::vector{Limiter::registers});
}

TEST(WorkedNumbers, SharedMemoryLimitsBlocks) {
  const Occupancy five = blocks({.threads = 128, .shared_bytes = 3 * 1024}, "s0");
  EXPECT_EQ(five.blocks_per_sm, 5);
  EXPECT_EQ(five.limiters, std::vector{Limiter::shared_memory});
  const Occupancy six = blocks({.threads = 256, .shared_bytes = 2 * 1024}, "s0");
  EXPECT_EQ(six.blocks_per_sm, 6);
  EXPECT_EQ(six.limiters, std::vector{Limiter::threads});
}

TEST(WorkedNumbers, SharedMemoryPerThreadOfAnH100) {
  const std::int64_t lecture = 112;
  const std::int64_t right = 114;  // 228 x 1,024 / 2,048
  const std::int64_t bytes = shared_bytes_per_thread_at_full_occupancy(find_gpu("h100").properties);
  EXPECT_EQ(bytes, right);
  EXPECT_NE(bytes, lecture);
  for (const int width : {16, 32}) {
    const TilePlan plan = tile(width, "h100");
    EXPECT_EQ(plan.needs.shared_bytes / plan.needs.threads, 8);
  }
}

// --- intensity -----------------------------------------------------------------------------------

TEST(WorkedNumbers, InnerProductOnAnH100) {
  EXPECT_DOUBLE_EQ(tile_intensity(1, 1), 0.25);
  EXPECT_DOUBLE_EQ(intensity(2, 8), 0.25);
  const Gpu h100 = find_gpu("h100");
  const double tensor_peak = h100.rate("tf32_tensor")->flops_per_second;
  const double peak = h100.rate("fp32")->flops_per_second;
  EXPECT_NEAR(tensor_peak, 494.7e12, 0.05e12);
  EXPECT_NEAR(peak, 66.9e12, 0.05e12);
  // The lecture rounds the bandwidth to 3 TB/s.
  const Roofline roof = make_roofline(3000e9, peak);
  EXPECT_DOUBLE_EQ(roof.attainable(0.25), 750e9);
  EXPECT_NEAR(100.0 * 750e9 / tensor_peak, 0.15, 0.005);
  EXPECT_NEAR(100.0 * roof.attainable(0.25) / peak, 1.1, 0.05);
  EXPECT_TRUE(roof.memory_bound(0.25));
}

TEST(WorkedNumbers, TileOf16OnAnH100) {
  EXPECT_DOUBLE_EQ(tile_intensity(16, 16), 4.0);
  EXPECT_DOUBLE_EQ(tile(16, "h100").intensity, 4.0);
  EXPECT_DOUBLE_EQ(make_roofline(3000e9, 66.9e12).attainable(4.0), 12000e9);
}

TEST(WorkedNumbers, BlurOnTheLecturesGpu) {
  const Roofline roof = find_gpu("s3").roofline();
  const double one_access_an_addition = intensity(1, 4);
  EXPECT_DOUBLE_EQ(roof.bandwidth_for_peak(one_access_an_addition), 6000e9);
  EXPECT_DOUBLE_EQ(roof.attainable(one_access_an_addition), 50e9);
  EXPECT_NEAR(100.0 * roof.attainable(one_access_an_addition) / roof.flops_per_second, 3.3, 0.05);
}

// --- divergence ----------------------------------------------------------------------------------

TEST(WorkedNumbers, ThreadIndexDivergesInTheFirstWarpOnly) {
  const Launch one_block{.grid = {1}, .block = {256}};
  const DivergenceCount count = count_divergence("threadIdx.x > 2", one_block);
  EXPECT_EQ(count.divergent_warps, 1U);
  EXPECT_EQ(count.warps, 8U);
  // A block of one warp has that warp alone.
  EXPECT_EQ(count_divergence("threadIdx.x > 2", {.grid = {1}, .block = {32}}).divergent, 1U);
}

TEST(WorkedNumbers, BlockIndexNeverDiverges) {
  EXPECT_EQ(count_divergence("blockIdx.x > 2", {.grid = {8}, .block = {256}}).divergent, 0U);
}

TEST(WorkedNumbers, VectorOf1000) {
  const DivergenceCount count = vector_bounds(1000, 256);
  EXPECT_EQ(count.warps, 32U);
  EXPECT_EQ(count.divergent, 1U);
  const DivergenceCount counted = count_divergence("i < 1000", {.grid = {4}, .block = {256}});
  EXPECT_EQ(counted.divergent, 1U);
  EXPECT_EQ(counted.warps, 32U);
}

TEST(WorkedNumbers, LoadingTilesOf100x100) {
  const TileLoadDivergence m = tile_load_divergence(Operand::a, 100, 100, 100, 16);
  EXPECT_EQ(m.total().blocks, 49U);
  EXPECT_EQ(m.inside.blocks, 42U);
  EXPECT_EQ(m.inside.warps, 336U);
  EXPECT_EQ(m.inside.evaluations, 2352U);
  EXPECT_EQ(m.inside.divergent, 336U);
  EXPECT_EQ(m.edge.blocks, 7U);
  EXPECT_EQ(m.edge.warps, 56U);
  EXPECT_EQ(m.edge.evaluations, 392U);
  EXPECT_EQ(m.edge.divergent, 14U);

  const std::uint64_t lecture = 2944;  // and "less than 12%"
  const std::uint64_t right = 2352 + 392;
  EXPECT_EQ(m.total().divergent, 350U);
  EXPECT_EQ(m.total().evaluations, right);
  EXPECT_EQ(m.total().evaluations, 2744U);
  EXPECT_NE(m.total().evaluations, lecture);
  EXPECT_NEAR(100.0 * m.total().share(), 12.8, 0.05);
  EXPECT_GT(100.0 * m.total().share(), 12.0);

  // The same by evaluating the condition for every thread.
  const DivergenceCount counted =
      count_divergence("row < 100 && ph * 16 + tx < 100", {.grid = {7, 7}, .block = {16, 16}},
                       {.variable = "ph", .first = 0, .last = 7});
  EXPECT_EQ(counted.divergent, 350U);
  EXPECT_EQ(counted.evaluations, 2744U);
}

// --- DRAM ----------------------------------------------------------------------------------------

TEST(WorkedNumbers, Gddr3Channels) {
  const double channel = interface_bandwidth(1.1e9, 64);
  EXPECT_DOUBLE_EQ(channel, 17.6e9);
  EXPECT_EQ(channels_for(141.7e9, channel), 8);
  EXPECT_NEAR(find_gpu("gtx280").bandwidth(), 141.7e9, 0.05e9);
}

TEST(WorkedNumbers, RandomAccess) {
  const SparseUse use = sparse_use(4, 128);
  EXPECT_DOUBLE_EQ(use.times_the_traffic, 32.0);
  EXPECT_NEAR(100.0 * use.wasted_share, 97.0, 0.5);
  const AccessAnswer random = analyse_access({.expression = "A[key[i]]"});
  EXPECT_EQ(random.lines, 32);
}

// --- banks ---------------------------------------------------------------------------------------

TEST(WorkedNumbers, EightBanks) {
  BankMatrix matrix{.banks = 8, .rows = 8, .columns = 8};
  EXPECT_EQ(row_access(matrix).ways, 1);
  EXPECT_EQ(column_access(matrix).ways, 8);
  EXPECT_EQ(padding_that_cures(matrix), 1);
  matrix.padding = 1;
  EXPECT_EQ(column_access(matrix).ways, 1);
}

// --- machines and launches -----------------------------------------------------------------------

TEST(WorkedNumbers, Fermi) {
  const Gpu fermi = find_gpu("c2050");
  EXPECT_EQ(fermi.properties.sm_count * fermi.properties.fp32_lanes_per_sm, 448);
  EXPECT_EQ(fermi.properties.sm_count, 14);
  EXPECT_EQ(fermi.properties.shared_bytes_per_sm, 48U * 1024);
  EXPECT_EQ(fermi.properties.warp_size, 32);
  EXPECT_EQ(fermi.line_bytes, 128);
}

TEST(WorkedNumbers, ListReversal) {
  const DivergenceCount count = vector_bounds(960, 32);
  EXPECT_EQ(count.blocks, 30U);
  EXPECT_EQ(count.divergent, 0U);
}

// 64 x 64 threads: no such launch exists, on the lecture's GPU or on any other.
TEST(WorkedNumbers, BlocksOf4096ThreadsAreImpossible) {
  for (const Gpu& gpu : gpu_table()) {
    const Occupancy result =
        occupancy({.threads = 1536 / 24 * (1536 / 24)}, gpu.properties, gpu.units);
    EXPECT_EQ(result.blocks_per_sm, 0) << gpu.name;
    EXPECT_NE(result.impossible.find("4,096 threads per block"), std::string::npos)
        << result.impossible;
  }
  EXPECT_EQ(blocks({.threads = 1536 / 48 * (1536 / 48)}, "c2050").blocks_per_sm, 1);
}

}  // namespace
}  // namespace tilescope::gpu
