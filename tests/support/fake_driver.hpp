// A driver of two GPUs of compute capability 9.0, for tests that give it the calls they are about.
#pragma once

#include <cstring>

#include "device/cuda/driver.hpp"

namespace tilescope::testing {

inline int attribute_of(CUdevice_attribute which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return 0;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 227 * 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 0x7fffffff;
    default:
      return 1024;
  }
}

inline void fake_properties(device::Driver& driver) {
  driver.device_count = [](int* count) { return *count = 2, CUDA_SUCCESS; };
  driver.device_get = [](CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; };
  driver.device_name = [](char* name, int bytes, CUdevice) {
    std::strncpy(name, "a driver's notes", static_cast<std::size_t>(bytes));
    return CUDA_SUCCESS;
  };
  driver.device_total_memory = [](std::size_t* bytes, CUdevice) {
    return *bytes = 1 << 30, CUDA_SUCCESS;
  };
  driver.device_attribute = [](int* value, CUdevice_attribute which, CUdevice) {
    return *value = attribute_of(which), CUDA_SUCCESS;
  };
}

}  // namespace tilescope::testing
