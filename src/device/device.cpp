#include <fmt/format.h>

#include <charconv>
#include <thread>
#include <tilescope/device.hpp>

#include "base/text.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/emulated/emulated_device.hpp"

namespace tilescope {
namespace {

int ordinal_of(std::string_view specification) {
  const std::string_view digits = specification.substr(sizeof "cuda:" - 1);
  int ordinal = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc{} || end != digits.data() + digits.size() || ordinal < 0) {
    throw Error(ErrorKind::usage, fmt::format("--device {}: \"{}\" is not a device number; use "
                                              "cuda:0, cuda:1, ...",
                                              specification, digits));
  }
  return ordinal;
}

std::shared_ptr<Device> open_auto(std::string* explain_choice) {
  std::string why_none;
  if (!cuda_devices(&why_none).empty()) {
    if (explain_choice) *explain_choice = "a CUDA device was found";
    return std::make_shared<device::CudaDevice>(0);
  }
  if (explain_choice) *explain_choice = why_none;
  return std::make_shared<device::CpuDevice>();
}

}  // namespace

TensorMap Device::tensor_map(const TensorMapRequest&) {
  throw Error(ErrorKind::usage,
              fmt::format("{} has no bulk tensor copies: they need a GPU of compute capability 9.0 "
                          "or newer",
                          id()));
}

std::shared_ptr<Device> Device::open(std::string_view specification, std::string* explain_choice) {
  if (specification == "auto") return open_auto(explain_choice);
  if (specification == "cpu") return std::make_shared<device::CpuDevice>();
  if (specification == "cuda") return std::make_shared<device::CudaDevice>(0);
  if (specification.starts_with("cuda:")) {
    return std::make_shared<device::CudaDevice>(ordinal_of(specification));
  }
  if (specification == "emulated") return std::make_shared<device::EmulatedDevice>();
  constexpr std::string_view emulated = "emulated:";
  if (specification.starts_with(emulated) && specification != emulated) {
    return std::make_shared<device::EmulatedDevice>(specification.substr(emulated.size()));
  }
  throw Error(ErrorKind::usage,
              fmt::format("--device {}: no such device; use auto, cuda, cuda:N, emulated, "
                          "emulated:GPU or cpu",
                          printable(specification, 60)));
}

std::vector<DeviceProperties> cuda_devices(std::string* why_none) {
  std::vector<DeviceProperties> devices;
  try {
    const device::Driver& driver = device::Driver::instance();
    int count = 0;
    driver.check(driver.device_count(&count), "cuDeviceGetCount");
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      CUdevice handle = 0;
      driver.check(driver.device_get(&handle, ordinal), "cuDeviceGet");
      devices.push_back(device::query_properties(driver, handle));
    }
    if (devices.empty() && why_none) *why_none = "the CUDA driver sees no device";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::no_device) throw;
    if (why_none) *why_none = error.what();
  }
  return devices;
}

Buffer Device::allocate(std::size_t bytes, std::string_view name, Reach reach) {
  const std::uint64_t address = allocate_for(reach, bytes, name);
  return Buffer(
      detail::Handle(shared_from_this(), address,
                     [](Device& device, std::uint64_t value) { device.free_bytes(value); }),
      bytes);
}

Stream Device::create_stream() {
  return Stream(
      detail::Handle(shared_from_this(), new_stream(),
                     [](Device& device, std::uint64_t value) { device.free_stream(value); }));
}

Event Device::create_event() {
  return Event(
      detail::Handle(shared_from_this(), new_event(),
                     [](Device& device, std::uint64_t value) { device.free_event(value); }));
}

void Device::copy_on_device(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                            const Stream& stream) {
  queue_copy(to, from, bytes, stream);
  if (stream.value() == 0) synchronize(stream);
}

void Device::synchronize(const Event& event) {
  while (!finished(event)) std::this_thread::yield();
}

Buffer Device::allocate_managed(std::size_t bytes, std::string_view name) {
  const std::uint64_t address = allocate_managed_bytes(bytes, name);
  return Buffer(
      detail::Handle(shared_from_this(), address,
                     [](Device& device, std::uint64_t value) { device.free_bytes(value); }),
      bytes);
}

DeviceArray Device::create_array(const ArrayRequest& request, std::string_view name) {
  return DeviceArray(
      detail::Handle(shared_from_this(), new_array(request, name),
                     [](Device& device, std::uint64_t value) { device.free_array(value); }));
}

TextureObject Device::create_texture(const TextureRequest& request) {
  return TextureObject(
      detail::Handle(shared_from_this(), new_texture(request),
                     [](Device& device, std::uint64_t value) { device.free_texture(value); }));
}

TextureObject Device::create_surface(std::uint64_t array, unsigned level) {
  return TextureObject(
      detail::Handle(shared_from_this(), new_surface(array, level),
                     [](Device& device, std::uint64_t value) { device.free_surface(value); }));
}

void Device::refuse_textures() const {
  throw Error(ErrorKind::usage,
              fmt::format("{} runs no kernels that could read a texture; use --device emulated, or "
                          "a GPU",
                          id()));
}

void Device::copy_box(const BoxCopy&, const Stream&) {
  refuse_textures();
}

std::uint64_t Device::new_array(const ArrayRequest&, std::string_view) {
  refuse_textures();
}

std::uint64_t Device::new_texture(const TextureRequest&) {
  refuse_textures();
}

std::uint64_t Device::new_surface(std::uint64_t, unsigned) {
  refuse_textures();
}

std::uint64_t Device::allocate_for(Reach, std::size_t bytes, std::string_view name) {
  return allocate_bytes(bytes, name);
}

std::uint64_t Device::allocate_managed_bytes(std::size_t, std::string_view name) {
  throw Error(ErrorKind::usage, fmt::format("{} runs no kernels that could share {} with the host; "
                                            "use --device emulated, or a GPU",
                                            id(), name));
}

MemoryUse Device::memory_use() const {
  return {properties().global_bytes, properties().global_bytes};
}

Module Device::load_module(std::span<const PtxText> texts) {
  throw Error(ErrorKind::usage,
              fmt::format("{} runs no kernels ({}); use --device emulated, or a GPU", id(),
                          texts.empty() ? "an empty module" : texts.front().name));
}

void Device::call(std::function<void()> function, const Stream& stream) {
  synchronize(stream);
  function();
}

bool Device::finished(const Stream& stream) {
  synchronize(stream);
  return true;
}

void* Device::allocate_host(std::size_t, std::string& why_not, std::string_view) {
  why_not = id() + " copies without a link: pinning gains nothing";
  return nullptr;
}

bool Device::register_host(void*, std::size_t, std::string& why_not, std::string_view) {
  why_not = id() + " copies without a link: pinning gains nothing";
  return false;
}

void Device::copy_rows_to_device(DeviceAddress to, std::size_t to_pitch, const void* from,
                                 std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                                 const Stream& stream) {
  const auto* source = static_cast<const std::byte*>(from);
  for (std::size_t row = 0; row < rows; ++row) {
    copy_to_device(to + row * to_pitch, source + row * from_pitch, row_bytes, stream);
  }
}

void Device::copy_rows_to_host(void* to, std::size_t to_pitch, DeviceAddress from,
                               std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                               const Stream& stream) {
  auto* target = static_cast<std::byte*>(to);
  for (std::size_t row = 0; row < rows; ++row) {
    copy_to_host(target + row * to_pitch, from + row * from_pitch, row_bytes, stream);
  }
}

void Device::queue_copy_rows(DeviceAddress to, std::size_t to_pitch, DeviceAddress from,
                             std::size_t from_pitch, std::size_t row_bytes, std::size_t rows,
                             const Stream& stream) {
  for (std::size_t row = 0; row < rows; ++row) {
    queue_copy(to + row * to_pitch, from + row * from_pitch, row_bytes, stream);
  }
}

void Device::fill_rows(DeviceAddress to, std::size_t pitch, std::uint8_t value,
                       std::size_t row_bytes, std::size_t rows, const Stream& stream) {
  for (std::size_t row = 0; row < rows; ++row) fill(to + row * pitch, value, row_bytes, stream);
}

}  // namespace tilescope
