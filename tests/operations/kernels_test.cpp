// Every matmul kernel through NVRTC, as its row of the table plans it, for each generation of GPU.

#include <fmt/format.h>

#include "operations/matmul/kernel_product.hpp"
#include "support/compiled_request.hpp"
#include "support/gpus.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using ::testing::HasSubstr;

struct KernelCase {
  const MatmulVariant* variant;
  DeviceProperties device;
  DataType element = DataType::float32;
};

std::string name_of_case(const KernelCase& c) {
  return fmt::format("{}_{}{}{}", c.variant->name, c.device.compute_major, c.device.compute_minor,
                     c.element == DataType::float64 ? "_float64" : "");
}

std::vector<KernelCase> kernel_cases() {
  std::vector<KernelCase> all;
  for (const MatmulVariant& variant : matmul_variants()) {
    if (variant.row->form != MatmulForm::kernel) continue;
    for (const DeviceProperties& device : {testing::t4(), testing::a100(), testing::h200()}) {
      if (10 * device.compute_major + device.compute_minor < variant.row->least_compute) continue;
      all.push_back({&variant, device});
      if (variant.row->any_element) all.push_back({&variant, device, DataType::float64});
    }
  }
  return all;
}

class Kernels : public ::testing::TestWithParam<KernelCase> {};

TEST_P(Kernels, CompileWithoutWarningsAndSpillNothing) {
  const auto& [variant, device, element] = GetParam();
  const MatmulPlan plan = variant->row->plan(variant->padded({32, 32, 32}), variant->width, device);
  const KernelRequest request = matmul_request(*variant, plan, element);
  const compile::Program program = testing::compiled(request, device, {});
  EXPECT_EQ(program.log, "");
  EXPECT_EQ(program.kernel_name, "matmul");
  EXPECT_FALSE(program.cubin.empty());
  // Arrays that were meant for registers but are indexed at run time show as local memory here.
  EXPECT_THAT(program.ptx, Not(HasSubstr(".local ")));
  // The assembler's report on the machine code.
  EXPECT_THAT(testing::compiled(request, device).log,
              HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
}

INSTANTIATE_TEST_SUITE_P(Matmul, Kernels, ::testing::ValuesIn(kernel_cases()),
                         [](const auto& of) { return name_of_case(of.param); });

}  // namespace
}  // namespace tilescope::operations
