// Every rung of every companion operation on the emulated device, at awkward sizes, and the
// verification of wrong rungs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/ladder.hpp"
#include "operations/elementwise/elementwise.hpp"
#include "operations/numerics/random.hpp"
#include "operations/registry.hpp"
#include "operations/rung/task_operation.hpp"
#include "support/companion_cases.hpp"

namespace tilescope::operations {
namespace {

using measure::RungResult;
using measure::Verdict;
using ::testing::MatchesRegex;

class CompanionLadder : public ::testing::TestWithParam<testing::CompanionCase> {};

TEST_P(CompanionLadder, EveryRungIsRight) {
  testing::expect_every_rung_right(GetParam(), *Device::open("emulated"));
}

INSTANTIATE_TEST_SUITE_P(Sizes, CompanionLadder, ::testing::ValuesIn(testing::companion_cases()),
                         [](const auto& of) { return fmt::format("{:03}", of.index); });

TEST(CompanionLadders, HaveTheRungsOfTheLectures) {
  const auto names = [](std::string_view operation) {
    std::vector<std::string> all;
    for (const VariantInfo& v : make_operation(operation, {.size = 1})->variants()) {
      if (!v.source.empty()) all.push_back(v.name);
    }
    return all;
  };
  using ::testing::IsSupersetOf;
  EXPECT_THAT(names("saxpb"), IsSupersetOf({"one_block", "many_blocks", "strided_32", "grid_stride",
                                            "vector", "in_flight"}));
  EXPECT_THAT(names("reverse"), IsSupersetOf({"plain", "shared", "in_place", "vector"}));
  EXPECT_THAT(names("transpose"), IsSupersetOf({"naive", "tiled", "padded", "swizzled", "vector"}));
  EXPECT_THAT(names("blur"), IsSupersetOf({"plain", "tiled", "separable", "running_sums"}));
  EXPECT_THAT(names("laplacian"), IsSupersetOf({"plain", "tiled", "marching", "temporal"}));
  EXPECT_THAT(names("histogram"), IsSupersetOf({"sectioned", "interleaved", "block_private",
                                                "copies", "vector", "lane_columns"}));
  EXPECT_THAT(names("reduce"), IsSupersetOf({"modulo_tree", "halving_tree", "first_add", "shuffles",
                                             "vector", "one_pass", "fixed_order"}));
}

// Nothing to compute is no failure, and no rung claims to have done it.
TEST(CompanionLadders, SkipWhatHasNoElements) {
  const std::shared_ptr<Device> device = Device::open("emulated");
  for (const char* operation : {"saxpb", "vector_add", "reverse"}) {
    const auto made = make_operation(operation, {.size = 0});
    for (const RungResult& rung : measure::climb(*made, *device)) {
      EXPECT_EQ(rung.verdict, Verdict::skipped) << operation << ' ' << rung.variant.name;
    }
  }
}

TEST(CompanionLadders, RefuseMinimaOfNothing) {
  EXPECT_THROW(make_operation("reduce", {.size = 0, .reduction = "min"}), Error);
}

// Taller than the 65,535 rows of blocks that a grid has in y: they continue in z.
TEST(CompanionLadders, TakeTallPlanes) {
  const std::shared_ptr<Device> device = Device::open("emulated");
  for (const char* operation : {"blur", "laplacian"}) {
    const auto made = make_operation(operation, {.rows = 8 * 65'535 + 9, .columns = 1});
    for (const RungResult& rung : measure::climb(*made, *device, {.only = {"plain"}})) {
      EXPECT_EQ(rung.verdict, Verdict::ok) << operation << ": " << rung.reason;
    }
  }
}

TEST(KernelPlan, RowsOfBlocksFillLayersEvenly) {
  for (const std::int64_t rows : {1L, 65'535L, 65'536L, 131'070L, 131'071L, 134'217'728L}) {
    Launch launch;
    set_block_rows(launch, rows);
    EXPECT_LE(launch.grid.y, 65'535U);
    EXPECT_LE(launch.grid.z, 65'535U);
    const std::int64_t there = std::int64_t{launch.grid.y} * launch.grid.z;
    EXPECT_GE(there, rows);
    EXPECT_LT(there - rows, std::int64_t{launch.grid.z}) << "blocks with nothing to do";
  }
}

// One rung over 100 floats, whose kernel receives another length.
RungResult climb_with_length(std::int64_t length, double factor = 0.75) {
  std::vector<HostArray> inputs;
  inputs.push_back(random_array(DataType::float32, 100, 1));
  const ConstArrayView x = inputs[0].view();
  Task task = saxpb_task(x, {.a = 0.75, .b = -0.5});
  std::erase_if(task.rungs, [](const Rung& rung) { return rung.name != "many_blocks"; });
  task.rungs[0].plan = [=, make = task.rungs[0].plan](const DeviceProperties& device) {
    Plan plan = make(device);
    plan.steps[0].arguments[1] = static_cast<float>(factor);
    plan.steps[0].arguments.back() = length;
    return plan;
  };
  const TaskOperation operation({.inputs = std::move(inputs),
                                 .task = std::move(task),
                                 .size_text = "of 100",
                                 .work = {},
                                 .make_expected = [x] {
                                   HostArray right(DataType::float32, x.count);
                                   const auto* from = static_cast<const float*>(x.data);
                                   for (std::size_t i = 0; i < x.count; ++i) {
                                     right.as<float>()[i] = 0.75F * from[i] - 0.5F;
                                   }
                                   return std::make_unique<ArrayExpected>(std::move(right), 1e-6);
                                 }});
  const std::shared_ptr<Device> device = Device::open("emulated");
  return measure::climb(operation, *device).at(0);
}

TEST(CompanionVerification, IsSilentOnARightKernel) {
  EXPECT_EQ(climb_with_length(100).verdict, Verdict::ok);
}

TEST(CompanionVerification, SeesAnElementThatWasNotWritten) {
  const RungResult rung = climb_with_length(99);
  EXPECT_EQ(rung.verdict, Verdict::wrong);
  EXPECT_THAT(rung.reason,
              MatchesRegex("1 of 100 elements are wrong, the first at 99: -?nan, not .*"));
  EXPECT_FALSE(rung.max_error.has_value());
}

TEST(CompanionVerification, SeesAWrongFactor) {
  EXPECT_EQ(climb_with_length(100, 0.7501).verdict, Verdict::wrong);
}

TEST(CompanionVerification, SeesAWriteBeyondTheOutput) {
  EXPECT_EQ(climb_with_length(101).verdict, Verdict::wrong);
}

}  // namespace
}  // namespace tilescope::operations
