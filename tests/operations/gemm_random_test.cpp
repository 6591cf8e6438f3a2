// Every GEMM kernel on emulated GPUs at random problems, as far as it does not refuse them; on a
// real GPU tests/cuda does the same.
#include "support/gemm_runs.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

struct RandomCase {
  std::string variant, gpu;
  int problems;
  unsigned seed;
  int most = 200;  ///< of the problems that the kernel does not refuse

  // The text that ctest shows; without it, it would show the structure's bytes.
  friend void PrintTo(const RandomCase& of, std::ostream* out) {
    *out << of.problems << " problems of seed " << of.seed;
  }
};

// Large tiles take long where they are emulated.
constexpr int most_for_hopper = 6;

class GemmRandom : public ::testing::TestWithParam<RandomCase> {};

TEST_P(GemmRandom, Problems) {
  const auto device = Device::open("emulated:" + GetParam().gpu);
  const GemmVariant& variant = gemm_variant(GetParam().variant);
  const DeviceProperties ampere = Device::open("emulated:a100")->properties();
  int run = 0;
  for (const testing::GemmCase& of : testing::random_gemms(GetParam().problems, GetParam().seed)) {
    if (variant.refusal(of.problem, device->properties())) continue;
    if (run == GetParam().most) break;
    if (run == most_for_hopper && variant.refusal(of.problem, ampere)) break;
    SCOPED_TRACE(of.text);
    EXPECT_EQ(testing::defects(of, run_gemm(*device, variant, of), variant.name != "general"), "");
    ++run;
  }
  if (run == 0) GTEST_SKIP() << variant.name << " refuses all problems on this emulated GPU";
}

// The same with operands of 8 bits, which only three kernels take.
class GemmRandomOf8Bits : public ::testing::TestWithParam<RandomCase> {};

TEST_P(GemmRandomOf8Bits, Problems) {
  const auto device = Device::open("emulated:" + GetParam().gpu);
  const GemmVariant& variant = gemm_variant(GetParam().variant);
  int run = 0;
  for (const testing::GemmCase& of : testing::random_gemms_of_8_bits(200, GetParam().seed)) {
    if (variant.refusal(of.problem, device->properties())) continue;
    if (run++ == GetParam().problems) break;
    SCOPED_TRACE(of.text);
    EXPECT_EQ(testing::defects(of, run_gemm(*device, variant, of), variant.name != "general"), "");
  }
  EXPECT_GE(run, GetParam().problems);
}

INSTANTIATE_TEST_SUITE_P(Variants, GemmRandomOf8Bits,
                         ::testing::Values(RandomCase{"general", "h200", 60, 1},
                                           RandomCase{"general", "t4", 30, 2},
                                           RandomCase{"mma_sync", "a100", 20, 4},
                                           RandomCase{"mma_sync", "l4", 40, 5},
                                           RandomCase{"mma_sync", "t4", 20, 6},
                                           RandomCase{"tensor_tiles", "h200", 20, 1},
                                           RandomCase{"cluster", "h200", 5, 3}),
                         [](const auto& of) { return of.param.variant + "_" + of.param.gpu; });

std::vector<RandomCase> random_cases(int most) {
  std::vector<RandomCase> all;
  for (const GemmVariant& variant : gemm_variants()) {
    all.push_back({std::string(variant.name), "h200", 200, 1, most});
    // Types are converted otherwise where the hardware does not.
    all.push_back({std::string(variant.name), "t4", 50, 2, most});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Variants, GemmRandom, ::testing::ValuesIn(random_cases(15)),
                         [](const auto& of) { return of.param.variant + "_" + of.param.gpu; });
// Long: in `make test-slow`.
INSTANTIATE_TEST_SUITE_P(Many, GemmRandom, ::testing::ValuesIn(random_cases(200)),
                         [](const auto& of) { return of.param.variant + "_" + of.param.gpu; });

}  // namespace
}  // namespace tilescope::operations
