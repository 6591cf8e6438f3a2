// The kernels of tensor tiles as NVRTC compiles them: no warnings, and no registers in memory.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "operations/gemm/dispatch/gemm_variants.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "support/gemm_kernels.hpp"
#include "support/tensor_products.hpp"

namespace tilescope::operations {
namespace {

using ::testing::HasSubstr;
using testing::hopper;
using ::testing::Not;
using testing::tensor_product;

std::string log_of(std::string_view variant, const GemmProblem& problem) {
  const Step step = recorded_plan(gemm_variant(variant), problem, hopper()).steps.back();
  return testing::compiler_log(step.source, step.defines);
}

TEST(TensorTilesKernels, CompileWithoutWarningsAndSpillNothing) {
  GemmProblem epilogue = tensor_product(1024, 1024, 256, Precision::fp16);
  epilogue.b.order = Order::column_major;
  epilogue.c.type = DataType::float32;
  epilogue.beta = 1.0;
  epilogue.has_bias = true;
  epilogue.activation = Activation::gelu;
  GemmProblem odd = tensor_product(1024, 1023, 99);
  for (const GemmProblem& problem :
       {tensor_product(8192, 8192, 256), epilogue, odd, tensor_product(1000, 1000, 192),
        tensor_product(8192, 8192, 128, Precision::tf32)}) {
    for (const std::string_view variant : {"panel_tiles", "tensor_tiles", "cluster"}) {
      SCOPED_TRACE(fmt::format("{} of {}", variant, problem.shape.n));
      const std::string log = log_of(variant, problem);
      EXPECT_THAT(log, HasSubstr("0 bytes spill stores, 0 bytes spill loads"));
      EXPECT_THAT(log, Not(HasSubstr("warning")));
      EXPECT_THAT(log, Not(HasSubstr("serialized")));
    }
  }
}

TEST(TensorTilesKernels, SpillNothingWithNarrowEnds) {
  GemmProblem epilogue = tensor_product(5976, 1696, 5856);
  epilogue.b.order = Order::column_major;
  epilogue.beta = 1.0;
  epilogue.has_bias = true;
  GemmProblem along_k = tensor_product(3520, 7184, 2392);
  along_k.a.order = along_k.b.order = Order::column_major;
  along_k.a.leading = 3520;
  GemmProblem rows = tensor_product(1296, 3143, 704);
  rows.b.order = Order::column_major;
  rows.beta = 1.0;
  for (const GemmProblem& problem : {epilogue, along_k, rows}) {
    const Step step = recorded_plan(gemm_variant("tensor_tiles"), problem, hopper()).steps.back();
    EXPECT_EQ(testing::constant(step, "TRANSPOSED"), "0");
    EXPECT_NE(std::stoi(testing::constant(step, "TILE_N")) % 64, 0) << problem.shape.m;
    const std::string log = log_of("tensor_tiles", problem);
    EXPECT_THAT(log, HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
    EXPECT_THAT(log, Not(HasSubstr("warning")));
  }
}

TEST(TensorTilesKernels, SpillNothingInLayers) {
  GemmProblem epilogue = tensor_product(256, 512, 4096);
  epilogue.beta = 1.0;
  epilogue.has_bias = true;
  for (const GemmProblem& problem : {tensor_product(640, 640, 6400), epilogue,
                                     tensor_product(1160, 632, 3472, Precision::fp16)}) {
    const Step step = recorded_plan(gemm_variant("tensor_tiles"), problem, hopper()).steps.back();
    EXPECT_NE(testing::constant(step, "LAYERS"), "1") << problem.shape.m;
    const std::string log = log_of("tensor_tiles", problem);
    EXPECT_THAT(log, HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
    EXPECT_THAT(log, Not(HasSubstr("warning")));
  }
}

TEST(TensorTilesKernels, SpillNothingWhereBArrives) {
  GemmProblem rows = tensor_product(8192, 8192, 8192), columns = rows;
  columns.c.type = DataType::float32;
  for (GemmProblem* const problem : {&rows, &columns}) {
    problem->arrival = {.columns = 1024, .rows = 2048, .there = 4096, .leading_there = 8192};
    const Step step = recorded_plan(gemm_variant("tensor_tiles"), *problem, hopper()).steps.back();
    EXPECT_EQ(testing::constant(step, "AWAITS"), problem == &rows ? "2" : "1");
    const std::string log = log_of("tensor_tiles", *problem);
    EXPECT_THAT(log, HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
    EXPECT_THAT(log, Not(HasSubstr("warning")));
  }
}

// A store of 16 bytes that a loop may skip: the compiler would make four of it, if it were let.
TEST(TensorTilesKernels, StoreRowsThatBeginAnywhereInWholeChunks) {
  GemmProblem added = tensor_product(1003, 1001, 999);
  added.beta = 1.0;
  for (const GemmProblem& problem :
       {tensor_product(1003, 1001, 999), added, tensor_product(1003, 1001, 999, Precision::tf32),
        tensor_product(8192, 8191, 128), tensor_product(333, 201, 99)}) {
    for (const std::string_view variant : {"tensor_tiles", "panel_tiles", "short_k_mma"}) {
      if (gemm_variant(variant).refusal(problem, hopper())) continue;
      SCOPED_TRACE(
          fmt::format("{} of {} in {}", variant, problem.shape.n, name_of(problem.precision)));
      const Step step = recorded_plan(gemm_variant(variant), problem, hopper()).steps.back();
      const std::string ptx = testing::compiled(step.source, step.defines).ptx;
      EXPECT_THAT(ptx, HasSubstr("st.global.v4.u32"));
      EXPECT_THAT(ptx, Not(HasSubstr("st.global.u32")));
      EXPECT_THAT(ptx, Not(HasSubstr("st.global.v2.u16")));
    }
  }
}

// Tiles of few and of many sums for each thread.
TEST(TensorTilesKernels, SpillNothingWhereThreadsFetchC) {
  for (GemmProblem problem : {tensor_product(8191, 8191, 1999), tensor_product(1722, 1675, 78),
                              tensor_product(3638, 1345, 114), tensor_product(4491, 3675, 88),
                              tensor_product(235, 559, 405)}) {
    problem.beta = 1.0;
    EXPECT_THAT(log_of("tensor_tiles", problem),
                HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"))
        << problem.shape.m;
  }
}

}  // namespace
}  // namespace tilescope::operations
