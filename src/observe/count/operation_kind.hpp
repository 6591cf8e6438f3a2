// Which arithmetic an instruction does, in the words of the profiler's instruction mix.
#pragma once

#include <cstdint>

#include "ptx/instruction.hpp"

namespace tilescope::observe {

/// Arithmetic by kind, each count in thread instructions whose guard held (a packed f16x2 operation
/// counts once). Divisions, roots and the like count as `special`: the chip executes each as one
/// approximation and a few fused operations around it, which are not counted.
struct OperationCounts {
  std::uint64_t ffma = 0, fadd = 0, fmul = 0;  ///< 32-bit
  std::uint64_t dfma = 0, dadd = 0, dmul = 0;  ///< 64-bit
  std::uint64_t hfma = 0, hadd = 0, hmul = 0;  ///< 16-bit, bfloat16 included
  std::uint64_t special = 0;                   ///< sin, ex2, rcp, div, sqrt, ...
  std::uint64_t integer = 0;                   ///< add, mul, shifts, logic, min, max, ...
  /// Floating point operations: fused ones are 2, packed ones count each element.
  std::uint64_t fp32_flops = 0, fp64_flops = 0, fp16_flops = 0, tensor_flops = 0;

  std::uint64_t flops() const { return fp32_flops + fp64_flops + fp16_flops + tensor_flops; }
  OperationCounts& operator+=(const OperationCounts& other);
  friend bool operator==(const OperationCounts&, const OperationCounts&) = default;
};

/// What one instruction adds: `lanes` thread instructions in `warps` warp instructions (of which an
/// mma does its work as a whole).
OperationCounts operations_of(const ptx::Instruction& instruction, std::uint64_t lanes,
                              std::uint64_t warps);

}  // namespace tilescope::observe
