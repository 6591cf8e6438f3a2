#include "operations/gemm/problem/accuracy.hpp"

#include <bit>
#include <cmath>

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
    case Precision::automatic:
    case Precision::fp32:
    case Precision::fp32_fast:
      return 0x1p-24;
  }
  return 0x1p-24;
}

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
  const double sum = (static_cast<double>(k) + 2.0) * sum_roundoff(precision) * magnitude;
  const std::size_t sum_bytes = precision == Precision::fp64 ? sizeof(double) : sizeof(float);
  if (size_of(c_type) >= sum_bytes) return sum;
  const Rounding last = rounding(c_type);
  return sum + last.relative * (std::abs(value) + sum) + last.absolute;
}

double peer_slack(Precision precision) {
  return precision == Precision::tf32 ? 0x1.01p-9 : 0.0;
}

}  // namespace tilescope::operations
