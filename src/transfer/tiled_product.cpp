#include "transfer/tiled_product.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "operations/numerics/conversion.hpp"
#include "operations/rung/kernel_plan.hpp"

namespace tilescope::transfer {
namespace {

using operations::groups_of;

// Large enough to make a copy's fixed cost negligible, small enough to start the link early:
// allocating pinned memory takes 0.4 s a GiB.
constexpr std::size_t most_staging_bytes = std::size_t{32} << 20U;

// The last blocks of one run leave SMs idle; blocks of the next run take them from another stream.
// More than two streams help while the first tile grows by pieces that do not fill the device.
constexpr std::size_t most_streams = 4;

ConstMatrixView vectors_of_b(ConstMatrixView b) {
  std::swap(b.rows, b.columns);
  b.order = b.order == Order::row_major ? Order::column_major : Order::row_major;
  return b;
}

PanelLayout layout(const TileKernel& kernel, bool by_steps, const ConstMatrixView& vectors) {
  const bool given_by_steps = vectors.order == Order::column_major;
  return {.by_steps = by_steps,
          .transposed = kernel.takes_parts() && given_by_steps != by_steps,
          .zero_padded = !kernel.takes_parts()};
}

}  // namespace

std::vector<TileStep> steps_of(const OutOfCorePlan& plan, const OutOfCoreOptions& options) {
  std::vector<TileStep> steps;
  for (std::int64_t row = 0; row < plan.tiles_down; ++row) {
    for (std::int64_t i = 0; i < plan.tiles_across; ++i) {
      const std::int64_t column = row % 2 == 0 ? i : plan.tiles_across - 1 - i;
      if (options.is_done && options.is_done(row * plan.tiles_across + column)) continue;
      for (std::int64_t step = 0; step < plan.steps; ++step) steps.push_back({row, column, step});
    }
  }
  return steps;
}

std::vector<std::int64_t> growing_sides(std::int64_t extent, std::int64_t unit) {
  // A border twice as long computes twice as long on the same amount of data from the link.
  constexpr std::int64_t first_part = 16;
  std::vector<std::int64_t> sides;
  for (std::int64_t side = rounded_up(groups_of(extent, first_part), unit); side < extent;
       side = rounded_up(side + side / 2, unit)) {
    sides.push_back(side);
  }
  sides.push_back(extent);
  return sides;
}

std::vector<Piece> bands_of(std::int64_t rows, std::int64_t columns, std::int64_t unit) {
  constexpr std::int64_t shortest_part = 8;
  const std::int64_t shortest = rounded_up(groups_of(rows, shortest_part), unit);
  std::vector<Piece> bands;
  for (std::int64_t row = 0; row < rows; row += bands.back().rows) {
    const std::int64_t left = rows - row;
    const std::int64_t half = rounded_up(groups_of(left, 2), unit);
    bands.push_back({row, left <= shortest ? left : std::min(half, left), 0, columns});
  }
  return bands;
}

TiledProduct::TiledProduct(Device& device, const ConstMatrixView& a, const ConstMatrixView& b,
                           const MatrixView& c, const OutOfCorePlan& plan, const TileKernel& kernel)
    : device_(device),
      c_(c),
      plan_(plan),
      kernel_(kernel),
      streams_(kernel.runs_overlap ? most_streams : 1),
      uploads_(device, kernel.element, staging_bytes()),
      a_panels_(device, uploads_, a, kernel.element, layout(kernel, kernel.a_by_columns, a),
                bytes(plan.tile.m, plan.tile.k), streams_.size(), "A"),
      b_panels_(device, uploads_, vectors_of_b(b), kernel.element,
                layout(kernel, !kernel.b_by_columns, vectors_of_b(b)),
                bytes(plan.tile.k, plan.tile.n), streams_.size(), "B"),
      runs_(device, kernel),
      start_(device.create_event()) {
  for (Stream& stream : streams_) stream = device.create_stream();
  for (Result& result : results_)
    result.memory = device.allocate(bytes(plan.tile.m, plan.tile.n), "C", Reach::own);
}

std::size_t TiledProduct::bytes(std::int64_t rows, std::int64_t columns) const {
  return static_cast<std::size_t>(rows * columns) * size_of(kernel_.element);
}

std::size_t TiledProduct::staging_bytes() const {
  const MatmulShape& t = plan_.tile;
  return std::min(most_staging_bytes, bytes(std::max(t.m, t.k), std::max(t.n, t.k)));
}

// The part of the whole product that a step covers: a full tile, or the remainder at the edges.
MatmulShape TiledProduct::extent(const TileStep& s) const {
  const MatmulShape &t = plan_.tile, &w = plan_.shape;
  return {std::min(t.m, w.m - s.row * t.m), std::min(t.n, w.n - s.column * t.n),
          std::min(t.k, w.k - s.step * t.k)};
}

Panel TiledProduct::a_panel(const TileStep& s) const {
  const MatmulShape e = extent(s), &t = plan_.tile;
  const MatmulShape p = kernel_.takes_parts() ? t : kernel_.padded(e);
  return {s.row * t.m, e.m, s.step * t.k, e.k, p.m, p.k};
}

Panel TiledProduct::b_panel(const TileStep& s) const {
  const MatmulShape e = extent(s), &t = plan_.tile;
  const MatmulShape p = kernel_.takes_parts() ? t : kernel_.padded(e);
  return {s.column * t.n, e.n, s.step * t.k, e.k, p.n, p.k};
}

std::int64_t TiledProduct::c_leading(const TileStep& s) const {
  return kernel_.takes_parts() ? plan_.tile.n : kernel_.padded(extent(s)).n;
}

void TiledProduct::fetch(const TileStep& s) {
  const Panel a = a_panel(s), b = b_panel(s);
  a_panels_.fetch(a, a.vectors);
  b_panels_.fetch(b, b.vectors);
}

void TiledProduct::launch(const TileStep& s, const Piece& piece, Result& result) {
  // Steps of one tile stay in order.
  if (s.step == 0) ++next_stream_;
  const std::size_t index = next_stream_ % streams_.size();
  const Stream& stream = streams_[index];
  const Panel a = a_panel(s), b = b_panel(s);
  TileOperands operands{.a = a_panels_.use(a, piece.row + piece.rows, stream),
                        .b = b_panels_.use(b, piece.column + piece.columns, stream),
                        .c = result.memory.address(),
                        .a_leading = a_panels_.leading(a),
                        .b_leading = b_panels_.leading(b),
                        .c_leading = c_leading(s)};
  const auto skip = [&](DeviceAddress& address, std::int64_t elements) {
    address += static_cast<DeviceAddress>(elements) * size_of(kernel_.element);
  };
  skip(operands.a, piece.row * (kernel_.a_by_columns ? 1 : operands.a_leading));
  skip(operands.b, piece.column * (kernel_.b_by_columns ? operands.b_leading : 1));
  skip(operands.c, piece.row * operands.c_leading + piece.column);
  Run run{.piece = piece,
          .completes = s.step + 1 == plan_.steps,
          .begun = device_.create_event(),
          .ended = device_.create_event()};
  device_.record(run.begun, stream);
  runs_.run({piece.rows, piece.columns, extent(s).k}, s.step > 0, operands, stream);
  device_.record(run.ended, stream);
  a_panels_.record_use(index, stream);
  b_panels_.record_use(index, stream);
  result.at = s;
  result.runs.push_back(std::move(run));
}

// Computes the first tile while its panels arrive: a square as soon as the first vectors of both
// are there, then two borders, below and beside it, and so on.
void TiledProduct::launch_growing(const TileStep& s, Result& result) {
  const Panel a = a_panel(s), b = b_panel(s);
  const MatmulShape& unit = kernel_.granularity;
  std::int64_t rows = 0, columns = 0;
  for (const std::int64_t side :
       growing_sides(std::max(a.vectors, b.vectors), std::max(unit.m, unit.n))) {
    const std::int64_t next_rows = std::min(side, a.vectors);
    const std::int64_t next_columns = std::min(side, b.vectors);
    b_panels_.fetch(b, next_columns);
    if (rows > 0 && next_columns > columns) {
      launch(s, {0, rows, columns, next_columns - columns}, result);
    }
    a_panels_.fetch(a, next_rows);
    if (next_rows > rows) launch(s, {rows, next_rows - rows, 0, next_columns}, result);
    rows = next_rows;
    columns = next_columns;
  }
}

// Waits for a tile and copies it to its place, piece by piece.
void TiledProduct::collect(Result& result, const OutOfCoreOptions& options) {
  if (!downloads_) downloads_.emplace(device_, kernel_.element, staging_bytes());
  const TileStep& s = result.at;
  const MatmulShape& t = plan_.tile;
  for (const Run& run : result.runs) {
    const Piece& p = run.piece;
    if (run.completes) {
      device_.wait(downloads_->stream(), run.ended);
      downloads_->download(
          result.memory.address() + bytes(p.row, c_leading(s)) + bytes(1, p.column), c_leading(s),
          operations::part(c_, s.row * t.m + p.row, p.rows, s.column * t.n + p.column, p.columns));
    }
    const double begun = device_.elapsed_ms(start_, run.begun);
    const double ended = device_.elapsed_ms(start_, run.ended);
    busy_ms_ += std::max(0.0, ended - std::max(begun, busy_until_ms_));
    busy_until_ms_ = std::max(busy_until_ms_, ended);
  }
  result.runs.clear();
  if (options.tile_done) options.tile_done(s.row * plan_.tiles_across + s.column);
}

void TiledProduct::collect_all(const OutOfCoreOptions& options) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !computed_.empty() || all_computed_; });
    if (computed_.empty()) return;
    Result& result = *computed_.front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      collect(result, options);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    computed_.pop_front();
    changed_.notify_all();
    if (failure) return;
  }
}

TiledProduct::Result& TiledProduct::next_result() {
  Result& result = results_[tile_count_ % results_.size()];
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return failure_ || std::find(computed_.begin(), computed_.end(), &result) == computed_.end();
  });
  if (failure_) std::rethrow_exception(failure_);
  return result;
}

bool TiledProduct::compute(const OutOfCoreOptions& options) {
  const std::vector<TileStep> steps = steps_of(plan_, options);
  if (steps.empty()) return true;
  device_.record(start_, uploads_.stream());
  if (!kernel_.takes_parts()) fetch(steps[0]);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (options.cancelled && options.cancelled()) return false;
    const TileStep& s = steps[i];
    const MatmulShape e = extent(s);
    const bool is_last = i + 1 == steps.size();
    Result& result = next_result();
    if (i == 0 && kernel_.takes_parts()) {
      launch_growing(s, result);
    } else if (is_last && kernel_.takes_parts()) {
      for (const Piece& band : bands_of(e.m, e.n, kernel_.granularity.m)) launch(s, band, result);
    } else {
      launch(s, {0, e.m, 0, e.n}, result);
    }
    if (s.step + 1 == plan_.steps) {
      const std::lock_guard lock(mutex_);
      computed_.push_back(&result);
      changed_.notify_all();
      ++tile_count_;
    }
    // Meanwhile the next panels go up.
    if (!is_last) fetch(steps[i + 1]);
  }
  return true;
}

bool TiledProduct::run(const OutOfCoreOptions& options) {
  std::thread collector([&] { collect_all(options); });
  const auto finish = [&] {
    {
      const std::lock_guard lock(mutex_);
      all_computed_ = true;
      changed_.notify_all();
    }
    collector.join();
  };
  bool complete = false;
  try {
    complete = compute(options);
  } catch (...) {
    finish();
    throw;
  }
  finish();
  if (failure_) std::rethrow_exception(failure_);
  if (!complete) device_.synchronize();
  return complete;
}

}  // namespace tilescope::transfer
