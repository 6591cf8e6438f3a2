// A product in tiles on a device that runs kernels: panels go up and tiles come down while others
// are computed.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <tilescope/device.hpp>
#include <tilescope/matrix.hpp>
#include <vector>

#include "transfer/operand_panels.hpp"
#include "transfer/out_of_core_plan.hpp"
#include "transfer/staging.hpp"
#include "transfer/tile_kernel.hpp"

namespace tilescope::transfer {

/// One panel of A times one of B: the step-th part of tile (row, column) of C.
struct TileStep {
  std::int64_t row = 0, column = 0, step = 0;
};

/// The steps in order: rows of tiles from top to bottom, alternately to the right and to the left,
/// so that a panel of B that ends one row begins the next.
std::vector<TileStep> steps_of(const OutOfCorePlan& plan, const OutOfCoreOptions& options);

/// A rectangle of a tile of C.
struct Piece {
  std::int64_t row = 0, rows = 0;
  std::int64_t column = 0, columns = 0;
};

/// The sides of squares that grow until they cover a tile of `extent` x `extent`: while one border
/// is computed, the operands of the next arrive. All but the last are multiples of `unit`.
std::vector<std::int64_t> growing_sides(std::int64_t extent, std::int64_t unit);

/// The bands of rows in which the last tile is computed: the first comes down while the others are
/// computed, and the last is short. Starts are multiples of `unit`.
std::vector<Piece> bands_of(std::int64_t rows, std::int64_t columns, std::int64_t unit);

class TiledProduct {
 public:
  /// C, row-major or not, is written in host memory. All referenced objects must outlive this one.
  TiledProduct(Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
               const MatrixView& c, const OutOfCorePlan& plan, const TileKernel& kernel);

  /// Returns false if `options.cancelled` ended it.
  bool run(const OutOfCoreOptions& options);

  /// Milliseconds in which a kernel of the run was running, or about to.
  double busy_ms() const { return busy_ms_; }

 private:
  struct Run {
    Piece piece;
    bool completes = false;  ///< completes the piece of C, instead of adding a step to it
    Event begun, ended;
  };
  struct Result {
    Buffer memory;
    TileStep at;
    std::vector<Run> runs;
  };

  MatmulShape extent(const TileStep& s) const;
  Panel a_panel(const TileStep& s) const;
  Panel b_panel(const TileStep& s) const;
  std::int64_t c_leading(const TileStep& s) const;
  std::size_t bytes(std::int64_t rows, std::int64_t columns) const;
  std::size_t staging_bytes() const;

  void fetch(const TileStep& s);
  void launch(const TileStep& s, const Piece& piece, Result& result);
  void launch_growing(const TileStep& s, Result& result);
  /// Waits until the result's previous tile is in its place.
  Result& next_result();
  /// Returns false if `options.cancelled` ended it.
  bool compute(const OutOfCoreOptions& options);
  void collect(Result& result, const OutOfCoreOptions& options);
  void collect_all(const OutOfCoreOptions& options);

  Device& device_;
  MatrixView c_;
  const OutOfCorePlan& plan_;
  const TileKernel& kernel_;
  std::vector<Stream> streams_;
  Stager uploads_;
  OperandPanels a_panels_, b_panels_;
  std::array<Result, 2> results_;
  std::size_t tile_count_ = 0;
  TileRuns runs_;
  Event start_;
  std::size_t next_stream_ = 0;

  // Used by the thread that brings tiles down, so that its waiting (for the disk, too) delays
  // nothing else.
  std::optional<Stager> downloads_;
  double busy_ms_ = 0.0, busy_until_ms_ = 0.0;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex: tiles that are or will be computed, in order; and whether that was the
  // last.
  std::deque<Result*> computed_;
  bool all_computed_ = false;
  std::exception_ptr failure_;
};

}  // namespace tilescope::transfer
