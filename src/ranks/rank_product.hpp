// One rank's part in a product of all ranks, by SUMMA: C stays where it is computed, while panels
// of A go along the rows of the grid and panels of B along its columns. Where a row or a column of
// the grid is on one machine and sees the files, its ranks read the panels from their mappings,
// which share memory: nothing moves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "operations/gemm/problem/host_problem.hpp"
#include "operations/numerics/host_array.hpp"
#include "ranks/group.hpp"
#include "ranks/rank_grid.hpp"
#include "ranks/rank_member.hpp"

namespace tilescope::ranks {

class RankProduct {
 public:
  /// `problem` is the whole, with a row-major C, and the same on all ranks, but its operands have
  /// no data on ranks that do not see the files. Ranks share C at multiples of `unit`. `exchange`:
  /// panels move inside a machine too.
  RankProduct(const Group& all, const operations::HostProblem& problem, const RankGrid& grid,
              const MatmulShape& unit, std::int64_t band, const Member& mine, bool exchange);

  /// The columns of C that are computed at a time.
  std::span<const Range> bands() const { return bands_; }
  /// The elements of C that a rank computes of a band.
  Part part(int rank, const Range& band) const;

  /// Computes this rank's part of the band in matrix `index` of the batch: A * B, in sums of the
  /// precision's type. They lie in `room`, which has the part's extents, or, without any, in memory
  /// that is valid until the next call. All ranks call it for the same bands in the same order.
  ConstMatrixView multiply(std::int64_t index, const Range& band,
                           const std::optional<MatrixView>& room);

 private:
  /// The elements of an operand that a rank gives to others.
  struct Share {
    Part part;
    ConstMatrixView view;
    std::vector<std::byte> received;
  };
  /// A panel of A and one of B, for one step.
  struct Slot {
    std::vector<std::byte> a_memory, b_memory;
    ConstMatrixView a, b;
    Transfer a_transfer, b_transfer;
  };

  Part a_part(int rank) const;
  Part b_part(int rank, const Range& band) const;
  void take_shares(std::int64_t index, const Range& band);
  void take_share(Share& share, const ConstMatrixView& whole, const std::vector<Part>& parts);
  void begin(Slot& slot, std::int64_t index, const DepthPanel& panel, const Part& mine);
  MatrixView own_room(const Part& mine);
  void add(Slot& slot, Slot& next, const MatrixView& sums, bool accumulate) const;

  const Group& all_;
  operations::HostProblem problem_;
  RankGrid grid_;
  MatmulShape shape_, cell_, unit_;
  Group row_, column_;           ///< the ranks of this one's row and column
  std::vector<Member> members_;  ///< each rank
  bool a_is_here_, b_is_here_;   ///< whether the row's A and the column's B are read from the files
  std::vector<Range> rows_, bands_, a_depths_, b_depths_;
  std::vector<DepthPanel> panels_;
  Share a_, b_;
  std::array<Slot, 2> slots_;
  operations::HostArray sums_;  ///< none before they are needed
};

/// Where ranks may share C, in extents of it: at what all their kernels of BLAS may compute by
/// itself without other bits. All ranks call it.
MatmulShape agreed_unit(const Group& all, const MatmulShape& cell);

}  // namespace tilescope::ranks
