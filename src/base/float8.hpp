// 8-bit floating-point numbers, as bits, to and from the types that the CPU computes in.
//
// Widening is exact. Narrowing rounds once, to nearest, ties to even, with subnormals. A value
// beyond the largest becomes infinity in e5m2 and NaN in e4m3, which has no infinity, as in
// PyTorch. NaN stays NaN.
#pragma once

#include <cstdint>

namespace tilescope {

float e4m3_to_float32(std::uint8_t bits);
std::uint8_t float64_to_e4m3(double value);
float e5m2_to_float32(std::uint8_t bits);
std::uint8_t float64_to_e5m2(double value);

}  // namespace tilescope
