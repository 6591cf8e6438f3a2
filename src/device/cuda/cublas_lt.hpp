// cublasLt as a baseline, opened at run time: for one product, every algorithm that its heuristics
// propose, so that the comparison is with its best and not only its first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/matmul.hpp>
#include <tilescope/matrix.hpp>

namespace tilescope::device {

/// The memory order of one operand: element (i, j) of matrix b of the batch at b * batch_stride + i
/// * leading + j (row-major) or + i + j * leading (column-major).
struct LtOperand {
  DataType type = DataType::float32;  ///< a floating-point type, or int8 and, of C, int32
  Order order = Order::row_major;
  std::int64_t leading = 0;
  std::int64_t batch_stride = 0;
};

/// C = alpha * A * B + beta * C, A being m x k, B k x n, C m x n.
struct LtProduct {
  MatmulShape shape;
  std::int64_t batch = 1;
  /// fp64: sums in float64. tf32: float32 operands may be cut to TF32. All others: sums in float32
  /// of the unchanged operands; for float32 operands in IEEE arithmetic. int8: sums in int32. With
  /// operands of 8 bits A is row-major and B column-major.
  Precision precision = Precision::fp32;
  LtOperand a, b, c;
  double alpha = 1.0, beta = 0.0;
  bool promotes_sums = true;  ///< of 8-bit floats; false: "fast accumulation"
};

class CublasLt {
 public:
  /// The reason if cublasLt cannot be used on this machine; empty if it can.
  static std::string missing();

  /// Finds the algorithms that compute `product` on `device`, which must be a CUDA device and
  /// outlive this object. Throws Error(no_device) if cublasLt cannot be used or has none, and
  /// Error(usage) for a column-major C or an operand that is no floating-point matrix.
  CublasLt(Device& device, const LtProduct& product);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  /// The number of algorithms: at least 1, best first by cublasLt's own estimate. Its default call
  /// takes the first.
  int algorithms() const;

  /// Queues one run of algorithm `index`. The addresses are multiples of 256 bytes, as allocate()
  /// returns them. Runs share a workspace: those that may overlap need an object each. Throws
  /// Error(no_device) when the algorithm refuses to run.
  void run(int index, DeviceAddress a, DeviceAddress b, DeviceAddress c,
           const Stream& stream = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope::device
