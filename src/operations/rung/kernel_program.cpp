#include "operations/rung/kernel_program.hpp"

#include "operations/rung/kernel_source.hpp"

namespace tilescope::operations {

KernelRequest step_request(std::string_view source, const Plan& plan, const Step& step) {
  KernelRequest request = embedded_request(step.source.empty() ? source : step.source);
  request.kernel = step.kernel;
  request.defines = plan.defines;
  request.defines.insert(request.defines.end(), step.defines.begin(), step.defines.end());
  return request;
}

KernelProgram::KernelProgram(Device& device, std::string_view source, Plan plan)
    : device_(device), plan_(std::move(plan)) {
  for (const std::size_t bytes : plan_.scratch) {
    scratch_.push_back(device.allocate(bytes, "scratch", Reach::own));
    device.fill(scratch_.back().address(), 0, bytes);
  }
  for (const Step& step : plan_.steps) {
    const auto same = [&step](const Step& other) {
      return other.kernel == step.kernel && other.defines == step.defines;
    };
    std::size_t first = 0;
    while (!same(plan_.steps[first])) ++first;
    if (first < kernels_.size()) {
      kernels_.push_back(kernels_[first]);
    } else {
      kernels_.push_back(step.kernel.empty() ? Kernel()
                                             : device.load(step_request(source, plan_, step)));
    }
  }
}

DeviceAddress KernelProgram::address(const Memory& memory, std::span<const DeviceAddress> inputs,
                                     DeviceAddress output) const {
  switch (memory.kind) {
    case Memory::Kind::input:
      return inputs[memory.index];
    case Memory::Kind::scratch:
      return scratch_[memory.index].address();
    case Memory::Kind::output:
      break;
  }
  return output;
}

void KernelProgram::run(std::span<const DeviceAddress> inputs, DeviceAddress output,
                        const Stream& stream) const {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    if (step.kernel.empty()) {
      device_.fill(address(std::get<Memory>(step.arguments[0]), inputs, output), 0, step.fill_bytes,
                   stream);
      continue;
    }
    KernelArguments arguments;
    for (const Argument& argument : step.arguments) {
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Memory>) {
              arguments.push(address(value, inputs, output));
            } else {
              arguments.push(value);
            }
          },
          argument);
    }
    device_.launch(kernels_[i], step.launch, arguments, stream);
  }
}

}  // namespace tilescope::operations
