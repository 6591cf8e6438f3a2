// mma and mma.sp: matrix products of one warp, all operands in registers.
#include "emulator/instructions/matrix_multiply.hpp"

#include <bit>
#include <cmath>

#include "base/one_of.hpp"
#include "emulator/block.hpp"
#include "emulator/lane_key.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Operand;
using ptx::Type;

const MatrixPlan& plan_of(Context& w, const Code& c) {
  return *w.warp->running_frame().function->products[c.aux];
}

/// The memory of a product, kept by each host thread.
struct Workspace {
  std::uint32_t a[kMostMatrixElements], b[kMostMatrixElements], sum[kMostMatrixElements];
  std::uint16_t meets[kMostMatrixElements];
  MatrixRight right;
};

void product(Context& w, const Code& c) {
  static thread_local Workspace s;
  const MatrixPlan& plan = plan_of(w, c);
  gather(w, plan.a, plan, plan.a_type, s.a);
  gather(w, plan.b, plan, plan.b_type, s.b);
  gather_addend(w, plan, s.sum);
  const std::uint16_t* meets = plan.meets.data();
  if (plan.metadata != kNone) {
    read_metadata(r32(w, plan.metadata), plan, s.meets);
    meets = s.meets;
  }
  s.right.unpack(plan, s.b);
  multiply(plan, s.a, s.right, meets, s.sum);
  scatter(w, plan, s.sum);
}

/// f64: one fused operation after the other along k.
void product_of_doubles(Context& w, const Code& c) {
  constexpr std::uint64_t nan = 0xfff8000000000000u;
  static thread_local double a[16 * 16], b[16 * 8], sum[16 * 8];
  const MatrixPlan& plan = plan_of(w, c);
  const auto read = [&](const MatrixFragment& f, double* matrix) {
    for (std::size_t i = 0; i < f.places.size(); ++i) {
      matrix[f.places[i]] = std::bit_cast<double>(r64(w, f.registers[i / 32])[i % 32]);
    }
  };
  read(plan.a, a);
  read(plan.b, b);
  read(plan.c, sum);
  plan.kernels->add_doubles({a, b, sum, plan.rows, plan.k});
  for (std::size_t i = 0; i < plan.d.places.size(); ++i) {
    if ((w.mask >> i % 32 & 1) == 0) continue;
    const double value = sum[plan.d.places[i]];
    r64(w, plan.d.registers[i / 32])[i % 32] =
        value != value ? nan : std::bit_cast<std::uint64_t>(value);
  }
}

bool types_fit(const MatrixPlan& p, MatrixUnit unit) {
  if (!is_multiplicand(p.a_type, unit) || !is_multiplicand(p.b_type, unit)) return false;
  switch (p.a_type) {
    case Type::f64:
      return p.b_type == p.a_type && p.c_type == p.a_type && p.d_type == p.a_type;
    case Type::s8:
    case Type::u8:
    case Type::s4:
    case Type::u4:
    case Type::b1:
      return ptx::bit_width(p.a_type) == ptx::bit_width(p.b_type) && p.b_type != Type::e4m3 &&
             p.b_type != Type::e5m2 && p.c_type == Type::s32 && p.d_type == Type::s32;
    case Type::f16:
    case Type::e4m3:
    case Type::e5m2:
      return (p.c_type == Type::f16 || p.c_type == Type::f32) &&
             (p.d_type == Type::f16 || p.d_type == Type::f32) &&
             (p.a_type == Type::f16 ? p.b_type == p.a_type
                                    : p.b_type == Type::e4m3 || p.b_type == Type::e5m2);
    default:
      return p.b_type == p.a_type && p.c_type == Type::f32 && p.d_type == Type::f32;
  }
}

/// Whether mma has the shape for elements of A's type. `sparse`: for mma.sp.
bool has_shape(const ptx::MatrixShape& s, Type type, bool sparse) {
  if (s.n != 8 || (s.m != 16 && (s.m != 8 || sparse))) return false;
  if (type == Type::f64) return !sparse && (s.k == 4 || (s.m == 16 && (s.k == 8 || s.k == 16)));
  const unsigned bits = s.k * (type == Type::tf32 ? 32 : ptx::bit_width(type));
  if (s.m == 8) return bits == 128 && !ptx::is_float(type);
  if (!sparse) return bits == 128 || bits == 256;
  const bool real_8 = type == Type::e4m3 || type == Type::e5m2;
  return type != Type::b1 && (bits == 512 || (bits == 256 && !real_8));
}

/// The bits of metadata that describe a row of A.
unsigned metadata_bits(Type type, unsigned k) {
  if (type == Type::tf32) return 2 * k;
  return ptx::bit_width(type) == 4 ? k / 2 : k;
}

/// f16: four products at once.
bool decode_quads(FunctionDecoder& d, const ptx::Instruction& in, MatrixPlan plan, Code& code) {
  using enum FragmentLayout;
  const ptx::Modifiers& m = in.modifiers;
  if (plan.c_type == Type::f32 && plan.d_type == Type::f16) return false;
  const auto sums = [](Type type) { return type == Type::f16 ? quad_rows : quad_sums; };
  return decode_product(
      d, in,
      {sums(plan.d_type), m.a_layout == ptx::Layout::row ? quad_rows : quad_a_columns,
       m.b_layout == ptx::Layout::row ? quad_b_rows : quad_b_columns, sums(plan.c_type), true, 8, 8,
       4, 4},
      MatrixUnit::mma, std::move(plan), code);
}

}  // namespace

bool is_multiplicand(Type type, MatrixUnit unit) {
  if (type == Type::e4m3 || type == Type::e5m2) return unit != MatrixUnit::wmma;
  return is_one_of(type, {Type::f16, Type::bf16, Type::tf32, Type::f64, Type::s8, Type::u8,
                          Type::s4, Type::u4, Type::b1});
}

bool set_types(const ptx::Modifiers& m, MatrixPlan& plan) {
  if (m.type_count != 4) return false;
  plan.d_type = m.types[0];
  plan.a_type = m.types[1];
  plan.b_type = m.types[2];
  plan.c_type = m.types[3];
  return true;
}

bool decode_product(FunctionDecoder& d, const ptx::Instruction& in, const ProductOperands& o,
                    MatrixUnit unit, MatrixPlan plan, Code& code) {
  if (!types_fit(plan, unit) || o.m == 0 || o.n == 0 || o.k == 0) return false;
  if (o.m * o.n > kMostMatrixElements || o.m * o.k > kMostMatrixElements ||
      o.n * o.k > kMostMatrixElements) {
    return false;
  }
  plan.rule = matrix_rule(d.capability(), unit, plan.a_type, plan.c_type, plan.d_type, o.kept);
  plan.kernels = &lane_kernels().matrix;
  plan.saturate = in.modifiers.has(ptx::Flag::satfinite);
  if (plan.a_type == Type::b1) {
    plan.integers = in.modifiers.bool_op == ptx::BoolOp::and_ ? IntegerProducts::Kind::and_bits
                                                              : IntegerProducts::Kind::xor_bits;
  }
  if (!set_fragments(d, in, o, plan)) return false;
  code.aux = static_cast<std::uint32_t>(d.result().products.size());
  code.execute = plan.rule.kind == MatrixRule::Kind::doubles ? product_of_doubles : product;
  d.result().products.push_back(std::make_shared<MatrixPlan>(std::move(plan)));
  return true;
}

void read_metadata(const std::uint32_t* metadata, const MatrixPlan& plan, std::uint16_t* meets) {
  const Type type = plan.a_type;
  const unsigned bits = metadata_bits(type, plan.b_rows), threads = bits / 16;
  const unsigned first = plan.selector * threads;
  const bool narrow = ptx::bit_width(type) <= 8;
  for (unsigned row = 0; row < plan.rows; ++row) {
    std::uint16_t* const to = meets + row * plan.k;
    unsigned e = 0;
    const auto keep = [&](unsigned k) {
      to[place_along_k(plan.rule, e, plan.k)] = static_cast<std::uint16_t>(k);
      ++e;
    };
    for (unsigned group = 0; group < bits / 4; ++group) {
      // A lane's word describes 16 bits each of rows r and r + 8, or 32 bits of one of them.
      const unsigned lane = row % 8 * 4 + first + (narrow ? row / 8 + group / 8 * 2 : group / 4);
      const unsigned at = narrow ? group % 8 * 4 : row / 8 * 16 + group % 4 * 4;
      const std::uint32_t pair = metadata[lane] >> at;
      if (type == Type::tf32) {
        keep(2 * group + (pair >> 1 & 1));
        continue;
      }
      for (const unsigned index : {pair & 3, pair >> 2 & 3}) {
        if (ptx::bit_width(type) != 4) {
          keep(4 * group + index);
        } else {
          keep(8 * group + 2 * index);
          keep(8 * group + 2 * index + 1);
        }
      }
    }
  }
}

bool decode_mma(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  MatrixPlan plan;
  if (!set_types(m, plan)) return false;
  if (m.shape == ptx::MatrixShape{8, 8, 4} && plan.a_type == Type::f16) {
    return decode_quads(d, in, std::move(plan), code);
  }
  if (!has_shape(m.shape, plan.a_type, false) || plan.c_type != plan.d_type) return false;
  if (m.a_layout != ptx::Layout::row || m.b_layout != ptx::Layout::col) return false;
  return decode_product(d, in,
                        {FragmentLayout::mma_c, FragmentLayout::mma_a, FragmentLayout::mma_b,
                         FragmentLayout::mma_c, true, m.shape.m, m.shape.n, m.shape.k, m.shape.k},
                        MatrixUnit::mma, std::move(plan), code);
}

bool decode_mma_sp(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  MatrixPlan plan;
  if (!set_types(m, plan)) return false;
  if (!has_shape(m.shape, plan.a_type, true) || plan.c_type != plan.d_type) return false;
  if (m.a_layout != ptx::Layout::row || m.b_layout != ptx::Layout::col) return false;
  const unsigned bits = metadata_bits(plan.a_type, m.shape.k);
  const Operand& selector = in.operands[5];
  if (selector.kind != Operand::Kind::immediate || selector.bits >= 64 / bits) return false;
  plan.selector = static_cast<unsigned>(selector.bits);
  plan.metadata = d.source(in.operands[4], Type::b32);
  return decode_product(
      d, in,
      {FragmentLayout::mma_c, FragmentLayout::mma_a, FragmentLayout::mma_b, FragmentLayout::mma_c,
       true, m.shape.m, m.shape.n, m.shape.k, m.shape.k / 2u},
      MatrixUnit::sparse_mma, std::move(plan), code);
}

}  // namespace tilescope::emulator
