// The candidates for tuning a product, and the kernel that computes it afterwards.
#include <stdlib.h>

#include <algorithm>
#include <set>

#include "operations/gemm/dispatch/dispatch.hpp"
#include "operations/gemm/dispatch/plan_recorder.hpp"
#include "operations/gemm/dispatch/tuned_products.hpp"
#include "operations/gemm/dispatch/variant_plans.hpp"
#include "operations/gemm/hopper/ffma_plan.hpp"
#include "operations/gemm/hopper/register_operand.hpp"
#include "operations/gemm/hopper/tensor_tile_choice.hpp"
#include "operations/gemm/hopper/tensor_tiles.hpp"
#include "support/fake_device.hpp"
#include "support/gemm_kernels.hpp"
#include "support/temporary_folder.hpp"

namespace tilescope::operations {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::hopper;

GemmProblem dispatched_product(const MatmulShape& shape, Precision precision) {
  const DataType type = operand_type(precision);
  return dense_problem(shape, precision, type, type);
}

const MatmulShape dispatch_shapes[] = {{4096, 4096, 4096}, {1023, 1023, 1023}, {127, 8190, 4001},
                                       {256, 256, 65536},  {16, 8192, 8192},   {1, 1000, 1000}};
constexpr Precision dispatch_precisions[] = {Precision::fp32, Precision::fp32_fast,
                                             Precision::tf32, Precision::bf16,
                                             Precision::fp16, Precision::fp64};

TEST(TuningCandidates, TheModelsChoiceIsFirstAndNoneComesTwice) {
  for (const MatmulShape& shape : dispatch_shapes) {
    for (const Precision precision : dispatch_precisions) {
      const GemmProblem problem = dispatched_product(shape, precision);
      const std::vector<GemmChoice> candidates = tuning_candidates(problem, hopper(), 12);
      EXPECT_EQ(candidates.front().variant, &best_gemm_variant(problem, hopper()));
      EXPECT_LE(candidates.size(), 12u);
      std::set<std::pair<std::string_view, std::string>> seen;
      for (const GemmChoice& choice : candidates) {
        EXPECT_TRUE(seen.emplace(choice.variant->name, choice.plan).second)
            << choice.variant->name << ' ' << choice.plan;
        EXPECT_FALSE(choice.variant->refusal(problem, hopper()));
        EXPECT_FALSE(choice.variant->is_step) << choice.variant->name;
      }
    }
  }
}

TEST(TuningCandidates, EachVariantThatTakesTheProductIsOneEvenBeyondTheLimit) {
  const GemmProblem problem = dispatched_product({16, 8192, 8192}, Precision::bf16);
  std::set<std::string_view> names;
  for (const GemmChoice& choice : tuning_candidates(problem, hopper(), 1)) {
    EXPECT_TRUE(names.insert(choice.variant->name).second);
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"general", "mma_sync", "narrow_tiles", "short_k",
                                               "short_k_mma", "tensor_tiles"}));
}

TEST(TuningCandidates, PlansOfOneModelComeBestFirstAndCanBeToldApart) {
  const auto candidates =
      tuning_candidates(dispatched_product({4096, 4096, 4096}, Precision::bf16), hopper(), 30);
  double last = 0.0;
  int count = 0;
  for (const GemmChoice& choice : candidates) {
    if (choice.variant->name != "tensor_tiles") continue;
    EXPECT_GT(choice.cycles, last);
    last = choice.cycles;
    ++count;
  }
  EXPECT_GT(count, 10);
}

TEST(TuningCandidates, SiblingsAreWhatTheModelCannotTellApart) {
  // Beyond what the network knows, which tells any two plans apart.
  const GemmProblem problem = dispatched_product({4096, 4096, 32768}, Precision::bf16);
  const GemmChoice first = tuning_candidates(problem, hopper(), 1).front();
  const std::vector<GemmChoice> others = siblings(first, problem, hopper());
  EXPECT_FALSE(others.empty());
  for (const GemmChoice& other : others) {
    EXPECT_EQ(other.cycles, first.cycles);
    EXPECT_NE(other.plan, first.plan);
  }
  EXPECT_TRUE(siblings({.variant = &gemm_variant("general")}, problem, hopper()).empty());
}

TEST(TuningCandidates, OnlyOneWhereOnlyOneVariantTakesTheProduct) {
  GemmProblem problem = dispatched_product({64, 64, 64}, Precision::fp64);
  EXPECT_GT(tuning_candidates(problem, hopper(), 12).size(), 1u);
  problem.a.type = DataType::float32;  // only `general` mixes types
  EXPECT_EQ(tuning_candidates(problem, hopper(), 12).size(), 1u);
}

// A plan's text stands for the plan that is launched: the first is the variant's own choice.
TEST(VariantPlans, TheFirstIsWhatTheVariantTakesUnasked) {
  for (const MatmulShape& shape : dispatch_shapes) {
    for (const Precision precision : dispatch_precisions) {
      const GemmProblem problem = dispatched_product(shape, precision);
      for (const GemmVariant& variant : gemm_variants()) {
        if (variant.plans == nullptr || variant.refusal(problem, hopper())) continue;
        const std::vector<GemmPlan> plans = variant.plans(problem, hopper());
        GemmVariant by_plan = variant;
        static std::string first;
        static const GemmVariant* original = nullptr;
        first = plans.front().text;
        original = &variant;
        by_plan.prepare = [](Device& device, const GemmProblem& of) {
          return original->prepare_plan(device, of, first);
        };
        const Plan one = recorded_plan(variant, problem, hopper());
        const Plan other = recorded_plan(by_plan, problem, hopper());
        ASSERT_EQ(one.steps.size(), other.steps.size());
        for (std::size_t i = 0; i < one.steps.size(); ++i) {
          EXPECT_EQ(one.steps[i].defines, other.steps[i].defines) << variant.name;
        }
      }
    }
  }
}

// If two plans had one text, a file could not distinguish them.
TEST(VariantPlans, EachHasATextOfItsOwn) {
  const auto different = [](const auto& tiles) {
    std::size_t count = 0;
    for (auto tile = tiles.begin(); tile != tiles.end(); ++tile) {
      count += std::find(tiles.begin(), tile, *tile) == tile ? 1 : 0;
    }
    return count;
  };
  for (const MatmulShape& shape : dispatch_shapes) {
    const GemmProblem bf16 = dispatched_product(shape, Precision::bf16);
    EXPECT_EQ(tensor_tiles_plans(bf16, hopper()).size(),
              different(tensor_tile_candidates(bf16, hopper())));
    const GemmProblem tf32 = dispatched_product(shape, Precision::tf32);
    EXPECT_EQ(register_operand_plans(tf32, hopper()).size(),
              different(register_tile_candidates(tf32, hopper())));
  }
  // Shapes whose k is not cut.
  for (const MatmulShape& shape : {MatmulShape{4096, 4096, 4096}, {4095, 4097, 4099}}) {
    const GemmProblem fp32 = dispatched_product(shape, Precision::fp32);
    EXPECT_EQ(ffma_plans(fp32, hopper()).size(), ffma_plan_candidates(fp32, hopper()).size());
  }
}

TEST(VariantPlans, ATextThatIsNoneOfTheProductsIsAnError) {
  const auto device = std::make_shared<testing::FakeDevice>(hopper());
  for (const auto& [name, precision] : {std::pair{"tensor_tiles", Precision::bf16},
                                        {"register_operand", Precision::tf32},
                                        {"ffma_tiles", Precision::fp32}}) {
    const std::string text = error_of(ErrorKind::usage, [&, name = name, precision = precision] {
      gemm_variant(name).prepare_plan(*device, dispatched_product({512, 512, 512}, precision),
                                      "tile 1x1");
    });
    EXPECT_THAT(text, HasSubstr(std::string(name) + " has no plan \"tile 1x1\""));
  }
}

TEST(RecordedKernels, AreThoseThatARunLoads) {
  const GemmProblem problem = dispatched_product({256, 256, 65536}, Precision::bf16);
  const std::vector<GemmChoice> candidates = tuning_candidates(problem, hopper(), 12);
  const auto kernels_of = [&](const GemmChoice& choice) {
    std::string names;
    for (const KernelRequest& request : recorded_kernels(
             [&](Device& device) { return choice.prepare(device, problem); }, hopper())) {
      names += request.source_name + ' ';
    }
    return names;
  };
  EXPECT_EQ(kernels_of({.variant = &gemm_variant("general")}), "kernels/gemm/general.cu ");
  // k is cut: the parts are added up by a second kernel.
  EXPECT_EQ(kernels_of(candidates.front()),
            "kernels/gemm/tensor_tiles.cu kernels/gemm/reduce_splits.cu ");
}

class Dispatch : public ::testing::Test {
 protected:
  Dispatch() { ::setenv("TILESCOPE_CACHE", folder_.path().c_str(), 1); }
  ~Dispatch() override { ::unsetenv("TILESCOPE_AUTOTUNE"); }

  // Stores a choice as another process would have, before this one reads the file.
  void on_file(const std::string& variant, const std::string& plan) {
    TunedProducts(tuned_file(*device_))
        .keep(key_of(problem_),
              {.variant = variant, .plan = plan, .note = {}, .ms = 1, .model = {}, .model_ms = 2});
  }
  GemmChoice dispatched() { return dispatch(problem_, *device_); }

  testing::TemporaryFolder folder_;
  std::shared_ptr<testing::FakeDevice> device_ = std::make_shared<testing::FakeDevice>(hopper());
  GemmProblem problem_ = dispatched_product({1000, 1000, 1000}, Precision::bf16);
};

TEST_F(Dispatch, WithoutAFileTheModelDecides) {
  EXPECT_EQ(dispatched().variant->name, "tensor_tiles");
  EXPECT_EQ(dispatched().plan, "");
  EXPECT_FALSE(dispatched().is_tuned);
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(Dispatch, WhatIsOnFileIsTakenForThatProductAlone) {
  on_file("mma_sync", "");
  EXPECT_EQ(dispatched().variant->name, "mma_sync");
  EXPECT_TRUE(dispatched().is_tuned);
  problem_.shape.m = 1001;
  EXPECT_FALSE(dispatched().is_tuned);
}

TEST_F(Dispatch, SoAreItsPlans) {
  const std::string plan = tuning_candidates(problem_, hopper(), 12).back().plan;
  on_file("tensor_tiles", plan);
  EXPECT_EQ(dispatched().plan, plan);
  EXPECT_GT(dispatched().cycles, 0.0);
}

TEST_F(Dispatch, WhatTheDeviceCannotRunIsNotTaken) {
  for (const auto& [variant, plan] : {std::pair{"no_such_variant", ""},
                                      {"gemv", ""},  // refuses the product
                                      {"tensor_tiles", "tile 1x1"},
                                      {"tensor_tiles", ""},
                                      {"mma_sync", "tile 1x1"}}) {
    const testing::TemporaryFolder folder;
    ::setenv("TILESCOPE_CACHE", folder.path().c_str(), 1);
    on_file(variant, plan);
    EXPECT_FALSE(dispatched().is_tuned) << variant;
    EXPECT_EQ(dispatched().variant->name, "tensor_tiles");
  }
}

TEST_F(Dispatch, CanBeToldToLeaveTheFileAlone) {
  on_file("mma_sync", "");
  for (const char* off : {"0", "off", "no", "false"}) {
    ::setenv("TILESCOPE_AUTOTUNE", off, 1);
    EXPECT_FALSE(dispatched().is_tuned) << off;
  }
  ::setenv("TILESCOPE_AUTOTUNE", "1", 1);
  EXPECT_TRUE(dispatched().is_tuned);
}

TEST_F(Dispatch, TheNoteSaysWhatIsTuned) {
  EXPECT_EQ((GemmChoice{}.explained("128x256x4")), "128x256x4");
  EXPECT_EQ((GemmChoice{.is_tuned = true}.explained("128x256x4")), "tuned, 128x256x4");
  EXPECT_EQ((GemmChoice{.is_tuned = true}.explained("")), "tuned");
}

}  // namespace
}  // namespace tilescope::operations
