// Products of matrices in host memory on a GPU or the emulated device, by the kernels of the GEMM
// table.
#pragma once

#include <tilescope/matmul.hpp>

#include "operations/gemm/dispatch/dispatch.hpp"
#include "operations/gemm/problem/host_problem.hpp"

namespace tilescope::operations {

/// The kernel for a problem whose C is row-major, and the problem that it computes: operands on the
/// device with their own types, or converted to the precision's if only then a kernel takes them.
struct DeviceChoice {
  GemmChoice kernel;
  GemmProblem problem;
};

/// `name`: the variant; empty: the tuned one, else the best. Throws Error(usage) with the reason if
/// the variant refuses the problem.
DeviceChoice choose_variant(const HostProblem& problem, const Device& device,
                            const std::string& name);

/// The same without tuning. Does not read the matrices' memory.
DeviceChoice choose_by_model(const HostProblem& problem, const DeviceProperties& device);

/// Uploads the operands, computes, downloads C.
MatmulReport multiply_on_device(Device& device, const HostProblem& problem,
                                const DeviceChoice& choice);

}  // namespace tilescope::operations
