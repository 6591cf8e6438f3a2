#include "operations/gemm/problem/accuracy.hpp"

#include <bit>
#include <cmath>

#include "operations/gemm/problem/gemm_problem.hpp"
#include "operations/numerics/host_array.hpp"

namespace tilescope::operations {
namespace {

// The largest relative error of one addition. Tensor cores cut the bits that do not fit where FMA
// units round to nearest: twice the error. In fp64 the reference itself, a sum in float64, has as
// large an error as the result.
double sum_roundoff(Precision precision) {
  switch (precision) {
    case Precision::bf16:
    case Precision::fp16:
    case Precision::tf32:
      return 0x1p-23;
    case Precision::fp64:
      return 0x1p-52;
    case Precision::int8:
      return 0.0;
    case Precision::fp8_e4m3:
    case Precision::fp8_e5m2:
    case Precision::automatic:
    case Precision::fp32:
    case Precision::fp32_fast:
      return 0x1p-24;
  }
  return 0x1p-24;
}

// The error of sums of 8-bit floats on tensor cores, relative to the sum of |a||b|. Of each 32
// products and the sum before them bits below 2^-13 of the largest are cut, and so are those of the
// new sum: at most 34 * 2^-13. Four such steps follow each other before a sum is promoted, and each
// group of 128 products has its own share, so that the error does not grow with k.
constexpr double float8_share = 4.0 * 34.0 * 0x1p-13;

// Rounding a sum to a narrower type, to nearest: relative to a normal number, and half of the least
// subnormal one.
struct Rounding {
  double relative = 0.0, absolute = 0.0;
};
Rounding rounding(DataType type) {
  switch (type) {
    case DataType::float16:
      return {0x1p-11, 0x1p-25};
    case DataType::bfloat16:
      return {0x1p-8, 0x1p-134};
    default:
      return {0x1p-24, 0x1p-150};
  }
}

}  // namespace

void widen_operand(const ConstArrayView& operand, Precision precision, std::size_t first,
                   std::span<double> values) {
  widen(operand, first, values);
  if (precision != Precision::tf32) return;
  constexpr std::uint32_t kept_bits = 0xFFFFE000U;  // sign, exponent, 10 bits of the mantissa
  for (double& value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    value = static_cast<double>(std::bit_cast<float>(bits & kept_bits));
  }
}

double product_bound(Precision precision, DataType c_type, std::int64_t k, double value,
                     double magnitude) {
  const double cut = has_float8_operands(precision) ? float8_share : 0.0;
  const double sum = (cut + (static_cast<double>(k) + 2.0) * sum_roundoff(precision)) * magnitude;
  if (size_of(c_type) >= size_of(sum_type(precision))) return sum;
  const Rounding last = rounding(c_type);
  return sum + last.relative * (std::abs(value) + sum) + last.absolute;
}

double result_roundoff(DataType c_type, double value) {
  if (size_of(c_type) >= sizeof(float)) return 0.0;
  const Rounding last = rounding(c_type);
  return last.relative * std::abs(value) + last.absolute;
}

double peer_slack(Precision precision) {
  if (has_float8_operands(precision)) return float8_share;
  return precision == Precision::tf32 ? 0x1.01p-9 : 0.0;
}

}  // namespace tilescope::operations
