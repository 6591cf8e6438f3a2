// Products of operands in a device's memory: PreparedGemm and Gemm on the CPU and on emulated GPUs.
#include <tilescope/device.hpp>
#include <tilescope/gemm.hpp>

#include "support/gemm_in_memory.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope {
namespace {

using testing::error_of;
using testing::GemmCase;
using testing::GemmInMemory;
using ::testing::HasSubstr;

void expect_right(Device& device, const GemmCase& of, const GemmInMemory& memory,
                  const std::string& variant) {
  const bool tensor_cores = device.kind() != DeviceKind::cpu;
  EXPECT_EQ(testing::defects(of, memory.result(), tensor_cores), "") << variant;
}

class PreparedGemms : public ::testing::TestWithParam<std::string> {};

TEST_P(PreparedGemms, RandomProblems) {
  const auto device = Device::open(GetParam());
  const Stream stream = device->create_stream();
  for (const GemmCase& of : testing::random_gemms(60, 11)) {
    SCOPED_TRACE(of.text);
    GemmInMemory memory(*device, of);
    const PreparedGemm product(*device, memory.a, memory.b, memory.c, memory.options);
    EXPECT_EQ(product.report().precision, of.problem.precision);
    EXPECT_EQ(gemm_workspace_bytes(*device, memory.a, memory.b, memory.c, memory.options),
              product.workspace_bytes());
    for (int run = 0; run < 2; ++run) {
      memory.reset();
      product.launch(stream);
      expect_right(*device, of, memory, product.report().variant);
    }
  }
}

TEST_P(PreparedGemms, TheCallThatKeepsProducts) {
  const auto device = Device::open(GetParam());
  Gemm gemm(device);
  const Stream one = device->create_stream(), other = device->create_stream();
  for (const GemmCase& of : testing::random_gemms(20, 12)) {
    SCOPED_TRACE(of.text);
    GemmInMemory first(*device, of), second(*device, of);
    for (int run = 0; run < 2; ++run) {
      first.reset();
      second.reset();
      gemm(first.a, first.b, first.c, first.options, one);
      gemm(second.a, second.b, second.c, second.options, one);
      expect_right(*device, of, first, "the first");
      expect_right(*device, of, second, "other operands");
      first.reset();
      gemm(first.a, first.b, first.c, first.options, other);
      expect_right(*device, of, first, "another stream");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, PreparedGemms,
                         ::testing::Values("cpu", "emulated", "emulated:t4"), [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace tilescope
