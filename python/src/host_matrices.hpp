// Matrices and batches of them in host memory, as the library's views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tilescope/matmul.hpp>
#include <vector>

#include "tensor.hpp"

namespace tilescope::python {

/// A matrix, or a batch with three dimensions, as views of its memory.
struct MatrixLayout {
  ConstMatrixView first;
  std::int64_t count = 1;
  std::int64_t stride = 0;  ///< elements from matrix to matrix; 0 for one alone
};

/// How the library sees a tensor of two or three dimensions; nothing if its strides have no order
/// that the library knows, or if `is_result` and matrices may share memory.
std::optional<MatrixLayout> layout_of(const Tensor& tensor, bool is_result);

/// A single matrix beside a batch is multiplied with each of it.
ConstMatrixBatch batch_of(const MatrixLayout& layout, std::int64_t count);

/// The same of dense memory with the tensor's shape, the last index fastest.
MatrixLayout dense_layout(const Tensor& tensor, void* data);

/// Throws Python's TypeError unless the elements are floating-point numbers, ValueError unless it
/// has two or three dimensions.
void require_matrices(const Tensor& tensor);

/// An operand in host memory: where it lies, or a dense copy.
class HostOperand {
 public:
  explicit HostOperand(const Tensor& tensor);
  const MatrixLayout& layout() const { return layout_; }

 private:
  std::vector<std::byte> copy_;
  MatrixLayout layout_;
};

}  // namespace tilescope::python
