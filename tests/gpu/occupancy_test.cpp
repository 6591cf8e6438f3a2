#include <gmock/gmock.h>

#include <random>
#include <tilescope/error.hpp>
#include <tilescope/gpu/gpu_table.hpp>
#include <tilescope/gpu/occupancy.hpp>

#if __has_include(<cuda_occupancy.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#define TILESCOPE_HAS_CUDA_OCCUPANCY 1
#endif

namespace tilescope::gpu {
namespace {

using ::testing::HasSubstr;

// NVIDIA's own calculator, on the GPUs that it knows (3.0 and later).
TEST(Occupancy, AgreesWithNvidiasCalculatorOn10000Configurations) {
#ifndef TILESCOPE_HAS_CUDA_OCCUPANCY
  GTEST_SKIP() << "cuda_occupancy.h is not among the CUDA headers found here (a full toolkit has "
                  "it, the PyPI wheels may not)";
#else
  std::vector<Gpu> gpus;
  for (const Gpu& gpu : gpu_table()) {
    if (gpu.properties.compute_major >= 3) gpus.push_back(gpu);
  }
  ASSERT_GE(gpus.size(), 8U);
  std::mt19937 random(2026);
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  int impossible = 0, limited_by[4] = {};
  for (int round = 0; round < 10'000; ++round) {
    const Gpu& gpu = gpus[static_cast<std::size_t>(pick(0, std::ssize(gpus) - 1))];
    const DeviceProperties& p = gpu.properties;
    const std::int64_t optin = static_cast<std::int64_t>(p.shared_bytes_per_block_optin);
    // Beyond the limits too, and at the small sizes where units matter most.
    const BlockNeeds needs{.threads = pick(0, 1) == 0 ? pick(1, 96) : pick(1, 1100),
                           .registers_per_thread = pick(0, 1) == 0 ? pick(0, 32) : pick(0, 255),
                           .shared_bytes = pick(0, 1) == 0 ? pick(0, 4096) : pick(0, optin + 2048)};
    const Occupancy ours = occupancy(needs, p, gpu.units);

    cudaOccDeviceProp device;
    device.computeMajor = p.compute_major;
    device.computeMinor = p.compute_minor;
    device.maxThreadsPerBlock = p.max_threads_per_block;
    device.maxThreadsPerMultiprocessor = p.max_threads_per_sm;
    device.regsPerBlock = p.registers_per_block;
    device.regsPerMultiprocessor = p.registers_per_sm;
    device.warpSize = p.warp_size;
    device.sharedMemPerBlock = p.shared_bytes_per_block;
    device.sharedMemPerMultiprocessor = p.shared_bytes_per_sm;
    device.numSms = p.sm_count;
    device.sharedMemPerBlockOptin = p.shared_bytes_per_block_optin;
    device.reservedSharedMemPerBlock = p.reserved_shared_bytes_per_block;
    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = INT_MAX;
    function.numRegs = static_cast<int>(needs.registers_per_thread);
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = static_cast<std::size_t>(needs.shared_bytes);
    function.numBlockBarriers = 1;
    const cudaOccDeviceState state;
    cudaOccResult theirs;
    ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&theirs, &device, &function, &state,
                                                      static_cast<int>(needs.threads),
                                                      static_cast<std::size_t>(needs.shared_bytes)),
              CUDA_OCC_SUCCESS);
    ASSERT_EQ(ours.blocks_per_sm, theirs.activeBlocksPerMultiprocessor)
        << gpu.name << ": " << needs.threads << " threads, " << needs.registers_per_thread
        << " registers, " << needs.shared_bytes << " B";
    if (ours.blocks_per_sm == 0) {
      ++impossible;
      continue;
    }
    unsigned factors = 0;
    for (const Limiter limiter : ours.limiters) {
      ++limited_by[static_cast<int>(limiter)];
      factors |= limiter == Limiter::threads     ? OCC_LIMIT_WARPS
                 : limiter == Limiter::blocks    ? OCC_LIMIT_BLOCKS
                 : limiter == Limiter::registers ? OCC_LIMIT_REGISTERS
                                                 : OCC_LIMIT_SHARED_MEMORY;
    }
    const unsigned of_theirs = theirs.limitingFactors & ~unsigned{OCC_LIMIT_BARRIERS};
    ASSERT_EQ(factors, of_theirs) << gpu.name << ": " << needs.threads << " threads, "
                                  << needs.registers_per_thread << " registers, "
                                  << needs.shared_bytes << " B";
    ASSERT_EQ(ours.shared_bytes_per_block,
              static_cast<std::int64_t>(theirs.allocatedSharedMemPerBlock));
    if (needs.registers_per_thread > 0) {
      ASSERT_EQ(ours.registers_per_block, theirs.allocatedRegistersPerBlock);
    }
  }
  // The configurations reach every branch.
  EXPECT_GT(impossible, 100);
  for (const int count : limited_by) EXPECT_GT(count, 100);
#endif
}

Occupancy on(const char* name, const BlockNeeds& needs) {
  const Gpu gpu = find_gpu(name);
  return occupancy(needs, gpu.properties, gpu.units);
}

TEST(Occupancy, OldGpusRoundAsTheSpreadsheetDoes) {
  // 1.3: 16 registers x 256 threads = 4,096, in units of 512; 16,384 / 4,096 = 4 blocks.
  EXPECT_EQ(on("gtx280", {.threads = 256, .registers_per_thread = 16}).by_registers, 4);
  // 3 warps are rounded to 4: 4 x 32 x 17 = 2,176, in units of 512 = 2,560; 6 blocks.
  const Occupancy odd = on("gtx280", {.threads = 96, .registers_per_thread = 17});
  EXPECT_EQ(odd.registers_per_block, 2560);
  EXPECT_EQ(odd.by_registers, 6);
  // 2.0: 21 registers x 32 = 672, in units of 64 = 704 a warp; 46 warps, an even number; 5 blocks.
  const Occupancy fermi = on("c2050", {.threads = 256, .registers_per_thread = 21});
  EXPECT_EQ(fermi.registers_per_block, 8 * 704);
  EXPECT_EQ(fermi.by_registers, 5);
  EXPECT_EQ(on("c2050", {.threads = 192, .registers_per_thread = 63}).blocks_per_sm, 2);
}

TEST(Occupancy, WhatFitsNowhereSaysWhy) {
  EXPECT_THAT(on("h200", {.threads = 1025}).impossible, HasSubstr("at most 1,024"));
  EXPECT_THAT(on("h200", {.threads = 32, .registers_per_thread = 256}).impossible,
              HasSubstr("256 registers per thread"));
  EXPECT_THAT(on("h200", {.threads = 1024, .registers_per_thread = 65}).impossible,
              HasSubstr("65,536 for a block"));
  EXPECT_THAT(on("h200", {.threads = 32, .shared_bytes = 1'000'000'000'000}).impossible,
              HasSubstr("1,000,000,000,000 bytes of shared memory"));
  EXPECT_THAT(on("gtx280", {.threads = 513}).impossible, HasSubstr("at most 512"));
}

TEST(Occupancy, NonsenseIsRefused) {
  for (const BlockNeeds& needs : {BlockNeeds{.threads = 0}, BlockNeeds{.threads = -5},
                                  BlockNeeds{.threads = 32, .registers_per_thread = -1},
                                  BlockNeeds{.threads = 32, .shared_bytes = -1}}) {
    EXPECT_THROW(on("h200", needs), Error);
  }
}

TEST(Occupancy, PartialWarpsCountAsWarps) {
  const Occupancy result = on("h200", {.threads = 33, .registers_per_thread = 32});
  EXPECT_EQ(result.warps_per_block, 2);
  EXPECT_EQ(result.blocks_per_sm, 32);
  EXPECT_EQ(result.warps_per_sm, 64);
  EXPECT_EQ(result.threads_per_sm, 32 * 33);
  EXPECT_DOUBLE_EQ(result.share(), 1.0);
}

TEST(Occupancy, CurvesPassThroughTheKernelItself) {
  const Gpu gpu = find_gpu("a100");
  const BlockNeeds needs{.threads = 256, .registers_per_thread = 40, .shared_bytes = 8192};
  const int warps = occupancy(needs, gpu.properties, gpu.units).warps_per_sm;
  const auto at = [](const std::vector<OccupancyPoint>& curve, std::int64_t value) {
    for (const OccupancyPoint& point : curve) {
      if (point.value == value) return point.warps_per_sm;
    }
    return -1;
  };
  EXPECT_EQ(at(vary_threads(needs, gpu.properties, gpu.units), 256), warps);
  EXPECT_EQ(at(vary_registers(needs, gpu.properties, gpu.units), 40), warps);
  const auto shared = vary_shared_memory(needs, gpu.properties, gpu.units);
  EXPECT_EQ(shared.size(), 65U);
  EXPECT_GE(shared.front().warps_per_sm, warps);
  EXPECT_LE(shared.back().warps_per_sm, warps);
}

}  // namespace
}  // namespace tilescope::gpu
