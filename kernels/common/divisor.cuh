// A divisor that the host knows: a division by it is one multiplication.
#pragma once

/// `inverse` and `shift` as divisor_of() of operations/rung/kernel_plan.hpp gives them.
struct Divisor {
  unsigned inverse, shift;

  /// The quotient of an `i` of less than 31 bits.
  __device__ unsigned quotient(unsigned i) const { return __umulhi(2 * i, inverse) >> shift; }
};
