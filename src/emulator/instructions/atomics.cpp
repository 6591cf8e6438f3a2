// atom and red. Lanes act one after the other, in ascending order.
//
// Integer operations that commute and whose old value is unused run on several host threads at
// once, as atomic operations of the host. All others make the program order-dependent: its blocks
// run in linear order on one host thread (see grid.cpp).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/half.hpp"
#include "base/one_of.hpp"
#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

using ptx::ReduceOp;
using ptx::Type;

float flushed(float v) {
  return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
}

std::uint32_t canonical(float v) {
  return v != v ? 0x7fffffffu : std::bit_cast<std::uint32_t>(v);
}
std::uint64_t canonical(double v) {
  return v != v ? 0xfff8000000000000u : std::bit_cast<std::uint64_t>(v);
}

/// One 16-bit float combined with another.
template <bool brain>
std::uint16_t combine_half(ReduceOp op, std::uint16_t x, std::uint16_t y) {
  const float a = brain ? bfloat16_to_float32(x) : float16_to_float32(x);
  const float b = brain ? bfloat16_to_float32(y) : float16_to_float32(y);
  if (op == ReduceOp::add) {
    // Exact in double up to distances where the smaller operand cannot matter.
    const double sum = static_cast<double>(a) + static_cast<double>(b);
    if (sum != sum) return 0x7fff;
    return brain ? float64_to_bfloat16(sum) : float64_to_float16(sum);
  }
  if (a != a && b != b) return 0x7fff;
  if (a != a) return y;
  if (b != b) return x;
  const bool less = a < b || (a == b && std::signbit(a) && !std::signbit(b));
  return less == (op == ReduceOp::min) ? x : y;
}
template <bool brain>
std::uint32_t combine_pair(ReduceOp op, std::uint32_t x, std::uint32_t y) {
  const auto low =
      combine_half<brain>(op, static_cast<std::uint16_t>(x), static_cast<std::uint16_t>(y));
  const auto high = combine_half<brain>(op, static_cast<std::uint16_t>(x >> 16),
                                        static_cast<std::uint16_t>(y >> 16));
  return low | static_cast<std::uint32_t>(high) << 16;
}

template <class U, class S>
U combine_integer(ReduceOp op, bool is_signed, U old, U b, U c) {
  switch (op) {
    case ReduceOp::add:
      return static_cast<U>(old + b);
    case ReduceOp::min:
      return (is_signed ? static_cast<S>(b) < static_cast<S>(old) : b < old) ? b : old;
    case ReduceOp::max:
      return (is_signed ? static_cast<S>(b) > static_cast<S>(old) : b > old) ? b : old;
    case ReduceOp::inc:
      return old >= b ? U{0} : static_cast<U>(old + 1);
    case ReduceOp::dec:
      return old == 0 || old > b ? b : static_cast<U>(old - 1);
    case ReduceOp::and_:
      return old & b;
    case ReduceOp::or_:
      return old | b;
    case ReduceOp::xor_:
      return old ^ b;
    case ReduceOp::exch:
      return b;
    case ReduceOp::cas:
      return old == b ? c : old;
    default:
      return old;
  }
}

// Code::aux: the ReduceOp, the type from bit 8, a result register at bit 24, the elements of a
// vector from bit 26.
std::uint64_t combine(const Code& c, bool global, std::uint64_t old, std::uint64_t b,
                      std::uint64_t third) {
  const auto op = static_cast<ReduceOp>(c.aux & 0xff);
  switch (static_cast<Type>(c.aux >> 8 & 0xff)) {
    case Type::f32: {
      float x = std::bit_cast<float>(static_cast<std::uint32_t>(old));
      float y = std::bit_cast<float>(static_cast<std::uint32_t>(b));
      // In global memory the chip flushes subnormal operands and results; in shared it does not.
      if (global) return canonical(flushed(flushed(x) + flushed(y)));
      return canonical(x + y);
    }
    case Type::f64:
      return canonical(std::bit_cast<double>(old) + std::bit_cast<double>(b));
    case Type::f16:
      return combine_half<false>(op, static_cast<std::uint16_t>(old),
                                 static_cast<std::uint16_t>(b));
    case Type::bf16:
      return combine_half<true>(op, static_cast<std::uint16_t>(old), static_cast<std::uint16_t>(b));
    case Type::f16x2:
      return combine_pair<false>(op, static_cast<std::uint32_t>(old),
                                 static_cast<std::uint32_t>(b));
    case Type::bf16x2:
      return combine_pair<true>(op, static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(b));
    case Type::b16:
    case Type::u16:
    case Type::s16:
      return combine_integer<std::uint16_t, std::int16_t>(
          op, false, static_cast<std::uint16_t>(old), static_cast<std::uint16_t>(b),
          static_cast<std::uint16_t>(third));
    case Type::s64:
    case Type::u64:
    case Type::b64:
      return combine_integer<std::uint64_t, std::int64_t>(
          op, static_cast<Type>(c.aux >> 8 & 0xff) == Type::s64, old, b, third);
    default:
      return combine_integer<std::uint32_t, std::int32_t>(
          op, static_cast<Type>(c.aux >> 8 & 0xff) == Type::s32, static_cast<std::uint32_t>(old),
          static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(third));
  }
}

/// Replaces the T at `at` by its combination; returns the old value.
template <class T>
T exchange(Context& w, std::uint8_t* at, const Code& c, bool global, std::uint64_t b,
           std::uint64_t third) {
  auto* target = reinterpret_cast<T*>(at);
  T old = __atomic_load_n(target, __ATOMIC_RELAXED);
  for (;;) {
    const T updated = static_cast<T>(combine(c, global, old, b, third));
    if (__atomic_compare_exchange_n(target, &old, updated, true, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED)) {
      w.atomic_changes += updated != old;
      return old;
    }
  }
}

std::uint64_t read_slot(Context& w, std::uint32_t offset, unsigned bytes, int lane) {
  return bytes <= 4 ? r32(w, offset)[lane] : r64(w, offset)[lane];
}

unsigned element_bytes(const Code& c) {
  return c.bytes / std::max(1u, static_cast<unsigned>(c.aux >> 26));
}

// list: the operands b of all elements, then the destinations of all elements. c.c: third operand.
void atomic(Context& w, const Code& c) {
  std::uint64_t addresses[32];
  lane_addresses(w, c, addresses);
  const unsigned bytes = element_bytes(c), count = c.aux >> 26;
  const LaneMask mask = w.mask;
  const LaneTargets targets = resolve_lanes(w, c, addresses, mask, c.space, c.bytes, c.bytes,
                                            static_cast<AccessKind>(c.access));
  const bool has_result = (c.aux >> 24 & 1) != 0;
  for (LaneMask m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint8_t* const host = targets.host[lane];
    const bool global = (targets.shared >> lane & 1) == 0;
    const std::uint64_t third = c.c == 0 ? 0 : read_slot(w, c.c, bytes, lane);
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t b = read_slot(w, c.list[i], bytes, lane);
      std::uint64_t old = 0;
      if (host != nullptr) {
        std::uint8_t* at = host + i * bytes;
        old = bytes == 8   ? exchange<std::uint64_t>(w, at, c, global, b, third)
              : bytes == 4 ? exchange<std::uint32_t>(w, at, c, global, b, third)
                           : exchange<std::uint16_t>(w, at, c, global, b, third);
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

bool commutes(ReduceOp op, Type type) {
  return is_integer(type) && is_one_of(op, {ReduceOp::add, ReduceOp::min, ReduceOp::max,
                                            ReduceOp::and_, ReduceOp::or_, ReduceOp::xor_});
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
  if (!shared && (used || !commutes(op, type))) d.needs_->order_dependent = true;
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
