// Arithmetic, logic, comparison and selection that the lane kernels have.
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

/// Comparisons that are the opposite of one that the lane kernels have.
bool is_opposite(ptx::Compare compare) {
  using ptx::Compare;
  switch (compare) {
    case Compare::neu:
    case Compare::equ:
    case Compare::ltu:
    case Compare::leu:
    case Compare::gtu:
    case Compare::geu:
    case Compare::nan:
      return true;
    default:
      return false;
  }
}

/// The type as which operand i (from 0: the first source) is read.
Type operand_type(const ptx::Instruction& in, std::size_t i) {
  const Type type = in.modifiers.type();
  switch (in.opcode) {
    case Opcode::shl:
    case Opcode::shr:
      return i == 0 ? type : Type::u32;
    case Opcode::shf:
      return i == 2 ? Type::u32 : type;
    case Opcode::bfe:
      return i == 0 ? type : Type::u32;
    case Opcode::bfi:
      return i < 2 ? type : Type::u32;
    case Opcode::mad:
      if (in.modifiers.part == ptx::Part::wide && i == 2) {
        return ptx::bit_width(type) == 32 ? Type::b64 : Type::b32;
      }
      return type;
    case Opcode::setp:
      return i < 2 ? in.modifiers.source_type() : Type::pred;
    case Opcode::set:
      return i < 2 ? in.modifiers.source_type() : Type::pred;
    case Opcode::selp:
      return i < 2 ? type : Type::pred;
    case Opcode::slct:
      return i < 2 ? type : in.modifiers.source_type();
    case Opcode::dp2a:
    case Opcode::dp4a:
      return Type::b32;
    default:
      return type;
  }
}

bool destination(FunctionDecoder& d, const Operand& operand, Code& code) {
  if (operand.kind == Operand::Kind::pair) {
    code.dst = d.destination(operand.elements[0]);
    code.dst2 = d.destination(operand.elements[1]);
    return true;
  }
  code.dst = d.destination(operand);
  return true;
}

void sources(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  std::uint32_t* const fields[] = {&code.a, &code.b, &code.c};
  std::uint32_t* const flips[] = {&code.a_flip, &code.b_flip, &code.c_flip};
  for (std::size_t i = 0; i + 1 < in.operands.size() && i < 3; ++i) {
    const Operand& operand = in.operands[i + 1];
    *fields[i] = d.source(operand, operand_type(in, i));
    *flips[i] = operand.negated ? ~0u : 0u;
  }
}

/// Registers must be as wide as the instruction takes them; PTX demands it but for a few
/// operations.
bool widths_fit(FunctionDecoder& d, const ptx::Instruction& in) {
  for (std::size_t i = 0; i + 1 < in.operands.size(); ++i) {
    const Operand& operand = in.operands[i + 1];
    if (operand.kind != Operand::Kind::reg) continue;
    const Type type = operand_type(in, i);
    if (d.width(operand, type) != d.width(Operand{}, type)) return false;
  }
  return true;
}

std::uint32_t half_options(const LaneKey& key) {
  return (key.ftz ? 1u : 0u) | (key.sat ? 2u : 0u) | (key.relu ? 4u : 0u) | (key.nan ? 8u : 0u) |
         (key.xorsign ? 16u : 0u);
}

Execute find(const LaneKey& key, const ptx::Instruction& in) {
  const LaneKernels& lanes = lane_kernels();
  switch (in.opcode) {
    case Opcode::setp:
    case Opcode::set:
    case Opcode::selp:
    case Opcode::slct:
      return lanes.compare(key);
    case Opcode::and_:
    case Opcode::or_:
    case Opcode::xor_:
    case Opcode::not_:
    case Opcode::cnot:
    case Opcode::shl:
    case Opcode::shr:
    case Opcode::shf:
    case Opcode::lop3:
    case Opcode::bfe:
    case Opcode::bfi:
    case Opcode::popc:
    case Opcode::clz:
    case Opcode::brev:
    case Opcode::bfind:
    case Opcode::prmt:
      return lanes.logic(key);
    default:
      break;
  }
  if (is_half(key.type)) return lanes.half(key);
  if (key.type == Type::f32 || key.type == Type::f64) return lanes.real(key);
  return key.relu ? nullptr : lanes.integer(key);
}

}  // namespace

bool decode_arithmetic(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  if (in.operands.size() < 2) return false;
  const Operand& result = in.operands[0];
  LaneKey key = lane_key(in);
  switch (in.opcode) {
    case Opcode::mov:
    case Opcode::cvt:
    case Opcode::cvta:
      return false;
    case Opcode::lop3:
      if (in.operands.size() != 5 || key.bool_op != ptx::BoolOp::none) return false;
      break;
    case Opcode::prmt:
      if (in.modifiers.permute != ptx::PermuteMode::none) return false;
      break;
    case Opcode::min:
    case Opcode::max:
      if (in.operands.size() != 3) return false;  // three sources
      break;
    case Opcode::fma:
      if (in.modifiers.has(ptx::Flag::oob)) return false;
      break;
    case Opcode::set:
      if (key.type != Type::f32 && key.type != Type::u32 && key.type != Type::s32) return false;
      break;
    default:
      break;
  }
  const bool two_types = in.opcode == Opcode::set || in.opcode == Opcode::slct ||
                         in.opcode == Opcode::dp2a || in.opcode == Opcode::dp4a;
  if (in.modifiers.type_count > 1 && !two_types) return false;  // operands of mixed types
  key.width = static_cast<std::uint8_t>(d.width(result, key.type));
  if (result.kind != Operand::Kind::reg && in.opcode != Opcode::setp) {
    key.width = static_cast<std::uint8_t>(d.width(Operand{}, key.type));
  }
  if (in.operands.size() > 5 || !widths_fit(d, in)) return false;
  // The types of set, dp2a and dp4a: {destination, source}, {a, b}.
  code.execute = find(key, in);
  if (code.execute == nullptr) return false;
  destination(d, result, code);
  sources(d, in, code);
  switch (in.opcode) {
    case Opcode::setp:
    case Opcode::set:
      code.aux = (is_opposite(key.compare) ? 1u : 0u) | (key.type == Type::f32 ? 2u : 0u) |
                 static_cast<std::uint32_t>(key.bool_op) << 8;
      break;
    case Opcode::lop3:
      if (in.operands[4].kind != Operand::Kind::immediate) return false;
      code.aux = static_cast<std::uint32_t>(in.operands[4].bits) & 0xff;
      break;
    case Opcode::bfi:
      d.set_list(code, {d.source(in.operands[4], Type::u32)});
      break;
    case Opcode::bfind:
      code.aux = key.shift_amount ? 1 : 0;
      break;
    default:
      if (is_half(key.type)) code.aux = half_options(key);
      if (in.operands.size() > 4) return false;
      break;
  }
  return true;
}

bool decode_convert(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  if (in.opcode != Opcode::cvt || in.modifiers.type_count != 2) return false;
  LaneKey key = lane_key(in);
  const Operand& result = in.operands[0];
  key.width = static_cast<std::uint8_t>(d.width(result, key.type));
  if (d.width(in.operands[1], key.source) != d.width(Operand{}, key.source)) return false;
  const bool half = is_half(key.type) || is_half(key.source);
  if (in.modifiers.has(ptx::Flag::satfinite)) return false;
  code.execute = half ? lane_kernels().half(key) : lane_kernels().convert(key);
  if (code.execute == nullptr) return false;
  if (!half && !is_integer(key.type) && key.width != d.width(Operand{}, key.type)) return false;
  code.dst = d.destination(result);
  code.a = d.source(in.operands[1], key.source);
  if (in.operands.size() > 2) code.b = d.source(in.operands[2], key.source);
  if (half) {
    code.aux = half_options(key);
    return true;
  }
  code.aux = (ptx::bit_width(key.type) & 0xff) | (ptx::is_signed(key.type) ? 0x100u : 0u) |
             (key.sat ? 0x200u : 0u);
  code.offset = static_cast<std::int64_t>(register_mask(d.declared(result, key.type)));
  return true;
}

}  // namespace tilescope::emulator
