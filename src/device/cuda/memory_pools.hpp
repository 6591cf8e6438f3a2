// Memory of a GPU from the driver's pools.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <tilescope/device.hpp>

#include "device/cuda/driver.hpp"

namespace tilescope::device {

/// Two pools: one that only its own GPU reaches, and one for GPUs that are given access to it.
///
/// The driver maps what cuMemAlloc() gives to every GPU with access to the context's memory, which
/// can take tens of milliseconds for a gigabyte; memory of a pool is mapped to the pool's GPUs
/// alone. To allocate and to free a gigabyte takes milliseconds too, so each pool keeps some of
/// what is freed for the next call, up to a limit.
class MemoryPools {
 public:
  /// Whether the driver has pools for this GPU. Where it has none, no object may exist.
  static bool are_supported(const Driver& driver, CUdevice device);

  /// A pool of which more than `most_kept` bytes are taken from the system gives back what it can.
  MemoryPools(const Driver& driver, CUdevice device, std::size_t most_kept)
      : driver_(driver), device_(device), most_kept_(most_kept) {}
  MemoryPools(const MemoryPools&) = delete;
  MemoryPools& operator=(const MemoryPools&) = delete;
  ~MemoryPools();

  // A context of the device is current in all calls.

  /// Memory for all streams of the device; `is_linked`: also for the GPUs with access.
  CUresult allocate(CUdeviceptr& address, std::size_t bytes, bool is_linked);
  /// Whether the memory is of these pools.
  bool holds(CUdeviceptr address) const;
  /// Frees memory of these pools that no work uses any more.
  void free(CUdeviceptr address);
  /// Bytes that the pools keep and nobody uses.
  std::size_t kept() const;
  /// Gives them back to the system.
  void give_back();
  /// Lets another GPU reach linked memory, also what is allocated already.
  void give_access(CUdevice other);

 private:
  CUmemoryPool made(CUmemoryPool& pool);

  const Driver& driver_;
  CUdevice device_;
  std::size_t most_kept_;
  mutable std::mutex mutex_;
  CUmemoryPool own_ = nullptr, linked_ = nullptr;  // made when first used
  CUstream stream_ = nullptr;                      // in which memory is allocated
  std::map<CUdeviceptr, CUmemoryPool> pool_of_;    // of what is not freed
  std::set<CUdevice> linked_devices_;              // with access to the linked pool
};

}  // namespace tilescope::device
