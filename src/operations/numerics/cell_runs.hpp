// The calls of BLAS for a product that is cut into cells (blas_cell()).
//
// A call first copies its operands into the order in which it reads them. Alone, a cell of 384 x
// 384 spends a tenth of its time on that; longer calls share the copies.
//
// The bits do not depend on what a call computes. OpenBLAS adds an element's products in an order
// that depends on k, which is the same for all, and on where the element lies in the tiles that its
// kernel computes. With most kernels that is the same too where calls begin and end between units:
// whole cells or thirds of them, whose extents are multiples of the tiles. Haswell's for float32
// are not of that kind. OpenBLAS promises nothing of this, so calls are longer than a cell only
// with kernels that cell_runs_test has compared.
//
// A unit that the end of C cuts off across the vectors may join the whole ones before it, and all
// along the vectors may join their like. What is so small that OpenBLAS would take another kernel
// for it, if it were alone, stays alone.
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

/// The cells that one call may compute with OpenBLAS's kernels for `core`, such as
/// "SkylakeX"; 1 for kernels that were not compared.
std::int64_t cells_of_a_call(std::string_view core, DataType type);

/// The parts of C between which calls may begin and end with OpenBLAS's kernels for `core`. They
/// divide the cell.
MatmulShape call_unit(const MatmulShape& cell, std::string_view core, DataType type);

/// Cuts a C of `product`'s extents into runs of whole units: one thread computes all of it by one,
/// several up to `together` cells, in two rows of cells if they are four or more, and of fewer
/// where there would not be enough runs for `callers` threads. If `together` is 1, no run is longer
/// than a cell, which is the unit.
std::vector<CellRun> cell_runs(const MatmulShape& product, const MatmulShape& cell,
                               const MatmulShape& unit, Order order, std::int64_t together,
                               std::size_t callers);

}  // namespace tilescope::operations
