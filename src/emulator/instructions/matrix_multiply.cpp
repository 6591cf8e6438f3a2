// mma.sync and wmma: decoding, and moving fragments to and from memory.
#include <bit>
#include <cstring>

#include "base/one_of.hpp"
#include "emulator/block.hpp"
#include "emulator/instructions/matrix_fragments.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Operand;
using ptx::Type;

// list: m, n, k, layouts (4), types (4: d, a, b, c), register counts (4), then the registers.
constexpr std::uint32_t kHeader = 15;

// aux: bit 0 saturate, bit 1 and instead of xor.
void product(Context& w, const Code& c) {
  const std::uint32_t* h = c.list;
  const unsigned m = h[0], n = h[1], k = h[2];
  const unsigned rows[4] = {m, m, k, m}, columns[4] = {n, k, n, n};
  const std::uint32_t* next = h + kHeader;
  Fragment f[4];
  for (int i = 0; i < 4; ++i) {
    const auto type = static_cast<Type>(h[7 + i]);
    f[i] = {next,
            h[11 + i],
            elements_per_register(type),
            type,
            static_cast<FragmentLayout>(h[3 + i]),
            rows[i],
            columns[i]};
    next += h[11 + i];
  }
  multiply(w, {f[0], f[1], f[2], f[3], (c.aux & 1) != 0, (c.aux & 2) != 0});
}

bool multiplicand(Type type, bool wmma) {
  if (type == Type::e4m3 || type == Type::e5m2) return !wmma;
  return is_one_of(type, {Type::f16, Type::bf16, Type::tf32, Type::f64, Type::s8, Type::u8,
                          Type::s4, Type::u4, Type::b1});
}

bool types_fit(Type d, Type a, Type b, Type c, bool wmma) {
  if (!multiplicand(a, wmma) || !multiplicand(b, wmma)) return false;
  switch (a) {
    case Type::f64:
      return b == a && c == a && d == a;
    case Type::s8:
    case Type::u8:
    case Type::s4:
    case Type::u4:
    case Type::b1:
      return ptx::bit_width(a) == ptx::bit_width(b) && c == Type::s32 && d == Type::s32;
    case Type::f16:
    case Type::e4m3:
    case Type::e5m2:
      return (c == Type::f16 || c == Type::f32) && (d == Type::f16 || d == Type::f32) &&
             ptx::bit_width(a) == ptx::bit_width(b);
    default:
      return b == a && c == Type::f32 && d == Type::f32;
  }
}

/// Appends the registers of a fragment; false if their number cannot be right.
bool add_registers(FunctionDecoder& d, const Operand& operand, Type type, bool destination,
                   unsigned elements, bool exact, std::vector<std::uint32_t>& list,
                   std::uint32_t& count) {
  const unsigned width = type == Type::f64 ? 8 : 4;
  const auto add = [&](const Operand& element) {
    if (d.width(element, type == Type::f64 ? Type::f64 : Type::b32) != width) return false;
    list.push_back(destination ? d.destination(element)
                               : d.source(element, type == Type::f64 ? Type::f64 : Type::b32));
    ++count;
    return true;
  };
  count = 0;
  if (operand.kind == Operand::Kind::vector) {
    for (const Operand& element : operand.elements) {
      if (!add(element)) return false;
    }
  } else if (!add(operand)) {
    return false;
  }
  const unsigned held = 32 * count * elements_per_register(type);
  return exact ? held == elements : held >= elements && held % elements == 0;
}

bool decode_product(FunctionDecoder& d, const ptx::Instruction& in, const Type (&types)[4],
                    const FragmentLayout (&layouts)[4], bool exact, Code& code) {
  const ptx::MatrixShape shape = in.modifiers.shape;
  const unsigned elements[4] = {unsigned{shape.m} * shape.n, unsigned{shape.m} * shape.k,
                                unsigned{shape.k} * shape.n, unsigned{shape.m} * shape.n};
  if (elements[0] == 0 || elements[1] == 0 || elements[1] > 4096 || elements[2] > 4096)
    return false;
  if (in.operands.size() != 4) return false;
  std::vector<std::uint32_t> list(kHeader);
  list[0] = shape.m;
  list[1] = shape.n;
  list[2] = shape.k;
  for (std::size_t i = 0; i < 4; ++i) {
    list[3 + i] = static_cast<std::uint32_t>(layouts[i]);
    list[7 + i] = static_cast<std::uint32_t>(types[i]);
    std::uint32_t count = 0;
    if (!add_registers(d, in.operands[i], types[i], i == 0, elements[i], exact, list, count)) {
      return false;
    }
    list[11 + i] = count;
  }
  d.set_list(code, std::move(list));
  code.aux = (in.modifiers.has(ptx::Flag::satfinite) ? 1u : 0u) |
             (in.modifiers.bool_op == ptx::BoolOp::and_ ? 2u : 0u);
  code.execute = product;
  return true;
}

// --- wmma.load and wmma.store
// ---------------------------------------------------------------------

// list: rows, columns, layout, type, registers, column major, stride register (kNone: dense),
// then the registers.
constexpr std::uint32_t kTransferHeader = 7;

template <bool store>
void transfer(Context& w, const Code& c) {
  const std::uint32_t* h = c.list;
  const auto type = static_cast<Type>(h[3]);
  const Fragment f{h + kTransferHeader,
                   h[4],
                   elements_per_register(type),
                   type,
                   static_cast<FragmentLayout>(h[2]),
                   h[0],
                   h[1]};
  const bool column_major = h[5] != 0;
  // Elements of a register are contiguous in memory if the fragment's order is the memory's.
  const bool together = column_major == (f.layout == FragmentLayout::by_columns);
  const unsigned bits = type == Type::tf32 ? 32 : ptx::bit_width(type);
  const unsigned step = together ? f.per_register : 1;
  const unsigned bytes = bits * step / 8;
  std::uint64_t base[32], addresses[32];
  lane_addresses(w, c, base);
  for (unsigned r = 0; r < f.registers; ++r) {
    for (unsigned e = 0; e < f.per_register; e += step) {
      for (unsigned lane = 0; lane < 32; ++lane) {
        const Fragment::Position at = f.position(lane, r, e);
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
          value = step == 1 ? fragment_element(w, f, lane, r, e) : r32(w, f.list[r])[lane];
          std::memcpy(host, &value, bytes);
          continue;
        }
        if (host != nullptr) std::memcpy(&value, host, bytes);
        if (step == 1) {
          set_fragment_element(w, f, lane, r, e, value);
        } else {
          r32(w, f.list[r])[lane] = static_cast<std::uint32_t>(value);
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
  if (rows == 0 || columns == 0 || rows * columns > 4096) return false;
  const Type type = m.type();
  const bool accumulates =
      type == Type::f32 || type == Type::s32 || type == Type::f16 || type == Type::f64;
  if (is_a || is_b ? !multiplicand(type, true) : !accumulates) return false;
  std::vector<std::uint32_t> list(kTransferHeader);
  list[0] = rows;
  list[1] = columns;
  list[2] = static_cast<std::uint32_t>(is_b ? FragmentLayout::by_columns : FragmentLayout::by_rows);
  list[3] = static_cast<std::uint32_t>(type);
  list[5] = m.a_layout == ptx::Layout::col ? 1 : 0;
  list[6] = in.operands.size() > 2 ? d.source(in.operands[2], Type::b32) : kNone;
  std::uint32_t count = 0;
  if (!add_registers(d, in.operands[store ? 1 : 0], type, !store, rows * columns, false, list,
                     count)) {
    return false;
  }
  list[4] = count;
  const bool together = (list[5] != 0) == is_b;
  const unsigned bits = ptx::bit_width(type);
  if (bits < 8 && !together) return false;
  d.set_list(code, std::move(list));
  if (!set_space(m.space, code)) return false;
  unsigned address_bytes = 8;
  d.address(in.operands[store ? 0 : 1], code.space == kGenericSpace, code, address_bytes);
  code.aux = address_bytes == 8 ? kAddress64 : 0;
  code.execute = store ? transfer<true> : transfer<false>;
  return true;
}

}  // namespace

bool decode_mma(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  if (m.type_count != 4) return false;
  const Type types[4] = {m.types[0], m.types[1], m.types[2], m.types[3]};
  if (!types_fit(types[0], types[1], types[2], types[3], false)) return false;
  // The layouts below are those of A in rows and B in columns; m8n8k4 of f16 has its own.
  if (m.a_layout != ptx::Layout::row || m.b_layout != ptx::Layout::col) return false;
  if (m.shape.n != 8 || (m.shape.m != 16 && m.shape.m != 8)) return false;
  if (m.shape.m == 8 && types[1] == Type::f16) return false;
  const FragmentLayout layouts[4] = {FragmentLayout::mma_c, FragmentLayout::mma_a,
                                     FragmentLayout::mma_b, FragmentLayout::mma_c};
  return decode_product(d, in, types, layouts, true, code);
}

bool decode_wmma_load(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_transfer(d, in, false, code);
}
bool decode_wmma_store(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_transfer(d, in, true, code);
}

bool decode_wmma_mma(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  if (m.rounding != ptx::Rounding::none && m.rounding != ptx::Rounding::rn) return false;
  Type types[4];
  if (m.type_count == 2) {  // the multiplicands are f16
    types[0] = m.types[0];
    types[1] = types[2] = Type::f16;
    types[3] = m.types[1];
  } else if (m.type_count == 4) {
    for (int i = 0; i < 4; ++i) types[i] = m.types[static_cast<std::size_t>(i)];
  } else {
    return false;
  }
  if (!types_fit(types[0], types[1], types[2], types[3], true)) return false;
  const FragmentLayout layouts[4] = {FragmentLayout::by_rows, FragmentLayout::by_rows,
                                     FragmentLayout::by_columns, FragmentLayout::by_rows};
  return decode_product(d, in, types, layouts, false, code);
}

}  // namespace tilescope::emulator
