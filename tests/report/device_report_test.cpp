#include "report/device_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/json/json_renderer.hpp"
#include "report/text/text_renderer.hpp"
#include "support/gpus.hpp"

namespace tilescope::report {
namespace {

std::string device_text(const std::string& id, const DeviceProperties& device) {
  Page page("devices");
  add_device(page, id, device);
  return render_text(page);
}

constexpr const char* golden = R"(cuda:0: NVIDIA H200
  Compute capability                     9.0
  SMs                                    132
  Warp size                              32
  Threads per block, at most             1,024
  Block extents, at most                 1,024 x 1,024 x 64
  Grid extents, at most                  2,147,483,647 x 65,535 x 65,535
  Threads per SM, at most                2,048
  Blocks per SM, at most                 32
  Registers per block / per SM           65,536 / 65,536
  Shared memory per block                48.0 KiB, 227 KiB by opting in
  Shared memory per SM                   228 KiB
  Constant memory                        64.0 KiB
  L2 cache                               60.0 MiB
  Global memory                          140 GiB
  Core clock                             1980 MHz
  Memory clock, bus                      3201 MHz, 6,144 bits
  Peak FP32                              66.9 TFLOP/s
  Peak memory bandwidth                  4.92 TB/s
  Copy engines                           3
  Concurrent kernels                     yes
  Copies overlap kernels                 yes
)";

TEST(DeviceText, IsTheQueryOfTheLectures) {
  EXPECT_EQ(device_text("cuda:0", testing::h200()), golden);
}

TEST(DeviceText, TheCpuHasNoLimitsOfGpus) {
  DeviceProperties cpu;
  cpu.name = "CPU";
  cpu.sm_count = 2;
  cpu.global_bytes = std::size_t{24} << 30U;
  EXPECT_EQ(device_text("cpu", cpu),
            "cpu: CPU\n"
            "  Cores                                  2\n"
            "  Memory                                 24.0 GiB\n");
}

TEST(DeviceText, WhatIsNotKnownIsNotInvented) {
  DeviceProperties unknown = testing::h200();
  unknown.fp32_lanes_per_sm = 0;
  unknown.memory_clock_khz = 0;
  const std::string text = device_text("cuda:0", unknown);
  EXPECT_THAT(text, ::testing::ContainsRegex("Peak FP32 +not known"));
  EXPECT_THAT(text, ::testing::ContainsRegex("Peak memory bandwidth +not known"));
}

TEST(DeviceJson, NumbersAreNumbers) {
  const nlohmann::json json = json_of(device_record("cuda:0", testing::h200()));
  EXPECT_EQ(json.at("id"), "cuda:0");
  EXPECT_EQ(json.at("compute_capability"), "9.0");
  EXPECT_EQ(json.at("max_block"), (nlohmann::json{1024, 1024, 64}));
  EXPECT_EQ(json.at("global_bytes"), 150110011392);
  EXPECT_EQ(json.at("copy_engines"), 3);
  EXPECT_EQ(json.at("concurrent_kernels"), true);
  EXPECT_TRUE(json.at("peak_fp32_flops_per_second").is_number());
}

}  // namespace
}  // namespace tilescope::report
