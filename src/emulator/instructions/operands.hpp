// Small conversions from PTX's vocabulary to the emulator's, shared by the decoders.
#pragma once

#include "emulator/decoder.hpp"
#include "emulator/lane_key.hpp"
#include "ptx/operand_classes.hpp"

namespace tilescope::emulator {

/// Sets Code::space; false for spaces that the emulator's accesses do not have.
bool set_space(ptx::Space space, Code& code);
/// Sets Code::order and scope.
void set_order(const ptx::Modifiers& modifiers, Code& code);
Scope scope_of(ptx::Scope scope);

bool is_integer(ptx::Type type);  ///< s, u or b of 8 to 64 bits
bool is_half(ptx::Type type);     ///< f16, bf16 and the packed pairs
/// The key of an instruction, for looking up a lane kernel.
LaneKey lane_key(const ptx::Instruction& instruction);
/// Options of the lane kernels of 16-bit floats, for Code::aux.
std::uint32_t half_options(const LaneKey& key);
/// Sets dst, and dst2 for a pair.
void set_results(FunctionDecoder& d, const ptx::Operand& operand, Code& code);
/// Sets results and up to three sources. False, and nothing set, without a `kernel`.
bool decode_lanes(FunctionDecoder& d, const ptx::Instruction& in, Execute kernel, Code& code);
/// A mask of the bits in a register of `type`.
std::uint64_t register_mask(ptx::Type type);

}  // namespace tilescope::emulator
