#include "emulator/device_runtime_calls.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/device_runtime.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {

std::uint64_t call_argument(Context& w, const CallCode& call, std::size_t i, int lane) {
  std::uint64_t value = 0;
  if (i < call.arguments.size()) {
    const ParameterSlot& slot = call.arguments[i];
    std::memcpy(&value, w.frame + slot.offset + static_cast<unsigned>(lane) * slot.bytes,
                std::min(slot.bytes, 8u));
  }
  return value;
}

namespace device_functions {
namespace {

constexpr std::uint64_t kRuntimeVersion = 6000;  // as a kernel on an H200 reads it

std::uint64_t argument(const DeviceCall& c, std::size_t i) {
  return call_argument(c.w, c.call, i, c.lane);
}

Dim3 extent(const DeviceCall& c, std::size_t i) {
  std::array<std::uint32_t, 3> values{};
  if (i < c.call.arguments.size()) {
    const ParameterSlot& slot = c.call.arguments[i];
    std::memcpy(values.data(), c.w.frame + slot.offset + static_cast<unsigned>(c.lane) * slot.bytes,
                std::min<std::size_t>(slot.bytes, sizeof values));
  }
  return {values[0], values[1], values[2]};
}

std::uint64_t code(DeviceError error) {
  return static_cast<std::uint64_t>(error);
}

std::uint64_t result(const DeviceCall& c, DeviceError error) {
  return code(c.runtime.fail(error));
}

/// Writes a result to where parameter `i` points.
std::uint64_t give(const DeviceCall& c, std::size_t i, std::uint64_t value, unsigned bytes) {
  std::uint64_t addresses[32] = {};
  addresses[c.lane] = argument(c, i);
  if (addresses[c.lane] == 0) return result(c, DeviceError::invalid_value);
  std::uint8_t* const at = resolve_lanes(c.w, c.code, addresses, LaneMask{1} << c.lane,
                                         kGenericSpace, bytes, bytes, AccessKind::store)
                               .host[c.lane];
  if (at != nullptr) std::memcpy(at, &value, bytes);
  return code(DeviceError::success);
}

// --- launches ------------------------------------------------------------------------------------

std::uint64_t get_parameter_buffer(const DeviceCall& c) {
  return c.runtime.plain_buffer(argument(c, 1));
}
std::uint64_t get_parameter_buffer_v2(const DeviceCall& c) {
  return c.runtime.parameter_buffer(argument(c, 0), extent(c, 1), extent(c, 2),
                                    static_cast<std::uint32_t>(argument(c, 3)));
}
std::uint64_t launched(const DeviceCall& c, DeviceError error) {
  const std::uint64_t number = c.runtime.last_launch();
  if (error == DeviceError::success && number != 0 && (c.w.events & kOrder) != 0) {
    for (const auto& slot : c.w.block->observers()) {
      if ((slot.events & kOrder) == 0) continue;
      slot.observer->grid_launch({c.code.id, c.w.warp_index, number});
    }
  }
  return code(error);
}
std::uint64_t launch_device(const DeviceCall& c) {
  return launched(c, c.runtime.launch(argument(c, 0), argument(c, 1), extent(c, 2), extent(c, 3),
                                      static_cast<std::uint32_t>(argument(c, 4)), argument(c, 5)));
}
std::uint64_t launch_device_v2(const DeviceCall& c) {
  return launched(c, c.runtime.launch(argument(c, 0), argument(c, 1)));
}

// --- streams and events --------------------------------------------------------------------------
// All work is done in the order in which it was queued, which is one that they allow.

std::uint64_t create(const DeviceCall& c) {
  return give(c, 0, c.runtime.create(), 8);
}
std::uint64_t destroy(const DeviceCall& c) {
  return result(c, c.runtime.destroy(argument(c, 0)) ? DeviceError::success
                                                     : DeviceError::invalid_resource_handle);
}
std::uint64_t join(const DeviceCall& c, std::uint64_t stream, std::uint64_t event) {
  const bool known = c.runtime.is_stream(stream) && c.runtime.is_event(event);
  return result(c, known ? DeviceError::success : DeviceError::invalid_resource_handle);
}
std::uint64_t stream_wait_event(const DeviceCall& c) {
  return join(c, argument(c, 0), argument(c, 1));
}
std::uint64_t event_record(const DeviceCall& c) {
  return join(c, argument(c, 1), argument(c, 0));
}

// --- memory --------------------------------------------------------------------------------------

std::uint64_t allocate(const DeviceCall& c) {
  const std::uint64_t address = c.runtime.heap().allocate(argument(c, 1));
  if (address == 0) return result(c, DeviceError::out_of_memory);
  return give(c, 0, address, 8);
}
std::uint64_t release(const DeviceCall& c) {
  const bool freed = c.runtime.heap().free(argument(c, 0));
  return result(c, freed ? DeviceError::success : DeviceError::invalid_value);
}
std::uint64_t copy(const DeviceCall& c) {
  return code(c.runtime.copy({.to = argument(c, 0),
                              .to_pitch = 0,
                              .from = argument(c, 1),
                              .from_pitch = 0,
                              .width = argument(c, 2),
                              .rows = 1},
                             argument(c, 4)));
}
std::uint64_t copy_2d(const DeviceCall& c) {
  return code(c.runtime.copy({.to = argument(c, 0),
                              .to_pitch = argument(c, 1),
                              .from = argument(c, 2),
                              .from_pitch = argument(c, 3),
                              .width = argument(c, 4),
                              .rows = argument(c, 5)},
                             argument(c, 7)));
}
std::uint64_t fill(const DeviceCall& c) {
  return code(c.runtime.fill({.to = argument(c, 0),
                              .pitch = 0,
                              .width = argument(c, 2),
                              .rows = 1,
                              .value = static_cast<std::uint8_t>(argument(c, 1))},
                             argument(c, 3)));
}
std::uint64_t fill_2d(const DeviceCall& c) {
  return code(c.runtime.fill({.to = argument(c, 0),
                              .pitch = argument(c, 1),
                              .width = argument(c, 3),
                              .rows = argument(c, 4),
                              .value = static_cast<std::uint8_t>(argument(c, 2))},
                             argument(c, 5)));
}

// --- errors and the device -----------------------------------------------------------------------

std::uint64_t get_last_error(const DeviceCall& c) {
  return code(c.runtime.last_error(true));
}
std::uint64_t peek_at_last_error(const DeviceCall& c) {
  return code(c.runtime.last_error(false));
}
std::uint64_t get_error_string(const DeviceCall& c) {
  return c.runtime.text(words_of(static_cast<DeviceError>(argument(c, 0))).text);
}
std::uint64_t get_error_name(const DeviceCall& c) {
  return c.runtime.text(words_of(static_cast<DeviceError>(argument(c, 0))).name);
}
std::uint64_t get_device_count(const DeviceCall& c) {
  return give(c, 0, 1, 4);
}
std::uint64_t get_device(const DeviceCall& c) {
  return give(c, 0, 0, 4);
}
std::uint64_t get_version(const DeviceCall& c) {
  return give(c, 0, kRuntimeVersion, 4);
}

std::uint64_t get_limit(const DeviceCall& c) {
  constexpr std::uint64_t heap_limit = 2, pending_limit = 4;  // cudaLimit
  if (argument(c, 1) == heap_limit) return give(c, 0, c.runtime.limits().heap_bytes, 8);
  if (argument(c, 1) == pending_limit) return give(c, 0, c.runtime.limits().pending_launches, 8);
  return result(c, DeviceError::not_supported);
}

std::uint64_t get_attribute(const DeviceCall& c) {
  const DeviceProperties& gpu = c.runtime.gpu();
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  // By cudaDeviceAttr.
  const std::pair<std::uint64_t, std::uint64_t> attributes[] = {
      {1, number(gpu.max_threads_per_block)},
      {2, gpu.max_block.x},
      {3, gpu.max_block.y},
      {4, gpu.max_block.z},
      {5, gpu.max_grid.x},
      {6, gpu.max_grid.y},
      {7, gpu.max_grid.z},
      {8, number(gpu.shared_bytes_per_block)},
      {10, kWarpSize},
      {16, number(gpu.sm_count)},
      {39, number(gpu.max_threads_per_sm)},
      {75, number(gpu.compute_major)},
      {76, number(gpu.compute_minor)},
      {81, number(gpu.shared_bytes_per_sm)},
      {106, number(gpu.max_blocks_per_sm)},
  };
  if (argument(c, 2) != 0) return result(c, DeviceError::invalid_device);
  for (const auto& [attribute, value] : attributes) {
    if (attribute == argument(c, 1)) return give(c, 0, value, 4);
  }
  return result(c, DeviceError::not_supported);
}

constexpr DeviceFunction table[] = {
    {"GetParameterBuffer", get_parameter_buffer},
    {"GetParameterBufferV2", get_parameter_buffer_v2},
    {"LaunchDevice", launch_device},
    {"LaunchDeviceV2", launch_device_v2},
    {"StreamCreateWithFlags", create},
    {"StreamDestroy", destroy},
    {"StreamWaitEvent", stream_wait_event},
    {"EventCreateWithFlags", create},
    {"EventRecord", event_record},
    {"EventRecordWithFlags", event_record},
    {"EventDestroy", destroy},
    {"Malloc", allocate},
    {"Free", release},
    {"MemcpyAsync", copy},
    {"Memcpy2DAsync", copy_2d},
    {"MemsetAsync", fill},
    {"Memset2DAsync", fill_2d},
    {"GetLastError", get_last_error},
    {"PeekAtLastError", peek_at_last_error},
    {"GetErrorString", get_error_string},
    {"GetErrorName", get_error_name},
    {"GetDeviceCount", get_device_count},
    {"GetDevice", get_device},
    {"RuntimeGetVersion", get_version},
    {"DeviceGetLimit", get_limit},
    {"DeviceGetAttribute", get_attribute},
};

}  // namespace
}  // namespace device_functions

const DeviceFunction* find_device_function(std::string_view name) {
  for (const std::string_view prefix : {"__cudaCDP2", "cuda"}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    if (constexpr std::string_view suffix = "_ptsz"; name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
    }
    const auto found = std::ranges::find(device_functions::table, name, &DeviceFunction::name);
    return found == std::end(device_functions::table) ? nullptr : found;
  }
  return nullptr;
}

}  // namespace tilescope::emulator
