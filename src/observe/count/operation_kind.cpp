#include "observe/count/operation_kind.hpp"

namespace tilescope::observe {
namespace {

using ptx::Arithmetic;
using ptx::Type;

std::uint64_t elements(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2 || type == Type::f32x2 ? 2 : 1;
}

void count_float(OperationCounts& counts, Arithmetic kind, Type type, std::uint64_t lanes) {
  const std::uint64_t flops = lanes * elements(type) * (kind == Arithmetic::fma ? 2 : 1);
  const auto pick = [&](std::uint64_t& add, std::uint64_t& mul, std::uint64_t& fma) {
    (kind == Arithmetic::add ? add : kind == Arithmetic::mul ? mul : fma) += lanes;
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

/// The instructions that a chip of compute capability 9.0 executes for an mma or wmma. Its tensor
/// cores multiply 8-bit floats in wgmma alone, and have neither 4-bit integers nor the exclusive or
/// of bits; a wmma is several products of 16 x 8, in tf32 of half its depth.
unsigned parts_of_matrix(const ptx::Instruction& instruction) {
  const ptx::Modifiers& m = instruction.modifiers;
  const unsigned tiles = m.shape.m * m.shape.n / (16 * 8);
  if (tiles > 1) return m.type_count > 2 && m.types[1] == Type::tf32 ? 2 * tiles : tiles;
  if (m.type_count < 3) return 1;
  const Type a = m.types[1], b = m.types[2];
  const bool floats = (a == Type::e4m3 || a == Type::e5m2) && (b == Type::e4m3 || b == Type::e5m2);
  const bool narrow = a == Type::s4 || a == Type::u4 || b == Type::s4 || b == Type::u4;
  return floats || narrow || m.bool_op == ptx::BoolOp::xor_ ? 2 : 1;
}

/// Operations as the profiler counts them: those that a sparse A leaves out too. Four warps share
/// one wgmma.
void count_matrix(OperationCounts& counts, const ptx::Instruction& instruction, std::uint64_t warps,
                  unsigned capability) {
  const ptx::MatrixShape s = instruction.modifiers.shape;
  counts.tensor = warps;
  counts.tensor_flops = warps * 2 * s.m * s.n * s.k;
  const Arithmetic kind = ptx::info(instruction.opcode).arithmetic;
  if (kind == Arithmetic::matrix) {
    if (capability == 90) counts.tensor *= parts_of_matrix(instruction);
    return;
  }
  counts.tensor_flops /= 4;
  const bool sparse = kind == Arithmetic::sparse_group_matrix;
  const bool a_in_registers = instruction.operands[1].kind == ptx::Operand::Kind::vector;
  constexpr std::uint64_t bytes_along_k = 32;
  counts.tensor_bytes =
      warps * bytes_along_k * ((a_in_registers ? 0 : s.m) + s.n * (sparse ? 2u : 1u)) / 4;
}

}  // namespace

OperationCounts operations_of(const ptx::Instruction& instruction, std::uint64_t lanes,
                              std::uint64_t warps, unsigned capability) {
  OperationCounts counts;
  const ptx::Modifiers& m = instruction.modifiers;
  const Type type = m.type();
  const Arithmetic kind = ptx::info(instruction.opcode).arithmetic;
  switch (kind) {
    case Arithmetic::none:
      break;
    case Arithmetic::matrix:
    case Arithmetic::group_matrix:
    case Arithmetic::sparse_group_matrix:
      count_matrix(counts, instruction, warps, capability);
      break;
    case Arithmetic::integer:
    case Arithmetic::special:
      if (!ptx::is_float(type)) {
        counts.integer = lanes;
      } else if (kind == Arithmetic::special) {
        counts.special = lanes;
      }
      break;
    case Arithmetic::add:
    case Arithmetic::mul:
    case Arithmetic::fma:
      if (ptx::is_float(type)) {
        count_float(counts, kind, type, lanes);
      } else {
        counts.integer = lanes;
      }
      break;
  }
  return counts;
}

}  // namespace tilescope::observe
