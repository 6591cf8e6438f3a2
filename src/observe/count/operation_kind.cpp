#include "observe/count/operation_kind.hpp"

namespace tilescope::observe {
namespace {

using ptx::Opcode;
using ptx::Type;

enum class Form : std::uint8_t { add, mul, fma };

bool form_of(Opcode opcode, Form& form) {
  switch (opcode) {
    case Opcode::add:
    case Opcode::sub:
      form = Form::add;
      return true;
    case Opcode::mul:
      form = Form::mul;
      return true;
    case Opcode::fma:
    case Opcode::mad:
      form = Form::fma;
      return true;
    default:
      return false;
  }
}

bool is_special(Opcode opcode) {
  switch (opcode) {
    case Opcode::cos:
    case Opcode::div:
    case Opcode::ex2:
    case Opcode::lg2:
    case Opcode::rcp:
    case Opcode::rsqrt:
    case Opcode::sin:
    case Opcode::sqrt:
    case Opcode::tanh:
      return true;
    default:
      return false;
  }
}

bool is_integer_operation(Opcode opcode) {
  switch (opcode) {
    case Opcode::abs:
    case Opcode::add:
    case Opcode::addc:
    case Opcode::and_:
    case Opcode::bfe:
    case Opcode::bfi:
    case Opcode::bfind:
    case Opcode::bmsk:
    case Opcode::brev:
    case Opcode::clz:
    case Opcode::cnot:
    case Opcode::div:
    case Opcode::dp2a:
    case Opcode::dp4a:
    case Opcode::lop3:
    case Opcode::mad:
    case Opcode::mad24:
    case Opcode::madc:
    case Opcode::max:
    case Opcode::min:
    case Opcode::mul:
    case Opcode::mul24:
    case Opcode::neg:
    case Opcode::not_:
    case Opcode::or_:
    case Opcode::popc:
    case Opcode::prmt:
    case Opcode::rem:
    case Opcode::sad:
    case Opcode::shf:
    case Opcode::shl:
    case Opcode::shr:
    case Opcode::sub:
    case Opcode::subc:
    case Opcode::szext:
    case Opcode::xor_:
      return true;
    default:
      return false;
  }
}

std::uint64_t elements(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2 || type == Type::f32x2 ? 2 : 1;
}

void count_float(OperationCounts& counts, Form form, Type type, std::uint64_t lanes) {
  const std::uint64_t flops = lanes * elements(type) * (form == Form::fma ? 2 : 1);
  const auto pick = [&](std::uint64_t& add, std::uint64_t& mul, std::uint64_t& fma) {
    (form == Form::add ? add : form == Form::mul ? mul : fma) += lanes;
  };
  switch (type) {
    case Type::f32:
    case Type::f32x2:
      pick(counts.fadd, counts.fmul, counts.ffma);
      counts.fp32_flops += flops;
      return;
    case Type::f64:
      pick(counts.dadd, counts.dmul, counts.dfma);
      counts.fp64_flops += flops;
      return;
    default:
      pick(counts.hadd, counts.hmul, counts.hfma);
      counts.fp16_flops += flops;
      return;
  }
}

}  // namespace

OperationCounts operations_of(const ptx::Instruction& instruction, std::uint64_t lanes,
                              std::uint64_t warps) {
  OperationCounts counts;
  const ptx::Modifiers& m = instruction.modifiers;
  const Type type = m.type();
  if (instruction.opcode == Opcode::mma || instruction.opcode == Opcode::wmma_mma) {
    counts.tensor_flops = warps * 2u * m.shape.m * m.shape.n * m.shape.k;
    return counts;
  }
  Form form{};
  if (ptx::is_float(type)) {
    if (form_of(instruction.opcode, form)) {
      count_float(counts, form, type, lanes);
    } else if (is_special(instruction.opcode)) {
      counts.special = lanes;
    }
    return counts;
  }
  if (is_integer_operation(instruction.opcode)) counts.integer = lanes;
  return counts;
}

}  // namespace tilescope::observe
