// The product of matrices in files, written into a file: at once or in tiles, which an interrupted
// job may keep.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tilescope/device.hpp>
#include <tilescope/matmul.hpp>

#include "transfer/matmul_files.hpp"

namespace tilescope::transfer {

struct MatmulTarget {
  std::string path;
  Order order = Order::row_major;
  std::size_t device_memory = 0;  ///< bytes for operands and result on the device; 0: all of it
  bool resume = false;            ///< finished tiles stay, and the same call continues from them
  std::function<void(std::int64_t tile)> tile_done;  ///< may be empty
  /// Computes one product, instead of the device; may be empty. Then there are no tiles.
  std::function<MatmulReport(const ConstMatrixView& a, const ConstMatrixView& b,
                             const MatrixView& c)>
      multiply = {};
};

struct MatmulOutcome {
  MatmulReport report;
  bool cancelled = false;                  ///< Ctrl-C or SIGTERM ended it
  std::int64_t tiles_kept = 0, tiles = 0;  ///< of a cancelled job that can be resumed; else 0
};

/// Computes the product with `options`, whose bias is that of the inputs. The file is complete or
/// absent; with `resume` a partial one and its journal may stay beside it. Products beyond the
/// memory of a GPU are computed in tiles. Throws Error(usage) for options that tiles cannot honour,
/// and for `resume` of a product without tiles; otherwise as matmul() and out_of_core_matmul().
MatmulOutcome multiply_into(const MatmulTarget& target, Device& device, const MatmulInputs& inputs,
                            const MatmulOptions& options);

}  // namespace tilescope::transfer
