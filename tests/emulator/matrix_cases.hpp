// Instructions of the tensor cores with inputs that try their arithmetic: what bench/record_matrix
// lets a GPU compute, and the tests then compare with the emulator to the bit.
//
// A case is one PTX module with one kernel `k`(in, out): every block reads its part of `in`, runs
// one instruction, and writes its part of `out`. Inputs follow from the case's name alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::testing {

struct MatrixCase {
  std::string name;  ///< the instruction, and how its operands lie
  std::string ptx;
  unsigned threads = 32;
  unsigned blocks = 1;
  std::vector<std::uint32_t> in;  ///< of all blocks
  unsigned out_words = 0;         ///< of one block
};

/// mma, mma.sp and wmma in every shape and type.
std::vector<MatrixCase> mma_cases();
/// wgmma in every type, A in registers and in shared memory, dense and sparse.
std::vector<MatrixCase> wgmma_cases();
/// wgmma that multiplies by a unit matrix, so that the result tells where in shared memory each
/// element was read: every swizzle, both orders, several offsets.
std::vector<MatrixCase> wgmma_layout_cases();

}  // namespace tilescope::testing
