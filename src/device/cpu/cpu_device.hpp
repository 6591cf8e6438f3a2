// The CPU as a device: its memory is host memory, its work is done when a call returns. It runs no
// kernels; operations have a CPU form for it.
#pragma once

#include <tilescope/device.hpp>

namespace tilescope::device {

class CpuDevice final : public Device {
 public:
  CpuDevice();

  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::string id() const override { return "cpu"; }
  const DeviceProperties& properties() const override { return properties_; }

  void copy_to_device(DeviceAddress to, const void* from, std::size_t bytes,
                      const Stream& stream) override;
  void copy_to_host(void* to, DeviceAddress from, std::size_t bytes, const Stream& stream) override;
  void queue_copy(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                  const Stream& stream) override;
  void fill(DeviceAddress to, std::uint8_t value, std::size_t bytes, const Stream& stream) override;
  /// Throws Error(usage): the CPU device has no kernels.
  Kernel load(const KernelRequest& request) override;
  void launch(const Kernel& kernel, const Launch& launch, const KernelArguments& arguments,
              const Stream& stream) override;
  void record(const Event& event, const Stream& stream) override;
  void wait(const Stream&, const Event&) override {}
  using Device::finished;
  bool finished(const Event&) override { return true; }
  double elapsed_ms(const Event& from, const Event& to) override;
  using Device::synchronize;
  void synchronize(const Stream&) override {}
  void synchronize() override {}

 protected:
  std::uint64_t allocate_bytes(std::size_t bytes, std::string_view name) override;
  std::uint64_t new_stream() override { return 1; }
  std::uint64_t new_event() override;
  void free_bytes(std::uint64_t address) noexcept override;
  void free_stream(std::uint64_t) noexcept override {}
  void free_event(std::uint64_t event) noexcept override;

 private:
  DeviceProperties properties_;
};

}  // namespace tilescope::device
