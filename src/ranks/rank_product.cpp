#include "ranks/rank_product.hpp"

#include <algorithm>

#include "base/openblas.hpp"
#include "base/parallel.hpp"
#include "operations/gemm/product/cpu_product.hpp"
#include "operations/numerics/cell_runs.hpp"
#include "operations/numerics/conversion.hpp"
#include "operations/numerics/product_reference.hpp"

namespace tilescope::ranks {
namespace {

using operations::matrix_of;

std::size_t bytes_of(const ConstMatrixView& matrix) {
  return static_cast<std::size_t>(matrix.rows * matrix.columns) * size_of(matrix.type);
}

ConstMatrixView part_of(const ConstMatrixView& matrix, const Part& of) {
  return operations::part(matrix, of.rows.first, of.rows.count, of.columns.first, of.columns.count);
}

/// A dense matrix like `like` in `memory`, which grows to hold it.
MatrixView dense_in(std::vector<std::byte>& memory, const ConstMatrixView& like, std::int64_t rows,
                    std::int64_t columns) {
  MatrixView view = dense_view(static_cast<void*>(nullptr), like.type, rows, columns, like.order);
  if (memory.size() < bytes_of(view)) memory.resize(bytes_of(view));
  view.data = memory.data();
  return view;
}

}  // namespace

RankProduct::RankProduct(const Group& all, const operations::HostProblem& problem,
                         const RankGrid& grid, const MatmulShape& unit, std::int64_t band,
                         const Member& mine, bool exchange)
    : all_(all),
      problem_(problem),
      grid_(grid),
      shape_(problem.shape()),
      cell_(operations::blas_cell(shape_)),
      unit_(unit),
      row_(all.split(grid.row(all.rank()))),
      column_(all.split(grid.column(all.rank()))),
      members_(all.gather(mine)),
      a_is_here_(share_files(row_, mine) && !exchange),
      b_is_here_(share_files(column_, mine) && !exchange),
      rows_(equal_shares(shape_.m, grid.rows, unit_.m)),
      bands_(bands_of(shape_, cell_, band)),
      a_depths_(equal_shares(shape_.k, grid.columns, cell_.k)),
      b_depths_(equal_shares(shape_.k, grid.rows, cell_.k)),
      panels_(a_is_here_ && b_is_here_ ? deep_panels(shape_, cell_)
                                       : depth_panels(shape_, cell_, grid)) {}

Part RankProduct::part(int rank, const Range& band) const {
  const std::vector<Range> columns = equal_shares(band.count, grid_.columns, unit_.n);
  const Range& mine = columns[static_cast<std::size_t>(grid_.column(rank))];
  return {rows_[static_cast<std::size_t>(grid_.row(rank))], {band.first + mine.first, mine.count}};
}

Part RankProduct::a_part(int rank) const {
  return {rows_[static_cast<std::size_t>(grid_.row(rank))],
          a_depths_[static_cast<std::size_t>(grid_.column(rank))]};
}

Part RankProduct::b_part(int rank, const Range& band) const {
  return {b_depths_[static_cast<std::size_t>(grid_.row(rank))], part(rank, band).columns};
}

void RankProduct::take_shares(std::int64_t index, const Range& band) {
  std::vector<Part> a_parts, b_parts;
  for (int rank = 0; rank < grid_.size(); ++rank) {
    a_parts.push_back(a_part(rank));
    b_parts.push_back(b_part(rank, band));
  }
  take_share(a_, matrix_of(problem_.a, index), a_parts);
  take_share(b_, matrix_of(problem_.b, index), b_parts);
}

// A rank that sees the file reads its share there. Rank 0 sends the others theirs.
void RankProduct::take_share(Share& share, const ConstMatrixView& whole,
                             const std::vector<Part>& parts) {
  share.part = parts[static_cast<std::size_t>(all_.rank())];
  if (members_[static_cast<std::size_t>(all_.rank())].sees_operands) {
    share.view = part_of(whole, share.part);
  } else {
    share.view = dense_in(share.received, whole, share.part.rows.count, share.part.columns.count);
    all_.receive(share.received.data(), bytes_of(share.view), 0);
  }
  if (all_.rank() != 0) return;
  std::vector<std::byte> memory;
  for (int rank = 1; rank < grid_.size(); ++rank) {
    if (members_[static_cast<std::size_t>(rank)].sees_operands) continue;
    const ConstMatrixView from = part_of(whole, parts[static_cast<std::size_t>(rank)]);
    const MatrixView dense = dense_in(memory, from, from.rows, from.columns);
    operations::convert_matrix(from, dense);
    all_.send(memory.data(), bytes_of(dense), rank);
  }
}

// Begins to bring the panels of a step here, or from here to others.
void RankProduct::begin(Slot& slot, std::int64_t index, const DepthPanel& panel, const Part& mine) {
  const auto bring = [](const Group& group, int owner, const Share& share, const Part& wanted,
                        std::vector<std::byte>& memory, ConstMatrixView& view) -> Transfer {
    const bool is_owner = group.rank() == owner;
    const auto from = [&] {
      return part_of(share.view,
                     {{wanted.rows.first - share.part.rows.first, wanted.rows.count},
                      {wanted.columns.first - share.part.columns.first, wanted.columns.count}});
    };
    if (group.size() == 1) {
      view = from();
      return {};
    }
    const MatrixView dense = dense_in(memory, share.view, wanted.rows.count, wanted.columns.count);
    if (is_owner && !wanted.empty()) operations::convert_matrix(from(), dense);
    view = dense;
    return group.broadcast(memory.data(), bytes_of(view), owner);
  };
  const Part of_a{mine.rows, panel.k}, of_b{panel.k, mine.columns};
  if (a_is_here_) {
    slot.a = part_of(matrix_of(problem_.a, index), of_a);
  } else {
    slot.a_transfer = bring(row_, panel.a_column, a_, of_a, slot.a_memory, slot.a);
  }
  if (b_is_here_) {
    slot.b = part_of(matrix_of(problem_.b, index), of_b);
  } else {
    slot.b_transfer = bring(column_, panel.b_row, b_, of_b, slot.b_memory, slot.b);
  }
}

// Adds a step's products: some rows at a time while the next panels move, since MPI moves them on
// only when it is called.
void RankProduct::add(Slot& slot, Slot& next, const MatrixView& sums, bool accumulate) const {
  slot.a_transfer.wait();
  slot.b_transfer.wait();
  const auto cells = [](std::int64_t extent, std::int64_t cell) {
    return std::max<std::int64_t>((extent + cell - 1) / cell, 1);
  };
  constexpr std::int64_t cells_of_each_core = 8;
  const std::int64_t wanted = static_cast<std::int64_t>(core_count()) * cells_of_each_core;
  const bool is_moving = !next.a_transfer.has_ended() || !next.b_transfer.has_ended();
  const std::int64_t step =
      is_moving ? cells(wanted, cells(sums.columns, cell_.n)) * cell_.m : sums.rows;
  for (std::int64_t row = 0; row < sums.rows; row += step) {
    const std::int64_t rows = std::min(step, sums.rows - row);
    operations::add_on_cpu(operations::part(slot.a, row, rows, 0, slot.a.columns), slot.b,
                           problem_.precision, operations::part(sums, row, rows, 0, sums.columns),
                           cell_, accumulate);
    next.a_transfer.progress();
    next.b_transfer.progress();
  }
}

// As large as the largest part of any band needs.
MatrixView RankProduct::own_room(const Part& mine) {
  if (sums_.count() == 0) {
    std::int64_t most = 0;
    for (const Range& band : bands_) {
      const Part of_c = part(all_.rank(), band);
      most = std::max(most, of_c.rows.count * of_c.columns.count);
    }
    sums_ = operations::HostArray(operations::sum_type(problem_.precision),
                                  static_cast<std::size_t>(most));
  }
  return dense_view(sums_.data(), sums_.type(), mine.rows.count, mine.columns.count);
}

ConstMatrixView RankProduct::multiply(std::int64_t index, const Range& band,
                                      const std::optional<MatrixView>& room) {
  const Part mine = part(all_.rank(), band);
  take_shares(index, band);
  const MatrixView sums = room ? *room : own_room(mine);
  if (panels_.empty()) {
    const ConstMatrixView a = part_of(problem_.a.first, {mine.rows, {0, 0}}),
                          b = part_of(problem_.b.first, {{0, 0}, mine.columns});
    if (!mine.empty()) operations::add_on_cpu(a, b, problem_.precision, sums, cell_, false);
    return sums;
  }
  begin(slots_[0], index, panels_[0], mine);
  for (std::size_t i = 0; i < panels_.size(); ++i) {
    Slot &now = slots_[i % 2], &next = slots_[(i + 1) % 2];
    if (i + 1 < panels_.size()) begin(next, index, panels_[i + 1], mine);
    add(now, next, sums, i > 0);
  }
  return sums;
}

MatmulShape agreed_unit(const Group& all, const MatmulShape& cell) {
  MatmulShape unit = cell;
  unit.m = unit.n = 1;
  for (const DataType sums : {DataType::float32, DataType::float64}) {
    for (const MatmulShape& of_rank :
         all.gather(operations::call_unit(cell, OpenBlas::instance().core, sums))) {
      unit.m = std::max(unit.m, of_rank.m);
      unit.n = std::max(unit.n, of_rank.n);
    }
  }
  return unit;
}

}  // namespace tilescope::ranks
