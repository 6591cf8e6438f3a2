// st.async and red.async: values of registers go to shared memory of a block of the cluster, and
// their bytes complete a transaction of an mbarrier in that block. They land as late as the program
// allows (async_engine.hpp).
#include <bit>
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Operand;
using ptx::ReduceOp;
using ptx::Type;

// Code::list: the barrier's address register, 1 if it has 64 bits, low and high half of its offset,
// then the values' registers. The rest describes the destination. Code::aux: kAddress64, the
// ReduceOp, and the type from bit 8.
constexpr std::size_t kFirstValue = 4;

void store(Context& w, const Code& c) {
  std::uint64_t to[32], barriers[32];
  lane_addresses(w, c, to);
  Code barrier;
  barrier.id = c.id;
  barrier.a = c.list[0];
  barrier.aux = c.list[1] != 0 ? kAddress64 : 0;
  barrier.offset =
      static_cast<std::int64_t>(std::uint64_t{c.list[2]} | std::uint64_t{c.list[3]} << 32);
  lane_addresses(w, barrier, barriers);
  const LaneTargets data =
      find_lanes(w, c, to, w.mask, kClusterSpace, c.bytes, c.bytes, AccessKind::store);
  const LaneTargets announced =
      find_lanes(w, barrier, barriers, data.mask, kClusterSpace, 8, 8, AccessKind::atomic);
  const unsigned count = c.list_size - kFirstValue, element = c.bytes / count;
  const auto reduce = static_cast<ReduceOp>(c.aux & 0xff);
  if (announced.mask != 0) {
    announce_request(w, c, data, announced.mask, c.bytes,
                     reduce == ReduceOp::none ? ClusterOperation::async_store
                                              : ClusterOperation::async_reduction);
  }
  for (LaneMask m = announced.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    Block& owner = announced.owner[lane] != nullptr ? *announced.owner[lane] : *w.block;
    if (w.block->cluster().exited(owner.rank())) continue;
    BulkOperation operation;
    operation.origin = {c.id, w.block->rank(), w.warp_index, lane};
    operation.kind = BulkKind::registers;
    operation.pieces = {{.to = data.address[lane], .bytes = c.bytes}};
    operation.to_base = reinterpret_cast<std::uintptr_t>(data.host[lane]) - data.address[lane];
    operation.barrier = static_cast<std::uint32_t>(announced.address[lane]);
    operation.barrier_bytes = c.bytes;
    operation.target = owner.rank();
    operation.reduce = reduce;
    operation.type = static_cast<Type>(c.aux >> 8 & 0xff);
    operation.staged.resize(c.bytes);
    for (unsigned i = 0; i < count; ++i) {
      const std::uint32_t at = c.list[kFirstValue + i];
      const std::uint64_t value = element == 8 ? r64(w, at)[lane] : r32(w, at)[lane];
      std::memcpy(operation.staged.data() + i * element, &value, element);
    }
    operation.is_staged = true;
    owner.engine().issue(w.block->observers(), std::move(operation));
  }
}

bool decode_async(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const Type type = m.type();
  if (in.operands.size() != 3 || !m.has(ptx::Flag::complete_tx_bytes)) return false;
  if (m.space != ptx::Space::none && m.space != ptx::Space::shared_cluster) return false;
  if (ptx::byte_size(type) != 4 && ptx::byte_size(type) != 8) return false;
  Code barrier;
  unsigned address_bytes = 8, barrier_bytes = 8;
  d.address(in.operands[0], false, code, address_bytes);
  d.address(in.operands[2], false, barrier, barrier_bytes);
  const auto offset = static_cast<std::uint64_t>(barrier.offset);
  std::vector<std::uint32_t> list{barrier.a, barrier_bytes == 8 ? 1u : 0u,
                                  static_cast<std::uint32_t>(offset),
                                  static_cast<std::uint32_t>(offset >> 32)};
  const Operand& value = in.operands[1];
  if (value.kind == Operand::Kind::vector) {
    for (const Operand& part : value.elements) list.push_back(d.source(part, type));
  } else {
    list.push_back(d.source(value, type));
  }
  code.bytes = static_cast<std::uint16_t>(ptx::byte_size(type) * (list.size() - kFirstValue));
  d.set_list(code, std::move(list));
  code.aux = static_cast<std::uint32_t>(m.reduce) | static_cast<std::uint32_t>(type) << 8 |
             (address_bytes == 8 ? kAddress64 : 0);
  code.execute = store;
  return code.bytes <= 16;
}

bool reduces(ReduceOp op, Type type) {
  switch (op) {
    case ReduceOp::inc:
    case ReduceOp::dec:
      return type == Type::u32;
    case ReduceOp::min:
    case ReduceOp::max:
      return type == Type::u32 || type == Type::s32;
    case ReduceOp::and_:
    case ReduceOp::or_:
    case ReduceOp::xor_:
      return type == Type::b32;
    case ReduceOp::add:
      return type == Type::u32 || type == Type::s32 || type == Type::u64;
    default:
      return false;
  }
}

}  // namespace

bool decode_async_store(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_async(d, in, code);
}

bool decode_async_reduction(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return reduces(in.modifiers.reduce, in.modifiers.type()) && decode_async(d, in, code);
}

}  // namespace tilescope::emulator
