#include "emulator/instructions/bulk_operands.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "emulator/address_space.hpp"
#include "emulator/cluster.hpp"
#include "emulator/memory_access.hpp"
#include "emulator/memory_map.hpp"

namespace tilescope::emulator {

using ptx::Operand;
using ptx::Type;

namespace {

/// A copy to a block that has ended is not made.
FaultKind late_fault(const Block& ended, const Block& by) {
  return ended.outlasts(by) ? FaultKind::late_access : FaultKind::exited_block;
}

}  // namespace

void BulkOperands::address(const Operand& operand, bool generic) {
  if (operand.kind != Operand::Kind::address) {
    number(operand, Type::b64);
    return;
  }
  Code code;
  unsigned bytes = 8;
  decoder_.address(operand, generic, code, bytes);
  const auto offset = static_cast<std::uint64_t>(code.offset);
  list_.insert(list_.end(), {code.a, bytes, static_cast<std::uint32_t>(offset),
                             static_cast<std::uint32_t>(offset >> 32)});
}

void BulkOperands::number(const Operand& operand, Type type) {
  const unsigned bytes = decoder_.width(operand, type);
  list_.insert(list_.end(), {decoder_.source(operand, type), bytes, 0, 0});
}

void BulkOperands::none() {
  list_.insert(list_.end(), {kNone, 0, 0, 0});
}

bool has_bulk_value(const Code& c, std::size_t which) {
  return c.list[which * BulkOperands::kEntries] != kNone;
}

std::uint64_t bulk_value(Context& w, const Code& c, std::size_t which, int lane) {
  const std::uint32_t* entry = c.list + which * BulkOperands::kEntries;
  const std::uint64_t offset = std::uint64_t{entry[2]} | std::uint64_t{entry[3]} << 32;
  if (entry[1] == 8) return r64(w, entry[0])[lane] + offset;
  return r32(w, entry[0])[lane] + static_cast<std::uint32_t>(offset);
}

BulkOrigin BulkIssuer::origin() const {
  return {c.id, w.block->rank(), w.warp_index, lane};
}

void BulkIssuer::refuse(const std::string& rule) const {
  w.block->report({.kind = FaultKind::bad_copy,
                   .instruction = c.id,
                   .warp = w.warp_index,
                   .lanes = LaneMask{1} << lane,
                   .space = Space::shared,
                   .access = AccessKind::async_load,
                   .bytes = 0,
                   .address = 0,
                   .object = rule,
                   .object_bytes = 0,
                   .distance = 0,
                   .addresses = nullptr});
}

void BulkIssuer::fault(FaultKind kind, Space space, std::uint64_t address, std::uint64_t bytes,
                       AccessKind access) const {
  report_access_fault(w, {.kind = kind,
                          .instruction = c.id,
                          .warp = w.warp_index,
                          .lanes = LaneMask{1} << lane,
                          .space = space,
                          .access = access,
                          .bytes = static_cast<std::uint32_t>(bytes),
                          .address = address,
                          .object = {},
                          .object_bytes = 0,
                          .distance = 0,
                          .addresses = nullptr});
}

bool BulkIssuer::aligned(Space space, std::uint64_t address, unsigned alignment,
                         AccessKind access) const {
  if (address % alignment == 0) return true;
  fault(FaultKind::misaligned, space, address, alignment, access);
  return false;
}

std::optional<SharedTarget> BulkIssuer::shared(std::uint64_t address, std::uint64_t bytes,
                                               AccessKind access) const {
  const SharedPlace place = shared_place(address, w.block->rank());
  const Cluster& cluster = w.block->cluster();
  Block* const block = cluster.block(place.rank);
  if (block == nullptr || cluster.exited(place.rank)) {
    fault(block == nullptr ? FaultKind::no_such_block : late_fault(*block, *w.block), Space::shared,
          address, bytes, access);
    return std::nullopt;
  }
  if (place.offset > w.shared_bytes || bytes > w.shared_bytes - place.offset) {
    fault(FaultKind::out_of_bounds, Space::shared, place.offset, bytes, access);
    return std::nullopt;
  }
  return SharedTarget{block, static_cast<std::uint32_t>(place.offset)};
}

std::optional<SharedTarget> BulkIssuer::barrier(std::uint64_t address) const {
  if (!aligned(Space::shared, address, 8, AccessKind::atomic)) return std::nullopt;
  return shared(address, 8, AccessKind::atomic);
}

Allocation* BulkIssuer::global(std::uint64_t address, std::uint64_t bytes,
                               AccessKind access) const {
  Allocation* const found = w.block->launch().setup().memory.find(address);
  const bool constant = found != nullptr && found->kind() == AllocationKind::constant_variable;
  if (found != nullptr && !constant) {
    if (bytes > found->bytes() - (address - found->address())) {
      fault(FaultKind::out_of_bounds, Space::global, address, bytes, access);
    }
    return found;
  }
  fault(constant         ? FaultKind::wrong_space
        : address < 4096 ? FaultKind::null_pointer
                         : FaultKind::out_of_bounds,
        Space::global, address, bytes, access);
  return nullptr;
}

void BulkIssuer::announce(BulkOperation&& operation) const {
  AsyncEngine::announce(w.block->observers(), operation);
}

void BulkIssuer::issue(BulkOperation&& operation) const {
  operation.target = w.block->rank();
  w.block->engine().issue(w.block->observers(), std::move(operation));
}

void BulkIssuer::deliver(const SharedTarget& barrier, std::optional<std::uint64_t> blocks,
                         BulkOperation&& operation) const {
  operation.barrier = barrier.offset;
  const auto queue_in = [&](Block& block, BulkOperation&& one) {
    one.to_base = reinterpret_cast<std::uintptr_t>(block.shared());
    one.target = block.rank();
    block.engine().issue(w.block->observers(), std::move(one));
  };
  if (!blocks) {
    queue_in(*barrier.block, std::move(operation));
    return;
  }
  operation.copies = static_cast<std::uint32_t>(std::popcount(*blocks & 0xffff));
  for (std::uint64_t rest = *blocks & 0xffff; rest != 0; rest &= rest - 1) {
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(rest));
    Block* const block = w.block->cluster().block(rank);
    if (block == nullptr) {
      refuse(fmt::format("a multicast to block {} of a cluster that has fewer", rank));
      continue;
    }
    if (w.block->cluster().exited(rank)) {
      fault(late_fault(*block, *w.block), Space::shared, cluster_address(rank, barrier.offset), 8,
            AccessKind::async_store);
      continue;
    }
    queue_in(*block, BulkOperation(operation));
    operation.copies = 0;
  }
}

}  // namespace tilescope::emulator
