#include "cudart/state/graph_memory.hpp"

#include <algorithm>

namespace tilescope::cudart {

void GraphMemory::Account::raise_to(std::uint64_t bytes) {
  now = std::max(now, bytes);
  most = std::max(most, now);
}

std::shared_ptr<GraphBlock> GraphMemory::add(Memory& memory, std::size_t bytes,
                                             const inspect::HostCall& call) {
  const MemoryBlock& made = memory.allocate(MemoryKind::device, bytes, 0, call);
  auto block = std::make_shared<GraphBlock>(memory, made.address, bytes);
  blocks_[made.address] = block;
  return block;
}

GraphBlock* GraphMemory::find(std::uint64_t address) const {
  const auto found = blocks_.find(address);
  return found == blocks_.end() ? nullptr : found->second.lock().get();
}

void GraphMemory::allocate(const std::shared_ptr<GraphBlock>& block) {
  require(!block->live, cudaErrorInvalidValue);
  block->live = true;
  live_[block->address] = block;
  used_.raise_to(used_.now + block->bytes);
  reserved_.raise_to(used_.now);
}

std::shared_ptr<bool> GraphMemory::free(GraphBlock& block, const inspect::HostCall& call) {
  require(block.live, cudaErrorInvalidValue);
  const auto done = std::make_shared<bool>(false);
  block.live = false;
  block.freed = done;
  block.freed_by = call;
  used_.now -= block.bytes;
  live_.erase(block.address);  // perhaps the end of the block
  return done;
}

}  // namespace tilescope::cudart
