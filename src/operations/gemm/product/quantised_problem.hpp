// Operands of a product in 8-bit floats, made from wider ones in host memory.
#pragma once

#include "operations/gemm/problem/host_problem.hpp"
#include "operations/numerics/host_array.hpp"

namespace tilescope::operations {

/// A product whose operands have the type that its precision multiplies, if that is an 8-bit float.
/// An operand of another type is divided by the least power of two that brings its largest finite
/// element into the type's range, and rounded to nearest; alpha is multiplied by that power.
/// Infinity becomes NaN in e4m3. Other problems stay as they are.
class QuantisedProblem {
 public:
  /// Throws Error(usage) if the new alpha is no float32 or 0.
  explicit QuantisedProblem(const HostProblem& problem);

  const HostProblem& problem() const { return problem_; }
  double scale_a() const { return a_.scale; }
  double scale_b() const { return b_.scale; }

 private:
  struct Operand {
    HostArray elements;
    double scale = 1.0;
  };
  static Operand quantise(ConstMatrixBatch& batch, DataType type);

  HostProblem problem_;
  Operand a_, b_;
};

/// Throws Error(usage) for operands that would have to be scaled, which only matmul() in host
/// memory does.
void require_quantised(const HostProblem& problem);

/// Throws Error(usage) for operands of 8 bits, which only one device multiplies.
void require_for_several(const HostProblem& problem);

}  // namespace tilescope::operations
