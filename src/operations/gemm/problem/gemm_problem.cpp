#include "operations/gemm/problem/gemm_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tilescope::operations {

DataType operand_type(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return DataType::bfloat16;
    case Precision::fp16:
      return DataType::float16;
    case Precision::fp64:
      return DataType::float64;
    case Precision::fp8_e4m3:
      return DataType::float8_e4m3;
    case Precision::fp8_e5m2:
      return DataType::float8_e5m2;
    case Precision::int8:
      return DataType::int8;
    case Precision::automatic:
    case Precision::fp32:
    case Precision::fp32_fast:
    case Precision::tf32:
      return DataType::float32;
  }
  return DataType::float32;
}

bool has_float8_operands(Precision precision) {
  return is_float8(operand_type(precision));
}

DataType sum_type(Precision precision) {
  if (precision == Precision::int8) return DataType::int32;
  return precision == Precision::fp64 ? DataType::float64 : DataType::float32;
}

DataType usual_result_type(Precision precision) {
  if (has_float8_operands(precision)) return DataType::bfloat16;
  return precision == Precision::int8 ? DataType::int32 : operand_type(precision);
}

std::optional<std::string> type_refusal(const GemmProblem& problem) {
  const DataType type = operand_type(problem.precision);
  if (problem.a.type != type || problem.b.type != type) {
    return fmt::format("A and B must be {}", name_of(type));
  }
  if (problem.precision == Precision::int8 ? problem.c.type != DataType::int32
                                           : !is_floating(problem.c.type)) {
    return fmt::format("C is {}", name_of(problem.c.type));
  }
  return std::nullopt;
}

std::optional<std::string> extent_refusal(const GemmProblem& problem) {
  const MatmulShape& s = problem.shape;
  if (s.m == 0 || s.n == 0 || s.k == 0 || problem.batch == 0) return "there is nothing to multiply";
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - 4096;
  if (std::max({s.m, s.n, s.k}) > most) return fmt::format("extents beyond {}", most);
  if (problem.batch > most) return fmt::format("batches beyond {}", most);
  return std::nullopt;
}

std::optional<std::string> size_refusal(const GemmProblem& problem) {
  if (auto why = extent_refusal(problem)) return why;
  constexpr std::int64_t most_planes = 65535;
  if (problem.batch > most_planes) return fmt::format("batches beyond {}", most_planes);
  return std::nullopt;
}

std::optional<std::string> block_refusal(std::int64_t blocks) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (blocks > most) return fmt::format("more tiles than the {} blocks of a grid", most);
  return std::nullopt;
}

std::optional<std::string> wgmma_size_refusal(const GemmProblem& problem,
                                              const DeviceProperties& device) {
  if (problem.c.type == DataType::float64) return "C is float64";
  if (device.compute_major != 9) return "wgmma needs compute capability 9.0";
  return size_refusal(problem);
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
