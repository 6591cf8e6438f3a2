// The element types of A, B and C under the names that the host has for them: how each is widened
// for arithmetic, and how a result is rounded to it.
//
// The 16-bit types are bits in a structure, so that no arithmetic happens in them by accident and
// no header of the toolkit is needed, which may not be there at run time.
#pragma once

struct float16 {
  unsigned short bits;
};
struct bfloat16 {
  unsigned short bits;
};
using float32 = float;
using float64 = double;
using int8 = signed char;
using int32 = int;

// Floats of 8 bits: 4 of exponent and 3 of mantissa, whose largest value is 448 and which has no
// infinity; 5 and 2, as in IEEE 754.
struct float8_e4m3fn {
  unsigned char bits;
};
struct float8_e5m2 {
  unsigned char bits;
};

// Widening is exact.
__device__ inline float widen(float16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
}
__device__ inline float widen(bfloat16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}
__device__ inline float widen(float x) { return x; }
__device__ inline double widen(double x) { return x; }
__device__ inline int widen(signed char x) { return x; }
__device__ inline int widen(int x) { return x; }
// It is the upper half of a float16.
__device__ inline float widen(float8_e5m2 x) {
  return widen(float16{static_cast<unsigned short>(x.bits << 8)});
}
// Moved to where a float16 has its exponent and mantissa, whose exponent's bias is greater by 8.
__device__ inline float widen(float8_e4m3fn x) {
  if ((x.bits & 0x7F) == 0x7F) return __uint_as_float(0x7FFFFFFFU);
  const unsigned moved = (x.bits & 0x80U) << 8 | (x.bits & 0x7FU) << 7;
  return 256.0F * widen(float16{static_cast<unsigned short>(moved)});
}

// narrow<To>(x): x rounded to the nearest To, ties to even, once; NaN stays NaN, overflow is
// infinity.
template <typename To>
struct Narrow;

template <>
struct Narrow<double> {
  __device__ static double from(double x) { return x; }
};

template <>
struct Narrow<int> {
  __device__ static int from(int x) { return x; }
};

template <>
struct Narrow<float> {
  __device__ static float from(float x) { return x; }
  __device__ static float from(double x) { return static_cast<float>(x); }
};

// Rounded to odd: cut, but with the last bit set if anything was cut off. It cannot be taken for a
// tie afterwards, so rounding it to a type of 22 bits or fewer gives what rounding x gives.
__device__ inline float rounded_to_odd(double x) {
  const float cut = __double2float_rz(x);
  return static_cast<double>(cut) == x ? cut : __uint_as_float(__float_as_uint(cut) | 1U);
}

template <>
struct Narrow<float16> {
  __device__ static float16 from(float x) {
    float16 narrow;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
    return narrow;
  }
  __device__ static float16 from(double x) { return from(rounded_to_odd(x)); }
};

template <>
struct Narrow<bfloat16> {
  __device__ static bfloat16 from(float x) {
    bfloat16 narrow;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
#else
    // Half a unit of the upper half, less one if that is even. A NaN's payload might carry into
    // infinity: it gets a bit that stays.
    const unsigned bits = __float_as_uint(x);
    const unsigned rounded = bits + 0x7FFFU + (bits >> 16 & 1U);
    narrow.bits = static_cast<unsigned short>((x != x ? bits | 0x400000U : rounded) >> 16);
#endif
    return narrow;
  }
  __device__ static bfloat16 from(double x) { return from(rounded_to_odd(x)); }
};

template <typename To, typename From>
__device__ inline To narrow(From x) {
  return Narrow<To>::from(x);
}

// An element in another type, rounded once; in its own type as it is.
template <typename To, typename From>
struct Converted {
  __device__ static To from(From x) { return narrow<To>(widen(x)); }
};
template <typename Same>
struct Converted<Same, Same> {
  __device__ static Same from(Same x) { return x; }
};

// operand<kind>(x): x as the arithmetic of a precision takes it, widened to the type of its sums.
// The values of the constants are the host's.
enum OperandKind {
  as_float64 = 0,
  as_float32 = 1,
  as_tf32 = 2,  // a float32 without its lower 13 bits
  as_bfloat16 = 3,
  as_float16 = 4,
  as_int32 = 5,  // whole numbers, exactly
};

template <int kind>
struct Operand {
  template <typename From>
  __device__ static float of(From x) {
    const float single = narrow<float>(widen(x));
    if (kind != as_tf32 || single != single) return single;
    return __uint_as_float(__float_as_uint(single) & 0xFFFFE000U);
  }
};

// Rounding a value to its own type leaves it as it is.
template <>
struct Operand<as_bfloat16> {
  __device__ static float of(bfloat16 x) { return widen(x); }
  template <typename From>
  __device__ static float of(From x) {
    return widen(narrow<bfloat16>(widen(x)));
  }
};
template <>
struct Operand<as_float16> {
  __device__ static float of(float16 x) { return widen(x); }
  template <typename From>
  __device__ static float of(From x) {
    return widen(narrow<float16>(widen(x)));
  }
};

template <>
struct Operand<as_float64> {
  template <typename From>
  __device__ static double of(From x) {
    return widen(x);
  }
};

template <>
struct Operand<as_int32> {
  template <typename From>
  __device__ static int of(From x) {
    return widen(x);
  }
};

template <int kind, typename From>
__device__ inline auto operand(From x) {
  return Operand<kind>::of(x);
}
