// A plan made ready on a device: kernels loaded, scratch memory there.
#pragma once

#include <span>
#include <string_view>
#include <tilescope/device.hpp>
#include <vector>

#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

/// What a device compiles for one step of a plan.
KernelRequest step_request(std::string_view source, const Plan& plan, const Step& step);

class KernelProgram {
 public:
  /// `source` is the file below kernels/ with all kernels of the plan.
  KernelProgram(Device& device, std::string_view source, Plan plan);

  /// Queues the steps. Runs that may overlap need a program each where the plan has scratch memory.
  void run(std::span<const DeviceAddress> inputs, DeviceAddress output,
           const Stream& stream = {}) const;

 private:
  DeviceAddress address(const Memory& memory, std::span<const DeviceAddress> inputs,
                        DeviceAddress output) const;

  Device& device_;
  Plan plan_;
  std::vector<Kernel> kernels_;  // one a step; steps that share one share its state
  std::vector<Buffer> scratch_;
};

}  // namespace tilescope::operations
