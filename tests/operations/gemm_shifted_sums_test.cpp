// Products that read a B whose rows begin anywhere where it lies: what they take, that their kernel
// compiles, and how A's columns are sorted for it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <vector>

#include "operations/gemm/column_gathering.hpp"
#include "operations/gemm/plan_recorder.hpp"
#include "operations/gemm/shifted_sums.hpp"
#include "support/gemm_kernels.hpp"

namespace tilescope::operations {
namespace {

using testing::constant;
using ::testing::HasSubstr;
using testing::hopper;
using ::testing::Not;

GemmProblem product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return dense_problem({m, n, k}, Precision::bf16, DataType::bfloat16, DataType::bfloat16);
}

std::string refusal(const GemmProblem& problem) {
  return shifted_sums_refusal(problem, hopper()).value_or("");
}

TEST(ShiftedSumsRefusal, SaysWhatItDoesNotTake) {
  EXPECT_EQ(refusal(product(127, 8190, 4001)), "");
  EXPECT_EQ(refusal(product(1, 1, 8)), "");
  EXPECT_THAT(refusal(product(1, 1, 7)), HasSubstr("fewer than 8 rows"));
  EXPECT_THAT(refusal(product(127, 8192, 4001)), HasSubstr("multiples of 16 bytes"));
  EXPECT_THAT(refusal(product(3, 0, 70)), HasSubstr("nothing"));
  GemmProblem problem = product(127, 8190, 4001);
  problem.a.order = Order::column_major;
  EXPECT_THAT(refusal(problem), HasSubstr("row-major"));
  problem = product(127, 8190, 4001);
  problem.b.order = Order::column_major;
  EXPECT_THAT(refusal(problem), HasSubstr("row-major"));
  problem = product(127, 8190, 4001);
  problem.batch = 2;
  problem.b.batch_stride = 8190 * 4001;
  EXPECT_THAT(refusal(problem), HasSubstr("matrices of B"));
  problem.b.batch_stride += 2;
  EXPECT_EQ(refusal(problem), "");
  const GemmProblem tf32 =
      dense_problem({127, 8190, 4001}, Precision::tf32, DataType::float32, DataType::float32);
  EXPECT_THAT(refusal(tf32), HasSubstr("bf16"));
  EXPECT_THAT(shifted_sums_refusal(product(9, 9, 9), testing::a100()).value_or(""),
              HasSubstr("9.0"));
}

Plan plan_of(const GemmProblem& problem) {
  return recorded_plan(gemm_variant("shifted_sums"), problem, hopper());
}

TEST(ShiftedSums, LaunchesFollowTheClassesOfB) {
  const Plan plan = plan_of(product(127, 8190, 4001));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].kernel, "gather_columns");
  const Step& multiply = plan.steps[1];
  EXPECT_EQ(constant(multiply, "CLASSES"), "4");
  EXPECT_EQ(constant(multiply, "CLUSTER"), "2");
  EXPECT_EQ(multiply.launch.grid.x, 2u * 64u);
  EXPECT_TRUE(multiply.launch.overlaps_previous);

  const Step few_rows = plan_of(product(64, 8190, 4001)).steps[1];
  EXPECT_EQ(constant(few_rows, "CLUSTER"), "1");
  EXPECT_EQ(few_rows.launch.grid.x, 64u);
  EXPECT_EQ(constant(plan_of(product(127, 8188, 4001)).steps[1], "CLASSES"), "2");
  const Step odd = plan_of(product(127, 8191, 4001)).steps[1];
  EXPECT_EQ(constant(odd, "CLASSES"), "8");
  EXPECT_EQ(constant(odd, "TILE_N"), "64") << "eight classes' sums fit in registers";
}

TEST(ShiftedSums, FitsTheChip) {
  for (const std::int64_t n : {8188, 8190, 8191}) {
    const Step multiply = plan_of(product(127, n, 4001)).steps[1];
    EXPECT_LE(multiply.launch.shared_bytes, hopper().shared_bytes_per_block_optin) << n;
  }
}

// Where C is read: unaligned_rows takes those that only write it.
std::string_view best(GemmProblem problem) {
  problem.beta = 0.5;
  return best_gemm_variant(problem, hopper()).name;
}

TEST(ShiftedSums, AreDispatchedWhereACopyOfBCostsMore) {
  EXPECT_EQ(best(product(127, 8190, 4001)), "shifted_sums");
  EXPECT_EQ(best(product(127, 8191, 4001)), "shifted_sums");
  EXPECT_EQ(best(product(64, 8190, 4001)), "shifted_sums");
  EXPECT_NE(best(product(127, 8192, 4001)), "shifted_sums") << "aligned";
  EXPECT_NE(best(product(129, 8190, 4001)), "shifted_sums") << "not measured";
  EXPECT_NE(best(product(100, 257, 65)), "shifted_sums") << "a tie";
  EXPECT_NE(best(product(1023, 1023, 1023)), "shifted_sums");
  EXPECT_NE(best(product(4095, 4097, 4099)), "shifted_sums") << "a copy serves all rows of tiles";
}

std::string log_of(const GemmProblem& problem) {
  return testing::compiler_log("gemm/shifted_sums.cu", plan_of(problem).steps[1].defines);
}

TEST(ShiftedSumsKernel, CompilesWithoutWarningsAndSpillsNothing) {
  for (const std::int64_t n : {8188, 8190, 8191}) {
    for (const std::int64_t m : {64, 127}) {
      GemmProblem problem = product(m, n, 4001);
      SCOPED_TRACE(fmt::format("{} x {}", m, n));
      const std::string log = log_of(problem);
      EXPECT_THAT(log, HasSubstr("0 bytes spill stores"));
      EXPECT_THAT(log, Not(HasSubstr("warning")));
      EXPECT_THAT(log, Not(HasSubstr("serialized")));
      problem.beta = 1.0;
      problem.has_bias = true;
      problem.activation = Activation::relu;
      EXPECT_THAT(log_of(problem), Not(HasSubstr("warning")));
    }
  }
}

// The columns of `rows` x `columns` matrices in the order that the kernel multiplies.
void gathers(std::int64_t rows, std::int64_t columns, std::int64_t pitch, int classes,
             std::int64_t class_columns, std::int64_t batch = 1, std::int64_t gap = 0) {
  const auto device = Device::open("emulated");
  const std::int64_t stride = rows * pitch + gap;
  std::vector<std::uint16_t> data(static_cast<std::size_t>(batch * stride));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint16_t>(i * 7 + 1);
  const Buffer from = device->allocate(data.size() * 2, "from");
  device->copy_to_device(from.address(), data.data(), data.size() * 2);
  const ColumnGathering gathering(*device,
                                  {.type = DataType::bfloat16,
                                   .rows = rows,
                                   .columns = columns,
                                   .pitch = pitch,
                                   .batch = batch,
                                   .batch_stride = stride},
                                  classes, class_columns);
  gathering.run(from.address(), {});
  const RowsInMemory& to = gathering.result();
  ASSERT_EQ(to.columns, classes * class_columns);
  std::vector<std::uint16_t> result(static_cast<std::size_t>(batch * to.batch_stride));
  device->copy_to_host(result.data(), gathering.address(), result.size() * 2);
  std::int64_t wrong = 0;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t x = 0; x < to.columns; ++x) {
        const std::int64_t column = x % class_columns * classes + x / class_columns;
        const std::uint16_t want =
            column < columns ? data[static_cast<std::size_t>(b * stride + r * pitch + column)] : 0;
        wrong += result[static_cast<std::size_t>(b * to.batch_stride + r * to.pitch + x)] != want;
      }
    }
  }
  EXPECT_EQ(wrong, 0) << rows << " x " << columns << ", " << classes << " classes";
}

TEST(ColumnGathering, SortsColumnsByClassesAndFillsUpWithZeros) {
  gathers(3, 512, 512, 8, 64);
  gathers(5, 509, 511, 8, 64);
  gathers(127, 401, 401, 4, 128);
  gathers(2, 300, 301, 2, 192);
  gathers(1, 8, 8, 8, 64);
  gathers(4, 70, 72, 4, 64, 3, 5);
}

}  // namespace
}  // namespace tilescope::operations
