// The five-point Laplacian of a grid.
#pragma once

#include <cstdint>

#include "tilescope/device.hpp"
#include "tilescope/matrix.hpp"
#include "tilescope/prepared_operation.hpp"
#include "tilescope/run_report.hpp"

namespace tilescope {

/// One step is out = center * in + side * (sum of the four neighbours); cells outside the grid are
/// zero. The defaults give the Laplacian itself. center = 1 - 4 r with side = r makes a step of
/// diffusion.
struct LaplacianOptions : RunOptions {
  std::int64_t iterations = 1;  ///< steps, all on the device
  double center = -4.0, side = 1.0;
};

/// Runs `iterations` steps on float32 or float64 grids, dense, of one type, shape and order.
///
///     laplacian(*device, in, out, {{}, 64, 0.2, 0.2});  // 64 steps of diffusion
///
/// Errors as saxpb's.
RunReport laplacian(Device& device, const ConstMatrixView& in, const MatrixView& out,
                    const LaplacianOptions& options = {});

/// The same for operands in the device's memory (prepared_operation.hpp).
PreparedOperation prepare_laplacian(Device& device, const ConstMatrixView& in,
                                    const MatrixView& out, const LaplacianOptions& options = {});

}  // namespace tilescope
