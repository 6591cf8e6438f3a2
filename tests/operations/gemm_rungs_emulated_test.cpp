// Every rung of the ladders of products, and every variant beside them, on the emulated device, in
// each precision, at odd extents: tensor copies, wgmma and clusters together. The products are
// verified, and the checker is silent.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "device/emulated/emulated_device.hpp"
#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/ladder/gemm_operation.hpp"
#include "support/gemm_runs.hpp"
#include "support/launch_findings.hpp"

namespace tilescope::operations {
namespace {

using namespace testing;

constexpr Precision rung_precisions[] = {
    Precision::fp32, Precision::fp32_fast, Precision::tf32,     Precision::bf16, Precision::fp16,
    Precision::fp64, Precision::fp8_e4m3,  Precision::fp8_e5m2, Precision::int8};

/// The first extents that the variant takes: odd ones, those of whole 16-byte rows, few rows, a
/// vector.
std::optional<GemmProblem> problem_for(const GemmVariant& variant, Precision precision,
                                       const DeviceProperties& gpu) {
  for (const MatmulShape& shape :
       {MatmulShape{129, 131, 67}, {200, 264, 136}, {33, 264, 136}, {129, 1, 68}}) {
    const DataType type = operand_type(precision);
    const GemmProblem problem = dense_problem(shape, precision, type, usual_result_type(precision));
    if (!variant.refusal(problem, gpu)) return problem;
  }
  return std::nullopt;
}

class GemmRungsEmulated : public ::testing::TestWithParam<Precision> {};

TEST_P(GemmRungsEmulated, AreRightAndSilent) {
  const auto emulated = std::make_shared<device::EmulatedDevice>("h200");
  // A rung's launch may find nothing left to do.
  LaunchFindings findings(*emulated, {FindingKind::wrote_nothing});
  GemmGenerator generator(11);
  const std::vector<VariantInfo> rungs = GemmOperation({1, 1, 1}, GetParam(), 1).variants();
  for (const GemmVariant& variant : gemm_variants()) {
    const auto problem = problem_for(variant, GetParam(), emulated->properties());
    if (!problem) {
      for (const VariantInfo& rung : rungs) EXPECT_NE(rung.name, variant.name) << "does not run";
      continue;
    }
    const GemmCase of = generator.filled(*problem);
    EXPECT_EQ(defects(of, run_gemm(*emulated, variant, of), variant.name != "general"), "")
        << variant.name;
    EXPECT_EQ(findings.take(), "") << variant.name << ": " << of.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, GemmRungsEmulated, ::testing::ValuesIn(rung_precisions),
                         [](const auto& of) { return std::string(name_of(of.param)); });

}  // namespace
}  // namespace tilescope::operations
