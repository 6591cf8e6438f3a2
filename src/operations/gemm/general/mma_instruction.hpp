// The mma.sync of a precision, and the GPUs that have it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// INSTRUCTION of kernels/gemm/mma_multiply.cuh. `is_short`: as on compute capability 7.5.
std::string_view mma_instruction(Precision precision, bool is_short);

/// Whether the device copies to shared memory past the registers (cp.async).
bool has_async_copies(const DeviceProperties& device);

/// Why the types of the problem, or the device, allow no mma.sync; nothing if they do.
std::optional<std::string> mma_sync_type_refusal(const GemmProblem& problem,
                                                 const DeviceProperties& device);

}  // namespace tilescope::operations
