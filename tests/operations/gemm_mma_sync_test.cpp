// Products by mma.sync, on the emulated device; gemm_random_test.cpp has random problems for them.
#include "compile/compiler.hpp"
#include "device/emulated/emulated_device.hpp"
#include "gpu/architecture.hpp"
#include "observe/count/count_observer.hpp"
#include "operations/gemm/general/mma_sync.hpp"
#include "support/gemm_runs.hpp"
#include "support/gpus.hpp"
#include "support/launch_findings.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Precision precisions[] = {Precision::bf16, Precision::fp16, Precision::tf32};
constexpr Order orders[] = {Order::row_major, Order::column_major};

class GemmMmaSync : public ::testing::Test {
 protected:
  std::string defects_of(const GemmCase& of) {
    return defects(of, run_gemm(*emulated_, gemm_variant("mma_sync"), of), true);
  }
  std::string defects_of(const GemmProblem& problem) {
    return defects_of(generator_.filled(problem));
  }
  bool is_wide(const GemmProblem& problem) const {
    return mma_sync_tile(problem, emulated_->properties()).rows == 128;
  }
  static GemmProblem dense(const MatmulShape& shape, Precision precision,
                           Order a_order = Order::row_major, Order b_order = Order::row_major) {
    return dense_problem(shape, precision, operand_type(precision), DataType::float32, a_order,
                         b_order);
  }
  std::shared_ptr<device::EmulatedDevice> emulated_ = std::make_shared<device::EmulatedDevice>();
  GemmGenerator generator_{7};
};

TEST_F(GemmMmaSync, ExtentsAroundTilesAndStages) {
  for (const Precision precision : precisions) {
    for (const MatmulShape& shape : {MatmulShape{64, 64, 32},
                                     {65, 63, 33},
                                     {1, 1, 1},
                                     {16, 8, 95},
                                     {63, 72, 96},
                                     {128, 64, 129},
                                     {7, 130, 0}}) {
      for (const Order a_order : orders) {
        for (const Order b_order : orders) {
          ASSERT_FALSE(is_wide(dense(shape, precision, a_order, b_order)));
          EXPECT_EQ(defects_of(dense(shape, precision, a_order, b_order)), "");
        }
      }
    }
  }
}

TEST_F(GemmMmaSync, WideTilesWhereTheyFillTheDevice) {
  const std::tuple<Precision, Order, Order> cases[] = {
      {Precision::bf16, Order::row_major, Order::row_major},
      {Precision::fp16, Order::column_major, Order::column_major},
      {Precision::tf32, Order::row_major, Order::column_major}};
  for (const auto& [precision, a_order, b_order] : cases) {
    GemmProblem problem = dense({130, 250, 40}, precision, a_order, b_order);
    problem.batch = 17;  // 68 tiles
    problem.c.type = operand_type(precision);
    problem.beta = 0.5;
    problem.has_bias = true;
    problem.activation = Activation::relu;
    ASSERT_TRUE(is_wide(problem));
    EXPECT_EQ(defects_of(problem), "");
  }
}

TEST_F(GemmMmaSync, IntegersAreExact) {
  for (const Precision precision : precisions) {
    GemmCase of = generator_.filled(dense({70, 90, 100}, precision));
    const auto small = [](GemmMatrices& matrix) {
      matrix.each(
          [&](auto b, auto i, auto j) { matrix.set(b, i, j, double((3 * i + j) % 9 - 4)); });
    };
    small(of.a);
    small(of.b);
    const GemmMatrices c = run_gemm(*emulated_, gemm_variant("mma_sync"), of);
    c.each([&](auto b, auto i, auto j) {
      ASSERT_EQ(c.get(b, i, j), expected_element(of, b, i, j, true).value) << i << ", " << j;
    });
  }
}

// Aligned rows take the asynchronous copies, others the loads element by element.
TEST_F(GemmMmaSync, TheCheckerIsSilent) {
  LaunchFindings findings(*emulated_);
  for (const Precision precision : precisions) {
    for (const Order a_order : orders) {
      for (const Order b_order : orders) {
        for (const MatmulShape& shape : {MatmulShape{80, 72, 200}, {67, 71, 131}}) {
          const GemmCase of = generator_.filled(dense(shape, precision, a_order, b_order));
          EXPECT_EQ(defects_of(of), "");
          EXPECT_EQ(findings.take(), "") << of.text;
        }
      }
    }
  }
}

TEST_F(GemmMmaSync, NoBankConflictsAndWholeSectors) {
  observe::CountObserver counts;
  emulated_->set_options({.observers = {&counts}});
  for (const Precision precision : precisions) {
    for (const Order a_order : orders) {
      for (const Order b_order : orders) {
        GemmCase of = generator_.filled(dense({128, 128, 256}, precision, a_order, b_order));
        while (of.a.first() % 256 != 0 || of.b.first() % 256 != 0 || of.c.first() % 256 != 0) {
          of = generator_.filled(of.problem);
        }
        EXPECT_EQ(defects_of(of), "");
        const Counts& all = counts.result().totals;
        EXPECT_EQ(all.shared_load.conflicts(), 0u) << of.text;
        EXPECT_EQ(all.shared_async.conflicts(), 0u) << of.text;
        EXPECT_EQ(all.shared_store.conflicts(), 0u) << of.text;
        // Operands of 16 bits that lie along m or n: in shared memory every other of their rows
        // begins in the middle of a sector, and each request fills 18 sectors instead of 16.
        const std::uint64_t shifted =
            precision == Precision::tf32
                ? 0
                : (a_order == Order::column_major) + (b_order == Order::row_major);
        EXPECT_EQ(all.global_load.excessive(), shifted * all.global_load.requests / 2 * 2)
            << of.text;
        EXPECT_EQ(all.global_store.excessive(), 0u) << of.text;
        EXPECT_GT(all.shared_load.requests, 0u);
      }
    }
  }
  emulated_->set_options({});
}

TEST_F(GemmMmaSync, RefusesWhatItCannotDo) {
  GemmProblem problem = dense({8, 8, 8}, Precision::bf16);
  EXPECT_EQ(mma_sync_refusal(problem, a100()), std::nullopt);
  EXPECT_EQ(mma_sync_refusal(problem, h200()), std::nullopt);
  EXPECT_EQ(mma_sync_refusal(problem, t4()), "needs compute capability 8.0, the device has 7.5");
  problem.b.type = DataType::float32;
  EXPECT_EQ(mma_sync_refusal(problem, h200()), "an operand is float32; bf16 takes bfloat16");
  problem = dense({8, 8, 8}, Precision::fp32);
  EXPECT_EQ(mma_sync_refusal(problem, h200()),
            "tensor cores compute bf16, fp16 and tf32 here, not fp32");
  problem = dense({8, 8, 8}, Precision::tf32);
  problem.c.type = DataType::int32;
  EXPECT_EQ(mma_sync_refusal(problem, h200()), "C is int32");
}

TEST_F(GemmMmaSync, CompilesWithoutWarningsAndSpillsNothing) {
  for (const DeviceProperties& device : {a100(), h200()}) {
    for (const Precision precision : precisions) {
      for (const std::int64_t size : {64, 4096}) {
        for (const Order order : orders) {
          GemmProblem problem = dense({size, size, 64}, precision, order, order);
          problem.beta = 1.0;
          problem.has_bias = true;
          problem.activation = Activation::gelu;
          const KernelRequest request = mma_sync_request(problem, device);
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
