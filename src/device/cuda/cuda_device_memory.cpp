// Device memory of CudaDevice.
#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/cuda_device.hpp"

namespace tilescope::device {
namespace {

/// Smaller allocations lie in memory that the driver has already, of which a pool would take more.
constexpr std::size_t least_of_pool = std::size_t{16} << 20U;

}  // namespace

void CudaDevice::check_allocation(CUresult result, std::string_view call, std::size_t bytes,
                                  std::string_view name) const {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    std::size_t free = 0, total = 0;
    driver_.memory_info(&free, &total);
    driver_.check(result, call,
                  fmt::format("of {} bytes for {} ({} of {} bytes free on {})", bytes, name, free,
                              total, id()));
  }
  driver_.check(result, call);
}

template <typename Allocate>
CUresult CudaDevice::allocate_with_kept(const Allocate& allocate) {
  const CUresult result = allocate();
  if (result != CUDA_ERROR_OUT_OF_MEMORY || !pools_) return result;
  pools_->give_back();
  return allocate();
}

std::uint64_t CudaDevice::allocate_bytes(std::size_t bytes, std::string_view name) {
  make_current();
  CUdeviceptr address = 0;
  const CUresult result = allocate_with_kept(
      [&] { return driver_.mem_alloc(&address, std::max<std::size_t>(bytes, 1)); });
  check_allocation(result, "cuMemAlloc", bytes, name);
  return address;
}

std::uint64_t CudaDevice::allocate_for(Reach reach, std::size_t bytes, std::string_view name) {
  const bool is_linked = reach == Reach::linked;
  const bool is_of_pool = is_linked || (reach == Reach::own && bytes >= least_of_pool);
  if (!pools_ || !is_of_pool) return allocate_bytes(bytes, name);
  make_current();
  CUdeviceptr address = 0;
  const CUresult result = allocate_with_kept(
      [&] { return pools_->allocate(address, std::max<std::size_t>(bytes, 1), is_linked); });
  // A pool takes memory in larger blocks: the last of it can still be had from outside.
  if (result == CUDA_ERROR_OUT_OF_MEMORY && !is_linked) return allocate_bytes(bytes, name);
  check_allocation(result, "cuMemAllocFromPoolAsync", bytes, name);
  return address;
}

std::uint64_t CudaDevice::allocate_managed_bytes(std::size_t bytes, std::string_view name) {
  make_current();
  CUdeviceptr address = 0;
  driver_.check(
      driver_.mem_alloc_managed(&address, std::max<std::size_t>(bytes, 1), CU_MEM_ATTACH_GLOBAL),
      "cuMemAllocManaged", fmt::format("of {} bytes for {}", bytes, name));
  return address;
}

MemoryUse CudaDevice::memory_use() const {
  make_current();
  MemoryUse use;
  driver_.check(driver_.memory_info(&use.free_bytes, &use.total_bytes), "cuMemGetInfo");
  if (pools_) use.free_bytes += pools_->kept();
  return use;
}

void CudaDevice::give_back_memory() {
  make_current();
  if (pools_) pools_->give_back();
}

void CudaDevice::free_bytes(std::uint64_t address) noexcept {
  enter();
  if (!pools_ || !pools_->holds(address)) {
    driver_.mem_free(address);
    return;
  }
  driver_.context_synchronize();  // as cuMemFree does for other memory: queued work may use it
  pools_->free(address);
}

}  // namespace tilescope::device
