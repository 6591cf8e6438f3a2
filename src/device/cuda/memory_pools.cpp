#include "device/cuda/memory_pools.hpp"

namespace tilescope::device {

bool MemoryPools::are_supported(const Driver& driver, CUdevice device) {
  int supported = 0;
  driver.check(
      driver.device_attribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device),
      "cuDeviceGetAttribute");
  return supported != 0;
}

MemoryPools::~MemoryPools() {
  for (CUmemoryPool pool : {own_, linked_}) {
    if (pool != nullptr) driver_.pool_destroy(pool);
  }
  if (stream_ != nullptr) driver_.stream_destroy(stream_);
}

CUmemoryPool MemoryPools::made(CUmemoryPool& pool) {
  if (pool != nullptr) return pool;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_};
  driver_.check(driver_.pool_create(&pool, &properties), "cuMemPoolCreate");
  return pool;
}

CUresult MemoryPools::allocate(CUdeviceptr& address, std::size_t bytes, bool is_linked) {
  const std::lock_guard lock(mutex_);
  if (stream_ == nullptr) {
    driver_.check(driver_.stream_create(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }
  CUmemoryPool pool = made(is_linked ? linked_ : own_);
  const CUresult result = driver_.pool_alloc(&address, bytes, pool, stream_);
  if (result != CUDA_SUCCESS) return result;
  const CUresult waited = driver_.stream_synchronize(stream_);  // then all streams may use it
  if (waited == CUDA_SUCCESS) {
    pool_of_.emplace(address, pool);
  } else {
    driver_.mem_free(address);
  }
  return waited;
}

bool MemoryPools::holds(CUdeviceptr address) const {
  const std::lock_guard lock(mutex_);
  return pool_of_.contains(address);
}

void MemoryPools::free(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const auto found = pool_of_.find(address);
  driver_.mem_free(address);
  driver_.pool_trim(found->second, 0);
  pool_of_.erase(found);
}

void MemoryPools::give_access(CUdevice other) {
  const std::lock_guard lock(mutex_);
  const CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = other},
                               .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  driver_.check(driver_.pool_access(made(linked_), &access, 1), "cuMemPoolSetAccess");
}

}  // namespace tilescope::device
