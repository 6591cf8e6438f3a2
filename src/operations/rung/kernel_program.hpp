// A plan ready to run on a device: kernels loaded, scratch memory allocated.
#pragma once

#include <span>
#include <string_view>
#include <tilescope/device.hpp>
#include <vector>

#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

/// The compilation for one step of a plan; `source` is the file of steps that name none.
KernelRequest step_request(std::string_view source, const Plan& plan, const Step& step);

class KernelProgram {
 public:
  /// `source` is the file below kernels/ with all kernels of the plan.
  KernelProgram(Device& device, std::string_view source, Plan plan);

  /// Queues the steps. Runs that may overlap need a program each if the plan has scratch memory.
  void run(std::span<const DeviceAddress> inputs, DeviceAddress output,
           const Stream& stream = {}) const;

 private:
  DeviceAddress address(const Memory& memory, std::span<const DeviceAddress> inputs,
                        DeviceAddress output) const;

  Device& device_;
  Plan plan_;
  std::vector<Kernel> kernels_;  // one a step; equal steps share one
  std::vector<Buffer> scratch_;
};

}  // namespace tilescope::operations
