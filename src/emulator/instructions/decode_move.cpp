// mov in all its forms, cvta, isspacep, and the registers that count.
#include <bit>

#include "emulator/address_space.hpp"
#include "emulator/block.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/special_register_values.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

// A packed value: the elements in c.list, lowest bits first, aux bits wide each.
void pack(Context& w, const Code& c) {
  const unsigned bits = c.aux;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint64_t value[2] = {0, 0};
    for (unsigned i = 0; i < c.list_size; ++i) {
      const std::uint64_t element = bits == 64   ? r64(w, c.list[i])[lane]
                                    : bits == 32 ? r32(w, c.list[i])[lane]
                                                 : r32(w, c.list[i])[lane] & ((1u << bits) - 1);
      const unsigned at = i * bits;
      value[at / 64] |= element << at % 64;
    }
    if (c.bytes == 4) {
      r32(w, c.dst)[lane] = static_cast<std::uint32_t>(value[0]);
      continue;
    }
    r64(w, c.dst)[lane] = value[0];
    if (c.bytes == 16) r64(w, c.dst)[kWarpSize + lane] = value[1];
  }
}

void unpack(Context& w, const Code& c) {
  const unsigned bits = c.aux;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint64_t value[2] = {0, 0};
    value[0] = c.bytes == 4 ? r32(w, c.a)[lane] : r64(w, c.a)[lane];
    if (c.bytes == 16) value[1] = r64(w, c.a)[kWarpSize + lane];
    for (unsigned i = 0; i < c.list_size; ++i) {
      const unsigned at = i * bits;
      const std::uint64_t element = value[at / 64] >> at % 64;
      if (bits == 64) {
        r64(w, c.list[i])[lane] = element;
      } else {
        r32(w, c.list[i])[lane] =
            static_cast<std::uint32_t>(bits == 32 ? element : element & ((1u << bits) - 1));
      }
    }
  }
}

void move_128(Context& w, const Code& c) {
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    r64(w, c.dst)[lane] = r64(w, c.a)[lane];
    r64(w, c.dst)[kWarpSize + lane] = r64(w, c.a)[kWarpSize + lane];
  }
}

// Time is counted in warp instructions of the block: the same in every run. aux: bits to shift by.
// c.b: instructions behind this one in its run of straight-line code, which count as run already.
void read_clock(Context& w, const Code& c) {
  const std::uint64_t now = (w.block->steps() + w.warp->steps_now() - c.b) >> c.aux;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (c.bytes == 8) {
      r64(w, c.dst)[lane] = now;
    } else {
      r32(w, c.dst)[lane] = static_cast<std::uint32_t>(now);
    }
  }
}

// .shared is the own block's; .shared::cluster any block's of the cluster.
void is_space(Context& w, const Code& c) {
  std::uint32_t result = 0;
  const bool in_cluster = c.space == kClusterSpace;
  const Space space = in_cluster ? Space::shared : static_cast<Space>(c.space);
  for (int l = 0; l < kWarpSize; ++l) {
    const ResolvedAddress resolved = resolve_generic(r64(w, c.a)[l]);
    const bool same = resolved.space == space &&
                      (space != Space::shared || in_cluster ||
                       shared_place(resolved.address, w.block->rank()).rank == w.block->rank());
    result |= static_cast<std::uint32_t>(same) << l;
  }
  std::uint32_t& p = predicate(w, c.dst);
  p = (p & ~w.mask) | (result & w.mask);
}

// mov.v2 and its like: the second half of c.list, c.bytes wide each, to the first. All are read
// before the first is written, as a rotation needs.
void move_elements(Context& w, const Code& c) {
  const unsigned count = c.list_size / 2;
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::uint64_t value[8];
    for (unsigned i = 0; i < count; ++i) {
      const std::uint32_t from = c.list[count + i];
      value[i] = c.bytes == 8 ? r64(w, from)[lane] : r32(w, from)[lane];
    }
    for (unsigned i = 0; i < count; ++i) {
      if (c.bytes == 8) {
        r64(w, c.list[i])[lane] = value[i];
      } else {
        r32(w, c.list[i])[lane] = static_cast<std::uint32_t>(value[i]);
      }
    }
  }
}

bool decode_elements(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const Type type = in.modifiers.type();
  const unsigned width = d.width(Operand{}, type);
  if (width != 4 && width != 8) return false;
  std::vector<std::uint32_t> list;
  for (const Operand& operand : in.operands[0].elements) list.push_back(d.destination(operand));
  for (const Operand& operand : in.operands[1].elements) list.push_back(d.source(operand, type));
  code.bytes = static_cast<std::uint16_t>(width);
  d.set_list(code, std::move(list));
  code.execute = move_elements;
  return true;
}

bool decode_vector(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  if (in.modifiers.vector > 1) return decode_elements(d, in, code);
  const Operand& to = in.operands[0];
  const Operand& from = in.operands[1];
  const bool packs = from.kind == Operand::Kind::vector;
  const Operand& vector = packs ? from : to;
  const Operand& scalar = packs ? to : from;
  if (scalar.kind == Operand::Kind::vector) return false;
  const unsigned total = ptx::bit_width(in.modifiers.type());
  const auto count = static_cast<unsigned>(vector.elements.size());
  if (count < 2 || total == 0 || total % count != 0) return false;
  const unsigned bits = total / count;
  const Type element = bits == 64   ? Type::b64
                       : bits == 32 ? Type::b32
                       : bits == 16 ? Type::b16
                                    : Type::b8;
  if (bits > 64 || bits < 8) return false;
  std::vector<std::uint32_t> list;
  for (const Operand& operand : vector.elements) {
    list.push_back(packs ? d.source(operand, element) : d.destination(operand));
  }
  code.bytes = static_cast<std::uint16_t>(total <= 32 ? 4 : total / 8);
  code.aux = bits;
  d.set_list(code, std::move(list));
  if (packs) {
    code.dst = d.destination(scalar);
    code.execute = pack;
  } else {
    code.a = d.source(scalar, in.modifiers.type());
    code.execute = unpack;
  }
  return true;
}

std::uint64_t window_of(ptx::Space space) {
  switch (space) {
    case ptx::Space::shared:
    case ptx::Space::shared_cluster:
      return kSharedWindow;
    case ptx::Space::local:
      return kLocalWindow;
    case ptx::Space::param:
    case ptx::Space::param_entry:
      return kParameterWindow;
    default:
      return 0;
  }
}

}  // namespace

bool decode_mov(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const Operand& to = in.operands[0];
  const Operand& from = in.operands[1];
  if (to.kind == Operand::Kind::vector || from.kind == Operand::Kind::vector) {
    return decode_vector(d, in, code);
  }
  const Type type = in.modifiers.type();
  const unsigned width = d.width(Operand{}, type);
  code.dst = d.destination(to);
  if (from.kind == Operand::Kind::special) {
    if (!is_known(from.special)) return false;
    if (is_counter(from.special)) {
      code.bytes = static_cast<std::uint16_t>(width);
      const bool high = from.special == ptx::SpecialRegister::clock_hi ||
                        from.special == ptx::SpecialRegister::globaltimer_hi;
      code.aux = high ? 32 : 0;
      code.execute = read_clock;
      return width == 4 || width == 8;
    }
  }
  if (from.kind == Operand::Kind::symbol && from.symbol.kind != ptx::SymbolKind::variable &&
      d.parameter_slot(from.symbol) != nullptr) {
    d.refusal_ = "the address of a function's parameter";
    return false;
  }
  code.a = d.source(from, type);
  code.a_flip = from.negated ? ~0u : 0u;
  if (width == 16) {
    code.execute = move_128;
    return true;
  }
  LaneKey key = lane_key(in);
  key.width = static_cast<std::uint8_t>(width);
  code.execute = lane_kernels().logic(key);
  return code.execute != nullptr;
}

bool decode_cvta(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  if (ptx::bit_width(in.modifiers.type()) != 64) return false;
  code.dst = d.destination(in.operands[0]);
  code.a = d.source(in.operands[1], Type::b64);
  const std::uint64_t window = window_of(in.modifiers.space);
  code.offset = static_cast<std::int64_t>(in.modifiers.has(ptx::Flag::to) ? 0 - window : window);
  LaneKey key;
  key.opcode = window == 0 ? Opcode::mov : Opcode::cvta;
  key.width = 8;
  code.execute = lane_kernels().logic(key);
  return true;
}

bool decode_isspacep(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  if (d.width(in.operands[1], Type::b64) != 8 || !set_space(in.modifiers.space, code)) return false;
  code.dst = d.destination(in.operands[0]);
  code.a = d.source(in.operands[1], Type::b64);
  code.execute = is_space;
  return true;
}

}  // namespace tilescope::emulator
