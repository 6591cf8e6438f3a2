#include "cudart/state/pending_memory.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace tilescope::cudart {
namespace {

struct Claims {
  Context& context;
  const inspect::HostCall& call;
  std::vector<std::uint64_t> numbers{};

  void add(std::uint64_t number) {
    if (number != 0) numbers.push_back(number);
  }

  void claim(std::uint64_t address, std::size_t bytes, PendingUse use) {
    const MemoryBlock* const block = context.memory().find(address);
    if (block == nullptr || !block->on_host()) return;
    // Whole pages belong to the allocation, unless the program made it.
    const std::size_t own = block->kind == MemoryKind::registered ? 0 : block->bytes;
    add(HostGuard::instance().claim(
        address, bytes, {.name = block->name, .address = block->address, .bytes = own}, use, call));
  }

  void claim_side(const CopySide& side, std::size_t row_bytes, std::size_t rows, std::size_t slices,
                  PendingUse use) {
    const std::size_t whole = extent(side, row_bytes, rows, slices);
    if (whole == row_bytes * rows * slices) return claim(side.address, whole, use);
    for (std::size_t slice = 0; slice < slices; ++slice) {
      for (std::size_t row = 0; row < rows; ++row) {
        claim(side.at(row, slice).address, row_bytes, use);
      }
    }
  }

  /// The allocations that the words of an argument point into.
  std::set<const MemoryBlock*> blocks_of(const std::vector<std::byte>& arguments,
                                         std::size_t offset, std::size_t bytes) const {
    std::set<const MemoryBlock*> blocks;
    std::uint64_t address = 0;
    const std::size_t end = std::min(offset + bytes, arguments.size());
    for (std::size_t at = (offset + 7) / 8 * 8; at + sizeof address <= end; at += sizeof address) {
      std::memcpy(&address, arguments.data() + at, sizeof address);
      if (const MemoryBlock* block = context.memory().find(address)) blocks.insert(block);
    }
    return blocks;
  }

  /// The allocations that arguments point into, and the managed variables of the kernel's module.
  /// A pointer to volatile or atomic values is for threads that meet others: the host is welcome in
  /// that allocation.
  void operator()(const KernelOperation& kernel) {
    const CUkern_st& known = context.registry().kernel(kernel.function);
    const LoadedKernel& loaded = context.code().kernel(context.device(), known);
    std::set<const MemoryBlock*> used, shared;
    for (std::size_t i = 0; i < loaded.parameters.size(); ++i) {
      const KernelParameter& parameter = loaded.parameters[i];
      (parameter.is_shared ? shared : used)
          .merge(blocks_of(kernel.arguments.bytes(), loaded.offset(i), parameter.bytes));
    }
    for (const MemoryBlock* block : used) {
      if (!shared.contains(block)) claim(block->address, block->bytes, PendingUse::may_write);
    }
    const CodeImage* const image = known.image;
    for (const CodeVariable* variable : image->managed) {
      const auto address = reinterpret_cast<std::uint64_t>(*variable->managed);
      add(HostGuard::instance().claim(
          address, variable->bytes,
          {.name = variable->name, .address = address, .bytes = variable->bytes},
          PendingUse::may_write, call));
    }
  }

  void operator()(const CopyOperation& copy) {
    if (copy.empty()) return;
    claim_side(copy.to, copy.row_bytes, copy.rows, copy.slices, PendingUse::writes);
    claim_side(copy.from, copy.row_bytes, copy.rows, copy.slices, PendingUse::reads);
  }

  void operator()(const FillOperation& fill) {
    claim_side(fill.to, fill.width * fill.element_bytes, fill.rows, fill.slices,
               PendingUse::writes);
  }

  template <typename Other>
  void operator()(const Other&) {}
};

}  // namespace

std::vector<std::uint64_t> claim_memory(Context& context, const Operation& operation,
                                        const inspect::HostCall& call) {
  Claims claims{context, call};
  std::visit(claims, operation);
  return claims.numbers;
}

}  // namespace tilescope::cudart
