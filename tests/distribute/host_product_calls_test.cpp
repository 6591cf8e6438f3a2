// What a product of matrices in host memory asks of the driver, and when: a driver that only takes
// notes stands in for NVIDIA's.
#include <gmock/gmock.h>

#include <algorithm>
#include <tilescope/sharded.hpp>

#include "device/cuda/cuda_device.hpp"
#include "support/matrices.hpp"
#include "support/noting_driver.hpp"

namespace tilescope {
namespace {

using ::testing::Contains;
using testing::most_of_second;
using ::testing::Not;
using testing::take_notes;
using testing::TestMatrix;

bool is_allocation(const std::string& call) {
  return call.starts_with("allocate");
}

class HostProductCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    most_of_second = std::size_t{1} << 40U;
    for (int i = 0; i < 2; ++i) {
      devices_.push_back(std::make_shared<device::CudaDevice>(i, testing::noting_driver()));
    }
    take_notes();
  }
  std::vector<std::string> calls_of_product() {
    matmul_sharded(devices_, a_.view(), b_.view(), c_.view(), {.variant = "general"});
    return take_notes();
  }

  std::vector<std::shared_ptr<Device>> devices_;
  TestMatrix a_{DataType::float32, 700, 300}, b_{DataType::float32, 300, 900},
      c_{DataType::float32, 700, 900};
};

TEST_F(HostProductCalls, EverythingIsThereBeforeTheFirstCopyAndStaysUntilTheLast) {
  const std::vector<std::string> calls = calls_of_product();
  const auto first = [&](const char* call) { return std::ranges::find(calls, call); };
  const auto is_one_of = [](const std::string& call) {
    return is_allocation(call) || call == "load" || call == "link";
  };
  ASSERT_NE(first("copy"), calls.end());
  EXPECT_EQ(std::find_if(first("copy"), calls.end(), is_one_of), calls.end());
  EXPECT_EQ(std::find(first("free"), calls.end(), "copy"), calls.end());
  EXPECT_EQ(std::ranges::count(calls, "load"), 2) << "once on each GPU";
  EXPECT_EQ(std::ranges::count(calls, "link"), 2) << "B's memory, in both directions";
  EXPECT_EQ(std::ranges::count_if(calls, is_allocation), std::ranges::count(calls, "free"));
}

TEST_F(HostProductCalls, ASecondProductNeitherLoadsNorLinks) {
  calls_of_product();
  EXPECT_THAT(calls_of_product(),
              Not(::testing::AnyOf(Contains("load"), Contains("link"), Contains("unload"))));
  devices_.clear();
  EXPECT_THAT(take_notes(), ::testing::ElementsAre("unload", "unload"));
}

TEST_F(HostProductCalls, NothingIsCopiedWhereOneDeviceHasNoRoom) {
  for (std::size_t bytes = 1; bytes < std::size_t{1} << 16U; bytes *= 4) {
    most_of_second = bytes;
    std::string line;
    try {
      matmul_sharded(devices_, a_.view(), b_.view(), c_.view(), {.variant = "general"});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::no_device);
      line = error.what();
    }
    EXPECT_THAT(line, ::testing::HasSubstr("on cuda:1"));
    const std::vector<std::string> calls = take_notes();
    EXPECT_THAT(calls, Not(Contains("copy")));
    EXPECT_EQ(std::ranges::count_if(calls, is_allocation), std::ranges::count(calls, "free"));
  }
}

}  // namespace
}  // namespace tilescope
