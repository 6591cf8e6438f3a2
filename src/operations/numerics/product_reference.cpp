#include "operations/numerics/product_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/openblas.hpp"
#include "base/parallel.hpp"
#include "operations/numerics/cell_runs.hpp"
#include "operations/numerics/conversion.hpp"

namespace tilescope::operations {
namespace {

CBLAS_TRANSPOSE transposed(const ConstMatrixView& operand, const MatrixView& result) {
  return operand.order == result.order ? CblasNoTrans : CblasTrans;
}

int blas_integer(std::int64_t value, const char* what) {
  if (value > std::numeric_limits<int>::max()) {
    throw usage_error("{} is {}: BLAS takes at most {}", what, value,
                      std::numeric_limits<int>::max());
  }
  return static_cast<int>(value);
}

// BLAS requires leading dimensions of at least 1, even for empty operands.
int leading(const ConstMatrixView& matrix, const char* what) {
  return std::max(1, blas_integer(matrix.leading, what));
}

void go_on_unless(const std::atomic<bool>* cancel) {
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
    throw Error(ErrorKind::wrong_result, "the product on the CPU was interrupted");
  }
}

}  // namespace

void reference_matmul(const MatmulShape& shape, const float* a, const float* b, float* c,
                      const std::atomic<bool>* cancel) {
  const auto n = static_cast<std::size_t>(shape.n), k = static_cast<std::size_t>(shape.k);
  if (n == 0) return;
  parallel_for(static_cast<std::size_t>(shape.m), [&](std::size_t row) {
    // A row of sums at once: each sum adds in the order of the textbook's loop, but B is read along
    // its rows.
    std::vector<double> sums(n, 0.0);
    for (std::size_t i = 0; i < k; ++i) {
      go_on_unless(cancel);
      const double factor = a[row * k + i];
      const float* b_row = b + i * n;
      for (std::size_t column = 0; column < n; ++column) sums[column] += factor * b_row[column];
    }
    std::transform(sums.begin(), sums.end(), c + row * n,
                   [](double sum) { return static_cast<float>(sum); });
  });
}

MatmulShape blas_cell(const MatmulShape& product) {
  // Large cells lose little to BLAS's copying of operands (4% of the whole product's speed). Small
  // products need small cells, or there would be too few for the cores.
  constexpr std::int64_t enough = 32, steps = 512, line = 16;
  std::int64_t side = 384;
  while (side > 96 && product.m * product.n < enough * side * side) side /= 2;
  // About equal steps: a short last one would read and write all of C for little work.
  const std::int64_t passes = std::max<std::int64_t>((product.k + steps / 2) / steps, 1),
                     equal = (product.k + passes - 1) / passes;
  return {side, side, std::max((equal + line - 1) / line * line, passes == 1 ? steps : line)};
}

void blas_cells(const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c,
                const MatmulShape& cell, const std::atomic<bool>* cancel, bool accumulate) {
  const MatmulShape shape = product_shape(a, b);
  const OpenBlas::OneThread alone;
  const OpenBlas& blas = OpenBlas::instance();
  // A product that may be interrupted looks whether it was after each cell.
  const std::int64_t together = cancel == nullptr ? cells_of_a_call(blas.core, c.type) : 1;
  const std::vector<CellRun> runs =
      cell_runs(shape, cell, call_unit(cell, blas.core, c.type), c.order, together, blas.callers);
  const auto compute_run = [&](std::size_t index) {
    const CellRun& run = runs[index];
    std::int64_t k = 0;
    do {  // once for k = 0 too: the product is zero
      go_on_unless(cancel);
      const std::int64_t steps = std::min(cell.k, shape.k - k);
      blas_matmul(part(a, run.row, run.rows, k, steps), part(b, k, steps, run.column, run.columns),
                  part(c, run.row, run.rows, run.column, run.columns), accumulate || k > 0);
      k += steps;
    } while (k < shape.k);
  };
  parallel_for(runs.size(), compute_run, blas.callers);
}

void blas_matmul(const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c,
                 bool accumulate) {
  const MatmulShape shape = product_shape(a, b);
  const int m = blas_integer(shape.m, "m"), n = blas_integer(shape.n, "n"),
            k = blas_integer(shape.k, "k");
  if (m == 0 || n == 0) return;
  const CBLAS_ORDER order = c.order == Order::row_major ? CblasRowMajor : CblasColMajor;
  const CBLAS_TRANSPOSE ta = transposed(a, c), tb = transposed(b, c);
  const int lda = leading(a, "A's leading dimension"), ldb = leading(b, "B's leading dimension"),
            ldc = leading(c, "C's leading dimension");
  if (c.type == DataType::float64) {
    OpenBlas::instance().dgemm(order, ta, tb, m, n, k, 1.0, static_cast<const double*>(a.data), lda,
                               static_cast<const double*>(b.data), ldb, accumulate ? 1.0 : 0.0,
                               static_cast<double*>(c.mutable_data()), ldc);
  } else {
    OpenBlas::instance().sgemm(order, ta, tb, m, n, k, 1.0F, static_cast<const float*>(a.data), lda,
                               static_cast<const float*>(b.data), ldb, accumulate ? 1.0F : 0.0F,
                               static_cast<float*>(c.mutable_data()), ldc);
  }
}

void converted_blas_matmul(const ConstMatrixView& a, const ConstMatrixView& b, const MatrixView& c,
                           const MatmulShape& cell, bool accumulate) {
  const bool wide =
      a.type == DataType::float64 || b.type == DataType::float64 || c.type == DataType::float64;
  const DataType type = wide ? DataType::float64 : DataType::float32;
  if (a.type == type && b.type == type && c.type == type) {
    blas_cells(a, b, c, cell, nullptr, accumulate);
    return;
  }
  // Panels of A and C by rows, of B by columns, in whole cells.
  constexpr std::int64_t panel_bytes = std::int64_t{256} << 20U;
  const auto panel = [&](std::int64_t cell_extent) {
    const std::int64_t bytes =
        std::max<std::int64_t>(a.columns, 1) * static_cast<std::int64_t>(size_of(type));
    return std::max<std::int64_t>(panel_bytes / bytes / cell_extent, 1) * cell_extent;
  };
  const std::int64_t row_step = panel(cell.m), column_step = panel(cell.n);
  std::vector<std::byte> a_copy, b_copy, c_copy;
  const auto converted = [&](const ConstMatrixView& view, std::vector<std::byte>& storage) {
    if (view.type == type) return view;
    storage.resize(static_cast<std::size_t>(view.rows * view.columns) * size_of(type));
    const MatrixView copy =
        dense_view(static_cast<void*>(storage.data()), type, view.rows, view.columns, view.order);
    convert_matrix(view, copy);
    return static_cast<ConstMatrixView>(copy);
  };
  for (std::int64_t column = 0; column < c.columns; column += column_step) {
    const std::int64_t columns = std::min(column_step, c.columns - column);
    const ConstMatrixView b_panel = converted(part(b, 0, b.rows, column, columns), b_copy);
    for (std::int64_t row = 0; row < c.rows; row += row_step) {
      const std::int64_t rows = std::min(row_step, c.rows - row);
      const ConstMatrixView a_panel = converted(part(a, row, rows, 0, a.columns), a_copy);
      const MatrixView c_panel = part(c, row, rows, column, columns);
      if (c.type == type) {
        blas_cells(a_panel, b_panel, c_panel, cell, nullptr, accumulate);
        continue;
      }
      c_copy.resize(static_cast<std::size_t>(rows * columns) * size_of(type));
      const MatrixView result =
          dense_view(static_cast<void*>(c_copy.data()), type, rows, columns, c.order);
      blas_cells(a_panel, b_panel, result, cell);
      convert_matrix(result, c_panel);
    }
  }
}

ExactProduct exact_product(const MatmulShape& shape, const float* a, const float* b,
                           const std::atomic<bool>* cancel) {
  const auto m = static_cast<std::size_t>(shape.m), n = static_cast<std::size_t>(shape.n),
             k = static_cast<std::size_t>(shape.k);
  // Memory of a large product takes long to come too.
  std::vector<double> wide_a(a, a + m * k);
  go_on_unless(cancel);
  std::vector<double> wide_b(b, b + k * n);
  go_on_unless(cancel);
  ExactProduct product{.values = std::vector<double>(m * n), .magnitudes = {}};
  go_on_unless(cancel);
  product.magnitudes.resize(m * n);
  const auto multiply = [&](std::vector<double>& c) {
    blas_cells(
        dense_view(static_cast<const void*>(wide_a.data()), DataType::float64, shape.m, shape.k),
        dense_view(static_cast<const void*>(wide_b.data()), DataType::float64, shape.k, shape.n),
        dense_view(static_cast<void*>(c.data()), DataType::float64, shape.m, shape.n),
        blas_cell(shape), cancel);
  };
  multiply(product.values);
  const auto magnitude = [](double x) { return std::abs(x); };
  std::transform(wide_a.begin(), wide_a.end(), wide_a.begin(), magnitude);
  std::transform(wide_b.begin(), wide_b.end(), wide_b.begin(), magnitude);
  multiply(product.magnitudes);
  return product;
}

}  // namespace tilescope::operations
