// Memory that nodes of graphs allocate and free. Its address is fixed when the node is made; the
// program has the memory from the launch of the node that allocates to that of what frees it.
#pragma once

#include "cudart/state/allocations.hpp"

namespace tilescope::cudart {

/// The memory of one node. The device gives it back when no graph has the node any more and the
/// last work that frees it is done.
struct GraphBlock {
  GraphBlock(Memory& from, std::uint64_t begin, std::size_t size)
      : memory(from), address(begin), bytes(size) {}
  ~GraphBlock() { memory.retire(address, freed, freed_by); }

  Memory& memory;
  std::uint64_t address;
  std::size_t bytes;
  bool live = false;  ///< a launch allocated it, and nothing freed it since
  std::shared_ptr<bool> freed = std::make_shared<bool>(true);  ///< set by work in a stream
  inspect::HostCall freed_by;
};

class GraphMemory {
 public:
  /// The memory of a new node.
  std::shared_ptr<GraphBlock> add(Memory& memory, std::size_t bytes, const inspect::HostCall& call);
  /// The block that begins at the address, or null.
  GraphBlock* find(std::uint64_t address) const;
  /// Throws cudaErrorInvalidValue for a block that the program has.
  void allocate(const std::shared_ptr<GraphBlock>& block);
  /// Throws cudaErrorInvalidValue for a block that the program has not. The result is to be set to
  /// true when the work before is done.
  std::shared_ptr<bool> free(GraphBlock& block, const inspect::HostCall& call);
  void trim() { reserved_.now = used_.now; }

  struct Account {
    std::uint64_t now = 0, most = 0;  ///< bytes

    void raise_to(std::uint64_t bytes);
  };

  Account& used() { return used_; }
  /// The device keeps what was freed until trim().
  Account& reserved() { return reserved_; }

 private:
  std::map<std::uint64_t, std::weak_ptr<GraphBlock>> blocks_;
  std::map<std::uint64_t, std::shared_ptr<GraphBlock>> live_;
  Account used_, reserved_;
};

}  // namespace tilescope::cudart
