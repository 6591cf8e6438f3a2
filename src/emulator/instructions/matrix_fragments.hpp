// Matrices in the registers of a warp: which element is where, and the decoding of their operands.
#pragma once

#include <cstdint>

#include "emulator/decoder.hpp"
#include "emulator/instructions/matrix_product.hpp"

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
  // m8n8k4 of f16: four products at once, one by the lanes 4q to 4q+3 and 16+4q to 16+4q+3 each,
  // whose matrices stand below each other.
  quad_rows,       ///< a lane holds a row: A by rows, C and D of f16
  quad_a_columns,  ///< a lane holds a column of A
  quad_b_rows,
  quad_b_columns,
  quad_sums,  ///< C and D of f32
};

/// A matrix of `rows` x `columns` elements of `type`, so many in each register.
struct Fragment {
  unsigned per_register;
  ptx::Type type;
  FragmentLayout layout;
  unsigned rows, columns;

  struct Position {
    unsigned row, column;
  };
  /// The position of element e in register r of `registers` of a lane.
  Position position(unsigned lane, unsigned r, unsigned e, unsigned registers) const;
};

/// Elements of `type` in one register of a fragment.
unsigned elements_per_register(ptx::Type type);

/// Appends the registers of an operand; false if one has the wrong width.
bool add_registers(FunctionDecoder& d, const ptx::Operand& operand, ptx::Type type,
                   bool destination, std::vector<std::uint32_t>& list);

/// The raw bits of element e of a register's lane, for at most 64 bits.
std::uint64_t fragment_element(Context& w, const Fragment& fragment, std::uint32_t reg,
                               unsigned lane, unsigned e);
void set_fragment_element(Context& w, const Fragment& fragment, std::uint32_t reg, unsigned lane,
                          unsigned e, std::uint64_t bits);

/// The four operands d, a, b, c of a product: their layouts, by mma's rules or wmma's.
struct ProductOperands {
  FragmentLayout d, a, b, c;
  bool exact;        ///< registers hold the matrix once; else they may hold it several times
  unsigned m, n, k;  ///< of the instruction
  unsigned kept;     ///< elements in a row of A: k, or half of it
};

/// Fills a plan but for kernels and rule. False if the registers do not fit.
bool set_fragments(FunctionDecoder& d, const ptx::Instruction& in, const ProductOperands& operands,
                   MatrixPlan& plan);
/// The same for A alone, in mma's layout.
bool set_left_fragment(FunctionDecoder& d, const ptx::Operand& operand, MatrixPlan& plan);

}  // namespace tilescope::emulator
