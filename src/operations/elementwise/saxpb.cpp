#include <fmt/format.h>

#include <cmath>
#include <tilescope/saxpb.hpp>

#include "base/errors.hpp"
#include "base/format.hpp"
#include "operations/elementwise/elementwise.hpp"
#include "operations/elementwise/elementwise_plans.hpp"
#include "operations/elementwise/loops.hpp"
#include "operations/numerics/random.hpp"
#include "operations/rung/prepared_task.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task_operation.hpp"

namespace tilescope {
namespace operations {
namespace {

// Neighbouring threads are `stride` elements apart.
Plan strided(Step step, std::int64_t count, int stride) {
  Plan plan = one_thread_each(std::move(step), groups_of(count, stride));
  plan.steps[0].launch.grid.y = static_cast<std::uint32_t>(stride);
  plan.defines = {define("STRIDE", stride)};
  return plan;
}

Rung strided_rung(std::string_view name, const Step& step, std::int64_t count, int stride) {
  return {.name = name,
          .idea = "neighbouring threads, distant elements",
          .source = "saxpb/03_strided.cu",
          .plan = [=](const DeviceProperties&) { return strided(step, count, stride); }};
}

template <typename T>
std::unique_ptr<Expected> expected_saxpb(const ConstArrayView& x, double a, double b) {
  return expect_each<T>(x, x, [=](double xi, double, double& value, double& bound) {
    const double product = a * xi;
    value = product + b;
    // One rounding of the product and one of the sum; with float64 the reference has both too.
    bound = 2.0 * Rounding<T>::unit * (std::abs(product) + std::abs(value)) + Rounding<T>::least;
  });
}

}  // namespace

Task saxpb_task(const ConstArrayView& x, const SaxpbProblem& problem) {
  const auto count = static_cast<std::int64_t>(x.count);
  const DataType type = x.type;
  const Step step{.kernel = "saxpb",
                  .arguments = {Memory::input(), element_argument(type, problem.a),
                                element_argument(type, problem.b), Memory::output(), count}};
  Task task{.operation = "saxpb",
            .inputs = {x},
            .output_type = type,
            .output_count = x.count,
            .best = "in_flight"};
  task.compute = [x, problem](void* output) {
    with_real(x.type, [&](auto zero) {
      using T = decltype(zero);
      const T a = static_cast<T>(problem.a), b = static_cast<T>(problem.b);
      const T* const from = static_cast<const T*>(x.data);
      compute_each<T>(output, x.count, [=](std::size_t i) { return a * from[i] + b; });
    });
  };
  task.rungs = {
      cpu_rung(),
      {.name = "one_block",
       .idea = "one block, a thread per element",
       .source = "saxpb/01_one_block.cu",
       .plan =
           [=](const DeviceProperties&) {
             Plan plan = one_thread_each(step, count);
             plan.steps[0].launch = {.grid = {1}, .block = {static_cast<std::uint32_t>(count)}};
             return plan;
           }},
      {.name = "many_blocks",
       .idea = "a thread per element",
       .source = "saxpb/02_many_blocks.cu",
       .plan =
           [=](const DeviceProperties&) {
             Plan plan = one_thread_each(step, count);
             if (problem.blocks > 0) {
               plan.steps[0].launch =
                   flat_launch(problem.blocks, static_cast<int>(groups_of(count, problem.blocks)));
             }
             return plan;
           }},
      strided_rung("strided_2", step, count, 2),
      strided_rung("strided_8", step, count, 8),
      strided_rung("strided_32", step, count, 32),
      {.name = "grid_stride",
       .idea = "a grid as large as the device",
       .source = "saxpb/04_grid_stride.cu",
       .plan = [=](const DeviceProperties& device) { return resident_grid(step, device); }},
      {.name = "vector",
       .idea = "128-bit loads and stores",
       .source = "saxpb/05_vector.cu",
       .plan = [=](const DeviceProperties&) { return one_thread_a_pack(step, count, type); }},
      {.name = "in_flight",
       .idea = "several 128-bit loads under way",
       .source = "saxpb/06_in_flight.cu",
       .plan = [=](const DeviceProperties&) { return map_tiles(step, count, size_of(type)); }},
      peer_rung("cub_transform", "saxpb")};
  for (Rung& rung : task.rungs) {
    if (rung.form != RungForm::kernel) continue;
    rung.plan = [make = std::move(rung.plan), type,
                 n = problem.iterations](const DeviceProperties& device) {
      Plan plan = make(device);
      plan.defines.emplace_back("ELEMENT", element_name(type));
      plan.steps.resize(static_cast<std::size_t>(n), Step(plan.steps[0]));
      return plan;
    };
  }
  task.peer_call = peer_call(x);
  task.peer_call.numbers = {problem.a, problem.b, 0.0};
  return task;
}

std::unique_ptr<Operation> make_saxpb(const ProblemOptions& options) {
  const std::int64_t count = list_size(options, std::int64_t{1} << 20U);
  const DataType type = type_among("saxpb", options.type, {DataType::float32, DataType::float64});
  const SaxpbProblem problem{.a = 0.75, .b = -0.5};  // exact in both types
  std::vector<HostArray> inputs;
  inputs.push_back(random_array(type, static_cast<std::size_t>(count), options.seed));
  const ConstArrayView x = inputs[0].view();
  const double bytes = 2.0 * static_cast<double>(x.bytes());
  return std::make_unique<TaskOperation>(TaskOperation::Parts{
      .inputs = std::move(inputs),
      .task = saxpb_task(x, problem),
      .size_text = fmt::format("of {} {}", format_count(count), name_of(type)),
      .work = {.flops = 2.0 * static_cast<double>(count), .bytes = bytes, .memory_bound = true},
      .make_expected = [=] {
        return type == DataType::float64 ? expected_saxpb<double>(x, problem.a, problem.b)
                                         : expected_saxpb<float>(x, problem.a, problem.b);
      }});
}

}  // namespace operations

namespace {

/// The task of a call, checked.
operations::Task checked_saxpb(double a, const ConstArrayView& x, double b, const ArrayView& y,
                               const SaxpbOptions& options) {
  operations::require_real("saxpb", x);
  operations::require_like("saxpb", x, y);
  if (options.blocks < 0 || options.iterations < 1) {
    throw usage_error("saxpb: blocks must be 0 or more, iterations 1 or more");
  }
  const operations::Task task = operations::saxpb_task(
      x, {.a = a, .b = b, .blocks = options.blocks, .iterations = options.iterations});
  return task;
}

}  // namespace

RunReport saxpb(Device& device, double a, const ConstArrayView& x, double b, const ArrayView& y,
                const SaxpbOptions& options) {
  return operations::run_task(device, checked_saxpb(a, x, b, y, options), options.variant,
                              y.mutable_data());
}

PreparedOperation prepare_saxpb(Device& device, double a, const ConstArrayView& x, double b,
                                const ArrayView& y, const SaxpbOptions& options) {
  return operations::prepare_task(device, checked_saxpb(a, x, b, y, options), options.variant,
                                  y.mutable_data());
}

}  // namespace tilescope
