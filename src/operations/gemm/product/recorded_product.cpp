#include "operations/gemm/product/recorded_product.hpp"

namespace tilescope::operations {

RecordedProduct::RecordedProduct(Device& device, const Prepare& prepare, const Workspace& workspace,
                                 CommonKernels* kernels)
    : device_(device),
      recorder_(std::make_shared<RecordingDevice>(device.shared_from_this(), workspace, kernels)),
      run_(prepare(*recorder_)) {}

void RecordedProduct::bind(std::span<const GemmAddresses> addresses) {
  for (const GemmAddresses& at : addresses) run_->run(at);
  steps_ = recorder_->take_steps();
}

std::size_t workspace_bytes(const DeviceProperties& device, const RecordedProduct::Prepare& prepare,
                            const GemmAddresses& addresses) {
  const auto recorder = std::make_shared<RecordingDevice>(device);
  prepare(*recorder)->run(addresses);
  return recorder->allocated_bytes();
}

}  // namespace tilescope::operations
