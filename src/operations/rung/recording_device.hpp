// A device that runs nothing: it keeps the launches and fills that a run queues, to be counted, or
// to be queued later without the host work that led to them.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <tilescope/device.hpp>
#include <utility>
#include <vector>

namespace tilescope::operations {

/// One launch; or, with `fill_bytes`, so many bytes of `value` from `filled` on.
struct RecordedStep {
  Kernel kernel;
  Launch launch;
  KernelArguments arguments;
  DeviceAddress filled = 0;
  std::size_t fill_bytes = 0;
  std::uint8_t value = 0;
};

/// Queues the steps on `stream`, in order.
void queue_steps(Device& device, const std::vector<RecordedStep>& steps, const Stream& stream);

/// Memory that a run may use; address 0: it allocates its own.
struct Workspace {
  DeviceAddress address = 0;  ///< a multiple of 256
  std::size_t bytes = 0;
};

/// Kernels that several runs on one device have in common: even one that is loaded takes a
/// millisecond to be found by its text.
class CommonKernels {
 public:
  Kernel load(Device& device, const KernelRequest& request);

 private:
  std::vector<std::pair<KernelRequest, Kernel>> kernels_;
};

class RecordingDevice final : public Device {
 public:
  /// The state of a kernel that was not loaded.
  struct NotedKernel final : Kernel::State {
    std::vector<KernelParameter> parameters() const override { return {}; }
    KernelRequest request;
  };

  /// Loads no kernels and has no memory: addresses are made up.
  explicit RecordingDevice(const DeviceProperties& properties) : properties_(properties) {}
  /// Loads kernels on `device`, or takes them from `kernels`, and allocates on the device or in the
  /// workspace.
  RecordingDevice(std::shared_ptr<Device> device, const Workspace& workspace,
                  CommonKernels* kernels = nullptr);

  /// The steps since the last call.
  std::vector<RecordedStep> take_steps() { return std::exchange(steps_, {}); }
  /// The kernels that were loaded or noted.
  const std::vector<KernelRequest>& requests() const { return requests_; }
  /// The workspace that has room for everything that was allocated, in bytes.
  std::size_t allocated_bytes() const { return allocated_; }

  DeviceKind kind() const override { return device_ ? device_->kind() : DeviceKind::cuda; }
  std::string id() const override { return device_ ? device_->id() : properties_.name; }
  const DeviceProperties& properties() const override { return properties_; }

  void copy_to_device(DeviceAddress to, const void* from, std::size_t bytes,
                      const Stream& stream) override;
  void copy_to_host(void* to, DeviceAddress from, std::size_t bytes, const Stream& stream) override;
  void queue_copy(DeviceAddress, DeviceAddress, std::size_t, const Stream&) override {}
  void fill(DeviceAddress to, std::uint8_t value, std::size_t bytes, const Stream&) override;
  Kernel load(const KernelRequest& request) override;
  void launch(const Kernel& kernel, const Launch& launch, const KernelArguments& arguments,
              const Stream&) override;
  TensorMap tensor_map(const TensorMapRequest& request) override;

  using Device::synchronize;
  void record(const Event&, const Stream&) override {}
  void wait(const Stream&, const Event&) override {}
  using Device::finished;
  bool finished(const Event&) override { return true; }
  double elapsed_ms(const Event&, const Event&) override { return 0.0; }
  void synchronize(const Stream&) override {}
  void synchronize() override {}

 protected:
  std::uint64_t allocate_bytes(std::size_t bytes, std::string_view name) override;
  std::uint64_t new_stream() override { return 1; }
  std::uint64_t new_event() override { return 1; }
  void free_bytes(std::uint64_t address) noexcept override { owned_.erase(address); }
  void free_stream(std::uint64_t) noexcept override {}
  void free_event(std::uint64_t) noexcept override {}

 private:
  std::shared_ptr<Device> device_;  // none: kernels are only noted
  DeviceProperties properties_;
  Workspace workspace_;
  CommonKernels* kernels_ = nullptr;
  std::size_t allocated_ = 0;
  std::map<DeviceAddress, Buffer> owned_;
  std::vector<RecordedStep> steps_;
  std::vector<KernelRequest> requests_;
};

}  // namespace tilescope::operations
