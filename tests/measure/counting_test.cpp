#include "measure/counting.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "compile/compiler.hpp"
#include "measure/ladder.hpp"
#include "operations/registry.hpp"
#include "support/fake_device.hpp"
#include "support/gpus.hpp"

namespace tilescope::measure {
namespace {

TEST(Counting, RungsOfAnEmulatedDeviceHaveCounts) {
  if (compile::compiler_description().empty()) GTEST_SKIP() << "no NVRTC";
  const auto device = std::make_shared<device::EmulatedDevice>();
  const auto operation = operations::make_operation("matmul", {.size = 64});
  const auto results = climb(*operation, *device, {.only = {"cpu_reference", "tiled_16"}});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_FALSE(results[0].counts) << "nothing was emulated";
  ASSERT_TRUE(results[1].counts);
  EXPECT_EQ(results[1].counts->operations.ffma, 64u * 64 * 64);
  EXPECT_EQ(results[1].counts->global_load.requests, 2u * 64 * 64 * 64 / 16 / 32) << "of one run";
  EXPECT_FALSE(results[1].timing);
}

TEST(Counting, AllLaunchesOfARunAreAdded) {
  if (compile::compiler_description().empty()) GTEST_SKIP() << "no NVRTC";
  const auto device = std::make_shared<device::EmulatedDevice>();
  const auto operation = operations::make_operation("laplacian", {.rows = 64, .columns = 64});
  const auto one =
      climb(*operations::make_operation("laplacian", {.rows = 64, .columns = 64, .iterations = 1}),
            *device, {.only = {"plain"}});
  const auto four =
      climb(*operations::make_operation("laplacian", {.rows = 64, .columns = 64, .iterations = 4}),
            *device, {.only = {"plain"}});
  ASSERT_TRUE(one[0].counts && four[0].counts) << one[0].reason << four[0].reason;
  EXPECT_EQ(four[0].counts->global_store.requests, 4 * one[0].counts->global_store.requests);
}

TEST(Counting, AStoppedRungIsNoResult) {
  if (compile::compiler_description().empty()) GTEST_SKIP() << "no NVRTC";
  const auto device = std::make_shared<device::EmulatedDevice>();
  const auto operation = operations::make_operation("matmul", {.size = 512});
  std::atomic<bool> stop = false;
  const auto results = climb(*operation, *device,
                             {.only = {"tiled_2", "tiled_16"},
                              .on_start =
                                  [&](const std::string&) {
                                    std::thread([&stop] {
                                      std::this_thread::sleep_for(std::chrono::milliseconds(100));
                                      stop = true;
                                    }).detach();
                                  },
                              .cancel = &stop});
  EXPECT_TRUE(results.empty());
  while (!stop) std::this_thread::yield();
}

TEST(Counting, LeavesOtherDevicesAlone) {
  testing::FakeDevice device(testing::h200(), DeviceKind::cuda);
  EXPECT_FALSE(LaunchCounter(device).result());
}

}  // namespace
}  // namespace tilescope::measure
