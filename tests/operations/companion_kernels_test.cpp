// Every kernel of the companion operations through NVRTC, as the rungs plan it, for each generation
// of GPU: no warnings, nothing spilled; and every launch can exist.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gpu/launch_limits.hpp"
#include "operations/blur/blur.hpp"
#include "operations/elementwise/elementwise.hpp"
#include "operations/histogram/histogram.hpp"
#include "operations/laplacian/laplacian.hpp"
#include "operations/reduction/reduction.hpp"
#include "operations/reverse/reverse.hpp"
#include "operations/rung/kernel_program.hpp"
#include "operations/transpose/transpose.hpp"
#include "support/compiled_request.hpp"
#include "support/gpus.hpp"

namespace tilescope::operations {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t companion_side = 1024;

// Tasks of a million elements: plans look at sizes, not at elements.
ConstArrayView list(DataType type) {
  return {type, static_cast<std::size_t>(companion_side * companion_side), nullptr};
}

std::vector<Task> tasks() {
  std::vector<Task> all;
  for (const DataType type : {DataType::float32, DataType::float64}) {
    all.push_back(saxpb_task(list(type), {.a = 1.0, .b = 1.0}));
    all.push_back(vector_add_task(list(type), list(type)));
    all.push_back(scale_task(list(type), companion_side, companion_side, 2.0));
    all.push_back(laplacian_task(
        list(type), {.rows = companion_side, .columns = companion_side, .iterations = 12}));
    for (const Reduction reduction : {Reduction::sum, Reduction::min, Reduction::argmax}) {
      all.push_back(reduction_task(list(type), reduction));
    }
  }
  all.push_back(reduction_task(list(DataType::int32), Reduction::sum));
  for (const DataType type :
       {DataType::uint8, DataType::int16, DataType::float32, DataType::float64}) {
    all.push_back(reverse_task(list(type)));
    all.push_back(transpose_task(list(type), companion_side, companion_side));
  }
  all.push_back(transpose_task(list(DataType::float32), companion_side * companion_side, 1));
  for (const int channels : {1, 3}) {
    for (const int radius : {0, 1, 2, 5, 7, 64}) {
      all.push_back(
          blur_task({DataType::uint8,
                     static_cast<std::size_t>(companion_side * companion_side * channels), nullptr},
                    {companion_side, companion_side, channels, radius}));
    }
  }
  all.push_back(histogram_task(list(DataType::uint8), make_binning(DataType::uint8, {})));
  all.push_back(
      histogram_task(list(DataType::uint8), make_binning(DataType::uint8, {.letters = true})));
  all.push_back(
      histogram_task(list(DataType::int32), make_binning(DataType::int32, {.count = 65536})));
  all.push_back(histogram_task(
      list(DataType::float64),
      make_binning(DataType::float64, {.count = 1000, .lower = -1.0, .upper = 1.0})));
  return all;
}

struct CompanionCase {
  std::string name;
  DeviceProperties device;
};

class CompanionKernels : public ::testing::TestWithParam<CompanionCase> {
 protected:
  static std::string log_of(std::string_view source, const Plan& plan, const Step& step) {
    const KernelRequest request = step_request(source, plan, step);
    const DeviceProperties& device = GetParam().device;
    const compile::Program program = testing::compiled(request, device);
    EXPECT_FALSE(program.cubin.empty());
    return program.log;
  }
};

TEST_P(CompanionKernels, CompileWithoutWarningsSpillNothingAndCanBeLaunched) {
  std::set<std::string> seen;
  for (const Task& task : tasks()) {
    for (const Rung& rung : task.rungs) {
      if (rung.form != RungForm::kernel || rung.refusal) continue;
      const DeviceProperties& device = GetParam().device;
      if (10 * device.compute_major + device.compute_minor < rung.least_compute) continue;
      const Plan plan = rung.plan(device);
      for (const Step& step : plan.steps) {
        std::string key = fmt::format("{} {}", rung.source, step.kernel);
        for (const Defines& defines : {plan.defines, step.defines}) {
          for (const auto& [name, value] : defines) key += fmt::format(" {}={}", name, value);
        }
        if (step.kernel.empty() || !seen.insert(key).second) continue;
        const std::string log = log_of(rung.source, plan, step);
        EXPECT_THAT(log, Not(HasSubstr("warning"))) << key;
        EXPECT_THAT(log, HasSubstr("0 bytes stack frame, 0 bytes spill stores")) << key;
      }
    }
  }
  EXPECT_GT(seen.size(), 100U);
}

// A library call takes the best rung of a task, so that rung must exist on every GPU.
TEST_P(CompanionKernels, TheBestCanAlwaysBeLaunched) {
  const DeviceProperties& device = GetParam().device;
  for (const Task& task : tasks()) {
    const Rung& best = find_rung(task, task.best);
    EXPECT_FALSE(best.refusal) << task.operation;
    for (const Step& step : best.plan(device).steps) {
      if (step.kernel.empty()) continue;
      EXPECT_NO_THROW(gpu::require_launchable(std::string(best.name), step.launch, device))
          << task.operation;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, CompanionKernels,
                         ::testing::Values(CompanionCase{"T4", testing::t4()},
                                           CompanionCase{"A100", testing::a100()},
                                           CompanionCase{"H200", testing::h200()}),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace tilescope::operations
