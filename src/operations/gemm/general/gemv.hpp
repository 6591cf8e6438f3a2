// Products with a vector: one row or one column of C.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

/// A product with a vector, whichever operand that is: y = M x with M's rows contiguous.
struct GemvProblem {
  std::int64_t rows = 0, length = 0;
  GemmOperand matrix;
  std::int64_t x_step = 1, x_stride = 0;  ///< between elements, between vectors of the batch
  std::int64_t y_step = 1;
  bool of_column = false;  ///< the elements of y belong to columns of C, not to rows
};
/// Nothing unless one operand is a vector and the other's rows lie along k.
std::optional<GemvProblem> as_gemv(const GemmProblem& problem);

/// Elements that the kernel may load at once from matrices and vectors that start at multiples of
/// `alignment` bytes: as many as 16 bytes hold where the rows' distance allows it.
int gemv_vector(const GemvProblem& problem, std::int64_t batch, std::uint64_t alignment);

/// Warps that share a row: 1, 2, 4 or 8.
int gemv_warps(const GemvProblem& problem);

/// The compilation for a problem that as_gemv() takes.
KernelRequest gemv_request(const GemmProblem& problem, int vector);

std::optional<std::string> gemv_refusal(const GemmProblem& problem, const DeviceProperties& device);
std::unique_ptr<GemmRun> prepare_gemv(Device& device, const GemmProblem& problem);

}  // namespace tilescope::operations
