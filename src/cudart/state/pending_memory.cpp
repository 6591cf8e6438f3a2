#include "cudart/state/pending_memory.hpp"

#include <cstring>

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

  /// The allocations that arguments point into, and the managed variables of the kernel's module.
  void operator()(const KernelOperation& kernel) {
    const std::vector<std::byte>& bytes = kernel.arguments.bytes();
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size();
         at += sizeof(std::uint64_t)) {
      std::uint64_t address = 0;
      std::memcpy(&address, bytes.data() + at, sizeof address);
      if (const MemoryBlock* block = context.memory().find(address)) {
        claim(block->address, block->bytes, PendingUse::may_write);
      }
    }
    const CodeImage* const image = context.registry().kernel(kernel.function).image;
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
