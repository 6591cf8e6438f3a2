// The arithmetic of matrix products on tiles, compiled for several instruction sets.
//
// Plain data and no inline functions of the standard library, for the reason that lane_key.hpp
// gives.
#pragma once

#include <cstdint>

namespace tilescope::emulator {

/// A binary floating point format, in the low bits of a word.
struct MatrixFormat {
  unsigned exponent_bits, fraction_bits;
  unsigned shift;     ///< position of the lowest bit: 13 for tf32 in a float's word
  bool has_infinity;  ///< else only all ones are NaN
};

/// Numbers as significand times power of two. Exponents of kInfiniteExponent and above mark what is
/// not finite; a sum of two exponents still shows it.
struct UnpackedNumbers {
  std::int32_t* magnitude;  ///< in units of the format's last place
  std::int32_t* exponent;   ///< of the significand's leading place
  std::int32_t* sign;       ///< 0 or -1
};
inline constexpr std::int32_t kInfiniteExponent = 1 << 12;
inline constexpr std::int32_t kNanExponent = 1 << 16;
/// The exponent of zero, so that a product with it is below every other number.
inline constexpr std::int32_t kZeroExponent = -512;

enum class SumFormat : std::uint8_t {
  f32,     ///< cut
  f32_13,  ///< cut to 13 bits behind the point
  f16,     ///< rounded to nearest even
};

/// sum = sum + A * B as a tensor core adds: the products of one step along k and the addend are
/// aligned to the largest exponent among them, cut to some bits behind its point, and added.
struct AlignedProducts {
  UnpackedNumbers a;  ///< rows x k
  UnpackedNumbers b;  ///< many rows x columns
  /// By row and k: the row of B that A's element meets.
  const std::uint16_t* meets;
  std::uint32_t* sum;  ///< rows x columns, floats or f16 bits
  unsigned rows, k, columns;
  unsigned step;      ///< elements along k that are added at once
  int fraction_bits;  ///< kept behind the point of the largest
  int product_bits;   ///< behind the point of a product: those of A and B together
  SumFormat format;
};

/// The same in integers: wrapping, or saturated at the end.
struct IntegerProducts {
  const std::int32_t* a;
  const std::int32_t* b;
  const std::uint16_t* meets;
  std::uint32_t* sum;
  unsigned rows, k, columns;
  enum class Kind : std::uint8_t { multiply, and_bits, xor_bits } kind;
  bool saturate;
};

/// sum = sum + A * B in doubles, one fused operation after the other along k.
struct DoubleProducts {
  const double* a;  ///< rows x k
  const double* b;  ///< k x columns, of which there are 8
  double* sum;      ///< rows x columns
  unsigned rows, k;
};

struct MatrixKernels {
  void (*unpack)(const std::uint32_t* words, unsigned count, const MatrixFormat& format,
                 const UnpackedNumbers& to);
  void (*add_aligned)(const AlignedProducts& products);
  void (*add_integers)(const IntegerProducts& products);
  void (*add_doubles)(const DoubleProducts& products);
};

}  // namespace tilescope::emulator
