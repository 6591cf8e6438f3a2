// The key of a lane kernel: the part of an instruction that selects code.
//
// The files of lanes/ are compiled once for each instruction set (see cmake/Parts.cmake),
// each time in a namespace of its own, and the best set for this CPU is chosen at start. To keep
// code compiled for a newer CPU from being used elsewhere, they include nothing that defines
// functions with external linkage (no containers, no algorithms), and all their own are static.
#pragma once

#include <cstdint>

#include "emulator/code.hpp"
#include "emulator/matrix_kernels.hpp"
#include "ptx/modifiers.hpp"
#include "ptx/opcode.hpp"

namespace tilescope::emulator {

struct LaneKey {
  ptx::Opcode opcode = ptx::Opcode::unknown;
  ptx::Type type = ptx::Type::none;    ///< of the destination
  ptx::Type source = ptx::Type::none;  ///< of the source of cvt, set; of the third operand of slct
  ptx::Part part = ptx::Part::none;
  ptx::Compare compare = ptx::Compare::none;
  ptx::BoolOp bool_op = ptx::BoolOp::none;
  ptx::Rounding rounding = ptx::Rounding::none;
  ptx::ShiftMode shift_mode = ptx::ShiftMode::none;
  ptx::ShiftDirection shift_direction = ptx::ShiftDirection::none;
  ptx::TestKind test = ptx::TestKind::none;
  bool ftz = false, sat = false, approx = false, nan = false, xorsign = false, abs = false;
  bool carry_out = false, relu = false, shift_amount = false;
  bool three = false;      ///< operands besides the result, as min and max may have
  std::uint8_t width = 4;  ///< bytes per lane of the destination register; 0 for a predicate
};

enum class LaneAddress : std::uint8_t { shared32, shared64, global64, constant64, generic64 };

struct MemoryKey {
  bool store = false;
  LaneAddress address = LaneAddress::shared32;
  std::uint8_t bytes = 4;     ///< of one element: 1, 2, 4, 8
  std::uint8_t elements = 1;  ///< 1, 2, 4
  bool sign_extend = false;   ///< of a load narrower than 32 bits, to `extend_to` bits
  std::uint8_t extend_to = 32;
};

/// The lane kernels of one instruction set. Each function returns null for instructions that it
/// does not have.
struct LaneKernels {
  const char* name;
  Execute (*integer)(const LaneKey&);
  Execute (*real)(const LaneKey&);
  Execute (*compare)(const LaneKey&);
  Execute (*logic)(const LaneKey&);
  Execute (*convert)(const LaneKey&);
  Execute (*half)(const LaneKey&);
  Execute (*memory)(const MemoryKey&);
  MatrixKernels matrix;
};

/// The best set for this CPU; or the one in the environment variable TILESCOPE_LANES ("baseline",
/// "v3", "v4"), if this CPU has it.
const LaneKernels& lane_kernels();
/// Makes later decoding use another set, for tests and benchmarks.
void use_lane_kernels(const LaneKernels& kernels);
/// The set called `name`; null if it is not built in or this CPU lacks it.
const LaneKernels* lane_kernels(const char* name);

}  // namespace tilescope::emulator
