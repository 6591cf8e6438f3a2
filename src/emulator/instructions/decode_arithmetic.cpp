// Arithmetic, logic and selection that the lane kernels have.
#include "base/one_of.hpp"
#include "emulator/decoder.hpp"
#include "emulator/instructions/operands.hpp"

namespace tilescope::emulator {

using ptx::Type;

bool decode_number(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const LaneKey key = lane_key(in);
  // Without lane kernels: fma that reads beyond the end as zero.
  if (in.modifiers.has(ptx::Flag::oob)) return false;
  const bool mixed = in.modifiers.type_count > 1;
  if (mixed && (key.type != Type::f32 || key.ftz || key.relu)) return false;
  if (is_half(key.type)) {
    code.aux = half_options(key);
    return decode_lanes(d, in, lane_kernels().half(key), code);
  }
  const bool real = is_one_of(key.type, {Type::f32, Type::f64, Type::f32x2});
  if (!real && key.relu) return false;

  return decode_lanes(d, in, real ? lane_kernels().real(key) : lane_kernels().integer(key), code);
}

bool decode_dot(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  return decode_lanes(d, in, lane_kernels().integer(lane_key(in)), code);
}

bool decode_logic(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const LaneKey key = lane_key(in);
  if (key.width > 8) return false;
  code.aux = key.shift_amount ? 1 : 0;
  if (in.operands.size() == 5) d.set_list(code, {d.source(in.operands[4], Type::u32)});
  return decode_lanes(d, in, lane_kernels().logic(key), code);
}

bool decode_selection(FunctionDecoder& d, const ptx::Instruction& in, Code& code) {
  const LaneKey key = lane_key(in);
  if (in.modifiers.type_count == 2 && ptx::bit_width(key.source) != 32) return false;
  return key.width <= 8 && decode_lanes(d, in, lane_kernels().compare(key), code);
}

}  // namespace tilescope::emulator
