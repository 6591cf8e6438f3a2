// 16-bit floating-point numbers, as bits, to and from the types that the CPU computes in.
//
// Widening is exact. Narrowing rounds to nearest, ties to even, with subnormals, and overflows to
// infinity as IEEE 754 says. A NaN stays a NaN of the same sign that keeps the upper bits of its
// payload; a signalling NaN becomes quiet, which is what the hardware instructions do.
#pragma once

#include <cstdint>
#include <span>

namespace tilescope {

float float16_to_float32(std::uint16_t bits);
std::uint16_t float32_to_float16(float value);
float bfloat16_to_float32(std::uint16_t bits);
std::uint16_t float32_to_bfloat16(float value);

/// Rounded once: going through float32 would round twice and miss by one unit near ties.
std::uint16_t float64_to_float16(double value);
std::uint16_t float64_to_bfloat16(double value);

/// Converts whole arrays, element by element with the results of the functions above, at the speed
/// of memory. `to` must have the size of `from` (else Error(usage)); they must not overlap.
void float16_to_float32(std::span<const std::uint16_t> from, std::span<float> to);
void float32_to_float16(std::span<const float> from, std::span<std::uint16_t> to);
void bfloat16_to_float32(std::span<const std::uint16_t> from, std::span<float> to);
void float32_to_bfloat16(std::span<const float> from, std::span<std::uint16_t> to);

}  // namespace tilescope
