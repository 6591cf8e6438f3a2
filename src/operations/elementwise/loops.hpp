// The CPU form and the verification of element-by-element operations.
#pragma once

#include <memory>

#include "operations/numerics/chunks.hpp"
#include "operations/numerics/expected.hpp"

namespace tilescope::operations {

/// Calls body(T{}) with T = float or double, according to `type`.
template <typename Body>
void with_real(DataType type, const Body& body) {
  if (type == DataType::float64) {
    body(double{});
  } else {
    body(float{});
  }
}

/// output[i] = f(i) for every element, on all cores.
template <typename T, typename F>
void compute_each(void* output, std::size_t count, const F& f) {
  T* const out = static_cast<T*>(output);
  for_chunks(count, [=](std::size_t first, std::size_t end) {
    // A local copy, which no store to `out` can change, lets the compiler vectorise.
    const F compute = f;
    for (std::size_t i = first; i < end; ++i) out[i] = compute(i);
  });
}

/// Unit roundoff of a floating-point type, and its smallest positive number.
template <typename T>
struct Rounding;
template <>
struct Rounding<float> {
  static constexpr double unit = 0x1p-24, least = 0x1p-149;
};
template <>
struct Rounding<double> {
  static constexpr double unit = 0x1p-53, least = 0x1p-1074;
};

/// An answer computed from up to two inputs of type T: `f(x, y, value, bound)` for each element, in
/// double. Where T is double, `bound` must allow for the rounding of the value too.
template <typename T, typename F>
std::unique_ptr<Expected> expect_each(const ConstArrayView& a, const ConstArrayView& b, F f) {
  const T* const x = static_cast<const T*>(a.data);
  const T* const y = static_cast<const T*>(b.data);
  return std::make_unique<ComputedExpected>(
      a.count, [=](std::size_t first, std::span<double> values, std::span<double> bounds) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          f(static_cast<double>(x[first + i]), static_cast<double>(y[first + i]), values[i],
            bounds[i]);
        }
      });
}

}  // namespace tilescope::operations
