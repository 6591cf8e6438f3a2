// atom and red. Lanes act one after the other, in ascending order.
//
// Integer operations that commute and whose old value is unused run on several host threads at
// once, as atomic operations of the host. All others make the program order-dependent: its blocks
// run in linear order on one host thread (see grid.cpp).
#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/one_of.hpp"
#include "emulator/atomic_update.hpp"
#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

using ptx::ReduceOp;
using ptx::Type;

// Code::aux: the ReduceOp, the type from bit 8, a result register at bit 24, the elements of a
// vector from bit 26.
AtomicUpdate update_of(const Code& c, bool global) {
  return {static_cast<ReduceOp>(c.aux & 0xff), static_cast<Type>(c.aux >> 8 & 0xff), global};
}

std::uint64_t read_slot(Context& w, std::uint32_t offset, unsigned bytes, int lane) {
  return bytes <= 4 ? r32(w, offset)[lane] : r64(w, offset)[lane];
}

bool is_word_sum(const Code& c) {
  const AtomicUpdate update = update_of(c, false);
  return update.op == ReduceOp::add && (update.type == Type::u32 || update.type == Type::s32);
}

bool is_integer_sum(const Code& c) {
  const AtomicUpdate update = update_of(c, true);
  return update.op == ReduceOp::add &&
         is_one_of(update.type, {Type::u32, Type::s32, Type::u64, Type::s64});
}

unsigned element_bytes(const Code& c) {
  return c.bytes / std::max(1u, static_cast<unsigned>(c.aux >> 26));
}

/// The addresses of the lanes that run.
struct AddressExtent {
  std::uint64_t lowest = ~std::uint64_t{0}, highest = 0, bits = 0;
};

AddressExtent extent_of(LaneMask lanes, const std::uint64_t* addresses) {
  AddressExtent result;
  for (LaneMask m = lanes; m != 0; m &= m - 1) {
    const std::uint64_t address = addresses[std::countr_zero(m)];
    result.lowest = std::min(result.lowest, address);
    result.highest = std::max(result.highest, address);
    result.bits |= address;
  }
  return result;
}

/// All lanes that run name words of the block's own shared memory.
bool is_plain_shared(const Context& w, const Code& c, const std::uint64_t* addresses) {
  if (c.space != static_cast<std::uint8_t>(Space::shared) ||
      w.shared_bytes < sizeof(std::uint32_t)) {
    return false;
  }
  const std::uint64_t last = w.shared_bytes - sizeof(std::uint32_t);
  if (w.mask == kAllLanes) {  // no address is above the bits of all
    std::uint64_t bits = 0;
    for (int lane = 0; lane < kWarpSize; ++lane) bits |= addresses[lane];
    if (bits % sizeof(std::uint32_t) != 0) return false;
    if (bits <= last) return true;
  }
  const AddressExtent extent = extent_of(w.mask, addresses);
  return extent.bits % sizeof(std::uint32_t) == 0 && extent.highest <= last;
}

/// The number to be added to an address to get the host's, where all lanes that run name elements
/// of one allocation in global memory.
std::optional<std::uint64_t> plain_global(const Context& w, const Code& c, unsigned bytes,
                                          const std::uint64_t* addresses) {
  if (c.space != static_cast<std::uint8_t>(Space::global)) return std::nullopt;
  const AddressExtent extent = extent_of(w.mask, addresses);
  if (extent.bits % bytes != 0) return std::nullopt;
  Allocation* const found =
      w.block->launch().setup().memory.find(extent.lowest, extent.highest - extent.lowest + bytes);
  if (found == nullptr || found->kind() == AllocationKind::constant_variable) return std::nullopt;
  return reinterpret_cast<std::uint64_t>(found->data()) - found->address();
}

/// Sums of words in shared memory: one host thread runs the block, so they need no host atomics.
void add_shared_words(Context& w, const Code& c, const std::uint64_t* addresses) {
  const std::uint32_t* b = r32(w, c.list[0]);
  std::uint32_t* const old = (c.aux >> 24 & 1) != 0 ? r32(w, c.list[1]) : nullptr;
  std::uint8_t* const shared = w.shared;
  std::uint64_t changes = 0;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint32_t word = 0;
    std::memcpy(&word, shared + addresses[lane], sizeof word);
    const std::uint32_t sum = word + b[lane];
    std::memcpy(shared + addresses[lane], &sum, sizeof sum);
    changes += sum != word ? 1 : 0;
    if (old != nullptr) old[lane] = word;
  }
  w.atomic_changes += changes;
}

/// Sums in global memory, as atomic operations of the host: other host threads may add too.
/// `old`: receives the numbers before; null: nobody wants them.
template <class T>
void add_global(Context& w, const T* b, T* old, const std::uint64_t* addresses,
                std::uint64_t to_host) {
  std::uint64_t changes = 0;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const T added = b[lane];
    const T before = __atomic_fetch_add(reinterpret_cast<T*>(addresses[lane] + to_host), added,
                                        __ATOMIC_SEQ_CST);
    changes += added != 0 ? 1 : 0;
    if (old != nullptr) old[lane] = before;
  }
  w.atomic_changes += changes;
}

// list: the operands b of all elements, then the destinations of all elements. c.c: third operand.
void atomic(Context& w, const Code& c) {
  std::uint64_t addresses[32];
  lane_addresses(w, c, addresses);
  const unsigned bytes = element_bytes(c), count = c.aux >> 26;
  if (count == 1 && is_word_sum(c) && is_plain_shared(w, c, addresses)) {
    announce_lanes(w, c, addresses, Space::shared);
    add_shared_words(w, c, addresses);
    return;
  }
  const bool has_result = (c.aux >> 24 & 1) != 0;
  if (count == 1 && is_integer_sum(c)) {
    if (const auto to_host = plain_global(w, c, bytes, addresses)) {
      announce_lanes(w, c, addresses, Space::global);
      const auto add = [&](auto registers) {
        add_global(w, registers(c.list[0]), has_result ? registers(c.list[1]) : nullptr, addresses,
                   *to_host);
      };
      if (bytes == 4) {
        add([&](std::uint32_t at) { return r32(w, at); });
      } else {
        add([&](std::uint32_t at) { return r64(w, at); });
      }
      return;
    }
  }
  const LaneMask mask = w.mask;
  const LaneTargets targets = resolve_lanes(w, c, addresses, mask, c.space, c.bytes, c.bytes,
                                            static_cast<AccessKind>(c.access));
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint8_t* const host = targets.host[lane];
    const bool global = (targets.shared >> lane & 1) == 0;
    const std::uint64_t third = c.c == 0 ? 0 : read_slot(w, c.c, bytes, lane);
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t b = read_slot(w, c.list[i], bytes, lane);
      std::uint64_t old = 0;
      if (host != nullptr) {
        old = update_of(c, global).apply(host + i * bytes, bytes, w.atomic_changes, b, third);
      }
      if (!has_result) continue;
      const std::uint32_t dst = c.list[count + i];
      if (bytes <= 4) {
        r32(w, dst)[lane] = static_cast<std::uint32_t>(old);
      } else {
        r64(w, dst)[lane] = old;
      }
    }
  }
}

// 128 bits: exch and cas, order-dependent, so that no other host thread is running.
void atomic_128(Context& w, const Code& c) {
  std::uint64_t addresses[32];
  lane_addresses(w, c, addresses);
  const LaneMask mask = w.mask;
  const LaneTargets targets =
      resolve_lanes(w, c, addresses, mask, c.space, 16, 16, static_cast<AccessKind>(c.access));
  const bool swaps = static_cast<ReduceOp>(c.aux & 0xff) == ReduceOp::exch;
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint64_t old[2] = {0, 0};
    if (targets.host[lane] != nullptr) {
      const std::uint64_t b[2] = {r64(w, c.list[0])[lane], r64(w, c.list[0])[kWarpSize + lane]};
      std::memcpy(old, targets.host[lane], 16);
      ++w.atomic_changes;  // perhaps
      if (swaps) {
        std::memcpy(targets.host[lane], b, 16);
      } else if (old[0] == b[0] && old[1] == b[1]) {
        const std::uint64_t updated[2] = {r64(w, c.c)[lane], r64(w, c.c)[kWarpSize + lane]};
        std::memcpy(targets.host[lane], updated, 16);
      }
    }
    r64(w, c.list[1])[lane] = old[0];
    r64(w, c.list[1])[kWarpSize + lane] = old[1];
  }
}

bool has(ReduceOp op, Type type) {
  const bool half = is_half(type);
  switch (op) {
    case ReduceOp::add:
      return half || type == Type::f32 || type == Type::f64 || type == Type::u32 ||
             type == Type::s32 || type == Type::u64 || type == Type::s64;
    case ReduceOp::min:
    case ReduceOp::max:
      return half || type == Type::u32 || type == Type::s32 || type == Type::u64 ||
             type == Type::s64;
    case ReduceOp::inc:
    case ReduceOp::dec:
      return type == Type::u32;
    case ReduceOp::and_:
    case ReduceOp::or_:
    case ReduceOp::xor_:
      return is_integer(type) && ptx::bit_width(type) >= 32;
    case ReduceOp::exch:
    case ReduceOp::cas:
      return type == Type::b128 || (is_integer(type) && ptx::bit_width(type) >= 16);
    default:
      return false;
  }
}

void each_element(const ptx::Operand& operand, unsigned count, auto visit) {
  for (unsigned i = 0; i < count; ++i) visit(count == 1 ? operand : operand.elements[i]);
}

bool decode_update(FunctionDecoder& d, const ptx::Instruction& in, bool reduction, Code& code) {
  const std::size_t at = reduction ? 0 : 1;
  const Type type = in.modifiers.type();
  const ReduceOp op = in.modifiers.reduce;
  const unsigned count = in.modifiers.vector;
  if (!has(op, type) || (reduction && op == ReduceOp::cas) || !set_space(in.modifiers.space, code))
    return false;
  const ptx::Operand& value = in.operands[at + 1];
  set_order(in.modifiers, code);
  if (code.order == static_cast<std::uint8_t>(MemoryOrder::weak)) {
    code.order = static_cast<std::uint8_t>(MemoryOrder::relaxed);  // the default of atom
    const Scope scope = scope_of(in.modifiers.scope);
    code.scope = static_cast<std::uint8_t>(scope == Scope::none ? Scope::gpu : scope);
  }
  bool used = false;
  std::vector<std::uint32_t> list;
  each_element(value, count, [&](const ptx::Operand& x) { list.push_back(d.source(x, type)); });
  if (!reduction) {
    each_element(in.operands[0], count, [&](const ptx::Operand& x) {
      list.push_back(d.destination(x));
      used = used || (x.kind == ptx::Operand::Kind::reg && d.used_elsewhere(x.reg));
    });
  }
  const bool cas = op == ReduceOp::cas;
  if (cas) code.c = d.source(in.operands[at + 2], type);
  d.set_list(code, std::move(list));
  code.aux = static_cast<std::uint32_t>(op) | static_cast<std::uint32_t>(type) << 8 | count << 26 |
             (reduction ? 0u : 1u << 24);
  code.bytes = static_cast<std::uint16_t>(ptx::byte_size(type) * count);
  code.access = static_cast<std::uint8_t>(used ? AccessKind::atomic : AccessKind::reduction);
  unsigned address_bytes = 8;
  d.address(in.operands[at], code.space == kGenericSpace, code, address_bytes);
  if (address_bytes == 8) code.aux |= kAddress64;
  const bool shared =
      code.space == kClusterSpace || code.space == static_cast<std::uint8_t>(Space::shared);
  if (!shared && (used || !update_commutes(op, type))) d.needs_->order_dependent = true;
  code.execute = type == Type::b128 ? atomic_128 : atomic;
  return true;
}

}  // namespace

bool decode_atomic(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_update(d, in, false, code);
}
bool decode_reduction(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_update(d, in, true, code);
}

}  // namespace tilescope::emulator
