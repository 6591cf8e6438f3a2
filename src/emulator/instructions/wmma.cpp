// wmma: matrices of a warp whose layout in registers the program does not know.
#include <bit>
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/instructions/matrix_multiply.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Type;

// list: rows, columns, layout, type, registers, column major, stride register (kNone: dense),
// then the registers.
constexpr std::uint32_t kTransferHeader = 7;

template <bool store>
void transfer(Context& w, const Code& c) {
  const std::uint32_t* h = c.list;
  const auto type = static_cast<Type>(h[3]);
  const Fragment f{elements_per_register(type), type, static_cast<FragmentLayout>(h[2]), h[0],
                   h[1]};
  const unsigned registers = h[4];
  const std::uint32_t* const list = h + kTransferHeader;
  const bool column_major = h[5] != 0;
  // Elements of a register are contiguous in memory if the fragment's order is the memory's.
  const bool together = column_major == (f.layout == FragmentLayout::by_columns);
  const unsigned bits = type == Type::tf32 ? 32 : ptx::bit_width(type);
  const unsigned step = together ? f.per_register : 1;
  const unsigned bytes = bits * step / 8;
  std::uint64_t base[32], addresses[32];
  lane_addresses(w, c, base);
  for (unsigned r = 0; r < registers; ++r) {
    for (unsigned e = 0; e < f.per_register; e += step) {
      for (unsigned lane = 0; lane < 32; ++lane) {
        const Fragment::Position at = f.position(lane, r, e, registers);
        const std::uint64_t dense = column_major ? f.rows : f.columns;
        const std::uint64_t stride = h[6] == kNone ? dense : r32(w, h[6])[lane];
        const std::uint64_t index =
            column_major ? at.column * stride + at.row : at.row * stride + at.column;
        addresses[lane] = base[lane] + index * bits / 8;
      }
      const LaneTargets targets = resolve_lanes(w, c, addresses, w.mask, c.space, bytes, bytes,
                                                store ? AccessKind::store : AccessKind::load);
      for (LaneMask m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(m));
        std::uint8_t* const host = targets.host[lane];
        std::uint64_t value = 0;
        if (store) {
          if (host == nullptr) continue;
          value = step == 1 ? fragment_element(w, f, list[r], lane, e) : r32(w, list[r])[lane];
          std::memcpy(host, &value, bytes);
          continue;
        }
        if (host != nullptr) std::memcpy(&value, host, bytes);
        if (step == 1) {
          set_fragment_element(w, f, list[r], lane, e, value);
        } else {
          r32(w, list[r])[lane] = static_cast<std::uint32_t>(value);
        }
      }
    }
  }
}

bool decode_transfer(FunctionDecoder& d, const ptx::Instruction& in, bool store, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const ptx::MatrixShape s = m.shape;
  const bool is_a = m.fragment == ptx::Fragment::a, is_b = m.fragment == ptx::Fragment::b;
  const unsigned rows = is_b ? s.k : s.m, columns = is_a ? s.k : s.n;
  if (rows == 0 || columns == 0 || rows * columns > kMostMatrixElements) return false;
  const Type type = m.type();
  const bool accumulates =
      type == Type::f32 || type == Type::s32 || type == Type::f16 || type == Type::f64;
  if (is_a || is_b ? !is_multiplicand(type, MatrixUnit::wmma) : !accumulates) return false;
  std::vector<std::uint32_t> list(kTransferHeader);
  list[0] = rows;
  list[1] = columns;
  list[2] = static_cast<std::uint32_t>(is_b ? FragmentLayout::by_columns : FragmentLayout::by_rows);
  list[3] = static_cast<std::uint32_t>(type);
  list[5] = m.a_layout == ptx::Layout::col ? 1 : 0;
  list[6] = in.operands.size() > 2 ? d.source(in.operands[2], Type::b32) : kNone;
  if (!add_registers(d, in.operands[store ? 1 : 0], type, !store, list)) return false;
  list[4] = static_cast<std::uint32_t>(list.size()) - kTransferHeader;
  const unsigned held = 32 * list[4] * elements_per_register(type);
  if (held < rows * columns || held % (rows * columns) != 0) return false;
  const bool together = (list[5] != 0) == is_b;
  if (ptx::bit_width(type) < 8 && !together) return false;
  d.set_list(code, std::move(list));
  if (!set_space(m.space, code)) return false;
  unsigned address_bytes = 8;
  d.address(in.operands[store ? 0 : 1], code.space == kGenericSpace, code, address_bytes);
  code.aux = address_bytes == 8 ? kAddress64 : 0;
  code.execute = store ? transfer<true> : transfer<false>;
  return true;
}

}  // namespace

bool decode_wmma_load(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_transfer(d, in, false, code);
}
bool decode_wmma_store(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_transfer(d, in, true, code);
}

bool decode_wmma_mma(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  if (m.rounding != ptx::Rounding::none && m.rounding != ptx::Rounding::rn) return false;
  MatrixPlan plan;
  if (m.type_count == 2) {  // the multiplicands are f16
    plan.d_type = m.types[0];
    plan.a_type = plan.b_type = Type::f16;
    plan.c_type = m.types[1];
  } else if (!set_types(m, plan)) {
    return false;
  }
  return decode_product(
      d, in,
      {FragmentLayout::by_rows, FragmentLayout::by_rows, FragmentLayout::by_columns,
       FragmentLayout::by_rows, false, m.shape.m, m.shape.n, m.shape.k, m.shape.k},
      MatrixUnit::wmma, std::move(plan), code);
}

}  // namespace tilescope::emulator
