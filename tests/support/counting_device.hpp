// A device that runs nothing and counts what it is asked for.
#pragma once

#include "support/fake_device.hpp"

namespace tilescope::testing {

class CountingDevice final : public FakeDevice {
 public:
  using FakeDevice::FakeDevice;

  int launches = 0, fills = 0;
  int host_work = 0;  ///< allocations, compilations, copies, waits

  void copy_to_device(DeviceAddress, const void*, std::size_t, const Stream&) override {
    ++host_work;
  }
  void copy_to_host(void*, DeviceAddress, std::size_t, const Stream&) override { ++host_work; }
  void queue_copy(DeviceAddress, DeviceAddress, std::size_t, const Stream&) override {
    ++host_work;
  }
  void fill(DeviceAddress, std::uint8_t, std::size_t, const Stream&) override { ++fills; }
  Kernel load(const KernelRequest&) override {
    ++host_work;
    struct State final : Kernel::State {
      std::vector<KernelParameter> parameters() const override { return {}; }
    };
    return Kernel(std::make_shared<State>());
  }
  void launch(const Kernel&, const Launch&, const KernelArguments&, const Stream&) override {
    ++launches;
  }
  TensorMap tensor_map(const TensorMapRequest&) override {
    ++host_work;
    return {};
  }
  void record(const Event&, const Stream&) override { ++host_work; }
  void wait(const Stream&, const Event&) override { ++host_work; }
  void synchronize(const Event&) override { ++host_work; }
  void synchronize(const Stream&) override { ++host_work; }
  void synchronize() override { ++host_work; }

 protected:
  std::uint64_t allocate_bytes(std::size_t bytes, std::string_view) override {
    ++host_work;
    constexpr std::size_t page = 4096;
    const std::uint64_t address = next_;
    next_ += (bytes / page + 1) * page;
    return address;
  }

 private:
  std::uint64_t next_ = std::uint64_t{1} << 40U;
};

}  // namespace tilescope::testing
