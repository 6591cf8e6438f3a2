// The way in which kernels/gemm/tensor_tiles.cu reads the operands of a problem, and its resources
// for a tile.
#pragma once

#include "operations/gemm/hopper/tensor_tile.hpp"
#include "operations/gemm/operands/tensor_layout.hpp"

namespace tilescope::operations {

/// Bytes of a row of a tile in shared memory; along k for K-major tiles.
constexpr std::int64_t tile_row_bytes = 128;

/// Matches enum StoreKind of the kernel: the way from sums to C. Boxes end at multiples of 16
/// bytes: the copy engine writes whole chunks, even beyond the last column.
enum class Store { each = 0, boxed = 1, rows = 2, partial = 3 };

/// An operand: its rows in memory are m (or n), or k if it is MN-major.
struct TileOperand {
  RowsInMemory rows;
  bool mn_major = false;
  bool repacked = false, transposed = false;
};

struct TileLayout {
  TileOperand a, b;
  int classes = 1;                 ///< classes of rows of A, of which a tile holds one
  bool a_begins_anywhere = false;  ///< rows of A begin anywhere; the copy engine still reads their
                                   ///< classes
  Store store = Store::rows;
  bool adds_rows = false;  ///< threads fetch what C holds, 16 bits each, whose rows begin anywhere
};

/// Whether the kernel promotes the sums to float32 registers after every tile of k, and so needs
/// registers for the sums of 64 rows twice.
bool promotes_sums(const GemmProblem& problem);

/// Tiles of k of the problem, tile_row_bytes each.
std::int64_t k_tiles_of(const GemmProblem& problem);

/// The layout of a product as the kernel computes it.
TileLayout layout_of(const GemmProblem& problem, const TensorTile& tile);

/// The product as the kernel computes it with this tile: the problem itself, or C^T = B^T A^T,
/// whose C is column-major and otherwise as in the problem.
GemmProblem problem_of(const TensorTile& tile, const GemmProblem& problem);

/// Rows and columns of C in memory, for a product as the kernel computes it.
RowsInMemory rows_of_c(const GemmProblem& problem, const TensorTile& tile);

/// Clusters of blocks that run at once.
std::int64_t resident_clusters(const TensorTile& tile, std::int64_t sm_count);

/// Columns of B that the copy engine brings for a tile: whole boxes.
int columns_of_b(const TensorTile& tile, const TileLayout& layout);

/// Columns of the narrow box with which a tile of C ends; 0 where all its boxes are alike.
int tail_columns_of(const TensorTile& tile, DataType c_type);

/// Boxes that hold 64 rows of a tile of C.
std::int64_t boxes_of_rows_of(const TensorTile& tile, DataType c_type);

/// Sums that a block receives from the other layers of its cluster.
std::int64_t received_sums(const TensorTile& tile, DataType c_type);

/// Whether they find room where the stages were.
bool received_fits(const TensorTile& tile, const TileLayout& layout, DataType c_type);

/// Dynamic shared memory of a block, bytes.
std::size_t shared_bytes_of(const TensorTile& tile, const TileLayout& layout, DataType c_type);

}  // namespace tilescope::operations
