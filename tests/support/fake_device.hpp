// A device for tests of rooms above devices: it runs nothing, and the test sets its times.
#pragma once

#include <stdexcept>
#include <tilescope/device.hpp>

namespace tilescope::testing {

class FakeDevice : public Device {
 public:
  explicit FakeDevice(DeviceProperties properties, DeviceKind kind = DeviceKind::cuda)
      : properties_(std::move(properties)), kind_(kind) {}

  /// Work on the device takes this long, ms: runs of a fake operation call it.
  void spend(double ms) { now_ms_ += ms; }
  int events_alive() const { return events_alive_; }

  DeviceKind kind() const override { return kind_; }
  std::string id() const override { return "fake:0"; }
  const DeviceProperties& properties() const override { return properties_; }

  void copy_to_device(DeviceAddress, const void*, std::size_t, const Stream&) override {}
  void copy_to_host(void*, DeviceAddress, std::size_t, const Stream&) override {}
  void queue_copy(DeviceAddress, DeviceAddress, std::size_t, const Stream&) override {}
  void fill(DeviceAddress, std::uint8_t, std::size_t, const Stream&) override {}
  Kernel load(const KernelRequest&) override { throw std::logic_error("nothing to load"); }
  void launch(const Kernel&, const Launch&, const KernelArguments&, const Stream&) override {}
  void record(const Event& event, const Stream&) override { time(event.value()) = now_ms_; }
  void wait(const Stream&, const Event&) override {}
  using Device::finished;
  bool finished(const Event&) override { return true; }
  double elapsed_ms(const Event& from, const Event& to) override {
    return time(to.value()) - time(from.value());
  }
  void synchronize(const Event&) override {}
  void synchronize(const Stream&) override {}
  void synchronize() override {}

 protected:
  std::uint64_t allocate_bytes(std::size_t, std::string_view) override { return 1; }
  std::uint64_t new_stream() override { return 1; }
  std::uint64_t new_event() override {
    ++events_alive_;
    return reinterpret_cast<std::uint64_t>(new double(0.0));
  }
  void free_bytes(std::uint64_t) noexcept override {}
  void free_stream(std::uint64_t) noexcept override {}
  void free_event(std::uint64_t event) noexcept override {
    --events_alive_;
    delete reinterpret_cast<double*>(event);
  }

 private:
  static double& time(std::uint64_t event) { return *reinterpret_cast<double*>(event); }

  DeviceProperties properties_;
  DeviceKind kind_;
  double now_ms_ = 0.0;
  int events_alive_ = 0;
};

}  // namespace tilescope::testing
