// The panels of columns in which B comes to a device, and the pieces of C that are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "distribute/shares.hpp"
#include "operations/gemm/product/device_product.hpp"

namespace tilescope::distribute {

/// Parts of rows begin at multiples of it: the tallest tile of any kernel.
inline constexpr std::int64_t part_unit = 256;

/// A piece of a device's C: some of the equal parts of its rows, and a panel of columns.
struct Piece {
  Range parts;
  std::size_t panel = 0;
};

/// How the panels of B come.
struct PanelPlan {
  std::int64_t first = 8;    ///< the first panel is one of so many equal parts of the columns
  std::int64_t growth = 1;   ///< each is so many times as wide as the one before
  std::int64_t widest = 8;   ///< but at most one of so many equal parts
  std::int64_t engines = 1;  ///< the copies at once in which rows come from another device
  /// Whether one launch computes all of C where its kernel can wait for panels that arrive.
  bool awaits_columns = true;
};

/// The panels of C's columns, in the order in which they are computed. Nothing is computed while
/// the first arrives, so it is narrow; none but the last has fewer than `least` columns. Where
/// panels grow, the last takes what would be a narrower one.
std::vector<Range> panels_of(std::int64_t columns, std::int64_t least, const PanelPlan& plan = {});

/// The rows of a piece in which a kernel awaits a panel, of shares of B's `k` rows: each share but
/// the last is some whole pieces, which are a quarter of B or less. 0 if shares do not begin at
/// multiples of operations::Arrival::unit.
std::int64_t piece_of_rows(std::span<const Range> shares, std::int64_t k);

/// The fewest columns of a panel for a device that computes `part`, some rows of a product with the
/// choice `whole`. A panel has work for half the SMs: the next one's blocks take the others. A
/// kernel that converts operands converts A for each panel anew, which should take little of a
/// panel's time. Beside tensor cores it takes more than it costs to wait for all of B.
std::int64_t least_panel(const operations::DeviceChoice& whole, const operations::GemmProblem& part,
                         const DeviceProperties& device);

/// The parts in which the rows of `panel`, a device's rows of one panel, are computed while they
/// arrive: up to four, for which the kernel is that of the whole product. Two parts run at once,
/// and have work for most SMs. No part converts anew what another one converts.
std::int64_t parts_of_rows(const operations::DeviceChoice& whole,
                           const operations::GemmProblem& panel, const DeviceProperties& device);

/// The pieces in the order in which they are computed: the first panels part by part, `at_once` of
/// them for each, then the other panels as a whole.
std::vector<Piece> pieces_of(std::int64_t parts, std::size_t panels, std::size_t at_once);

/// The layout of a panel of k x width elements in device memory: as the kernels like it best.
operations::GemmOperand panel_operand(const operations::GemmOperand& b, std::int64_t k,
                                      std::int64_t width);

}  // namespace tilescope::distribute
