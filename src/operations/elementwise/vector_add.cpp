#include <fmt/format.h>

#include <cmath>
#include <tilescope/vector_add.hpp>

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

template <typename T>
std::unique_ptr<Expected> expected_sum(const ConstArrayView& a, const ConstArrayView& b) {
  return expect_each<T>(a, b, [](double x, double y, double& value, double& bound) {
    value = x + y;
    // One rounding; with float64 the reference has the same one.
    bound = Rounding<T>::unit * std::abs(value);
  });
}

}  // namespace

Task vector_add_task(const ConstArrayView& a, const ConstArrayView& b) {
  const auto count = static_cast<std::int64_t>(a.count);
  const DataType type = a.type;
  const Step step{.kernel = "vector_add",
                  .arguments = {Memory::input(0), Memory::input(1), Memory::output(), count},
                  .defines = {{"ELEMENT", std::string(element_name(type))}}};
  Task task{.operation = "vector_add",
            .inputs = {a, b},
            .output_type = type,
            .output_count = a.count,
            .best = "in_flight"};
  task.compute = [a, b](void* output) {
    with_real(a.type, [&](auto zero) {
      using T = decltype(zero);
      const T* const x = static_cast<const T*>(a.data);
      const T* const y = static_cast<const T*>(b.data);
      compute_each<T>(output, a.count, [=](std::size_t i) { return x[i] + y[i]; });
    });
  };
  task.rungs = {
      cpu_rung(),
      {.name = "one_thread_each",
       .idea = "a thread per element, blocks of 256",
       .source = "vector_add/01_one_thread_each.cu",
       .plan = [=](const DeviceProperties&) { return one_thread_each(step, count); }},
      {.name = "grid_stride",
       .idea = "a grid as large as the device",
       .source = "vector_add/02_grid_stride.cu",
       .plan = [=](const DeviceProperties& device) { return resident_grid(step, device); }},
      {.name = "in_flight",
       .idea = "several 128-bit loads under way",
       .source = "vector_add/03_in_flight.cu",
       .plan =
           [=](const DeviceProperties&) {
             return map_tiles(step, count, size_of(type), {.threads = 1024, .unroll = 1});
           }},
      peer_rung("cub_transform", "vector_add")};
  task.peer_call = peer_call(a);
  return task;
}

std::unique_ptr<Operation> make_vector_add(const ProblemOptions& options) {
  const std::int64_t count = list_size(options, std::int64_t{1} << 20U);
  const DataType type =
      type_among("vector_add", options.type, {DataType::float32, DataType::float64});
  std::vector<HostArray> inputs;
  for (const std::uint64_t which : {0U, 1U}) {
    inputs.push_back(random_array(type, static_cast<std::size_t>(count), 2 * options.seed + which));
  }
  const ConstArrayView a = inputs[0].view(), b = inputs[1].view();
  return std::make_unique<TaskOperation>(TaskOperation::Parts{
      .inputs = std::move(inputs),
      .task = vector_add_task(a, b),
      .size_text = fmt::format("of {} {}", format_count(count), name_of(type)),
      .work = {.flops = static_cast<double>(count),
               .bytes = 3.0 * static_cast<double>(a.bytes()),
               .memory_bound = true},
      .make_expected = [=] {
        return type == DataType::float64 ? expected_sum<double>(a, b) : expected_sum<float>(a, b);
      }});
}

}  // namespace operations

namespace {

/// The task of a call, checked.
operations::Task checked_vector_add(const ConstArrayView& a, const ConstArrayView& b,
                                    const ArrayView& c) {
  operations::require_real("vector_add", a);
  operations::require_like("vector_add", a, b);
  operations::require_like("vector_add", a, c);
  return operations::vector_add_task(a, b);
}

}  // namespace

RunReport vector_add(Device& device, const ConstArrayView& a, const ConstArrayView& b,
                     const ArrayView& c, const RunOptions& options) {
  return operations::run_task(device, checked_vector_add(a, b, c), options.variant,
                              c.mutable_data());
}

PreparedOperation prepare_vector_add(Device& device, const ConstArrayView& a,
                                     const ConstArrayView& b, const ArrayView& c,
                                     const RunOptions& options) {
  return operations::prepare_task(device, checked_vector_add(a, b, c), options.variant,
                                  c.mutable_data());
}

}  // namespace tilescope
