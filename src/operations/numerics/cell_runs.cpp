#include "operations/numerics/cell_runs.hpp"

#include <algorithm>

namespace tilescope::operations {
namespace {

/// Up to so many products OpenBLAS may take kernels that copy nothing and add up in another order
/// (its sgemm_small_kernel_permit).
constexpr std::int64_t most_of_small_kernels = 1'000'000;

struct Piece {
  std::int64_t first, count;
};

// `extent` in pieces of up to `most` units. What remains of a unit belongs to the last piece if
// `rest_joins`; else it is a piece of its own.
std::vector<Piece> pieces_of(std::int64_t extent, std::int64_t unit, std::int64_t most,
                             bool rest_joins) {
  std::vector<Piece> pieces;
  const std::int64_t whole = extent / unit * unit;
  for (std::int64_t first = 0; first < whole; first += unit * most) {
    pieces.push_back({first, std::min(unit * most, whole - first)});
  }
  if (whole == extent) return pieces;
  if (rest_joins && !pieces.empty()) {
    pieces.back().count += extent - whole;
  } else {
    pieces.push_back({whole, extent - whole});
  }
  return pieces;
}

// A third of a cell's side, unless that is too short.
std::int64_t unit_of(std::int64_t side) {
  constexpr std::int64_t shortest = 64;
  return side % 3 == 0 && side / 3 >= shortest ? side / 3 : side;
}

}  // namespace

std::int64_t cells_of_a_call(std::string_view core, DataType type) {
  struct Compared {
    std::string_view core;
    bool in_float32, in_float64;
  };
  constexpr Compared kernels[] = {
      {"Nehalem", true, true}, {"Sandybridge", true, true}, {"Haswell", false, true},
      {"Zen", false, true},    {"SkylakeX", true, true},    {"Cooperlake", true, true},
  };
  constexpr std::int64_t shared = 8;  // longer runs gain no more
  for (const Compared& kernel : kernels) {
    if (kernel.core != core) continue;
    return (type == DataType::float64 ? kernel.in_float64 : kernel.in_float32) ? shared : 1;
  }
  return 1;
}

MatmulShape call_unit(const MatmulShape& cell, std::string_view core, DataType type) {
  if (cells_of_a_call(core, type) == 1) return cell;
  return {unit_of(cell.m), unit_of(cell.n), cell.k};
}

std::vector<CellRun> cell_runs(const MatmulShape& product, const MatmulShape& cell,
                               const MatmulShape& unit, Order order, std::int64_t together,
                               std::size_t callers) {
  const bool by_rows = order == Order::row_major;
  const std::int64_t vectors = by_rows ? product.m : product.n,
                     length = by_rows ? product.n : product.m, across = by_rows ? unit.m : unit.n,
                     along = by_rows ? unit.n : unit.m, last_steps = (product.k - 1) % cell.k + 1;
  const std::int64_t across_rest = vectors % across, along_rest = length % along;
  const bool shares = together > 1;
  // The last run may keep one thread busy while the others wait: a sixteenth of the work at most.
  const auto threads = static_cast<std::int64_t>(callers);
  const std::int64_t cells = (product.m / cell.m) * (product.n / cell.n);
  while (together > 1 && threads > 1 && cells < together * 8 * threads) together /= 2;
  const bool is_one_run = shares && threads == 1;
  // Nearly square runs copy the least of both operands.
  const std::int64_t side = together >= 4 ? 2 : 1;
  const std::int64_t across_most =
                         is_one_run ? vectors : (by_rows ? cell.m : cell.n) / across * side,
                     along_most = is_one_run
                                      ? length
                                      : (by_rows ? cell.n : cell.m) / along * (together / side);
  // Whether what remains of a unit may be computed with others.
  const auto joins = [&](std::int64_t rest, std::int64_t other) {
    return shares && rest * other * last_steps > most_of_small_kernels;
  };

  std::vector<CellRun> runs;
  const auto add = [&](const Piece& outer, const Piece& inner) {
    runs.push_back(by_rows ? CellRun{outer.first, outer.count, inner.first, inner.count}
                           : CellRun{inner.first, inner.count, outer.first, outer.count});
  };
  const bool rest_joins = joins(across_rest, along), end_joins = joins(across, along_rest);
  for (const Piece& outer : pieces_of(vectors, across, across_most, rest_joins)) {
    const std::int64_t rest = outer.count % across;
    const bool is_alone = rest > 0 && !rest_joins;
    for (const Piece& inner :
         pieces_of(length - along_rest, along, is_alone ? 1 : along_most, false)) {
      add(outer, inner);
    }
    if (along_rest == 0) continue;
    for (const Piece& piece :
         pieces_of(outer.count, across, end_joins ? across_most : 1, joins(rest, along_rest))) {
      add({outer.first + piece.first, piece.count}, {length - along_rest, along_rest});
    }
  }
  return runs;
}

}  // namespace tilescope::operations
