#include "base/half.hpp"

#include <bit>
#include <cstddef>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include "base/errors.hpp"
#endif

namespace tilescope {
namespace {

constexpr std::uint32_t float32_infinity = 0x7f800000u;

void check_sizes(std::size_t from, std::size_t to) {
  if (from == to) return;
  throw usage_error("cannot convert {} elements into {}: sizes must be equal", from, to);
}

// `value` as a float32 whose last bit is set whenever digits were lost ("round to odd"). A float32
// has more than two bits beyond a 16-bit format, so rounding this once more is as good as
// rounding `value` itself.
float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  const bool exact = static_cast<double>(nearest) == value || value != value;
  if (exact || (bits & 1u) != 0) return nearest;
  const double magnitude = value < 0 ? -value : value;
  const double nearest_magnitude = nearest < 0 ? -static_cast<double>(nearest) : nearest;
  return std::bit_cast<float>(nearest_magnitude < magnitude ? bits + 1 : bits - 1);
}

// The vector loops process as many elements as fill whole vectors and return that number.
#if defined(__x86_64__)
bool has_half_instructions() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    // avx also means that the operating system saves the wide registers.
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 &&
           __builtin_cpu_supports("avx") != 0;
  }();
  return has;
}

__attribute__((target("avx,f16c"))) std::size_t widen_vectors(const std::uint16_t* from, float* to,
                                                              std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
  return i;
}

__attribute__((target("avx,f16c"))) std::size_t narrow_vectors(const float* from, std::uint16_t* to,
                                                               std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
  }
  return i;
}
#else
bool has_half_instructions() {
  return false;
}
std::size_t widen_vectors(const std::uint16_t*, float*, std::size_t) {
  return 0;
}
std::size_t narrow_vectors(const float*, std::uint16_t*, std::size_t) {
  return 0;
}
#endif

}  // namespace

float float16_to_float32(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  std::uint32_t magnitude = 0;
  if (exponent == 0x1f) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    magnitude = float32_infinity | quiet | (mantissa << 13);
  } else if (exponent == 0) {
    // Zero or subnormal: the mantissa counts units of 2^-24, all of them normal as float32.
    magnitude = std::bit_cast<std::uint32_t>(static_cast<float>(mantissa) * 0x1p-24f);
  } else {
    magnitude = ((exponent + 127 - 15) << 23) | (mantissa << 13);
  }
  return std::bit_cast<float>(sign | magnitude);
}

std::uint16_t float32_to_float16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const auto with_sign = [sign](std::uint32_t rest) {
    return static_cast<std::uint16_t>(sign | rest);
  };
  if (magnitude > float32_infinity) return with_sign(0x7e00u | ((magnitude >> 13) & 0x3ffu));
  constexpr std::uint32_t overflow = 0x477ff000u;  // 65,520: halfway between 65,504 and 2^16
  if (magnitude >= overflow) return with_sign(0x7c00u);
  constexpr std::uint32_t smallest_normal = 0x38800000u;  // 2^-14
  if (magnitude >= smallest_normal) {
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return with_sign((rounded - ((127u - 15u) << 23)) >> 13);
  }
  constexpr std::uint32_t half_of_smallest = 0x33000000u;  // 2^-25, a tie that goes to zero
  if (magnitude <= half_of_smallest) return with_sign(0);
  // Subnormal: shift the 24-bit significand to units of 2^-24. A carry makes the smallest normal.
  const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
  const std::uint32_t shift = 126u - (magnitude >> 23);
  const std::uint32_t lost = significand & ((1u << shift) - 1u);
  const std::uint32_t tie = 1u << (shift - 1);
  std::uint32_t units = significand >> shift;
  if (lost > tie || (lost == tie && (units & 1u) != 0)) ++units;
  return with_sign(units);
}

float bfloat16_to_float32(std::uint16_t bits) {
  std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  if ((wide & 0x7fffffffu) > float32_infinity) wide |= 0x400000u;
  return std::bit_cast<float>(wide);
}

std::uint16_t float32_to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const bool nan = (bits & 0x7fffffffu) > float32_infinity;
  const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<std::uint16_t>((nan ? bits | 0x400000u : rounded) >> 16);
}

std::uint16_t float64_to_float16(double value) {
  return float32_to_float16(round_to_odd(value));
}

std::uint16_t float64_to_bfloat16(double value) {
  return float32_to_bfloat16(round_to_odd(value));
}

void float16_to_float32(std::span<const std::uint16_t> from, std::span<float> to) {
  check_sizes(from.size(), to.size());
  std::size_t i = 0;
  if (has_half_instructions()) i = widen_vectors(from.data(), to.data(), from.size());
  for (; i < from.size(); ++i) to[i] = float16_to_float32(from[i]);
}

void float32_to_float16(std::span<const float> from, std::span<std::uint16_t> to) {
  check_sizes(from.size(), to.size());
  std::size_t i = 0;
  if (has_half_instructions()) i = narrow_vectors(from.data(), to.data(), from.size());
  for (; i < from.size(); ++i) to[i] = float32_to_float16(from[i]);
}

// The next two have no branches left when inlined; the compiler vectorises them.
void bfloat16_to_float32(std::span<const std::uint16_t> from, std::span<float> to) {
  check_sizes(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = bfloat16_to_float32(from[i]);
}

void float32_to_bfloat16(std::span<const float> from, std::span<std::uint16_t> to) {
  check_sizes(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = float32_to_bfloat16(from[i]);
}

}  // namespace tilescope
