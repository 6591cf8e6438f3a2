// 16-bit products whose B has rows in memory, of either order, that are not multiples of 16 bytes
// apart, multiplied from registers (kernels/gemm/unaligned_rows.cu). A is such a B in the
// transposed product.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

std::optional<std::string> unaligned_rows_refusal(const GemmProblem& problem,
                                                  const DeviceProperties& device);
/// Whether it is the fastest kernel for the problem, as far as was measured.
bool unaligned_rows_pay(const GemmProblem& problem, const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_unaligned_rows(Device& device, const GemmProblem& problem);

}  // namespace tilescope::operations
