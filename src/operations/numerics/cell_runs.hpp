// Cells of a product (blas_cell()) that one call of BLAS computes together.
//
// A call first copies its operands into the order in which it reads them. Alone, a cell of 384 x
// 384 spends a tenth of its time on that; eight in a row share the copies.
//
// The bits stay those of cells computed alone. OpenBLAS adds an element's products in an order that
// depends on k, which is the same for both, and on where the element lies in the tiles that its
// kernel computes. With most kernels that is the same for both too, since the extents of whole
// cells are multiples of their tiles; Haswell's for float32 are not of that kind. OpenBLAS promises
// nothing of this, so cells share calls only with kernels that cell_runs_test has compared. A cell
// that the end of C cuts off is computed alone: in a longer call its bits are others with some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tilescope/matrix.hpp>
#include <vector>

namespace tilescope::operations {

/// A part of C that one thread computes, by one call for each step of k.
struct CellRun {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;
  friend bool operator==(const CellRun&, const CellRun&) = default;
};

/// The cells in a row that one call may compute with OpenBLAS's kernels for `core`, such as
/// "SkylakeX"; 1 for kernels that were not compared.
std::int64_t cells_of_a_call(std::string_view core, DataType type);

/// Cuts a C of `product`'s extents into runs of up to `together` cells along its vectors: of fewer
/// where there would not be enough runs for `callers` threads.
std::vector<CellRun> cell_runs(const MatmulShape& product, const MatmulShape& cell, Order order,
                               std::int64_t together, std::size_t callers);

}  // namespace tilescope::operations
