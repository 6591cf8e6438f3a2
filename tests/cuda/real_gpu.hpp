// For tests that need a real GPU: without one they are skipped, with the reason.
#pragma once

#include <gmock/gmock.h>

#include <tilescope/device.hpp>

namespace tilescope::testing {

class RealGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_devices(&why).empty()) GTEST_SKIP() << why;
    gpu_ = Device::open("cuda");
  }

  std::shared_ptr<Device> gpu_;
};

}  // namespace tilescope::testing
