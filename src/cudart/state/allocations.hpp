// The memory that a program allocated: on the device, on the host for the device, and managed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cudart/state/failure.hpp"
#include "inspect/program/host_call.hpp"
#include "tilescope/device.hpp"

/// The pool behind a cudaMemPool_t. Pools keep accounts only: memory comes from the device.
struct CUmemPoolHandle_st {
  std::uint64_t release_threshold = 0, used = 0, most_used = 0;  ///< bytes
  std::array<int, 3> reuse = {1, 1, 1};  ///< the flags, from cudaMemPoolReuse...
};

namespace tilescope::cudart {

enum class MemoryKind : std::uint8_t {
  device,      ///< cudaMalloc and its kin
  managed,     ///< cudaMallocManaged: of the host and the device
  pinned,      ///< cudaHostAlloc
  registered,  ///< cudaHostRegister: the program's own
  array,       ///< cudaMallocArray and its kin; the address is the array's handle
};

/// One allocation. Managed, pinned and registered memory has the same address on host and device.
struct MemoryBlock {
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;
  std::string name;                    ///< as reports call it
  CUmemPoolHandle_st* pool = nullptr;  ///< of memory in stream order
  Buffer buffer;                       ///< of device and managed memory
  DeviceArray array;
  inspect::HostCall call;  ///< that allocated it; empty unless the program is watched

  bool on_device() const { return kind != MemoryKind::pinned && kind != MemoryKind::registered; }
  bool on_host() const { return kind != MemoryKind::device && kind != MemoryKind::array; }
};

/// Memory that was freed, for reports about its further use.
struct FreedBlock {
  std::size_t bytes = 0;
  std::string name;
  inspect::HostCall call;
  bool in_stream_order = false;  ///< by cudaFreeAsync: work queued before may still use it
};

class Memory {
 public:
  explicit Memory(Device& device) : device_(device) {}
  ~Memory();

  /// Throws cudaErrorMemoryAllocation if there is no memory left.
  MemoryBlock& allocate(MemoryKind kind, std::size_t bytes, unsigned flags,
                        const inspect::HostCall& call, CUmemPoolHandle_st* pool = nullptr);
  MemoryBlock& allocate_array(const ArrayRequest& request, std::size_t bytes,
                              const inspect::HostCall& call);
  /// Lets the device use the program's own memory.
  void register_host(void* data, std::size_t bytes, unsigned flags, const inspect::HostCall& call);
  /// Frees what begins at `address`, which must be of one of two kinds; false: there is no such.
  bool free(std::uint64_t address, MemoryKind kind, MemoryKind or_kind,
            const inspect::HostCall& call);
  /// Takes device memory out of the table; false: there is none at the address. The device has it
  /// until sweep() sees `*done`, which work in a stream sets.
  bool retire(std::uint64_t address, std::shared_ptr<const bool> done,
              const inspect::HostCall& call);
  void sweep();

  /// The block that holds the address, or null.
  const MemoryBlock* find(std::uint64_t address) const;
  const MemoryBlock* find(const void* address) const;
  /// The freed block that held the address, or null.
  const FreedBlock* find_freed(std::uint64_t address) const;
  const std::map<std::uint64_t, MemoryBlock>& blocks() const { return blocks_; }
  std::size_t used() const { return used_; }
  /// The most that may be in use; 0: what the device has.
  void limit(std::size_t bytes) { limit_ = bytes; }
  std::size_t capacity() const;

  CUmemPoolHandle_st& default_pool() { return default_pool_; }
  CUmemPoolHandle_st& current_pool() { return *current_pool_; }
  void set_current_pool(CUmemPoolHandle_st& pool) { current_pool_ = &pool; }
  CUmemPoolHandle_st& create_pool();
  /// Throws cudaErrorInvalidValue if it is no pool.
  CUmemPoolHandle_st& pool(cudaMemPool_t handle);
  void destroy_pool(CUmemPoolHandle_st& pool);

 private:
  MemoryBlock& add(MemoryBlock block);
  void require_room(std::size_t bytes) const;
  void forget(const MemoryBlock& block, const inspect::HostCall& call);
  void release(MemoryBlock& block) noexcept;

  struct Retired {
    Buffer buffer;
    std::shared_ptr<const bool> done;
  };

  Device& device_;
  std::map<std::uint64_t, MemoryBlock> blocks_;
  std::vector<Retired> retired_;
  CUmemPoolHandle_st default_pool_;
  CUmemPoolHandle_st* current_pool_ = &default_pool_;
  std::map<cudaMemPool_t, std::unique_ptr<CUmemPoolHandle_st>> pools_;
  std::map<std::uint64_t, FreedBlock> freed_;
  std::size_t used_ = 0, limit_ = 0;
  std::uint64_t allocations_ = 0;
};

}  // namespace tilescope::cudart
