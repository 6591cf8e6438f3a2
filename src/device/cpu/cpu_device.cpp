#include "device/cpu/cpu_device.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/errors.hpp"

namespace tilescope::device {
namespace {

using Clock = std::chrono::steady_clock;

void* pointer(DeviceAddress address) {
  return reinterpret_cast<void*>(address);
}
Clock::time_point& instant(std::uint64_t event) {
  return *reinterpret_cast<Clock::time_point*>(event);
}

[[noreturn]] void refuse_kernel(const std::string& name) {
  throw usage_error("the cpu device runs no kernels ({}); use --device emulated, or a GPU", name);
}

constexpr std::size_t alignment = 64;  // one cache line, and one AVX-512 vector

}  // namespace

CpuDevice::CpuDevice() {
  properties_.name = "CPU";
  properties_.warp_size = 1;
  properties_.sm_count = static_cast<int>(std::thread::hardware_concurrency());
  properties_.global_bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                             static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t CpuDevice::allocate_bytes(std::size_t bytes, std::string_view name) {
  const std::size_t rounded = (bytes + alignment) / alignment * alignment;
  void* memory = rounded > bytes ? std::aligned_alloc(alignment, rounded) : nullptr;
  if (!memory) {
    throw device_error("out of host memory: {} bytes for {}; use a smaller problem", bytes, name);
  }
  return reinterpret_cast<std::uint64_t>(memory);
}

void CpuDevice::free_bytes(std::uint64_t address) noexcept {
  std::free(pointer(address));
}

std::uint64_t CpuDevice::new_event() {
  return reinterpret_cast<std::uint64_t>(new Clock::time_point());
}
void CpuDevice::free_event(std::uint64_t event) noexcept {
  delete reinterpret_cast<Clock::time_point*>(event);
}

void CpuDevice::copy_to_device(DeviceAddress to, const void* from, std::size_t bytes,
                               const Stream&) {
  if (bytes) std::memcpy(pointer(to), from, bytes);
}
void CpuDevice::copy_to_host(void* to, DeviceAddress from, std::size_t bytes, const Stream&) {
  if (bytes) std::memcpy(to, pointer(from), bytes);
}
void CpuDevice::queue_copy(DeviceAddress to, DeviceAddress from, std::size_t bytes, const Stream&) {
  if (bytes) std::memmove(pointer(to), pointer(from), bytes);
}
void CpuDevice::fill(DeviceAddress to, std::uint8_t value, std::size_t bytes, const Stream&) {
  if (bytes) std::memset(pointer(to), value, bytes);
}

Kernel CpuDevice::load(const KernelRequest& request) {
  refuse_kernel(request.kernel);
}
void CpuDevice::launch(const Kernel& kernel, const Launch&, const KernelArguments&, const Stream&) {
  refuse_kernel(kernel.name());
}

void CpuDevice::record(const Event& event, const Stream&) {
  instant(event.value()) = Clock::now();
}

double CpuDevice::elapsed_ms(const Event& from, const Event& to) {
  return std::chrono::duration<double, std::milli>(instant(to.value()) - instant(from.value()))
      .count();
}

}  // namespace tilescope::device
