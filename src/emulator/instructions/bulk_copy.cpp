// cp.async.bulk and its groups: stretches of memory that the copy engine moves for one thread.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "base/one_of.hpp"
#include "emulator/atomic_update.hpp"
#include "emulator/instructions/bulk_operands.hpp"
#include "emulator/memory_map.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Flag;
using ptx::ReduceOp;
using ptx::Type;

// The operands in Code::list.
enum Bulk : std::size_t { kTo, kFrom, kSize, kBarrier, kBlocks, kByteMask };

// Code::aux: the BulkKind, the ReduceOp from bit 8, its type from bit 16.
BulkKind kind_of(const Code& c) {
  return static_cast<BulkKind>(c.aux & 0xff);
}

/// Cuts a piece at the bytes of each 16 that `mask` leaves out.
void add_pieces(const BulkPiece& whole, std::uint64_t mask, std::vector<BulkPiece>& pieces) {
  if ((mask & 0xffff) == 0xffff) {
    pieces.push_back(whole);
    return;
  }
  for (std::uint32_t i = 0; i < whole.bytes; ++i) {
    if ((mask >> i % 16 & 1) == 0) continue;
    if (!pieces.empty() && pieces.back().from + pieces.back().bytes == whole.from + i) {
      ++pieces.back().bytes;
    } else {
      pieces.push_back({whole.from + i, whole.to + i, 1, whole.filled, false, pieces.empty()});
    }
  }
}

struct GlobalSide {
  std::uintptr_t base = 0;
  std::uint32_t bytes = 0;  ///< those of the copy that exist
};

GlobalSide global_side(const BulkIssuer& issuer, std::uint64_t address, std::uint32_t size,
                       AccessKind access) {
  Allocation* const found = issuer.global(address, size, access);
  if (found == nullptr) return {};
  const std::uint64_t left = found->bytes() - (address - found->address());
  return {reinterpret_cast<std::uintptr_t>(found->data()) - found->address(),
          static_cast<std::uint32_t>(std::min<std::uint64_t>(left, size))};
}

/// The stretch that a copy reads; no bytes, and reported, if there is none.
struct Source {
  std::uintptr_t base = 0;
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
};

Source source_of(const BulkIssuer& issuer, std::uint32_t size) {
  const std::uint64_t address = bulk_value(issuer.w, issuer.c, kFrom, issuer.lane);
  const bool global =
      kind_of(issuer.c) == BulkKind::load || kind_of(issuer.c) == BulkKind::prefetch;
  const Space space = global ? Space::global : Space::shared;
  if (!issuer.aligned(space, address, 16, AccessKind::async_load)) return {};
  if (global) {
    const GlobalSide side = global_side(issuer, address, size, AccessKind::async_load);
    return {side.base, address, side.bytes};
  }
  const auto own = issuer.shared(address, size, AccessKind::async_load);
  if (!own) return {};
  return {reinterpret_cast<std::uintptr_t>(own->block->shared()), own->offset, size};
}

BulkOperation operation_of(const BulkIssuer& issuer, const Source& source, std::uint32_t size,
                           std::uint64_t to) {
  const Code& c = issuer.c;
  BulkOperation operation;
  operation.origin = issuer.origin();
  operation.kind = kind_of(c);
  operation.reduce = static_cast<ReduceOp>(c.aux >> 8 & 0xff);
  operation.type = static_cast<Type>(c.aux >> 16 & 0xff);
  operation.flushes = operation.kind == BulkKind::store;
  operation.from_base = source.base;
  const std::uint64_t mask =
      has_bulk_value(c, kByteMask) ? bulk_value(issuer.w, c, kByteMask, issuer.lane) : 0xffff;
  if (source.bytes != 0) {
    add_pieces({source.address, to, source.bytes, false}, mask, operation.pieces);
  }
  if (source.bytes < size && operation.reduce == ReduceOp::none) {  // reading nothing gives zeros
    add_pieces({0, to + source.bytes, size - source.bytes, true}, mask, operation.pieces);
  }
  return operation;
}

void store(const BulkIssuer& issuer, std::uint32_t size) {
  const std::uint64_t to = bulk_value(issuer.w, issuer.c, kTo, issuer.lane);
  const AccessKind access =
      (issuer.c.aux >> 8 & 0xff) != 0 ? AccessKind::reduction : AccessKind::async_store;
  if (!issuer.aligned(Space::global, to, 16, access)) return;
  Source source = source_of(issuer, size);
  const GlobalSide side = global_side(issuer, to, size, access);
  if (source.bytes == 0 || side.bytes == 0) return;
  source.bytes = side.bytes;
  BulkOperation operation = operation_of(issuer, source, side.bytes, to);
  operation.to_base = side.base;
  issuer.issue(std::move(operation));
}

/// To the shared memory of a block of the cluster, or of several. A faulty copy still counts on its
/// barrier: the run continues.
void deliver(const BulkIssuer& issuer, std::uint32_t size) {
  const Code& c = issuer.c;
  const auto value = [&](Bulk which) { return bulk_value(issuer.w, c, which, issuer.lane); };
  const auto barrier = issuer.barrier(value(kBarrier));
  if (!barrier) return;
  const std::uint64_t to = value(kTo);
  auto target = issuer.aligned(Space::shared, to, 16, AccessKind::async_store)
                    ? issuer.shared(to, size, AccessKind::async_store)
                    : std::nullopt;
  if (target && target->block != barrier->block) {
    issuer.refuse("the mbarrier of a bulk copy lies in another block than its destination");
    target.reset();
  }
  BulkOperation operation =
      target ? operation_of(issuer, source_of(issuer, size), size, target->offset)
             : operation_of(issuer, {}, 0, 0);
  operation.barrier_bytes = size;
  std::optional<std::uint64_t> blocks;
  if (has_bulk_value(c, kBlocks)) blocks = value(kBlocks);
  issuer.deliver(*barrier, blocks, std::move(operation));
}

void prefetch(const BulkIssuer& issuer, std::uint32_t size) {
  const Source source = source_of(issuer, size);
  if (source.bytes == 0) return;
  issuer.announce(operation_of(issuer, source, source.bytes, 0));
}

void copy_bulk(Context& w, const Code& c) {
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const BulkIssuer issuer{w, c, std::countr_zero(m)};
    const auto size = static_cast<std::uint32_t>(bulk_value(w, c, kSize, issuer.lane));
    if (size % 16 != 0) {
      issuer.refuse(fmt::format("a bulk copy of {} bytes; sizes are multiples of 16", size));
    } else if (kind_of(c) == BulkKind::store) {
      store(issuer, size);
    } else if (kind_of(c) == BulkKind::prefetch) {
      prefetch(issuer, size);
    } else {
      deliver(issuer, size);
    }
  }
}

// aux: whether only the sources are waited for; offset: groups that may be pending, -1 commits.
void bulk_group(Context& w, const Code& c) {
  AsyncEngine& engine = w.block->engine();
  if (c.offset < 0) {
    engine.commit_groups(w.warp_index, w.mask);
  } else {
    engine.wait_groups(w.warp_index, w.mask, static_cast<std::uint64_t>(c.offset), c.aux != 0);
  }
  if ((w.events & kBulk) == 0) return;
  const BulkGroup event{c.id, w.warp_index, w.mask, c.offset, c.aux != 0};
  for (const auto& slot : w.block->observers()) {
    if ((slot.events & kBulk) != 0) slot.observer->bulk_group(event);
  }
}

/// The kind by the state spaces; nothing for other pairs.
std::optional<BulkKind> kind_of(const ptx::Modifiers& m) {
  using ptx::Space;
  const bool to_shared = is_one_of(m.space, {Space::shared, Space::shared_cluster});
  if (to_shared && m.source_space == Space::global) return BulkKind::load;
  if (to_shared && m.source_space == Space::shared) return BulkKind::exchange;
  if (m.space == Space::global && m.source_space == Space::shared) return BulkKind::store;
  return std::nullopt;
}

/// The operations that cp.reduce.async.bulk has for a type.
bool reduces(ReduceOp op, Type type, BulkKind kind, bool keeps_subnormals) {
  const bool global = kind == BulkKind::store;
  const bool half = is_one_of(type, {Type::f16, Type::bf16});
  const bool narrow = is_one_of(type, {Type::u32, Type::s32});
  switch (op) {
    case ReduceOp::add:
      if (half) return global && keeps_subnormals;
      return narrow || type == Type::u64 || (global && is_one_of(type, {Type::f32, Type::f64}));
    case ReduceOp::min:
    case ReduceOp::max:
      return narrow || (global && (half || is_one_of(type, {Type::u64, Type::s64})));
    case ReduceOp::inc:
    case ReduceOp::dec:
      return type == Type::u32;
    case ReduceOp::and_:
    case ReduceOp::or_:
    case ReduceOp::xor_:
      return type == Type::b32 || (global && type == Type::b64);
    default:
      return false;
  }
}

/// Adds the operands behind the size: [mbarrier] {, blocks} {, cache policy} or
/// {cache policy} {, mask}.
void add_rest(const ptx::Instruction& in, BulkOperands& list) {
  const ptx::Modifiers& m = in.modifiers;
  std::size_t next = 3;
  const auto take = [&](bool present, Type type) {
    if (!present || next >= in.operands.size()) {
      list.none();
    } else if (type == Type::none) {
      list.address(in.operands[next++]);
    } else {
      list.number(in.operands[next++], type);
    }
  };
  take(m.has(Flag::complete_tx_bytes), Type::none);
  take(m.has(Flag::multicast), Type::u16);
  if (m.has(Flag::cache_hint)) ++next;
  take(m.has(Flag::cp_mask), Type::u16);
}

bool decode_bulk(FunctionDecoder& d, const ptx::Instruction& in, BulkKind kind, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const bool group = kind == BulkKind::store;
  const std::size_t wanted = 3 + (m.has(Flag::complete_tx_bytes) ? 1 : 0) +
                             (m.has(Flag::multicast) ? 1 : 0) + (m.has(Flag::cache_hint) ? 1 : 0) +
                             (m.has(Flag::cp_mask) ? 1 : 0);
  if (in.operands.size() != wanted || m.has(Flag::bulk_group) != group ||
      m.has(Flag::complete_tx_bytes) == group || (m.has(Flag::cp_mask) && !group) ||
      (m.has(Flag::multicast) && kind != BulkKind::load)) {
    return false;
  }
  BulkOperands list(d);
  list.address(in.operands[0]);
  list.address(in.operands[1]);
  list.number(in.operands[2], Type::u32);
  add_rest(in, list);
  list.finish(code);
  code.aux = static_cast<std::uint32_t>(kind);
  code.execute = copy_bulk;
  return true;
}

bool decode_bulk_group(std::int64_t pending, bool read, Code& code) {
  code.offset = pending;
  code.aux = read ? 1 : 0;
  code.execute = bulk_group;
  return true;
}

}  // namespace

bool decode_bulk_copy(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const auto kind = kind_of(in.modifiers);
  return kind && decode_bulk(d, in, *kind, code);
}

bool decode_bulk_reduction(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const auto kind = kind_of(m);
  if (!kind || *kind == BulkKind::load || !reduces(m.reduce, m.type(), *kind, m.has(Flag::noftz)) ||
      !decode_bulk(d, in, *kind, code)) {
    return false;
  }
  code.aux |= static_cast<std::uint32_t>(m.reduce) << 8 | static_cast<std::uint32_t>(m.type())
                                                              << 16;
  if (*kind == BulkKind::store && !update_commutes(m.reduce, m.type())) {
    d.needs_->order_dependent = true;
  }
  return true;
}

bool decode_bulk_prefetch(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  if (in.modifiers.space != ptx::Space::global) return false;
  BulkOperands list(d);
  list.none();
  list.address(in.operands[0]);
  list.number(in.operands[1], Type::u32);
  for (int i = 0; i < 3; ++i) list.none();
  list.finish(code);
  code.aux = static_cast<std::uint32_t>(BulkKind::prefetch);
  code.execute = copy_bulk;
  return true;
}

bool decode_bulk_commit(FunctionDecoder&, const ptx::Instruction&, Code& code) {
  return decode_bulk_group(-1, false, code);
}
bool decode_bulk_wait(FunctionDecoder&, const ptx::Instruction& in, Code& code) {
  return decode_bulk_group(static_cast<std::int64_t>(in.operands[0].bits),
                           in.modifiers.has(Flag::read), code);
}

}  // namespace tilescope::emulator
