// float64 products by mma.sync, on emulated GPUs with either shape of it; gemm_random_test.cpp has
// random problems for them, gemm_rungs_emulated_test.cpp the checks.
#include "compile/compiler.hpp"
#include "device/emulated/emulated_device.hpp"
#include "gpu/architecture.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/gemm/general/fp64_tiles.hpp"
#include "support/gemm_runs.hpp"
#include "support/gpus.hpp"

namespace tilescope::operations {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Order orders[] = {Order::row_major, Order::column_major};

GemmProblem dense(const MatmulShape& shape, Order a_order = Order::row_major,
                  Order b_order = Order::row_major) {
  return dense_problem(shape, Precision::fp64, DataType::float64, DataType::float64, a_order,
                       b_order);
}

class GemmFp64Tiles : public ::testing::TestWithParam<const char*> {
 protected:
  GemmMatrices run(const GemmCase& of) {
    return run_gemm(*emulated_, gemm_variant("fp64_tiles"), of);
  }
  std::string defects_of(const GemmCase& of) { return defects(of, run(of), true); }
  bool is_wide(const GemmProblem& problem) const {
    return fp64_tile(problem, emulated_->properties()).rows == 128;
  }
  /// A case whose first elements all lie, or all do not lie, at multiples of `bytes`.
  GemmCase placed(const GemmProblem& problem, std::size_t bytes, bool at_multiples) {
    for (;;) {
      GemmCase of = generator_.filled(problem);
      const auto fits = [&](const GemmMatrices& m) {
        return (m.first() % bytes == 0) == at_multiples;
      };
      if (fits(of.a) && fits(of.b) && fits(of.c)) return of;
    }
  }

  std::shared_ptr<device::EmulatedDevice> emulated_ =
      std::make_shared<device::EmulatedDevice>(GetParam());
  GemmGenerator generator_{7};
};

TEST_P(GemmFp64Tiles, ExtentsAroundTilesAndStages) {
  for (const MatmulShape& shape : {MatmulShape{64, 64, 32},
                                   {65, 63, 33},
                                   {1, 1, 1},
                                   {16, 8, 95},
                                   {63, 72, 96},
                                   {128, 66, 129},
                                   {7, 130, 15}}) {
    for (const Order a_order : orders) {
      for (const Order b_order : orders) {
        const GemmProblem problem = dense(shape, a_order, b_order);
        ASSERT_FALSE(is_wide(problem));
        EXPECT_EQ(defects_of(generator_.filled(problem)), "");
      }
    }
  }
}

TEST_P(GemmFp64Tiles, WideTilesWhereTheyFillTheDevice) {
  for (const Order a_order : orders) {
    for (const Order b_order : orders) {
      GemmProblem problem = dense({130, 250, 40}, a_order, b_order);
      problem.batch = 17;  // 68 tiles
      problem.alpha = -1.5;
      problem.beta = 0.5;
      problem.has_bias = true;
      problem.activation = Activation::relu;
      ASSERT_TRUE(is_wide(problem));
      EXPECT_EQ(defects_of(generator_.filled(problem)), "");
    }
  }
}

// Rows that begin at odd multiples of 8 bytes are copied in halves of chunks.
TEST_P(GemmFp64Tiles, RowsAtAnyMultipleOfEightBytes) {
  for (const Order a_order : orders) {
    for (const Order b_order : orders) {
      for (const MatmulShape& shape : {MatmulShape{66, 68, 70}, {67, 69, 71}}) {
        for (const bool at_multiples : {true, false}) {
          EXPECT_EQ(defects_of(placed(dense(shape, a_order, b_order), 16, at_multiples)), "");
        }
      }
    }
  }
}

// Each sum adds its products in one order, whatever the tile: cutting a product moves no bit.
TEST_P(GemmFp64Tiles, TheTileChangesNoBit) {
  const GemmProblem one = dense({130, 250, 40});
  GemmProblem many = one;
  many.batch = 17;
  many.a.batch_stride = many.b.batch_stride = 0;
  ASSERT_FALSE(is_wide(one));
  ASSERT_TRUE(is_wide(many));
  const GemmCase narrow = generator_.filled(one);
  GemmCase wide = generator_.filled(many);
  narrow.a.each([&](auto, auto i, auto j) { wide.a.set(0, i, j, narrow.a.get(0, i, j)); });
  narrow.b.each([&](auto, auto i, auto j) { wide.b.set(0, i, j, narrow.b.get(0, i, j)); });
  const GemmMatrices small = run(narrow), large = run(wide);
  small.each([&](auto, auto i, auto j) {
    ASSERT_EQ(small.get(0, i, j), large.get(16, i, j)) << i << ", " << j;
  });
}

TEST_P(GemmFp64Tiles, NoBankConflictsAndWholeSectors) {
  observe::CountObserver counts;
  emulated_->set_options({.observers = {&counts}});
  for (const Order a_order : orders) {
    for (const Order b_order : orders) {
      for (const std::int64_t batch : {1, 66}) {
        GemmProblem problem = dense({64, 128, 32}, a_order, b_order);
        problem.batch = batch;
        ASSERT_EQ(is_wide(problem), batch > 1);
        const GemmCase of = placed(problem, 128, true);
        EXPECT_EQ(defects_of(of), "");
        const Counts& all = counts.result().totals;
        EXPECT_EQ(all.shared_load.conflicts(), 0u) << of.text;
        EXPECT_EQ(all.shared_async.conflicts(), 0u) << of.text;
        EXPECT_EQ(all.shared_store.conflicts(), 0u) << of.text;
        EXPECT_EQ(all.global_load.excessive(), 0u) << of.text;
        EXPECT_EQ(all.global_store.excessive(), 0u) << of.text;
        EXPECT_GT(all.shared_load.requests, 0u);
        // No sum is formed by DFMA: there are only alpha and beta.
        EXPECT_EQ(all.operations.dfma, static_cast<std::uint64_t>(2 * 64 * 128 * batch));
      }
    }
  }
  emulated_->set_options({});
}

INSTANTIATE_TEST_SUITE_P(Gpus, GemmFp64Tiles, ::testing::Values("a100", "h200"),
                         [](const auto& of) { return std::string(of.param); });

TEST(Fp64Tiles, RefuseWhatTheyCannotDo) {
  GemmProblem problem = dense({8, 8, 8});
  EXPECT_EQ(fp64_tiles_refusal(problem, a100()), std::nullopt);
  EXPECT_EQ(fp64_tiles_refusal(problem, h200()), std::nullopt);
  EXPECT_EQ(fp64_tiles_refusal(problem, t4()), "needs compute capability 8.0, the device has 7.5");
  problem.b.type = DataType::float32;
  EXPECT_EQ(fp64_tiles_refusal(problem, h200()),
            "an operand is float32; fp64 on tensor cores takes float64");
  problem = dense({8, 8, 8});
  problem.c.type = DataType::int32;
  EXPECT_EQ(fp64_tiles_refusal(problem, h200()), "C is int32");
  problem.precision = Precision::fp32;
  EXPECT_EQ(fp64_tiles_refusal(problem, h200()), "computes fp64, not fp32");
  EXPECT_EQ(fp64_tiles_refusal(dense({8, 8, 0}), h200()), "there is nothing to multiply");
}

TEST(Fp64Tiles, AreTheDefaultWhereTensorCoresMultiplyFloat64) {
  const GemmProblem problem = dense({300, 300, 300});
  DeviceProperties without = a100();
  without.compute_minor = 6;
  EXPECT_EQ(best_gemm_variant(problem, a100()).name, "fp64_tiles");
  EXPECT_EQ(best_gemm_variant(problem, h200()).name, "fp64_tiles");
  EXPECT_EQ(best_gemm_variant(problem, without).name, "general");
  EXPECT_EQ(best_gemm_variant(problem, t4()).name, "general");
}

// GPUs of 8.6 and 8.9 have 99 KiB for a block.
TEST(Fp64Tiles, AreNarrowWhereSharedMemoryIsShort) {
  DeviceProperties device = a100();
  EXPECT_EQ(fp64_tile(dense({4096, 4096, 64}), device).rows, 128);
  device.shared_bytes_per_block_optin = 99 << 10U;
  EXPECT_EQ(fp64_tile(dense({4096, 4096, 64}), device).rows, 64);
}

TEST(Fp64Tiles, CompileWithoutWarningsAndSpillNothing) {
  for (const DeviceProperties& device : {a100(), h200()}) {
    for (const std::int64_t size : {64, 4096}) {
      for (const Order a_order : orders) {
        for (const Order b_order : orders) {
          GemmProblem problem = dense({size, size, 64}, a_order, b_order);
          problem.beta = 1.0;
          problem.has_bias = true;
          problem.activation = Activation::gelu;
          const KernelRequest request = fp64_tiles_request(problem, device);
          const compile::Program program = compile::compile(
              {.source_name = request.source_name,
               .source = request.source,
               .kernel = request.kernel,
               .architecture = gpu::architecture_name(device.compute_major, device.compute_minor),
               .defines = request.defines,
               .include_directories = {},
               .headers = request.headers,
               .extra_options = {"--ptxas-options=-v"}});
          EXPECT_THAT(program.log,
                      HasSubstr("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
          EXPECT_THAT(program.log, Not(HasSubstr("warning")));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
