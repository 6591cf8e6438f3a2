// The common part of products of matrices in host memory and in device memory: the checks of a
// call, and the rungs of the ladder that it may take.
#pragma once

#include <string>
#include <tilescope/matmul.hpp>

#include "operations/gemm/dispatch/dispatch.hpp"
#include "operations/gemm/problem/host_problem.hpp"
#include "operations/matmul/matmul_variants.hpp"

namespace tilescope::operations {

/// The problem of a public call. Throws Error(usage) for arguments that do not fit each other or
/// the device.
HostProblem checked_problem(const Device& device, const ConstMatrixBatch& a,
                            const ConstMatrixBatch& b, const MatrixBatch& c,
                            const MatmulOptions& options);

/// The same, wherever the matrices lie: C may share memory with A or B.
HostProblem checked_anywhere(const Device& device, const ConstMatrixBatch& a,
                             const ConstMatrixBatch& b, const MatrixBatch& c,
                             const MatmulOptions& options);

/// Whether C has elements and k is at least 1.
bool has_products(const HostProblem& problem);

/// Whether `name` is a rung of the ladder and not a kernel of the GEMM table.
bool names_rung(const std::string& name);

/// The rung called `name`. Throws Error(usage) with the reason if it cannot compute the problem.
const MatmulVariant& rung_for(const HostProblem& problem, const Device& device,
                              const std::string& name);

/// The rung to take instead of the table's choice, if it is faster: `general` is slower than the
/// ladder's best, but takes everything. Else null.
const MatmulVariant* faster_rung(const HostProblem& problem, const Device& device,
                                 const GemmChoice& choice);

}  // namespace tilescope::operations
