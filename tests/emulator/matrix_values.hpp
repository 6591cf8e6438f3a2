// Numbers that try the arithmetic of tensor cores: wide exponents, cancellation, special values.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tilescope::testing {

/// SplitMix64: the same numbers on every machine.
class MatrixRandom {
 public:
  explicit MatrixRandom(std::string_view seed) {
    for (const char c : seed) {
      state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u + 1;
    }
  }
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// Uniform in [0, bound).
  unsigned below(unsigned bound) { return static_cast<unsigned>((next() >> 32) * bound >> 32); }
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<unsigned>(high - low + 1)));
  }

 private:
  std::uint64_t state_ = 0;
};

enum class MatrixRegime {
  narrow,     ///< magnitudes from 1/256 to 2
  spread,     ///< exponents within 12 of that of 1
  wide,       ///< any finite number
  cancel,     ///< few magnitudes with any sign
  powers,     ///< significands of few bits, so that cuts show
  negative,   ///< negative products
  addend,     ///< C above the products
  zeros,      ///< every other number is zero
  subnormal,  ///< lowest exponents
  large,      ///< highest exponents
  special,    ///< NaN, infinity, zero, subnormal and largest numbers among narrow ones
  count
};

enum class MatrixRole { a, b, c };

/// Fills words with packed elements of a PTX type: f16, bf16, tf32, f32, f64, e4m3, e5m2, or any
/// bits for the integer types.
void fill_matrix_values(std::span<std::uint32_t> words, std::string_view type, MatrixRole role,
                        MatrixRegime regime, MatrixRandom& random);

/// A number that stands for the words (64-bit FNV-1a).
std::uint64_t matrix_hash(std::span<const std::uint32_t> words);

}  // namespace tilescope::testing
