#include <fmt/format.h>

#include <cmath>
#include <tilescope/scale.hpp>

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

// 16 x 16 threads; x along the columns or, exchanged, along the rows.
Plan picture_blocks(Step step, std::int64_t along_x, std::int64_t along_y) {
  constexpr std::uint32_t side = 16;
  step.launch = flat_launch(groups_of(along_x, side), side);
  step.launch.grid.y = flat_launch(groups_of(along_y, side), side).grid.x;
  step.launch.block.y = side;
  Plan plan;
  plan.steps.push_back(std::move(step));
  return plan;
}

template <typename T>
std::unique_ptr<Expected> expected_scaled(const ConstArrayView& in, double factor) {
  return expect_each<T>(in, in, [=](double x, double, double& value, double& bound) {
    value = factor * x;
    bound = Rounding<T>::unit * std::abs(value) + Rounding<T>::least;
  });
}

}  // namespace

Task scale_task(const ConstArrayView& in, std::int64_t rows, std::int64_t columns, double factor) {
  const DataType type = in.type;
  const Step step{.kernel = "scale",
                  .arguments = {Memory::input(), Memory::output(), columns, rows,
                                element_argument(type, factor)},
                  .defines = {{"ELEMENT", std::string(element_name(type))}}};
  Task task{.operation = "scale",
            .inputs = {in},
            .output_type = type,
            .output_count = in.count,
            .best = "in_flight"};
  task.compute = [in, factor](void* output) {
    with_real(in.type, [&](auto zero) {
      using T = decltype(zero);
      const T* const from = static_cast<const T*>(in.data);
      const T by = static_cast<T>(factor);
      compute_each<T>(output, in.count, [=](std::size_t i) { return by * from[i]; });
    });
  };
  task.rungs = {
      cpu_rung(),
      {.name = "picture",
       .idea = "16 x 16 blocks over the picture",
       .source = "scale/01_picture.cu",
       .plan = [=](const DeviceProperties&) { return picture_blocks(step, columns, rows); }},
      {.name = "exchanged",
       .idea = "x along the rows: uncoalesced",
       .source = "scale/02_exchanged.cu",
       .plan = [=](const DeviceProperties&) { return picture_blocks(step, rows, columns); }},
      {.name = "in_flight",
       .idea = "one list, several 128-bit loads under way",
       .source = "scale/03_in_flight.cu",
       .plan =
           [=](const DeviceProperties&) { return map_tiles(step, rows * columns, size_of(type)); }},
      peer_rung("cub_transform", "scale")};
  task.peer_call = peer_call(in);
  task.peer_call.numbers = {factor, 0.0, 0.0};
  return task;
}

std::unique_ptr<Operation> make_scale(const ProblemOptions& options) {
  const Extents e = extents(options, 1024);
  const DataType type = type_among("scale", options.type, {DataType::float32, DataType::float64});
  std::vector<HostArray> inputs;
  inputs.push_back(random_array(type, static_cast<std::size_t>(e.rows * e.columns), options.seed));
  const ConstArrayView in = inputs[0].view();
  constexpr double factor = 2.0;
  return std::make_unique<TaskOperation>(TaskOperation::Parts{
      .inputs = std::move(inputs),
      .task = scale_task(in, e.rows, e.columns, factor),
      .size_text = fmt::format("of {} x {} {}", e.rows, e.columns, name_of(type)),
      .work = {.flops = static_cast<double>(in.count),
               .bytes = 2.0 * static_cast<double>(in.bytes()),
               .memory_bound = true},
      .make_expected = [=] {
        return type == DataType::float64 ? expected_scaled<double>(in, factor)
                                         : expected_scaled<float>(in, factor);
      }});
}

}  // namespace operations

namespace {

/// The task of a call, checked.
operations::Task checked_scale(double factor, const ConstMatrixView& in, const MatrixView& out) {
  const ConstArrayView from = operations::dense_elements(in, "the picture");
  const ConstArrayView to = operations::dense_elements(out, "the result");
  operations::require_real("scale", from);
  operations::require_like("scale", from, to);
  return operations::scale_task(from, in.vectors(), in.vector_length(), factor);
}

}  // namespace

RunReport scale(Device& device, double factor, const ConstMatrixView& in, const MatrixView& out,
                const RunOptions& options) {
  return operations::run_task(device, checked_scale(factor, in, out), options.variant,
                              out.mutable_data());
}

PreparedOperation prepare_scale(Device& device, double factor, const ConstMatrixView& in,
                                const MatrixView& out, const RunOptions& options) {
  return operations::prepare_task(device, checked_scale(factor, in, out), options.variant,
                                  out.mutable_data());
}

}  // namespace tilescope
