#include "device/cuda/cuda_device.hpp"
#include "gpu/architecture.hpp"

namespace tilescope::device {

DeviceProperties query_properties(const Driver& driver, CUdevice device) {
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    driver.check(driver.device_attribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  };
  const auto extent = [&](CUdevice_attribute x, CUdevice_attribute y, CUdevice_attribute z) {
    return Dim3{static_cast<std::uint32_t>(attribute(x)), static_cast<std::uint32_t>(attribute(y)),
                static_cast<std::uint32_t>(attribute(z))};
  };
  DeviceProperties p;
  char name[256] = {};
  driver.check(driver.device_name(name, sizeof name, device), "cuDeviceGetName");
  p.name = name;
  driver.check(driver.device_total_memory(&p.global_bytes, device), "cuDeviceTotalMem");
  p.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p.warp_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  p.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  p.max_block = extent(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                       CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  p.max_grid = extent(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                      CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  p.max_threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p.max_blocks_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  p.registers_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  p.registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  const auto bytes = [&](CUdevice_attribute which) {
    return static_cast<std::size_t>(attribute(which));
  };
  p.shared_bytes_per_block = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  p.shared_bytes_per_block_optin = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  p.shared_bytes_per_sm = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  p.reserved_shared_bytes_per_block = bytes(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  p.constant_bytes = bytes(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  p.l2_bytes = bytes(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  p.core_clock_khz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  p.memory_clock_khz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  p.memory_bus_bits = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  p.fp32_lanes_per_sm = gpu::fp32_lanes_per_sm(p.compute_major, p.compute_minor);
  p.copy_engines = attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  p.concurrent_kernels = attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS) != 0;
  p.warpgroup_products = p.compute_major == 9;
  return p;
}

}  // namespace tilescope::device
