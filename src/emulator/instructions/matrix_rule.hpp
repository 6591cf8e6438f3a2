// How the tensor cores of a GPU add up products, by its compute capability.
//
// A step of products along k is exact, aligned to the largest exponent among its products and the
// addend, cut, and added (matrix_kernels.hpp). What differs is how long a step is and how many bits
// are kept. Some shapes have no hardware; the assembler composes them of others, or of ordinary
// instructions, and so does this.
#pragma once

#include "emulator/matrix_kernels.hpp"
#include "ptx/ptx_types.hpp"

namespace tilescope::emulator {

enum class MatrixUnit : std::uint8_t { mma, sparse_mma, wmma, wgmma, sparse_wgmma };

struct MatrixRule {
  enum class Kind : std::uint8_t {
    aligned,
    integers,
    doubles,   ///< one fused operation after the other along k
    chain,     ///< float32: one fused operation after the other along k, then the addend
    chains_2,  ///< float32: two of k and the addend, then two of k
  } kind = Kind::aligned;
  unsigned step = 16;  ///< elements along k, of those that a sparse A keeps
  int fraction_bits = 25;
  SumFormat format = SumFormat::f32;
  bool addend_last = false;  ///< the products add up from zero; the addend follows in IEEE 754
  bool through_f16 = false;  ///< 8-bit operands become f16
  /// The first two of every four elements along k belong to the first half of steps.
  bool pairs_apart = false;
};

/// `capability`: 10 times major plus minor. `k`: elements along k that are multiplied.
MatrixRule matrix_rule(unsigned capability, MatrixUnit unit, ptx::Type a, ptx::Type c, ptx::Type d,
                       unsigned k);

}  // namespace tilescope::emulator
