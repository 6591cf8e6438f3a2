#include "cudart/state/allocations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cudart/state/host_guard.hpp"
#include "inspect/program/program_watch.hpp"

namespace tilescope::cudart {
namespace {

/// Keeps this many records of freed memory for reports.
constexpr std::size_t most_freed = 4096;

std::uint64_t address_of(const void* data) {
  return reinterpret_cast<std::uint64_t>(data);
}

void* host_address(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

/// The name of new memory in reports: of a watched program the source's own.
std::string name_of(const inspect::HostCall& call, std::string_view what, std::uint64_t number) {
  auto* const watch = inspect::ProgramWatch::instance();
  return watch != nullptr && call.depth > 0 ? watch->allocation_name(call)
                                            : fmt::format("{} {}", what, number);
}

/// The element of `blocks` that holds the address, or its end.
template <typename Blocks>
auto holding(Blocks& blocks, std::uint64_t address) {
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return blocks.end();
  --after;
  const std::size_t bytes = std::max<std::size_t>(after->second.bytes, 1);
  return address - after->first < bytes ? after : blocks.end();
}

}  // namespace

Memory::~Memory() {
  for (auto& [address, block] : blocks_) {
    HostGuard::instance().forget(block.address, block.bytes);
    release(block);
  }
}

std::size_t Memory::capacity() const {
  return limit_ == 0 ? device_.properties().global_bytes : limit_;
}

MemoryBlock& Memory::allocate(MemoryKind kind, std::size_t bytes, unsigned flags,
                              const inspect::HostCall& call, CUmemPoolHandle_st* pool) {
  MemoryBlock block{.bytes = bytes, .kind = kind, .flags = flags, .pool = pool, .call = call};
  block.name = name_of(call, "allocation", ++allocations_);
  if (block.on_device()) {
    require_room(bytes);
    try {
      block.buffer = kind == MemoryKind::device ? device_.allocate(bytes, block.name)
                                                : device_.allocate_managed(bytes, block.name);
    } catch (const Error&) {
      throw Failure{cudaErrorMemoryAllocation};
    }
    block.address = block.buffer.address();
  } else {
    std::string why_not;
    block.address = address_of(device_.allocate_host(bytes, why_not, block.name));
    if (block.address == 0) throw Failure{cudaErrorMemoryAllocation, why_not};
  }
  if (pool != nullptr) pool->most_used = std::max(pool->most_used, pool->used += bytes);
  return add(std::move(block));
}

MemoryBlock& Memory::allocate_array(const ArrayRequest& request, std::size_t bytes,
                                    const inspect::HostCall& call) {
  MemoryBlock block{.bytes = bytes, .kind = MemoryKind::array, .call = call};
  block.name = name_of(call, "array", ++allocations_);
  require_room(bytes);
  try {
    block.array = device_.create_array(request, block.name);
  } catch (const Error& error) {
    throw Failure{error.kind() == ErrorKind::usage ? cudaErrorInvalidValue
                                                   : cudaErrorMemoryAllocation};
  }
  block.address = block.array.value();
  return add(std::move(block));
}

void Memory::require_room(std::size_t bytes) const {
  require(bytes <= capacity() && used_ <= capacity() - bytes, cudaErrorMemoryAllocation);
}

MemoryBlock& Memory::add(MemoryBlock block) {
  if (block.on_device()) used_ += block.bytes;
  freed_.erase(block.address);
  if (block.kind == MemoryKind::device) {
    HostGuard::instance().know({block.name, block.address, block.bytes});
  }
  return blocks_.insert_or_assign(block.address, std::move(block)).first->second;
}

void Memory::register_host(void* data, std::size_t bytes, unsigned flags,
                           const inspect::HostCall& call) {
  const std::uint64_t address = address_of(data);
  const auto after = blocks_.lower_bound(address);
  const bool overlaps =
      find(address) != nullptr || (after != blocks_.end() && after->first - address < bytes);
  require(!overlaps, cudaErrorHostMemoryAlreadyRegistered);
  MemoryBlock block{.address = address,
                    .bytes = bytes,
                    .kind = MemoryKind::registered,
                    .flags = flags,
                    .call = call};
  block.name = name_of(call, "registered memory", ++allocations_);
  std::string why_not;
  if (!device_.register_host(data, bytes, why_not, block.name)) {
    throw Failure{cudaErrorMemoryAllocation, why_not};
  }
  blocks_.emplace(address, std::move(block));
}

bool Memory::free(std::uint64_t address, MemoryKind kind, MemoryKind or_kind,
                  const inspect::HostCall& call) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return false;
  MemoryBlock& block = found->second;
  if (block.kind != kind && block.kind != or_kind) return false;
  forget(block, call);
  release(block);
  blocks_.erase(found);
  return true;
}

bool Memory::retire(std::uint64_t address, std::shared_ptr<const bool> done,
                    const inspect::HostCall& call) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second.kind != MemoryKind::device) return false;
  forget(found->second, call);
  freed_.at(address).in_stream_order = true;
  retired_.push_back({std::move(found->second.buffer), std::move(done)});
  blocks_.erase(found);
  return true;
}

void Memory::sweep() {
  std::vector<Retired> freed;  // destroyed last: freeing finishes work, which may call back
  std::erase_if(retired_, [&](Retired& entry) {
    if (!*entry.done) return false;
    freed.push_back(std::move(entry));
    return true;
  });
}

void Memory::forget(const MemoryBlock& block, const inspect::HostCall& call) {
  HostGuard::instance().forget(block.address, block.bytes);
  if (block.on_device()) used_ -= block.bytes;
  if (block.pool != nullptr) block.pool->used -= block.bytes;
  if (freed_.size() >= most_freed) freed_.erase(freed_.begin());
  freed_[block.address] = {.bytes = block.bytes, .name = block.name, .call = call};
}

void Memory::release(MemoryBlock& block) noexcept {
  if (block.on_device()) return;  // its buffer frees it
  void* const data = host_address(block.address);
  if (block.kind == MemoryKind::registered) {
    device_.unregister_host(data);
  } else {
    device_.free_host(data);
  }
}

const MemoryBlock* Memory::find(std::uint64_t address) const {
  const auto found = holding(blocks_, address);
  return found == blocks_.end() ? nullptr : &found->second;
}

const MemoryBlock* Memory::find(const void* address) const {
  return find(address_of(address));
}

const FreedBlock* Memory::find_freed(std::uint64_t address) const {
  const auto found = holding(freed_, address);
  return found == freed_.end() ? nullptr : &found->second;
}

CUmemPoolHandle_st& Memory::create_pool() {
  auto made = std::make_unique<CUmemPoolHandle_st>();
  CUmemPoolHandle_st& pool = *made;
  pools_.emplace(&pool, std::move(made));
  return pool;
}

CUmemPoolHandle_st& Memory::pool(cudaMemPool_t handle) {
  require(handle == &default_pool_ || pools_.contains(handle), cudaErrorInvalidValue);
  return *handle;
}

void Memory::destroy_pool(CUmemPoolHandle_st& pool) {
  require(&pool != &default_pool_, cudaErrorInvalidValue);
  for (auto& [address, block] : blocks_) {
    if (block.pool == &pool) block.pool = nullptr;
  }
  if (current_pool_ == &pool) current_pool_ = &default_pool_;
  pools_.erase(&pool);
}

}  // namespace tilescope::cudart
