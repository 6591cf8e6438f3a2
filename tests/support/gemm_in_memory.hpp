// Products of operands in a device's memory, for a random problem.
#pragma once

#include <tilescope/gemm.hpp>
#include <vector>

#include "support/public_gemm.hpp"

namespace tilescope::testing {

/// The operands of a case in a device's memory, guards included, and the views of a public call.
class GemmInMemory {
 public:
  GemmInMemory(Device& device, const GemmCase& of)
      : device_(device),
        of_(of),
        a_(uploaded(of.a)),
        b_(uploaded(of.b)),
        c_(uploaded(of.c)),
        bias_(device.allocate(of.bias.size() * sizeof(float), "bias")) {
    device.copy_to_device(bias_.address(), of.bias.data(), of.bias.size() * sizeof(float));
    const GemmProblem& p = of.problem;
    a = {view(of.a, a_), p.batch, p.a.batch_stride};
    b = {view(of.b, b_), p.batch, p.b.batch_stride};
    c = {{view(of.c, c_)}, p.batch, p.c.batch_stride};
    // A bias for each row is one for each column of the transposed product.
    if (p.bias_per_row) {
      std::swap(a, b);
      a = flipped(a);
      b = flipped(b);
      c = flipped(c);
    }
    options = {.precision = p.precision,
               .alpha = p.alpha,
               .beta = p.beta,
               .bias = {reinterpret_cast<const float*>(bias_.address()), of.bias.size()},
               .activation = p.activation};
  }

  /// C with the bytes around it.
  GemmMatrices result() const {
    GemmMatrices result = of_.c;
    device_.synchronize();
    device_.copy_to_host(result.image().data(), c_.address(), result.image().size());
    return result;
  }
  /// C as it was before the product.
  void reset() { device_.copy_to_device(c_.address(), of_.c.image().data(), c_.bytes()); }

  ConstMatrixBatch a, b;
  MatrixBatch c;
  MatmulOptions options;

 private:
  Buffer uploaded(const GemmMatrices& m) {
    Buffer buffer = device_.allocate(m.image().size(), "an operand");
    device_.copy_to_device(buffer.address(), m.image().data(), m.image().size());
    return buffer;
  }
  static ConstMatrixView view(const GemmMatrices& m, const Buffer& buffer) {
    return {.data = reinterpret_cast<const void*>(buffer.address() + m.first()),
            .type = m.operand().type,
            .rows = m.rows(),
            .columns = m.columns(),
            .order = m.operand().order,
            .leading = m.operand().leading};
  }

  Device& device_;
  const GemmCase& of_;
  Buffer a_, b_, c_, bias_;
};

}  // namespace tilescope::testing
