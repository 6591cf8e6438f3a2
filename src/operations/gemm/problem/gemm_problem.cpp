#include "operations/gemm/problem/gemm_problem.hpp"

namespace tilescope::operations {

DataType operand_type(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return DataType::bfloat16;
    case Precision::fp16:
      return DataType::float16;
    case Precision::fp64:
      return DataType::float64;
    case Precision::automatic:
    case Precision::fp32:
    case Precision::fp32_fast:
    case Precision::tf32:
      return DataType::float32;
  }
  return DataType::float32;
}

GemmProblem dense_problem(const MatmulShape& shape, Precision precision, DataType type,
                          DataType c_type, Order a_order, Order b_order) {
  const auto operand = [](DataType element, Order order, std::int64_t rows, std::int64_t columns) {
    return GemmOperand{.type = element,
                       .order = order,
                       .leading = order == Order::row_major ? columns : rows,
                       .batch_stride = rows * columns};
  };
  return {.shape = shape,
          .precision = precision,
          .a = operand(type, a_order, shape.m, shape.k),
          .b = operand(type, b_order, shape.k, shape.n),
          .c = operand(c_type, Order::row_major, shape.m, shape.n)};
}

}  // namespace tilescope::operations
