// Products with a vector, on the emulated device.
#include "operations/gemm/general/gemv.hpp"
#include "support/compiled_request.hpp"
#include "support/gemm_runs.hpp"
#include "support/gpus.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class GemmGemv : public ::testing::Test {
 protected:
  std::string defects_of(const GemmProblem& problem, std::uint64_t seed) {
    GemmGenerator generator(seed);
    const GemmCase of = generator.filled(problem);
    return defects(of, run_gemm(*emulated_, gemm_variant("gemv"), of), false);
  }
  std::shared_ptr<Device> emulated_ = Device::open("emulated");
};

GemmProblem column(std::int64_t m, std::int64_t k, Precision precision,
                   DataType c_type = DataType::float32) {
  return dense_problem({m, 1, k}, precision, operand_type(precision), c_type);
}

TEST_F(GemmGemv, EveryPrecisionAndLength) {
  std::uint64_t seed = 0;
  for (const Precision precision :
       {Precision::fp32, Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp64}) {
    for (const auto& [m, k] : {std::pair{1, 1}, {5, 7}, {3, 2048}, {2, 4099}, {9, 1030}}) {
      EXPECT_EQ(defects_of(column(m, k, precision), ++seed), "") << m << " " << k;
    }
  }
  EXPECT_EQ(defects_of(column(6, 100, Precision::bf16, DataType::bfloat16), ++seed), "");
}

TEST_F(GemmGemv, EitherOperandMayBeTheVector) {
  GemmProblem row = dense_problem({1, 11, 37}, Precision::fp32, DataType::float32,
                                  DataType::float32, Order::row_major, Order::column_major);
  row.has_bias = true;
  EXPECT_EQ(defects_of(row, 1), "");
  row.bias_per_row = true;
  EXPECT_EQ(defects_of(row, 2), "");
  row.a.order = Order::column_major;
  row.a.leading = 3;  // elements of the vector lie apart
  EXPECT_EQ(defects_of(row, 3), "");
}

TEST_F(GemmGemv, EpilogueStridesAndBatch) {
  GemmProblem problem = column(10, 130, Precision::fp32);
  problem.alpha = -1.5;
  problem.beta = 0.5;
  problem.has_bias = true;
  problem.activation = Activation::gelu;
  problem.a.leading = 131;
  problem.b.leading = 2;
  problem.c.leading = 3;
  problem.batch = 3;
  problem.a.batch_stride = 10 * 131 + 1;
  problem.b.batch_stride = 2 * 130 + 1;
  problem.c.batch_stride = 31;
  EXPECT_EQ(defects_of(problem, 4), "");
  problem.has_bias = problem.bias_per_row = true;
  EXPECT_EQ(defects_of(problem, 5), "");
}

TEST_F(GemmGemv, RowsOfOneTwoFourAndEightWarps) {
  // The last block has rows that are not there.
  const std::pair<std::int64_t, int> cases[] = {{100, 1},  {128, 1},   {200, 2},  {300, 4},
                                                {1200, 4}, {12287, 4}, {12288, 8}};
  for (const auto& [length, warps] : cases) {
    const GemmProblem problem = column(21, length, Precision::fp32);
    EXPECT_EQ(gemv_warps(*as_gemv(problem)), warps) << length;
    EXPECT_EQ(defects_of(problem, 6), "") << length;
  }
}

TEST(Gemv, LoadsAreAsWideAsEveryRowAllows) {
  const auto width = [](std::int64_t leading, Precision precision, std::uint64_t alignment) {
    GemmProblem problem = column(4, 64, precision);
    problem.a.leading = leading;
    return gemv_vector(*as_gemv(problem), 1, alignment);
  };
  EXPECT_EQ(width(64, Precision::fp32, 16), 4);
  EXPECT_EQ(width(66, Precision::fp32, 16), 2);
  EXPECT_EQ(width(67, Precision::fp32, 16), 1);
  EXPECT_EQ(width(64, Precision::fp32, 4), 1);
  EXPECT_EQ(width(64, Precision::bf16, 16), 8);
  EXPECT_EQ(width(68, Precision::bf16, 16), 4);
  EXPECT_EQ(width(65, Precision::bf16, 16), 1);
  GemmProblem batch = column(4, 64, Precision::fp32);
  EXPECT_EQ(gemv_vector(*as_gemv(batch), 2, 16), 4);
  batch.b.batch_stride = 65;
  EXPECT_EQ(gemv_vector(*as_gemv(batch), 2, 16), 1);
}

TEST(Gemv, RefusesWhatIsNoVectorAlongRows) {
  const auto refusal = [](const GemmProblem& problem) { return gemv_refusal(problem, h200()); };
  EXPECT_EQ(refusal(column(3, 4, Precision::fp32)), std::nullopt);
  GemmProblem turned = column(3, 4, Precision::fp32);
  turned.a.order = Order::column_major;
  EXPECT_THAT(refusal(turned).value_or(""), HasSubstr("does not lie along k"));
  EXPECT_THAT(
      refusal(dense_problem({3, 2, 4}, Precision::fp32, DataType::float32, DataType::float32))
          .value_or(""),
      HasSubstr("no operand is a vector"));
  GemmProblem mixed = column(3, 4, Precision::fp32);
  mixed.b.type = DataType::float16;
  EXPECT_THAT(refusal(mixed).value_or(""), HasSubstr("differ in type"));
  EXPECT_THAT(refusal(column(3, 0, Precision::fp32)).value_or(""), HasSubstr("nothing"));
}

TEST(Gemv, CompilesWithoutWarningsAndSpillsNothing) {
  for (const DeviceProperties& device : {t4(), a100(), h200()}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp64}) {
      GemmProblem problem = column(8192, 8192, precision);
      problem.beta = 1.0;
      problem.activation = Activation::gelu;
      const KernelRequest request = gemv_request(problem, gemv_vector(*as_gemv(problem), 1, 16));
      const compile::Program program = compiled(request, device);
      EXPECT_THAT(program.log,
                  HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
      EXPECT_THAT(program.log, ::testing::Not(HasSubstr("warning")));
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
