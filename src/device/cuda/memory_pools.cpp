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
  // Without it, the driver would empty the pool whenever the host waits for a stream.
  cuuint64_t threshold = most_kept_;
  driver_.check(driver_.pool_set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
                "cuMemPoolSetAttribute");
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
  driver_.pool_free(address, stream_);
  driver_.stream_synchronize(stream_);  // only then it can go back to the system
  driver_.pool_trim(found->second, most_kept_);
  pool_of_.erase(found);
}

std::size_t MemoryPools::kept() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (CUmemoryPool pool : {own_, linked_}) {
    if (pool == nullptr) continue;
    cuuint64_t reserved = 0, used = 0;
    driver_.check(driver_.pool_get(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved),
                  "cuMemPoolGetAttribute");
    driver_.check(driver_.pool_get(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used),
                  "cuMemPoolGetAttribute");
    bytes += reserved - used;
  }
  return bytes;
}

void MemoryPools::give_back() {
  const std::lock_guard lock(mutex_);
  for (CUmemoryPool pool : {own_, linked_}) {
    if (pool != nullptr) driver_.pool_trim(pool, 0);
  }
}

void MemoryPools::give_access(CUdevice other) {
  const std::lock_guard lock(mutex_);
  if (linked_devices_.contains(other)) return;
  const CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = other},
                               .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  driver_.check(driver_.pool_access(made(linked_), &access, 1), "cuMemPoolSetAccess");
  linked_devices_.insert(other);
}

}  // namespace tilescope::device
