#include "gpu/architecture.hpp"

#include <gtest/gtest.h>

#include "support/gpus.hpp"

namespace tilescope::gpu {
namespace {

TEST(Architecture, NamesForTheCompiler) {
  EXPECT_EQ(architecture_name(7, 5), "sm_75");
  EXPECT_EQ(architecture_name(8, 9), "sm_89");
  EXPECT_EQ(architecture_name(9, 0), "sm_90a");
  EXPECT_EQ(architecture_name(12, 0), "sm_120a");
}

TEST(Architecture, Fp32Lanes) {
  EXPECT_EQ(fp32_lanes_per_sm(7, 5), 64);
  EXPECT_EQ(fp32_lanes_per_sm(8, 0), 64);
  EXPECT_EQ(fp32_lanes_per_sm(8, 6), 128);
  EXPECT_EQ(fp32_lanes_per_sm(9, 0), 128);
  EXPECT_EQ(fp32_lanes_per_sm(99, 0), 0) << "an unknown architecture has no peak";
}

TEST(Architecture, Fermi) {
  DeviceProperties fermi;  // 448 cores in 14 SMs
  fermi.sm_count = 14;
  EXPECT_EQ(fermi.sm_count * fp32_lanes_per_sm(2, 0), 448);
}

TEST(Architecture, PeaksOfAnH200) {
  EXPECT_DOUBLE_EQ(testing::h200().peak_fp32(), 132 * 128 * 2 * 1.98e9);  // 66.9 TFLOP/s
  EXPECT_DOUBLE_EQ(testing::h200().peak_bandwidth(), 2 * 3.201e9 * 768);  // 4.92 TB/s
}

}  // namespace
}  // namespace tilescope::gpu
