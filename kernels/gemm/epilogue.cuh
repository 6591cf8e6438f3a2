// The epilogue, applied to a sum of products before it is stored:
//
//     C = activation(alpha * sum + beta * C + bias)
//
// one element at a time, whatever the shape of the tile that holds the sums. `Sum` is the type of
// the sums, float or double; what the compiler knows (no bias, beta 0, no activation) costs nothing.
#pragma once

#include "element.cuh"

// Where the bias of element (row, column) lies. The values of the constants are the host's.
enum BiasKind { no_bias = 0, bias_of_column = 1, bias_of_row = 2 };
enum ActivationKind { no_activation = 0, relu = 1, gelu = 2 };

// `bias` is not read where there is none.
template <int kind>
__device__ inline float bias_at(const float* bias, long long row, long long column) {
  if (kind == no_bias) return 0.0F;
  return bias[kind == bias_of_row ? row : column];
}

// x/2 (1 + erf(x / sqrt(2))), through erfc: 1 + erf(x) loses all digits where erf is close to -1.
__device__ inline float gelu_of(float x) { return 0.5F * x * erfcf(-0.70710678F * x); }
__device__ inline double gelu_of(double x) { return 0.5 * x * erfc(-0.70710678118654752 * x); }

template <int kind, typename Sum>
__device__ inline Sum activated(Sum x) {
  if constexpr (kind == relu) {
    return x < Sum(0) ? Sum(0) : x;  // false for NaN, which stays
  } else if constexpr (kind == gelu) {
    return gelu_of(x);
  } else {
    return x;
  }
}

__device__ inline float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double multiply_add(double a, double b, double c) { return fma(a, b, c); }
__device__ inline int multiply_add(int a, int b, int c) { return a * b + c; }

// The element's value in the type of the sums. `c` is the element of C as it was, or 0 where beta
// is 0: C may hold NaN then, and is not read.
template <int activation, typename Sum>
__device__ inline Sum epilogue(Sum sum, Sum alpha, Sum beta, Sum c, Sum bias) {
  return activated<activation>(multiply_add(alpha, sum, multiply_add(beta, c, bias)));
}

// The same for the element at `at`, read where READS_C and written.
template <bool reads_c, int activation, typename Sum, typename Element>
__device__ inline void store_with_epilogue(Element* at, Sum sum, Sum alpha, Sum beta, float bias) {
  const Sum c = reads_c ? static_cast<Sum>(widen(*at)) : Sum(0);
  *at = narrow<Element>(epilogue<activation>(sum, alpha, beta, c, static_cast<Sum>(bias)));
}
