#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {

bool set_space(ptx::Space space, Code& code) {
  switch (space) {
    case ptx::Space::none:
      code.space = kGenericSpace;
      return true;
    case ptx::Space::global:
      code.space = static_cast<std::uint8_t>(Space::global);
      return true;
    case ptx::Space::shared_cluster:
      code.space = kClusterSpace;
      return true;
    case ptx::Space::shared:
      code.space = static_cast<std::uint8_t>(Space::shared);
      return true;
    case ptx::Space::local:
      code.space = static_cast<std::uint8_t>(Space::local);
      return true;
    case ptx::Space::constant:
      code.space = static_cast<std::uint8_t>(Space::constant);
      return true;
    case ptx::Space::param:
    case ptx::Space::param_entry:
      code.space = static_cast<std::uint8_t>(Space::parameter);
      return true;
    default:
      return false;
  }
}

Scope scope_of(ptx::Scope scope) {
  // By the value of ptx::Scope.
  constexpr Scope scopes[] = {Scope::none, Scope::block, Scope::cluster, Scope::gpu, Scope::system};
  return scopes[static_cast<std::size_t>(scope)];
}

void set_order(const ptx::Modifiers& modifiers, Code& code) {
  // By the value of ptx::Ordering: none, weak, volatile, relaxed, acquire, release, acq_rel, sc.
  using enum MemoryOrder;
  constexpr MemoryOrder orders[] = {weak,    weak,    volatile_,       relaxed,
                                    acquire, release, acquire_release, acquire_release};
  const MemoryOrder order = orders[static_cast<std::size_t>(modifiers.ordering)];
  Scope scope = scope_of(modifiers.scope);
  if (order == MemoryOrder::volatile_) scope = Scope::system;
  if (order != MemoryOrder::weak && scope == Scope::none) scope = Scope::gpu;
  code.order = static_cast<std::uint8_t>(order);
  code.scope = static_cast<std::uint8_t>(order == MemoryOrder::weak ? Scope::none : scope);
}

bool is_integer(ptx::Type type) {
  const unsigned bits = ptx::bit_width(type);
  return type >= ptx::Type::b1 && type <= ptx::Type::s64 && bits >= 8 && bits <= 64;
}

bool is_half(ptx::Type type) {
  return type == ptx::Type::f16 || type == ptx::Type::f16x2 || type == ptx::Type::bf16 ||
         type == ptx::Type::bf16x2;
}

LaneKey lane_key(const ptx::Instruction& in) {
  using ptx::Flag;
  const ptx::Modifiers& m = in.modifiers;
  LaneKey key;
  key.opcode = in.opcode;
  key.type = m.type();
  key.source = m.source_type();
  key.part = m.part;
  key.compare = m.compare;
  key.bool_op = m.bool_op;
  key.rounding = m.rounding;
  key.shift_mode = m.shift_mode;
  key.shift_direction = m.shift_direction;
  key.test = m.test;
  key.ftz = m.has(Flag::ftz);
  key.sat = m.has(Flag::sat);
  key.approx = m.has(Flag::approx);
  key.nan = m.has(Flag::nan);
  key.xorsign = m.has(Flag::xorsign);
  key.abs = m.has(Flag::abs);
  key.carry_out = m.has(Flag::cc);
  key.relu = m.has(Flag::relu);
  key.shift_amount = m.has(Flag::shiftamt);
  key.three = in.operands.size() == 4;
  key.width = static_cast<std::uint8_t>(register_bytes(ptx::operand_type(in, 0)));
  return key;
}

std::uint32_t half_options(const LaneKey& key) {
  return (key.ftz ? 1u : 0u) | (key.sat ? 2u : 0u) | (key.relu ? 4u : 0u) | (key.nan ? 8u : 0u) |
         (key.xorsign ? 16u : 0u);
}

void set_results(FunctionDecoder& d, const ptx::Operand& operand, Code& code) {
  const bool pair = operand.kind == ptx::Operand::Kind::pair;
  code.dst = d.destination(pair ? operand.elements[0] : operand);
  if (pair) code.dst2 = d.destination(operand.elements[1]);
}

bool decode_lanes(FunctionDecoder& d, const ptx::Instruction& in, Execute kernel, Code& code) {
  if (kernel == nullptr) return false;
  code.execute = kernel;
  set_results(d, in.operands[0], code);
  std::uint32_t* const fields[] = {&code.a, &code.b, &code.c};
  std::uint32_t* const flips[] = {&code.a_flip, &code.b_flip, &code.c_flip};
  for (std::size_t i = 1; i < in.operands.size() && i < 4; ++i) {
    *fields[i - 1] = d.source(in.operands[i], ptx::operand_type(in, i));
    *flips[i - 1] = in.operands[i].negated ? ~0u : 0u;
  }
  return true;
}

std::uint64_t register_mask(ptx::Type type) {
  const unsigned bits = ptx::bit_width(type);
  return bits >= 64 || bits == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

}  // namespace tilescope::emulator
