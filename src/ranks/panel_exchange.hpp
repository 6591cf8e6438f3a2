// Matrices that the GPUs of several ranks need: each rank brings a part up, and all get all parts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <tilescope/matrix.hpp>
#include <tilescope/pinned.hpp>
#include <vector>

#include "device/cuda/nccl.hpp"
#include "operations/gemm/problem/gemm_problem.hpp"
#include "ranks/group.hpp"
#include "ranks/rank_grid.hpp"

namespace tilescope::ranks {

/// The way on which parts go from one GPU to another.
enum class Carrier {
  files,  ///< none: all ranks of a group bring up everything, from pages that they share
  nccl,
  mpi,  ///< through pinned memory of the host
};
std::string_view name_of(Carrier carrier);

/// A part of a matrix, also of one without data.
ConstMatrixView region_of(const ConstMatrixView& matrix, const Part& of);

/// The part of a matrix that one rank of a group brings: some of its vectors (rows if row-major,
/// else columns).
ConstMatrixView own_part(const ConstMatrixView& matrix, int rank, int ranks);

/// The ranks of a row or column of the grid, with a device each.
class PanelExchange {
 public:
  /// `nccl`: of the same group; nothing: MPI. `by_files`: all see the matrices' files on one
  /// machine.
  PanelExchange(Device& device, const Group& group, std::optional<device::Nccl> nccl,
                bool by_files);

  /// Brings a matrix to the address `to` of each rank's device, where `as` is its layout. `matrix`
  /// is the same on all ranks but for its data: `own` is this rank's part of it, and where files
  /// are the carrier, `matrix` has data too. All ranks of the group call it in the same order. What
  /// is queued in `stream` afterwards finds the matrix.
  void bring(const ConstMatrixView& matrix, const ConstMatrixView& own, DeviceAddress to,
             const operations::GemmOperand& as, const Stream& stream);

  Carrier carrier() const;

 private:
  void upload(const ConstMatrixView& from, DeviceAddress to, const operations::GemmOperand& as,
              const Stream& stream);

  Device& device_;
  const Group& group_;
  std::optional<device::Nccl> nccl_;
  bool by_files_;
  PinnedBuffer staging_;
  Event uploaded_;  ///< the staging memory is free again
};

/// NCCL for the rows and the columns of a grid of ranks, if all have it and a GPU of their own.
struct GridNccl {
  std::optional<device::Nccl> row, column;
  std::string why_not;  ///< the same on all ranks; empty: there is NCCL, or no need of it

  /// All ranks call it.
  GridNccl(const Group& all, const Group& row_group, const Group& column_group, Device& device);
};

}  // namespace tilescope::ranks
