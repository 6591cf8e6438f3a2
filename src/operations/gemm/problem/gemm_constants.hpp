// The constants that GEMM kernels share, by their names in kernels/gemm/epilogue.cuh.
#pragma once

#include <string_view>

#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::operations {

/// The arithmetic of a kernel's products: its OPERAND, a name in kernels/gemm/element.cuh.
std::string_view operand_kind(Precision precision);

/// The operands' type as wgmma names it: OPERAND of kernels/gemm/operand_traits.cuh.
std::string_view wgmma_operand(Precision precision);

/// C_TYPE, READS_C, BIAS and ACTIVATION.
Defines epilogue_constants(const GemmProblem& problem);

/// Factors of an operand as struct Scales of kernels/gemm/scales.cuh.
struct KernelScales {
  KernelScales(const ScaleLayout& layout, DeviceAddress address)
      : values(layout.exists() ? address : 0),
        shift(layout.shift),
        pitch(layout.pitch),
        step_pitch(layout.step_pitch) {}
  KernelScales() = default;

  DeviceAddress values = 0;
  std::int32_t shift = 0, pitch = 0, step_pitch = 0;
};

/// Adds alpha and beta in the type of the sums.
void push_factors(KernelArguments& arguments, const GemmProblem& problem);

}  // namespace tilescope::operations
