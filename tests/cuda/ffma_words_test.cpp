// fp32 products on the GPU whose operands are copied word by word or in pairs of rows, with k long
// enough that every buffer is filled several times: of the random problems none is such.
#include <algorithm>

#include "cuda/real_gpu.hpp"
#include "operations/gemm/hopper/ffma.hpp"
#include "operations/gemm/hopper/ffma_plan.hpp"
#include "support/gemm_runs.hpp"

namespace tilescope::operations {
namespace {

bool reads_pairs(const FfmaPlan& plan) {
  return plan.b == FfmaSource::paired_boxes;
}

bool copies_nothing_before(const FfmaPlan& plan) {
  return plan.a != FfmaSource::copy && plan.b != FfmaSource::copy;
}

// The fastest plan of those: the library's choice may be another.
template <bool (*IsWanted)(const FfmaPlan&)>
std::unique_ptr<GemmRun> prepare_wanted(Device& device, const GemmProblem& problem) {
  const std::vector<FfmaPlan> plans = ffma_plan_candidates(problem, device.properties());
  const auto found = std::find_if(plans.begin(), plans.end(), IsWanted);
  if (found == plans.end()) throw usage_error("no plan reads the operands so");
  return prepare_ffma(device, problem, *found);
}

constexpr GemmVariant by_pairs{.name = "ffma_tiles",
                               .idea = "",
                               .source = "gemm/ffma_tiles.cu",
                               .refusal = ffma_refusal,
                               .prepare = prepare_wanted<reads_pairs>};
constexpr GemmVariant by_words{.name = "ffma_tiles",
                               .idea = "",
                               .source = "gemm/ffma_tiles.cu",
                               .refusal = ffma_refusal,
                               .prepare = prepare_wanted<copies_nothing_before>};

class FfmaWordsOnGpu : public testing::RealGpu {
 protected:
  void expect_right(const GemmVariant& variant, const MatmulShape& shape, Order a_order,
                    Order b_order) {
    const GemmProblem problem = dense_problem(shape, Precision::fp32, DataType::float32,
                                              DataType::float32, a_order, b_order);
    if (auto why = variant.refusal(problem, gpu_->properties())) GTEST_SKIP() << *why;
    const testing::GemmCase of = generator_.filled(problem);
    const testing::GemmMatrices c = run_gemm(*gpu_, variant, of);
    EXPECT_EQ(testing::defects(of, c, false), "") << of.text;
    for (int again = 0; again < 5; ++again) {
      ASSERT_EQ(c.image(), run_gemm(*gpu_, variant, of).image()) << of.text << ": other bits";
    }
  }

  testing::GemmGenerator generator_{23};
};

// One B in three begins within a chunk, where the pairs are not.
TEST_F(FfmaWordsOnGpu, PairsOfRows) {
  for (const MatmulShape& shape : {MatmulShape{127, 2050, 300}, {126, 8190, 35}}) {
    for (int operands = 0; operands < 4; ++operands) {
      expect_right(by_pairs, shape, Order::row_major, Order::row_major);
    }
  }
}

TEST_F(FfmaWordsOnGpu, BuffersFilledSeveralTimes) {
  for (const Order a_order : {Order::row_major, Order::column_major}) {
    for (const Order b_order : {Order::row_major, Order::column_major}) {
      for (const MatmulShape& shape : {MatmulShape{130, 257, 777},
                                       {15, 301, 1999},
                                       {513, 66, 903},
                                       {62, 1027, 515},
                                       {333, 522, 650}}) {
        expect_right(by_words, shape, a_order, b_order);
      }
    }
  }
}

}  // namespace
}  // namespace tilescope::operations
