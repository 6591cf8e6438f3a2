// A GPU emulated on the CPU: kernels are compiled to PTX and executed warp by warp. Work in the
// default stream is done when a call returns; work in other streams when the program waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <vector>

#include "device/emulated/emulated_module.hpp"
#include "device/emulated/stream_queues.hpp"
#include "emulator/launch.hpp"
#include "emulator/machine.hpp"

namespace tilescope {
class ProgressLine;
}

namespace tilescope::device {

using LaunchOnce = std::function<emulator::LaunchSummary(const emulator::LaunchOptions&)>;

/// Options for all further launches.
struct EmulationOptions {
  std::vector<emulator::Observer*> observers;   ///< not owned; they observe every launch
  std::uint64_t max_instructions = 0;           ///< warp instructions of one launch; 0: no limit
  const std::atomic<bool>* cancel = nullptr;    ///< becoming true ends a launch soon
  unsigned threads = 0;                         ///< host threads; 0: one for each core
  std::uint64_t device_memory = 0;              ///< bytes, if less than the GPU has; 0: all
  std::function<void(std::string_view)> print;  ///< receives what kernels print; null: standard
                                                ///< output
  bool progress = false;       ///< show that of long launches on a terminal (standard error)
  std::uint64_t schedule = 0;  ///< as LaunchOptions::schedule
  bool interpret = false;      ///< without compiled code: slower, with the same results
  /// Called before each launch by the host.
  std::function<void(const Kernel&, const Launch&)> before_launch;
  /// Called after each launch, those of kernels included, whatever its result, and after the
  /// observers.
  std::function<void(const emulator::LaunchSummary&)> after_launch;
  /// Runs each launch in the place of the device, as often as it likes: `once` runs it with the
  /// given options, `usual` are those of the device. Empty: once, as usual.
  std::function<void(emulator::Machine& machine, const emulator::LaunchOptions& usual,
                     const LaunchOnce& once)>
      conduct;
  /// False: a failed launch is an Error(wrong_result), as on a GPU. True: observers and
  /// `last_launch` report the failure.
  bool tolerant = false;
};

class EmulatedDevice final : public Device {
 public:
  /// `gpu` is the name of a profile, such as "h200"; empty: the default.
  explicit EmulatedDevice(std::string_view gpu = {});
  ~EmulatedDevice() override;

  DeviceKind kind() const override { return DeviceKind::emulated; }
  std::string id() const override { return "emulated:" + gpu_; }
  const DeviceProperties& properties() const override { return machine_.gpu(); }

  void set_options(EmulationOptions options);
  /// For all further launches.
  void set_limits(const emulator::KernelLimits& limits);
  /// The summary of the last launch; empty before the first.
  emulator::LaunchSummary last_launch() const;
  /// Throws Error(usage) if the memory at the address was not allocated for `reach`, as other GPUs
  /// have to reach it.
  void require_reach(DeviceAddress address, Reach reach) const;
  /// The PTX that a loaded module was parsed from; empty if it was linked from several texts.
  std::string ptx_of(const ptx::Module& module) const;

  void copy_to_device(DeviceAddress to, const void* from, std::size_t bytes,
                      const Stream& stream) override;
  void copy_to_host(void* to, DeviceAddress from, std::size_t bytes, const Stream& stream) override;
  void queue_copy(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                  const Stream& stream) override;
  void fill(DeviceAddress to, std::uint8_t value, std::size_t bytes, const Stream& stream) override;
  void copy_box(const BoxCopy& copy, const Stream& stream) override;
  MemoryUse memory_use() const override;
  Kernel load(const KernelRequest& request) override;
  Module load_module(std::span<const PtxText> texts) override;
  void launch(const Kernel& kernel, const Launch& launch, const KernelArguments& arguments,
              const Stream& stream) override;
  TensorMap tensor_map(const TensorMapRequest& request) override;
  /// Memory of the caller as an array of the device, in place: kernels read and write it. It must
  /// live as long as the buffer. Throws as allocate().
  Buffer map(void* data, std::size_t bytes, std::string_view name);
  void* allocate_host(std::size_t bytes, std::string& why_not, std::string_view name) override;
  void free_host(void* data) noexcept override;
  bool register_host(void* data, std::size_t bytes, std::string& why_not,
                     std::string_view name) override;
  void unregister_host(void* data) noexcept override;

  void record(const Event& event, const Stream& stream) override;
  void wait(const Stream& stream, const Event& event) override;
  void call(std::function<void()> function, const Stream& stream) override;
  bool finished(const Event& event) override;
  bool finished(const Stream& stream) override;
  double elapsed_ms(const Event& from, const Event& to) override;
  void synchronize(const Event& event) override;
  void synchronize(const Stream& stream) override;
  void synchronize() override;

 protected:
  std::uint64_t allocate_bytes(std::size_t bytes, std::string_view name) override;
  std::uint64_t allocate_for(Reach reach, std::size_t bytes, std::string_view name) override;
  std::uint64_t allocate_managed_bytes(std::size_t bytes, std::string_view name) override;
  std::uint64_t new_array(const ArrayRequest& request, std::string_view name) override;
  std::uint64_t new_texture(const TextureRequest& request) override;
  std::uint64_t new_surface(std::uint64_t array, unsigned level) override;
  std::uint64_t new_stream() override;
  std::uint64_t new_event() override;
  void free_bytes(std::uint64_t address) noexcept override;
  void free_stream(std::uint64_t stream) noexcept override;
  void free_event(std::uint64_t event) noexcept override;
  void free_array(std::uint64_t array) noexcept override;
  void free_texture(std::uint64_t texture) noexcept override;
  void free_surface(std::uint64_t surface) noexcept override { free_texture(surface); }

 private:
  using Lock = std::lock_guard<std::recursive_mutex>;

  /// Memory whose copies are asynchronous to the host.
  bool is_pinned(const void* data, std::size_t bytes) const;
  /// The side as plain memory: with the address and the pitches of its array.
  BoxSide plain(const BoxSide& side) const;
  /// Sinks for the output of launches and for their progress, beside a line that shows progress.
  std::function<void(std::string_view)> print_beside(ProgressLine& line) const;
  std::function<void(std::uint64_t)> progress_in(ProgressLine& line) const;
  void run(const Kernel& kernel, const Launch& launch, const KernelArguments& arguments);

  std::string gpu_;
  std::shared_ptr<SharedMachine> shared_;
  emulator::Machine& machine_;
  std::recursive_mutex& mutex_;
  EmulationOptions options_;
  emulator::LaunchSummary last_;
  std::uint64_t launches_ = 0;
  std::optional<std::chrono::steady_clock::time_point> progress_due_;  ///< after the first launch
  std::map<const ptx::Module*, std::string> ptx_;
  std::map<DeviceAddress, Reach> reach_;  ///< of allocations that not all others reach
  StreamQueues queues_;
};

}  // namespace tilescope::device
