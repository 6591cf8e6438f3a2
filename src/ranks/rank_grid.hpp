// How ranks share a product: a grid of ranks over C, and panels along k.
#pragma once

#include <cstdint>
#include <tilescope/matrix.hpp>
#include <vector>

#include "distribute/shares.hpp"

namespace tilescope::ranks {

using distribute::equal_shares;
using distribute::Range;

/// Rows and columns of a matrix.
struct Part {
  Range rows, columns;

  bool empty() const { return rows.count == 0 || columns.count == 0; }
  friend bool operator==(const Part&, const Part&) = default;
};

/// Rank r is in row r / columns and column r % columns.
struct RankGrid {
  int rows = 1, columns = 1;

  int size() const { return rows * columns; }
  int row(int rank) const { return rank / columns; }
  int column(int rank) const { return rank % columns; }
};

/// The grid of all ranks that moves the fewest elements to the rank that receives most.
RankGrid choose_grid(int ranks, const MatmulShape& shape, const MatmulShape& cell);

/// The columns of C that are computed at a time, in the order in which they are. They depend on the
/// problem alone, so that other ranks may go on with what some have finished. `wanted`: columns of
/// a band, rounded up to whole cells; 0: some seconds of work for one processor.
std::vector<Range> bands_of(const MatmulShape& shape, const MatmulShape& cell,
                            std::int64_t wanted = 0);

/// Steps of k, in the order in which their products are added.
struct DepthPanel {
  Range k;
  int a_column = 0;  ///< of the grid: the ranks whose share of A it is
  int b_row = 0;     ///< of the grid: the ranks whose share of B it is
};
std::vector<DepthPanel> depth_panels(const MatmulShape& shape, const MatmulShape& cell,
                                     const RankGrid& grid);
/// The same for a rank to which nothing moves: fewer steps, so that sums are read and written less.
std::vector<DepthPanel> deep_panels(const MatmulShape& shape, const MatmulShape& cell);

}  // namespace tilescope::ranks
