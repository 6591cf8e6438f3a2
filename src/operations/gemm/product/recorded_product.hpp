// A product that a device is ready to run: compiled, its scratch memory in place, its launches
// known.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tilescope/device.hpp>
#include <vector>

#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/rung/recording_device.hpp"

namespace tilescope::operations {

class RecordedProduct {
 public:
  using Prepare = std::function<std::unique_ptr<GemmRun>(Device& device)>;

  /// Compiles, or takes from `kernels`, and allocates on `device` or in the workspace, what the run
  /// needs.
  RecordedProduct(Device& device, const Prepare& prepare, const Workspace& workspace = {},
                  CommonKernels* kernels = nullptr);

  /// Takes these operands from now on. Addresses whose last four bits are those of the first call's
  /// need neither compilation nor memory.
  void bind(const GemmAddresses& addresses) { bind({&addresses, 1}); }
  /// The same for several runs, one after the other.
  void bind(std::span<const GemmAddresses> addresses);
  /// Queues the run. Runs that may overlap need a RecordedProduct each: they share scratch memory.
  void launch(const Stream& stream = {}) const { queue_steps(device_, steps_, stream); }

  std::size_t workspace_bytes() const { return recorder_->allocated_bytes(); }
  std::string note() const { return run_->note(); }

 private:
  Device& device_;
  std::shared_ptr<RecordingDevice> recorder_;
  std::unique_ptr<GemmRun> run_;
  std::vector<RecordedStep> steps_;
};

/// The workspace that the run needs with operands at these addresses, in bytes. Compiles nothing.
std::size_t workspace_bytes(const DeviceProperties& device, const RecordedProduct::Prepare& prepare,
                            const GemmAddresses& addresses);

}  // namespace tilescope::operations
