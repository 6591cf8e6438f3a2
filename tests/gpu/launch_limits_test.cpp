#include "gpu/launch_limits.hpp"

#include "support/gpus.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::gpu {
namespace {

using testing::error_of;
using testing::h200;

std::string refusal(const Launch& launch, const KernelNeeds& needs = {}) {
  return error_of(ErrorKind::usage, [&] { require_launchable("saxpy", launch, h200(), needs); });
}

TEST(LaunchLimits, OneBlockOf2048ThreadsIsRefusedWithTheLimitAndACure) {
  EXPECT_EQ(refusal({.grid = {1}, .block = {2048}}),
            "kernel saxpy cannot be launched: 2048 threads per block (2048 x 1 x 1) exceed the "
            "1024 that NVIDIA H200 allows; use smaller blocks and more of them");
}

TEST(LaunchLimits, BlocksOf64By64ThreadsAreRefused) {
  // 24 blocks a side over n = 1,536.
  EXPECT_EQ(refusal({.grid = {24, 24}, .block = {64, 64}}),
            "kernel saxpy cannot be launched: 4096 threads per block (64 x 64 x 1) exceed the "
            "1024 that NVIDIA H200 allows; use smaller blocks and more of them");
}

TEST(LaunchLimits, TheLimitsThemselvesAreAllowed) {
  const DeviceProperties device = h200();
  for (const Launch& launch :
       {Launch{.grid = {1}, .block = {1024}}, Launch{.grid = {48, 48}, .block = {32, 32}},
        Launch{.grid = {1}, .block = {16, 1, 64}}, Launch{.grid = {2147483647, 1, 1}, .block = {1}},
        Launch{.grid = {1, 65535, 65535}, .block = {1}},
        Launch{.grid = {1}, .block = {1}, .shared_bytes = 232448}}) {
    EXPECT_NO_THROW(require_launchable("k", launch, device));
  }
  EXPECT_NO_THROW(require_launchable("k", {.grid = {1}, .block = {1}, .shared_bytes = 232000},
                                     device, {.static_shared_bytes = 448}));
  EXPECT_NO_THROW(require_launchable("k", {.grid = {1}, .block = {512}}, device,
                                     {.max_threads_per_block = 512}));
}

TEST(LaunchLimits, ExtentsOfZeroAreRefused) {
  for (const Launch& launch : {Launch{.grid = {0}, .block = {32}}, Launch{.grid = {1, 0}},
                               Launch{.grid = {1}, .block = {1, 1, 0}}}) {
    EXPECT_THAT(refusal(launch), ::testing::HasSubstr("has no threads; every extent must be"));
  }
}

TEST(LaunchLimits, BlockExtents) {
  EXPECT_EQ(refusal({.grid = {1}, .block = {1, 1, 65}}),
            "kernel saxpy cannot be launched: block 1 x 1 x 65 exceeds the largest extents 1024 x "
            "1024 x 64 of NVIDIA H200");
}

TEST(LaunchLimits, Clusters) {
  DeviceProperties older = h200();
  older.name = "an older GPU";
  older.compute_major = 8;
  older.compute_minor = 6;
  const Launch pairs{.grid = {6}, .block = {32}, .cluster = {2}};
  EXPECT_NO_THROW(require_launchable("k", pairs, h200()));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { require_launchable("k", pairs, older); }),
              ::testing::HasSubstr("clusters need compute capability 9.0; an older GPU has 8.6"));
  EXPECT_THAT(
      refusal({.grid = {7}, .block = {32}, .cluster = {2}}),
      ::testing::HasSubstr("grid 7 x 1 x 1 is not a multiple of its clusters of 2 x 1 x 1"));
  EXPECT_THAT(refusal({.grid = {32}, .block = {32}, .cluster = {32}}),
              ::testing::HasSubstr("clusters of 32 x 1 x 1 blocks; 1 to 16 are possible"));
  EXPECT_THAT(refusal({.grid = {16}, .block = {32}, .cluster = {2, 0}}),
              ::testing::HasSubstr("clusters of 2 x 0 x 1 blocks; 1 to 16 are possible"));
}

TEST(LaunchLimits, GridExtents) {
  EXPECT_THAT(refusal({.grid = {1, 65536}, .block = {1}}),
              ::testing::HasSubstr("grid 1 x 65536 x 1 exceeds the largest extents 2147483647 x "
                                   "65535 x 65535 of NVIDIA H200; let each thread take several"));
}

TEST(LaunchLimits, SharedMemory) {
  EXPECT_THAT(
      refusal({.grid = {1}, .block = {1}, .shared_bytes = 232000}, {.static_shared_bytes = 449}),
      ::testing::HasSubstr("449 static + 232000 dynamic bytes of shared memory per block "
                           "exceed the 232448 of NVIDIA H200"));
}

TEST(LaunchLimits, ThreadsThatTheRegistersForbid) {
  EXPECT_THAT(refusal({.grid = {1}, .block = {1024}}, {.max_threads_per_block = 640}),
              ::testing::HasSubstr("1024 threads per block exceed the 640 that its registers"));
}

// Products of extents that wrap around to something small must not slip through.
TEST(LaunchLimits, HugeExtentsDoNotWrapAround) {
  constexpr std::uint32_t half = 1U << 31U;
  EXPECT_THAT(refusal({.grid = {1}, .block = {half, half, 4}}),
              ::testing::HasSubstr("threads per block"));
  EXPECT_THAT(refusal({.grid = {half, half, 4}, .block = {1}}),
              ::testing::HasSubstr("grid 2147483648 x 2147483648 x 4 exceeds"));
  EXPECT_THAT(refusal({.grid = {1}, .block = {1}, .shared_bytes = ~std::size_t{0}},
                      {.static_shared_bytes = 64}),
              ::testing::HasSubstr("bytes of shared memory per block exceed"));
}

}  // namespace
}  // namespace tilescope::gpu
