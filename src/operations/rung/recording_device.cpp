#include "operations/rung/recording_device.hpp"

#include <utility>

#include "base/errors.hpp"

namespace tilescope::operations {

void queue_steps(Device& device, const std::vector<RecordedStep>& steps, const Stream& stream) {
  for (const RecordedStep& step : steps) {
    if (step.fill_bytes > 0) {
      device.fill(step.filled, step.value, step.fill_bytes, stream);
    } else {
      device.launch(step.kernel, step.launch, step.arguments, stream);
    }
  }
}

Kernel CommonKernels::load(Device& device, const KernelRequest& request) {
  for (const auto& [known, kernel] : kernels_) {
    if (known == request) return kernel;
  }
  return kernels_.emplace_back(request, device.load(request)).second;
}

RecordingDevice::RecordingDevice(std::shared_ptr<Device> device, const Workspace& workspace,
                                 CommonKernels* kernels)
    : device_(std::move(device)),
      properties_(device_->properties()),
      workspace_(workspace),
      kernels_(kernels) {}

void RecordingDevice::copy_to_device(DeviceAddress to, const void* from, std::size_t bytes,
                                     const Stream& stream) {
  if (device_) device_->copy_to_device(to, from, bytes, stream);
}

void RecordingDevice::copy_to_host(void* to, DeviceAddress from, std::size_t bytes,
                                   const Stream& stream) {
  if (device_) device_->copy_to_host(to, from, bytes, stream);
}

void RecordingDevice::fill(DeviceAddress to, std::uint8_t value, std::size_t bytes, const Stream&) {
  if (bytes > 0) steps_.push_back({.filled = to, .fill_bytes = bytes, .value = value});
}

Kernel RecordingDevice::load(const KernelRequest& request) {
  requests_.push_back(request);
  if (device_) return kernels_ ? kernels_->load(*device_, request) : device_->load(request);
  auto state = std::make_shared<NotedKernel>();
  state->name = request.kernel;
  state->request = request;
  return Kernel(std::move(state));
}

void RecordingDevice::launch(const Kernel& kernel, const Launch& launch,
                             const KernelArguments& arguments, const Stream&) {
  steps_.push_back({.kernel = kernel, .launch = launch, .arguments = arguments});
}

TensorMap RecordingDevice::tensor_map(const TensorMapRequest& request) {
  return device_ ? device_->tensor_map(request) : TensorMap{};
}

std::uint64_t RecordingDevice::allocate_bytes(std::size_t bytes, std::string_view name) {
  constexpr std::size_t alignment = 256;
  const std::size_t offset = allocated_;
  allocated_ += (bytes / alignment + 1) * alignment;
  if (!device_) return (std::uint64_t{1} << 32U) + offset;
  if (workspace_.address == 0) {
    Buffer buffer = device_->allocate(bytes, name, Reach::own);
    const DeviceAddress address = buffer.address();
    owned_.emplace(address, std::move(buffer));
    return address;
  }
  if (allocated_ > workspace_.bytes) {
    throw usage_error("the workspace has {} bytes, and the product needs {} or more",
                      workspace_.bytes, allocated_);
  }
  return workspace_.address + offset;
}

}  // namespace tilescope::operations
