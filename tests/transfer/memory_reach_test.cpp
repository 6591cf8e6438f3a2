// Memory of calls for host memory: no other GPU maps it. A driver that only takes notes stands in
// for NVIDIA's.
#include <gmock/gmock.h>

#include <tilescope/matmul.hpp>

#include "device/cuda/cuda_device.hpp"
#include "support/noting_driver.hpp"
#include "transfer/out_of_core.hpp"
#include "transfer/pipeline.hpp"
#include "transfer/streamed_operations.hpp"

namespace tilescope {
namespace {

using ::testing::Contains;
using ::testing::Not;
using testing::take_notes;

// Large enough for pools, of which smaller memory takes nothing.
constexpr std::int64_t side = 4608;

class MemoryReach : public ::testing::Test {
 protected:
  void TearDown() override {
    const std::vector<std::string> calls = take_notes();
    EXPECT_THAT(calls, Contains("allocate from a pool"));
    EXPECT_THAT(calls, Not(Contains("allocate for all GPUs")));
  }
  ConstArrayView list(std::size_t which) const { return lists_[which]; }
  MatrixView matrix(std::size_t which) {
    return dense_view(static_cast<void*>(lists_[which].data()), DataType::float32, side, side);
  }

  std::shared_ptr<Device> device_ =
      std::make_shared<device::CudaDevice>(0, testing::noting_driver());
  std::vector<float> lists_[3] = {std::vector<float>(side * side), std::vector<float>(side* side),
                                  std::vector<float>(side* side)};
};

TEST_F(MemoryReach, Products) {
  matmul(*device_, matrix(0), matrix(1), matrix(2), {.variant = "general"});
}

TEST_F(MemoryReach, RungsOfProducts) {
  matmul(*device_, matrix(0), matrix(1), matrix(2), {.variant = "exchanged_16"});
}

TEST_F(MemoryReach, ProductsInTiles) {
  transfer::out_of_core_matmul(*device_, matrix(0), matrix(1), matrix(2),
                               {.device_bytes = std::size_t{200} << 20U, .variant = "general"});
}

TEST_F(MemoryReach, Lists) {
  reduce(*device_, list(0), Reduction::sum);
  histogram(*device_, list(0), {.count = 10, .lower = 0.0, .upper = 1.0});
}

TEST_F(MemoryReach, ListsInChunks) {
  transfer::reduce(*device_, list(0), Reduction::max, {}, {.device_bytes = std::size_t{80} << 20U});
}

TEST_F(MemoryReach, TheLaddersPipeline) {
  for (int i = 0; i < 3; ++i) {
    transfer::VectorAddPipeline(*device_, transfer::Form::three_buffers, std::size_t{8} << 20U);
  }
}

}  // namespace
}  // namespace tilescope
