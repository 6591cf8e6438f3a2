// One matrix product of a warp: its operands in registers, its arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/context.hpp"
#include "emulator/instructions/matrix_rule.hpp"
#include "emulator/program.hpp"

namespace tilescope::emulator {

/// A matrix in the registers of a warp. An element has up to 32 bits; 32 one-bit elements are one.
struct MatrixFragment {
  std::vector<std::uint32_t> registers;
  unsigned per_register = 1;
  /// By register, lane and element in the register: the index in the matrix.
  std::vector<std::uint16_t> places;
  /// The matrix has the layout of mma's C and D: `places` is empty then.
  bool accumulator = false;
};

/// A decoded product. Matrices are row-major, with the columns of an accumulator permuted.
struct MatrixPlan {
  unsigned rows = 0, columns = 0;
  unsigned k = 0;       ///< elements in a row of A, or words of one-bit elements
  unsigned b_rows = 0;  ///< rows of B
  ptx::Type a_type{}, b_type{}, c_type{}, d_type{};
  MatrixFragment a, b, c, d;
  /// By row and element of A: the row of B that it meets. Empty if A is sparse.
  std::vector<std::uint16_t> meets;
  MatrixRule rule;
  const MatrixKernels* kernels = nullptr;
  bool saturate = false;
  IntegerProducts::Kind integers = IntegerProducts::Kind::multiply;
  bool negative_a = false, negative_b = false;
  std::uint32_t metadata = kNone;  ///< the register, if A is sparse
  unsigned selector = 0;           ///< which threads hold them
};

/// B, unpacked for the kernels.
class MatrixRight {
 public:
  /// `words`: one for each element, b_rows x columns.
  void unpack(const MatrixPlan& plan, const std::uint32_t* words);
  UnpackedNumbers numbers() const;
  const std::int32_t* integers() const { return storage_.data(); }

 private:
  mutable std::vector<std::int32_t> storage_;
  std::size_t count_ = 0;
};

/// Reads a fragment into a matrix of words.
void gather(Context& w, const MatrixFragment& fragment, const MatrixPlan& plan, ptx::Type type,
            std::uint32_t* matrix);
/// Writes D for the lanes w.mask, converted from the sum.
void scatter(Context& w, const MatrixPlan& plan, const std::uint32_t* sum);
/// Reads C as the sum that the arithmetic starts from.
void gather_addend(Context& w, const MatrixPlan& plan, std::uint32_t* sum);

/// sum += A * B. `a`: a word for each element.
void multiply(const MatrixPlan& plan, const std::uint32_t* a, const MatrixRight& b,
              const std::uint16_t* meets, std::uint32_t* sum);

/// Where a column of an accumulator stands among the permuted ones.
unsigned accumulator_position(ptx::Type type, unsigned column);

/// The row of A's element `e` along k when k is taken in the order of the rule's steps.
unsigned place_along_k(const MatrixRule& rule, unsigned e, unsigned k);

}  // namespace tilescope::emulator
