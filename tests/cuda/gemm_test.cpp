// Every GEMM kernel on the GPU, at the same random problems as on the emulated device: each as long
// as it does not refuse a problem, twice, with the same bits.
#include "cuda/real_gpu.hpp"
#include "support/gemm_runs.hpp"
#include "support/public_gemm.hpp"

namespace tilescope::operations {
namespace {

class GemmOnGpu : public testing::RealGpu, public ::testing::WithParamInterface<std::string> {};

TEST_P(GemmOnGpu, RandomProblems) {
  const GemmVariant& variant = gemm_variant(GetParam());
  const bool tensor_cores = variant.name != "general";
  int run = 0;
  std::vector<testing::GemmCase> cases = testing::random_gemms();
  for (testing::GemmCase& of : testing::random_gemms_of_8_bits()) cases.push_back(std::move(of));
  for (const testing::GemmCase& of : cases) {
    if (variant.refusal(of.problem, gpu_->properties())) continue;
    SCOPED_TRACE(of.text);
    const testing::GemmMatrices c = run_gemm(*gpu_, variant, of);
    EXPECT_EQ(testing::defects(of, c, tensor_cores), "");
    EXPECT_EQ(c.image(), run_gemm(*gpu_, variant, of).image()) << "another run, other bits";
    ++run;
  }
  RecordProperty("problems", run);
  if (run == 0) GTEST_SKIP() << variant.name << " refuses all problems on this GPU";
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const GemmVariant& variant : gemm_variants()) all.emplace_back(variant.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Variants, GemmOnGpu, ::testing::ValuesIn(names()),
                         [](const auto& of) { return of.param; });

using MatmulOnGpu = testing::RealGpu;

// The library's call, with the kernel that it chooses.
TEST_F(MatmulOnGpu, RandomProblems) {
  std::vector<testing::GemmCase> cases = testing::random_gemms(200, 4);
  for (testing::GemmCase& of : testing::random_gemms_of_8_bits(100, 4)) {
    cases.push_back(std::move(of));
  }
  for (const testing::GemmCase& of : cases) {
    SCOPED_TRACE(of.text);
    const testing::PublicGemm result = testing::public_gemm(*gpu_, of);
    EXPECT_EQ(testing::defects(of, result.c, true), "") << result.report.variant;
  }
}

}  // namespace
}  // namespace tilescope::operations
