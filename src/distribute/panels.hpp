// The panels of columns in which B comes to a device that multiplies them.
#pragma once

#include <cstdint>
#include <vector>

#include "distribute/shares.hpp"
#include "operations/gemm/product/device_product.hpp"

namespace tilescope::distribute {

/// The panels of C's columns, in the order in which they are computed: eighths, since nothing is
/// computed while the first arrives, but none of fewer than `least` columns.
std::vector<Range> panels_of(std::int64_t columns, std::int64_t least);

/// The fewest columns of a panel for a device that computes `part`, some rows of a product with the
/// choice `whole`. A panel has work for half the SMs: the next one's blocks take the others. A
/// kernel that converts operands converts A for each panel anew, which should take little of a
/// panel's time. Beside tensor cores it takes more than it costs to wait for all of B.
std::int64_t least_panel(const operations::DeviceChoice& whole, const operations::GemmProblem& part,
                         const DeviceProperties& device);

/// The layout of a panel of k x width elements in device memory: as the kernels like it best.
operations::GemmOperand panel_operand(const operations::GemmOperand& b, std::int64_t k,
                                      std::int64_t width);

}  // namespace tilescope::distribute
