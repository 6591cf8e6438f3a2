// The common part of the products of one warp: mma and wmma.
#pragma once

#include "emulator/instructions/matrix_fragments.hpp"

namespace tilescope::emulator {

/// The elements of the largest matrices: 32 x 16, 16 x 256 (one-bit ones).
inline constexpr unsigned kMostMatrixElements = 16 * 256;

bool is_multiplicand(ptx::Type type, MatrixUnit unit);
/// Sets the types d, a, b, c of a product that names all four; false if it does not.
bool set_types(const ptx::Modifiers& modifiers, MatrixPlan& plan);
/// Decodes a product of a plan whose types are set.
bool decode_product(FunctionDecoder& d, const ptx::Instruction& in, const ProductOperands& operands,
                    MatrixUnit unit, MatrixPlan plan, Code& code);

/// The rows of B that a sparse A's elements meet, by the metadata of the warp's lanes. Two indices
/// of 2 bits name the two elements of four that are there (of two for tf32 the one, in halves).
void read_metadata(const std::uint32_t* metadata, const MatrixPlan& plan, std::uint16_t* meets);

}  // namespace tilescope::emulator
