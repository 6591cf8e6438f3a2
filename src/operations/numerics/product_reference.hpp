// Matrix products on the CPU: the reference that defines the right result, and BLAS.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <tilescope/matrix.hpp>
#include <vector>

namespace tilescope::operations {

/// C = A * B for dense row-major operands, each element the sum of its k products in order, in
/// double, rounded once. All cores share the rows. Sizes: m*k, k*n and m*n elements. Here and
/// below, `cancel` becoming true ends it within a tenth of a second with an Error; null: never.
void reference_matmul(const MatmulShape& shape, const float* a, const float* b, float* c,
                      const std::atomic<bool>* cancel = nullptr);

/// C = A * B through OpenBLAS: float32 or float64 (all three of one type), any order and leading
/// dimension. With `accumulate`, C += A * B. Throws Error(usage) for extents beyond BLAS's 32-bit
/// integers.
void blas_matmul(const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c,
                 bool accumulate = false);

/// The smallest part that blas_cells() multiplies at once, for a product of this shape: m x n
/// elements of C, k of each sum. It depends on the shape alone, so that an element's bits depend
/// neither on the cores nor on the part of the product that is computed at a time.
MatmulShape blas_cell(const MatmulShape& product);

/// C = A * B as blas_matmul(), cell by cell on all cores; the steps along k add up in order. C is
/// the whole product that `cell` is for, or a part of it that begins and ends between cells. With
/// `accumulate`, C += A * B: the same bits come out where k is cut between steps.
void blas_cells(const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c,
                const MatmulShape& cell, const std::atomic<bool>* cancel = nullptr,
                bool accumulate = false);

/// C = A * B as blas_cells(), for any mix of floating-point types, with sums in float64 if any of
/// the three is float64 and else in float32. Operands of other types are converted a panel at a
/// time, so that the copies stay small against the operands. `accumulate` needs a C of the sums'
/// type.
void converted_blas_matmul(const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c,
                           const MatmulShape& cell, bool accumulate = false);

/// A * B and |A| * |B| in double, for verification: m*n elements each.
struct ExactProduct {
  std::vector<double> values;
  std::vector<double> magnitudes;
};
ExactProduct exact_product(const MatmulShape& shape, const float* a, const float* b,
                           const std::atomic<bool>* cancel = nullptr);

}  // namespace tilescope::operations
