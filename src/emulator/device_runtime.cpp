#include "emulator/device_runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tilescope/error.hpp>
#include <utility>

#include "base/symbol_names.hpp"
#include "emulator/address_space.hpp"
#include "gpu/launch_limits.hpp"

namespace tilescope::emulator {

DeviceErrorWords words_of(DeviceError error) {
  switch (error) {
    case DeviceError::success:
      return {"cudaSuccess", "no error"};
    case DeviceError::invalid_value:
      return {"cudaErrorInvalidValue", "invalid argument"};
    case DeviceError::out_of_memory:
      return {"cudaErrorMemoryAllocation", "out of memory"};
    case DeviceError::invalid_configuration:
      return {"cudaErrorInvalidConfiguration", "invalid configuration argument"};
    case DeviceError::pending_count_exceeded:
      return {"cudaErrorLaunchPendingCountExceeded",
              "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"};
    case DeviceError::invalid_device_function:
      return {"cudaErrorInvalidDeviceFunction", "invalid device function"};
    case DeviceError::invalid_device:
      return {"cudaErrorInvalidDevice", "invalid device ordinal"};
    case DeviceError::invalid_resource_handle:
      return {"cudaErrorInvalidResourceHandle", "invalid resource handle"};
    case DeviceError::launch_out_of_resources:
      return {"cudaErrorLaunchOutOfResources", "too many resources requested for launch"};
    case DeviceError::not_supported:
      return {"cudaErrorNotSupported", "operation not supported"};
  }
  return {"unrecognized error code", "unrecognized error code"};
}

DeviceRuntime::~DeviceRuntime() {
  for (const std::uint64_t buffer : buffers_) setup_.heap.free(buffer);
}

void DeviceRuntime::enter(std::uint64_t block, std::uint32_t thread, InstructionId instruction) {
  thread_ = {block, thread};
  instruction_ = instruction;
}

DeviceError DeviceRuntime::fail(DeviceError error) {
  if (error != DeviceError::success) threads_[thread_].last = error;
  return error;
}

DeviceError DeviceRuntime::refuse(DeviceError error, std::string why) {
  Thread& thread = threads_[thread_];
  if (thread.unknown_refusal.empty()) {
    thread.unknown_refusal = fmt::format("{}: {}", words_of(error).name, why);
    thread.refused_at = instruction_;
  }
  return fail(error);
}

DeviceError DeviceRuntime::last_error(bool clear) {
  const auto found = threads_.find(thread_);
  if (found == threads_.end()) return DeviceError::success;
  found->second.unknown_refusal.clear();
  const DeviceError last = found->second.last;
  if (clear) found->second.last = DeviceError::success;
  return last;
}

std::vector<RefusedLaunch> DeviceRuntime::refused() const {
  std::vector<RefusedLaunch> all;
  for (const auto& [name, thread] : threads_) {
    if (thread.unknown_refusal.empty()) continue;
    const auto same = std::ranges::find_if(all, [&](const RefusedLaunch& known) {
      return known.instruction == thread.refused_at && known.reason == thread.unknown_refusal;
    });
    if (same == all.end()) {
      all.push_back({thread.refused_at, name.first, name.second, thread.unknown_refusal});
    } else {
      ++same->count;
    }
  }
  return all;
}

DeviceError DeviceRuntime::examine(std::uint64_t kernel, ChildGrid& grid,
                                   std::uint64_t& parameter_bytes) {
  const std::shared_ptr<const Program> program = setup_.kernel(kernel);
  if (!program) {
    return refuse(DeviceError::invalid_device_function,
                  fmt::format("{:#x} is not the address of a kernel", kernel));
  }
  grid.kernel = program->kernel();
  parameter_bytes = program->parameter_bytes();
  const std::string name = function_name(grid.kernel);
  if (setup_.pending >= setup_.limits.pending_launches) {
    return refuse(DeviceError::pending_count_exceeded,
                  fmt::format("{} launches by kernels have not ended, and no more may be pending; "
                              "cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, ...) "
                              "allows more",
                              setup_.pending));
  }
  const Launch launch{
      .grid = grid.grid, .block = grid.block, .shared_bytes = grid.dynamic_shared_bytes};
  try {
    gpu::require_launchable(name, launch, setup_.gpu,
                            {.static_shared_bytes = program->static_shared_bytes(),
                             .max_threads_per_block = program->most_threads_per_block()});
  } catch (const Error& error) {
    return refuse(DeviceError::invalid_configuration, error.what());
  }
  return DeviceError::success;
}

std::uint64_t DeviceRuntime::plain_buffer(std::uint64_t bytes) {
  const std::uint64_t buffer = setup_.heap.allocate(bytes);
  if (buffer == 0) {
    refuse(DeviceError::launch_out_of_resources, "the heap has no room for parameters");
    return 0;
  }
  buffers_.push_back(buffer);
  return buffer;
}

std::uint64_t DeviceRuntime::parameter_buffer(std::uint64_t kernel, Dim3 grid, Dim3 block,
                                              std::uint32_t dynamic_shared_bytes) {
  ChildGrid child{.kernel = {},
                  .grid = grid,
                  .block = block,
                  .dynamic_shared_bytes = dynamic_shared_bytes,
                  .parameters = {}};
  std::uint64_t bytes = 0;
  if (examine(kernel, child, bytes) != DeviceError::success) return 0;
  const std::uint64_t buffer = plain_buffer(bytes);
  if (buffer == 0) return 0;
  child.parameters.resize(bytes);
  prepared_[buffer] = std::move(child);
  return buffer;
}

DeviceError DeviceRuntime::queue(ChildWork work, std::uint64_t stream) {
  if (!is_stream(stream)) {
    return refuse(DeviceError::invalid_value,
                  fmt::format("{:#x} is not a stream of this grid", stream));
  }
  (stream == kTailLaunchStream ? tail_ : work_).push_back(std::move(work));
  return DeviceError::success;
}

DeviceError DeviceRuntime::launch(std::uint64_t buffer, std::uint64_t stream) {
  const auto found = prepared_.find(buffer);
  if (found == prepared_.end()) {
    return refuse(DeviceError::invalid_value, "the launch has no buffer of parameters");
  }
  ChildGrid child = std::move(found->second);
  prepared_.erase(found);
  const Allocation& heap = *setup_.memory.find(buffer);
  if (!child.parameters.empty()) {
    std::memcpy(child.parameters.data(), heap.data() + (buffer - heap.address()),
                child.parameters.size());
  }
  child.number = ++setup_.numbers;
  last_launch_ = stream == kTailLaunchStream ? 0 : child.number;
  const DeviceError error = queue(std::move(child), stream);
  if (error == DeviceError::success) ++setup_.pending;
  return error;
}

DeviceError DeviceRuntime::launch(std::uint64_t kernel, std::uint64_t buffer, Dim3 grid, Dim3 block,
                                  std::uint32_t dynamic_shared_bytes, std::uint64_t stream) {
  ChildGrid child{.kernel = {},
                  .grid = grid,
                  .block = block,
                  .dynamic_shared_bytes = dynamic_shared_bytes,
                  .parameters = {}};
  std::uint64_t bytes = 0;
  if (const DeviceError error = examine(kernel, child, bytes); error != DeviceError::success) {
    return error;
  }
  if (setup_.memory.find(buffer, std::max<std::uint64_t>(bytes, 1)) == nullptr) {
    return refuse(DeviceError::invalid_value, "the launch has no buffer of parameters");
  }
  child.parameters.resize(bytes);
  prepared_[buffer] = std::move(child);
  return launch(buffer, stream);
}

bool DeviceRuntime::is_device_memory(std::uint64_t address, std::uint64_t pitch,
                                     std::uint64_t width, std::uint64_t rows) {
  if (width == 0 || rows == 0) return true;
  const std::uint64_t bytes = (rows - 1) * pitch + width;
  return resolve_generic(address).space == Space::global &&
         setup_.memory.find(address, bytes) != nullptr;
}

DeviceError DeviceRuntime::copy(const ChildCopy& copy, std::uint64_t stream) {
  if (!is_device_memory(copy.to, copy.to_pitch, copy.width, copy.rows) ||
      !is_device_memory(copy.from, copy.from_pitch, copy.width, copy.rows)) {
    return fail(DeviceError::invalid_value);
  }
  return queue(copy, stream);
}

DeviceError DeviceRuntime::fill(const ChildFill& fill, std::uint64_t stream) {
  if (!is_device_memory(fill.to, fill.pitch, fill.width, fill.rows)) {
    return fail(DeviceError::invalid_value);
  }
  return queue(fill, stream);
}

std::optional<ChildWork> DeviceRuntime::take() {
  in_tail_ = work_.empty();
  std::deque<ChildWork>& from = in_tail_ ? tail_ : work_;
  if (from.empty()) return std::nullopt;
  ChildWork next = std::move(from.front());
  from.pop_front();
  return next;
}

std::uint64_t DeviceRuntime::create() {
  next_handle_ += 16;
  handles_.insert(next_handle_);
  return next_handle_;
}

std::uint64_t DeviceRuntime::text(std::string_view text) {
  const auto known = texts_.find(text);
  if (known != texts_.end()) return known->second;
  const std::uint64_t address = setup_.heap.allocate(text.size() + 1);
  if (address == 0) return 0;
  buffers_.push_back(address);
  Allocation& heap = *setup_.memory.find(address);
  std::uint8_t* const bytes = heap.data() + (address - heap.address());
  std::memcpy(bytes, text.data(), text.size());
  bytes[text.size()] = 0;
  return texts_[std::string(text)] = address;
}

}  // namespace tilescope::emulator
