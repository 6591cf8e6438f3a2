#include "operations/gemm/dispatch/plan_recorder.hpp"

#include <algorithm>
#include <memory>

#include "operations/rung/recording_device.hpp"

namespace tilescope::operations {
namespace {

Step noted_step(const RecordedStep& step) {
  using NotedKernel = RecordingDevice::NotedKernel;
  const KernelRequest& request = static_cast<const NotedKernel&>(step.kernel.state()).request;
  constexpr std::string_view folder = "kernels/";
  return {.kernel = request.kernel,
          .launch = step.launch,
          .arguments = {},
          .defines = request.defines,
          .source = request.source_name.substr(folder.size())};
}

}  // namespace

Plan recorded_plan(const GemmVariant& variant, const GemmProblem& problem,
                   const DeviceProperties& properties) {
  const auto device = std::make_shared<RecordingDevice>(properties);
  const auto run = variant.prepare(*device, problem);
  const auto bytes = [](const GemmOperand& operand, std::int64_t vectors) {
    return static_cast<std::size_t>(operand.leading * vectors) * size_of(operand.type);
  };
  const std::int64_t longest = std::max({problem.shape.m, problem.shape.n, problem.shape.k});
  const Buffer a = device->allocate(bytes(problem.a, longest)),
               b = device->allocate(bytes(problem.b, longest)),
               c = device->allocate(bytes(problem.c, longest));
  run->run({.a = a.address(), .b = b.address(), .c = c.address(), .bias = c.address()});
  Plan plan;
  for (const RecordedStep& step : device->take_steps()) {
    if (step.fill_bytes == 0) plan.steps.push_back(noted_step(step));
  }
  return plan;
}

std::vector<KernelRequest> recorded_kernels(
    const std::function<std::unique_ptr<GemmRun>(Device& device)>& prepare,
    const DeviceProperties& properties) {
  const auto device = std::make_shared<RecordingDevice>(properties);
  prepare(*device);
  return device->requests();
}

}  // namespace tilescope::operations
