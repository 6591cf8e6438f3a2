// Products that multiply a B whose rows begin anywhere from registers: the problems that they take,
// and that their kernel compiles and fits.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "operations/gemm/hopper/unaligned_rows.hpp"
#include "operations/gemm/operands/column_sorting.hpp"
#include "support/gemm_kernels.hpp"

namespace tilescope::operations {
namespace {

using testing::constant;
using ::testing::HasSubstr;
using testing::hopper;
using ::testing::Not;

GemmProblem bf16_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return dense_problem({m, n, k}, Precision::bf16, DataType::bfloat16, DataType::bfloat16);
}

std::string unaligned_refusal(const GemmProblem& problem) {
  return unaligned_rows_refusal(problem, hopper()).value_or("");
}

TEST(UnalignedRowsRefusal, SaysWhatItDoesNotTake) {
  EXPECT_EQ(unaligned_refusal(bf16_product(127, 8190, 4001)), "");
  EXPECT_EQ(unaligned_refusal(bf16_product(1, 1, 16)), "");
  EXPECT_THAT(unaligned_refusal(bf16_product(1, 1, 15)), HasSubstr("fewer than 16 rows"));
  EXPECT_THAT(unaligned_refusal(bf16_product(127, 8192, 4001)), HasSubstr("multiples of 16 bytes"));
  EXPECT_THAT(unaligned_refusal(bf16_product(3, 0, 70)), HasSubstr("nothing"));
  GemmProblem problem = bf16_product(127, 8190, 4001);
  problem.a.order = Order::column_major;
  EXPECT_THAT(unaligned_refusal(problem), HasSubstr("row-major"));
  problem = bf16_product(127, 8190, 4001);
  problem.b.order = Order::column_major;
  EXPECT_THAT(unaligned_refusal(problem), HasSubstr("row-major"));
  problem = bf16_product(127, 8190, 4001);
  problem.batch = 2;
  problem.b.batch_stride = 8190 * 4001;
  EXPECT_THAT(unaligned_refusal(problem), HasSubstr("matrices of B"));
  problem.b.batch_stride += 2;
  EXPECT_EQ(unaligned_refusal(problem), "");
  const GemmProblem tf32 =
      dense_problem({127, 8190, 4001}, Precision::tf32, DataType::float32, DataType::float32);
  EXPECT_THAT(unaligned_refusal(tf32), HasSubstr("bf16"));
  EXPECT_THAT(unaligned_rows_refusal(bf16_product(9, 9, 99), testing::a100()).value_or(""),
              HasSubstr("9.0"));
}

Plan plan_of(const GemmProblem& problem) {
  return recorded_plan(gemm_variant("unaligned_rows"), problem, hopper());
}

TEST(UnalignedRows, LaunchesFollowTheShape) {
  const Plan plan = plan_of(bf16_product(127, 8190, 4001));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].kernel, "sort_columns");
  EXPECT_EQ(plan.steps[0].launch.grid.x, 127u);
  EXPECT_EQ(plan.steps[0].launch.grid.y, 4u) << "63 tiles of 64 columns, 1,024 columns a block";
  const Step& multiply = plan.steps[1];
  EXPECT_EQ(constant(multiply, "B_IS_ODD"), "0");
  EXPECT_EQ(constant(multiply, "TILE_M"), "128");
  EXPECT_EQ(multiply.launch.grid.x, 2u * 64u);
  EXPECT_TRUE(multiply.launch.overlaps_previous);
  EXPECT_LE(multiply.launch.shared_bytes, hopper().shared_bytes_per_block_optin);

  const Plan odd = plan_of(bf16_product(300, 1023, 1023));
  EXPECT_EQ(constant(odd.steps.back(), "B_IS_ODD"), "1");
  EXPECT_EQ(odd.steps.back().launch.grid.x, 2u * 3u * 8u);
  const Plan few = plan_of(bf16_product(64, 8188, 4000));
  EXPECT_EQ(constant(few.steps.back(), "TILE_M"), "64");
  EXPECT_EQ(few.steps.back().launch.grid.x, 2u * 64u);
  EXPECT_LE(few.steps.back().launch.shared_bytes, hopper().shared_bytes_per_block_optin);
}

TEST(UnalignedRows, AreDispatchedWhereACopyOfBCostsMore) {
  const auto best = [](const GemmProblem& problem) {
    return best_gemm_variant(problem, hopper()).name;
  };
  EXPECT_EQ(best(bf16_product(127, 8190, 4001)), "unaligned_rows");
  EXPECT_EQ(best(bf16_product(127, 8191, 4001)), "unaligned_rows");
  EXPECT_EQ(best(bf16_product(16, 8191, 2001)), "unaligned_rows");
  EXPECT_EQ(best(bf16_product(128, 16380, 4001)), "unaligned_rows") << "two full rounds";
  GemmProblem added_to = bf16_product(64, 8190, 4001);
  added_to.beta = 0.5;
  EXPECT_EQ(best(added_to), "unaligned_rows");
  GemmProblem short_and_added_to = bf16_product(67, 5406, 392);
  EXPECT_EQ(best(short_and_added_to), "unaligned_rows");
  short_and_added_to.beta = 0.5;
  EXPECT_EQ(best(short_and_added_to), "tensor_tiles") << "C is added slowly";
  EXPECT_NE(best(bf16_product(127, 8192, 4001)), "unaligned_rows") << "aligned";
  EXPECT_NE(best(bf16_product(100, 257, 65)), "unaligned_rows") << "a tie";
  EXPECT_NE(best(bf16_product(1023, 1023, 1023)), "unaligned_rows");
  EXPECT_NE(best(bf16_product(4095, 4097, 4099)), "unaligned_rows")
      << "a copy serves all rows of tiles";
}

std::string log_of(const GemmProblem& problem) {
  return testing::compiler_log("gemm/unaligned_rows.cu", plan_of(problem).steps.back().defines);
}

TEST(UnalignedRowsKernel, CompilesWithoutWarningsAndSpillsNothing) {
  for (const std::int64_t n : {8190, 8191}) {
    for (const std::int64_t m : {64, 127}) {
      SCOPED_TRACE(fmt::format("{} x {}", m, n));
      GemmProblem problem = bf16_product(m, n, 4001);
      const std::string log = log_of(problem);
      EXPECT_THAT(log, HasSubstr("0 bytes spill stores"));
      EXPECT_THAT(log, Not(HasSubstr("warning")));
      EXPECT_THAT(log, Not(HasSubstr("serialized")));
      problem.beta = 1.0;
      problem.has_bias = true;
      problem.activation = Activation::gelu;
      EXPECT_THAT(log_of(problem), Not(HasSubstr("warning")));
    }
  }
}

// The columns of `rows` x `columns` matrices in the order that the kernel multiplies.
void sorts(std::int64_t rows, std::int64_t columns, std::int64_t pitch, std::int64_t batch = 1,
           std::int64_t gap = 0) {
  const auto device = Device::open("emulated");
  const std::int64_t stride = rows * pitch + gap;
  std::vector<std::uint16_t> data(static_cast<std::size_t>(batch * stride));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint16_t>(i * 7 + 1);
  const Buffer from = device->allocate(data.size() * 2, "from");
  device->copy_to_device(from.address(), data.data(), data.size() * 2);
  const ColumnSorting sorting(*device, {.type = DataType::bfloat16,
                                        .rows = rows,
                                        .columns = columns,
                                        .pitch = pitch,
                                        .batch = batch,
                                        .batch_stride = stride});
  sorting.run(from.address(), {});
  const RowsInMemory& to = sorting.result();
  ASSERT_EQ(to.columns, (columns + 63) / 64 * 64);
  std::vector<std::uint16_t> result(static_cast<std::size_t>(batch * to.batch_stride));
  device->copy_to_host(result.data(), sorting.address(), result.size() * 2);
  std::int64_t wrong = 0;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t x = 0; x < to.columns; ++x) {
        const std::int64_t g = x % 64 / 8, t = x % 8 / 2,
                           column = x / 64 * 64 + 16 * t + 2 * g + x % 2;
        const std::uint16_t want =
            column < columns ? data[static_cast<std::size_t>(b * stride + r * pitch + column)] : 0;
        wrong += result[static_cast<std::size_t>(b * to.batch_stride + r * to.pitch + x)] != want;
      }
    }
  }
  EXPECT_EQ(wrong, 0) << rows << " x " << columns;
}

TEST(ColumnSorting, SortsPairsAndFillsUpWithZeros) {
  sorts(3, 512, 512);
  sorts(5, 509, 511);
  sorts(2, 2001, 2001);
  sorts(1, 1, 1);
  sorts(4, 70, 72, 3, 5);
}

}  // namespace
}  // namespace tilescope::operations
