// ldmatrix, stmatrix, movmatrix: 8 x 8 matrices of 16-bit elements between shared memory and the
// registers of a warp. Lane 4r + c holds elements (r, 2c) and (r, 2c + 1); with .trans those of the
// transposed matrix.
#include <bit>
#include <cstring>

#include "emulator/block.hpp"
#include "emulator/instructions/matrix_fragments.hpp"
#include "emulator/instructions/operands.hpp"
#include "emulator/memory_access.hpp"

namespace tilescope::emulator {
namespace {

using ptx::Operand;

using Matrix = std::uint16_t[8][8];

std::uint32_t take(const Matrix& matrix, int lane, bool transposed) {
  const int r = lane / 4, c = lane % 4 * 2;
  const std::uint32_t low = transposed ? matrix[c][r] : matrix[r][c];
  const std::uint32_t high = transposed ? matrix[c + 1][r] : matrix[r][c + 1];
  return low | high << 16;
}

void put(Matrix& matrix, int lane, bool transposed, std::uint32_t value) {
  const int r = lane / 4, c = lane % 4 * 2;
  (transposed ? matrix[c][r] : matrix[r][c]) = static_cast<std::uint16_t>(value);
  (transposed ? matrix[c + 1][r] : matrix[r][c + 1]) = static_cast<std::uint16_t>(value >> 16);
}

constexpr std::uint32_t kTransposed = 1;

/// Rows: lane l names row l % 8 of matrix l / 8.
LaneTargets rows(Context& w, const Code& c, AccessKind kind) {
  std::uint64_t addresses[32];
  lane_addresses(w, c, addresses);
  const unsigned lanes = 8u * c.list_size;
  const LaneMask naming = lanes == 32 ? kAllLanes : (1u << lanes) - 1;
  return resolve_lanes(w, c, addresses, w.mask & naming, c.space, 16, 16, kind);
}

void load_matrices(Context& w, const Code& c) {
  const LaneTargets targets = rows(w, c, AccessKind::matrix_load);
  for (unsigned i = 0; i < c.list_size; ++i) {
    Matrix matrix = {};
    for (unsigned r = 0; r < 8; ++r) {
      const std::uint8_t* host = targets.host[8 * i + r];
      if (host != nullptr) std::memcpy(matrix[r], host, 16);
    }
    for (LaneMask m = w.mask; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      r32(w, c.list[i])[lane] = take(matrix, lane, (c.aux & kTransposed) != 0);
    }
  }
}

void store_matrices(Context& w, const Code& c) {
  const LaneTargets targets = rows(w, c, AccessKind::matrix_store);
  for (unsigned i = 0; i < c.list_size; ++i) {
    Matrix matrix = {};
    for (LaneMask m = w.mask; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      put(matrix, lane, (c.aux & kTransposed) != 0, r32(w, c.list[i])[lane]);
    }
    for (unsigned r = 0; r < 8; ++r) {
      if (targets.host[8 * i + r] != nullptr) std::memcpy(targets.host[8 * i + r], matrix[r], 16);
    }
  }
}

void transpose(Context& w, const Code& c) {
  Matrix matrix = {};
  for (int lane = 0; lane < kWarpSize; ++lane) put(matrix, lane, false, r32(w, c.a)[lane]);
  for (LaneMask m = w.mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    r32(w, c.dst)[lane] = take(matrix, lane, true);
  }
}

bool is_16_bit_8x8(const ptx::Modifiers& m) {
  return m.type() == ptx::Type::b16 && m.shape.m == 8 && m.shape.n == 8;
}

bool decode_rows(FunctionDecoder& d, const ptx::Instruction& in, bool store, Code& code) {
  const ptx::Modifiers& m = in.modifiers;
  const Operand& address = in.operands[store ? 0 : 1];
  const Operand& data = in.operands[store ? 1 : 0];
  std::vector<std::uint32_t> list;
  const auto add = [&](const Operand& operand) {
    list.push_back(store ? d.source(operand, ptx::Type::b32) : d.destination(operand));
  };
  if (data.kind == Operand::Kind::vector) {
    for (const Operand& element : data.elements) add(element);
  } else {
    add(data);
  }
  if (!is_16_bit_8x8(m) || list.size() != m.matrices || !set_space(m.space, code)) return false;
  d.set_list(code, std::move(list));
  unsigned address_bytes = 8;
  d.address(address, code.space == kGenericSpace, code, address_bytes);
  code.aux = (m.has(ptx::Flag::trans) ? kTransposed : 0) | (address_bytes == 8 ? kAddress64 : 0);
  code.bytes = 16;
  code.execute = store ? store_matrices : load_matrices;
  return true;
}

}  // namespace

bool decode_ldmatrix(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_rows(d, in, false, code);
}
bool decode_stmatrix(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_rows(d, in, true, code);
}
bool decode_movmatrix(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  code.dst = d.destination(in.operands[0]);
  code.a = d.source(in.operands[1], ptx::Type::b32);
  code.execute = transpose;
  return is_16_bit_8x8(in.modifiers) && in.modifiers.has(ptx::Flag::trans);
}

}  // namespace tilescope::emulator
