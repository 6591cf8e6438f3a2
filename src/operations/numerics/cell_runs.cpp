#include "operations/numerics/cell_runs.hpp"

#include <algorithm>

namespace tilescope::operations {
namespace {

struct Piece {
  std::int64_t first, count;
};

// Pieces of up to `together` whole cells, and at the end the part of one.
std::vector<Piece> cut(std::int64_t extent, std::int64_t cell, std::int64_t together) {
  std::vector<Piece> pieces;
  const std::int64_t whole = extent / cell * cell, step = cell * together;
  for (std::int64_t first = 0; first < whole; first += step) {
    pieces.push_back({first, std::min(step, whole - first)});
  }
  if (whole < extent) pieces.push_back({whole, extent - whole});
  return pieces;
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

std::vector<CellRun> cell_runs(const MatmulShape& product, const MatmulShape& cell, Order order,
                               std::int64_t together, std::size_t callers) {
  const bool by_rows = order == Order::row_major;
  const std::int64_t vectors = by_rows ? product.m : product.n,
                     length = by_rows ? product.n : product.m, across = by_rows ? cell.m : cell.n,
                     along = by_rows ? cell.n : cell.m;
  // The last run may keep one thread busy while the others wait: a sixteenth of the work at most.
  const auto threads = static_cast<std::int64_t>(callers);
  const std::int64_t cells = (vectors / across) * (length / along);
  while (together > 1 && threads > 1 && cells < together * 8 * threads) together /= 2;
  const std::int64_t rows_together = threads == 1 && together > 1 ? 2 : 1;

  std::vector<CellRun> runs;
  const auto add = [&](const Piece& outer, const Piece& inner) {
    runs.push_back(by_rows ? CellRun{outer.first, outer.count, inner.first, inner.count}
                           : CellRun{inner.first, inner.count, outer.first, outer.count});
  };
  for (const Piece& outer : cut(vectors, across, rows_together)) {
    const bool is_whole = outer.count % across == 0;
    for (const Piece& inner : cut(length, along, is_whole ? together : 1)) {
      if (inner.count % along == 0) {
        add(outer, inner);
        continue;
      }
      for (const Piece& one : cut(outer.count, across, 1)) {
        add({outer.first + one.first, one.count}, inner);
      }
    }
  }
  return runs;
}

}  // namespace tilescope::operations
