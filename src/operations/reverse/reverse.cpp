#include "operations/reverse/reverse.hpp"

#include <fmt/format.h>

#include <tilescope/error.hpp>
#include <tilescope/reverse.hpp>

#include "base/format.hpp"
#include "operations/elementwise/elementwise.hpp"
#include "operations/elementwise/elementwise_plans.hpp"
#include "operations/elementwise/loops.hpp"
#include "operations/numerics/random.hpp"
#include "operations/rung/moves.hpp"
#include "operations/rung/prepared_task.hpp"
#include "operations/rung/problem_options.hpp"
#include "operations/rung/task_operation.hpp"

namespace tilescope {
namespace operations {

Task reverse_task(const ConstArrayView& x) {
  const auto count = static_cast<std::int64_t>(x.count);
  const std::size_t element_bytes = size_of(x.type);
  const Step step{.kernel = "reverse",
                  .arguments = {Memory::input(), Memory::output(), count},
                  .defines = {{"ELEMENT", std::string(element_of_size(element_bytes))}}};
  Task task{.operation = "reverse",
            .inputs = {x},
            .output_type = x.type,
            .output_count = x.count,
            .best = "vector"};
  task.compute = [x](void* output) {
    with_bits(size_of(x.type), [&](auto zero) {
      using T = decltype(zero);
      const T* const from = static_cast<const T*>(x.data);
      compute_each<T>(output, x.count, [=](std::size_t i) { return from[x.count - 1 - i]; });
    });
  };
  task.rungs = {cpu_rung(),
                {.name = "plain",
                 .idea = "a thread per element, written backwards",
                 .source = "reverse/01_plain.cu",
                 .plan = [=](const DeviceProperties&) { return one_thread_each(step, count); }},
                {.name = "shared",
                 .idea = "reversed in shared memory",
                 .source = "reverse/02_shared.cu",
                 .plan =
                     [=](const DeviceProperties&) {
                       Plan plan = one_thread_each(step, count);
                       plan.defines = {define("THREADS", block_threads)};
                       return plan;
                     }},
                {.name = "in_place",
                 .idea = "two elements change places",
                 .source = "reverse/03_in_place.cu",
                 .in_place = true,
                 .plan =
                     [=](const DeviceProperties&) {
                       // A list of one element still has one thread, which has nothing to do.
                       Plan plan = one_thread_each(step, groups_of(count, 2));
                       plan.steps[0].arguments = {Memory::output(), count};
                       return plan;
                     }},
                {.name = "vector",
                 .idea = "128 bits, reversed in registers",
                 .source = "reverse/04_vector.cu",
                 .plan = [=](const DeviceProperties&) {
                   Plan plan = map_tiles(step, count, element_bytes);
                   plan.defines.push_back(define("WHOLE", x.bytes() % 16 == 0 ? 1 : 0));
                   return plan;
                 }}};
  return task;
}

std::unique_ptr<Operation> make_reverse(const ProblemOptions& options) {
  const std::int64_t count = list_size(options, std::int64_t{1} << 20U);
  const DataType type = type_among(
      "reverse", options.type,
      {DataType::float32, DataType::float64, DataType::uint8, DataType::int16, DataType::int32});
  std::vector<HostArray> inputs;
  inputs.push_back(random_array(type, static_cast<std::size_t>(count), options.seed));
  const ConstArrayView x = inputs[0].view();
  return std::make_unique<TaskOperation>(TaskOperation::Parts{
      .inputs = std::move(inputs),
      .task = reverse_task(x),
      .size_text = fmt::format("of {} {}", format_count(count), name_of(type)),
      .work = moving(x),
      .make_expected = [x] {
        return expect_moved(x, [n = x.count](std::size_t i) { return n - 1 - i; });
      }});
}

}  // namespace operations

namespace {

/// The task of a call, checked.
operations::Task checked_reverse(const ConstArrayView& x, const ArrayView& y) {
  operations::require_like("reverse", x, y);
  return operations::with_own_result(operations::reverse_task(x), y.data);
}

}  // namespace

RunReport reverse(Device& device, const ConstArrayView& x, const ArrayView& y,
                  const RunOptions& options) {
  return operations::run_task(device, checked_reverse(x, y), options.variant, y.mutable_data());
}

PreparedOperation prepare_reverse(Device& device, const ConstArrayView& x, const ArrayView& y,
                                  const RunOptions& options) {
  return operations::prepare_task(device, checked_reverse(x, y), options.variant, y.mutable_data());
}

}  // namespace tilescope
