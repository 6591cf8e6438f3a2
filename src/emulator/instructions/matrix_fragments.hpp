// The common part of the decoders of matrix instructions.
#pragma once

#include <cstdint>

#include "emulator/decoder.hpp"

namespace tilescope::emulator {

/// The layout of a matrix in the registers of a warp.
enum class FragmentLayout : std::uint8_t {
  mma_a,  ///< as mma defines it for A: rows by lane / 4, 4 lanes along k
  mma_b,  ///< as mma defines it for B
  mma_c,  ///< as mma defines it for C and D
  // wmma leaves the layout open. In this one each lane holds as many successive elements as it has
  // room for, in the order of rows, or of columns for B (so that narrow elements keep their memory
  // order).
  by_rows,
  by_columns,
};

/// A matrix of `rows` x `columns` elements of `type` in the registers list[0 .. registers).
struct Fragment {
  const std::uint32_t* list;
  unsigned registers;
  unsigned per_register;  ///< elements in each
  ptx::Type type;
  FragmentLayout layout;
  unsigned rows, columns;

  struct Position {
    unsigned row, column;
  };
  /// The position of element e in register r of a lane.
  Position position(unsigned lane, unsigned r, unsigned e) const;
};

/// Elements of `type` in one register of a fragment.
unsigned elements_per_register(ptx::Type type);

/// D = A * B + C. Integer types in 32 bits (wrapping, or saturated), f64 with one fused operation
/// after the other along k, all others in double, rounded once into D's type. A chip rounds or
/// truncates intermediate sums, in an unspecified order.
struct Product {
  Fragment d, a, b, c;
  bool saturate;
  bool bits_and;  ///< one-bit types: and instead of xor
};
void multiply(Context& w, const Product& product);

/// The raw bits of element e of a register's lane.
std::uint64_t fragment_element(Context& w, const Fragment& fragment, unsigned lane, unsigned r,
                               unsigned e);
void set_fragment_element(Context& w, const Fragment& fragment, unsigned lane, unsigned r,
                          unsigned e, std::uint64_t bits);

}  // namespace tilescope::emulator
