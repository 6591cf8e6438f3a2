// A driver of two GPUs that computes nothing and takes notes of what is asked of it, in order: for
// tests of when memory is allocated and kernels are loaded, and which memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_driver.hpp"

namespace tilescope::testing {

using device::Driver;

inline std::mutex notes_mutex;
inline std::vector<std::string> notes;
inline std::atomic<std::uintptr_t> next_address = 1U << 20U;
/// The largest allocation that the second GPU has room for.
inline std::atomic<std::size_t> most_of_second = std::size_t{1} << 40U;
inline thread_local CUcontext current = nullptr;

inline CUresult note(const char* call) {
  const std::lock_guard lock(notes_mutex);
  notes.emplace_back(call);
  return CUDA_SUCCESS;
}
inline std::vector<std::string> take_notes() {
  const std::lock_guard lock(notes_mutex);
  return std::exchange(notes, {});
}

template <typename Handle>
Handle next_handle() {
  return reinterpret_cast<Handle>(next_address += 256);
}

inline CUresult allocate(CUdeviceptr* address, std::size_t bytes, const char* call = "allocate") {
  const bool is_second = current == reinterpret_cast<CUcontext>(2);
  if (is_second && bytes > most_of_second) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = next_address += (bytes / 256 + 1) * 256;
  return note(call);
}

inline void fake_memory(Driver& driver) {
  driver.mem_alloc = [](CUdeviceptr* address, std::size_t bytes) {
    const bool is_large = bytes >= std::size_t{16} << 20U;
    return allocate(address, bytes, is_large ? "allocate for all GPUs" : "allocate");
  };
  driver.mem_free = [](CUdeviceptr) { return note("free"); };
  driver.memory_info = [](std::size_t* free, std::size_t* total) {
    return *free = *total = 1 << 30, CUDA_SUCCESS;
  };
  driver.pool_create = [](CUmemoryPool* pool, const CUmemPoolProps*) {
    return *pool = next_handle<CUmemoryPool>(), CUDA_SUCCESS;
  };
  driver.pool_destroy = [](CUmemoryPool) { return CUDA_SUCCESS; };
  driver.pool_set = [](CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; };
  driver.pool_access = [](CUmemoryPool, const CUmemAccessDesc*, std::size_t) {
    return note("link");
  };
  driver.pool_trim = [](CUmemoryPool, std::size_t) { return CUDA_SUCCESS; };
  driver.pool_alloc = [](CUdeviceptr* address, std::size_t bytes, CUmemoryPool, CUstream) {
    return allocate(address, bytes, "allocate from a pool");
  };
  driver.pool_free = [](CUdeviceptr, CUstream) { return note("free"); };
  driver.copy_to_device = [](CUdeviceptr, const void*, std::size_t, CUstream) {
    return note("copy");
  };
  driver.copy_to_host = [](void*, CUdeviceptr, std::size_t, CUstream) { return note("copy"); };
  driver.copy_on_device = [](CUdeviceptr, CUdeviceptr, std::size_t, CUstream) {
    return CUDA_SUCCESS;
  };
  driver.set_bytes = [](CUdeviceptr, unsigned char, std::size_t, CUstream) { return CUDA_SUCCESS; };
  driver.host_alloc = [](void** data, std::size_t bytes, unsigned) {
    *data = std::malloc(bytes);
    return *data ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  };
  driver.host_free = [](void* data) { return std::free(data), CUDA_SUCCESS; };
  driver.host_register = [](void*, std::size_t, unsigned) { return CUDA_SUCCESS; };
  driver.host_unregister = [](void*) { return CUDA_SUCCESS; };
  driver.copy_2d = [](const CUDA_MEMCPY2D*, CUstream) { return note("copy"); };
  driver.copy_peer = [](const CUDA_MEMCPY3D_PEER*, CUstream) { return note("copy"); };
}

inline void fake_work(Driver& driver) {
  driver.primary_retain = [](CUcontext* context, CUdevice device) {
    return *context = reinterpret_cast<CUcontext>(device + std::intptr_t{1}), CUDA_SUCCESS;
  };
  driver.primary_release = [](CUdevice) { return CUDA_SUCCESS; };
  driver.set_current = [](CUcontext context) { return current = context, CUDA_SUCCESS; };
  driver.get_current = [](CUcontext* context) { return *context = current, CUDA_SUCCESS; };
  driver.context_synchronize = [] { return CUDA_SUCCESS; };
  driver.can_access_peer = [](int* can, CUdevice, CUdevice) { return *can = 1, CUDA_SUCCESS; };
  driver.module_load = [](CUmodule*, const void*, unsigned, CUjit_option*, void**) {
    return note("load");
  };
  driver.module_unload = [](CUmodule) { return note("unload"); };
  driver.module_function = [](CUfunction*, CUmodule, const char*) { return CUDA_SUCCESS; };
  driver.function_attribute = [](int* value, CUfunction_attribute, CUfunction) {
    return *value = 0, CUDA_SUCCESS;
  };
  driver.set_function_attribute = [](CUfunction, CUfunction_attribute, int) {
    return CUDA_SUCCESS;
  };
  driver.encode_tensor_map = [](auto...) { return CUDA_SUCCESS; };
  driver.launch_extended = [](const CUlaunchConfig*, CUfunction, void**, void**) {
    return note("launch");
  };
}

inline void fake_streams(Driver& driver) {
  driver.stream_create = [](CUstream* stream, unsigned) {
    return *stream = next_handle<CUstream>(), CUDA_SUCCESS;
  };
  driver.stream_destroy = [](CUstream) { return CUDA_SUCCESS; };
  driver.stream_synchronize = [](CUstream) { return CUDA_SUCCESS; };
  driver.stream_wait = [](CUstream, CUevent, unsigned) { return CUDA_SUCCESS; };
  driver.event_create = [](CUevent* event, unsigned) {
    return *event = next_handle<CUevent>(), CUDA_SUCCESS;
  };
  driver.event_destroy = [](CUevent) { return CUDA_SUCCESS; };
  driver.event_record = [](CUevent, CUstream) { return CUDA_SUCCESS; };
  driver.event_elapsed = [](float* ms, CUevent, CUevent) { return *ms = 1.0F, CUDA_SUCCESS; };
  driver.event_query = [](CUevent) { return CUDA_SUCCESS; };
  driver.stream_query = [](CUstream) { return CUDA_SUCCESS; };
  driver.event_synchronize = [](CUevent) { return CUDA_SUCCESS; };
}

inline const Driver& noting_driver() {
  static const Driver driver = [] {
    Driver fake;
    fake_properties(fake);
    fake_memory(fake);
    fake_work(fake);
    fake_streams(fake);
    return fake;
  }();
  return driver;
}

}  // namespace tilescope::testing
