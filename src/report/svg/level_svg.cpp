// The memories of a GPU from the thread outwards, a tile on its way through them, and the threads
// of a block by warps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/svg/drawing.hpp"
#include "report/svg/plots.hpp"
#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

using Reach = Drawing::Reach;

/// A box of rows x columns cells, the longer side `most` long.
struct CellBox {
  CellBox(int rows, int columns, double most) : rows_(rows), columns_(columns) {
    cell_ = most / std::max(rows, columns);
  }
  double width() const { return std::max(4.0, cell_ * columns_); }
  double height() const { return std::max(4.0, cell_ * rows_); }

  /// With lines between the cells where they are wide enough.
  void draw(Drawing& drawing, double x, double y, std::string_view classes) const {
    drawing.box(x, y, width(), height(), classes);
    if (cell_ < 5.0) return;
    for (int row = 1; row < rows_; ++row) {
      drawing.line(x, y + cell_ * row, x + width(), y + cell_ * row, "grid");
    }
    for (int column = 1; column < columns_; ++column) {
      drawing.line(x + cell_ * column, y, x + cell_ * column, y + height(), "grid");
    }
  }

 private:
  int rows_, columns_;
  double cell_;
};

void draw_arrow(Drawing& drawing, double from, double to, double y, const std::string& words) {
  drawing.path(
      fmt::format("M{0} {1}H{2}m-7 -5l7 5l-7 5", size_text(from), size_text(y), size_text(to)),
      "flow");
  drawing.words((from + to) / 2, y - 10, words, "middle faint small");
}

/// C with the rows of A beside it and the columns of B above it; one tile, and what it needs.
void draw_product(Drawing& drawing, const TilePicture& tile) {
  constexpr double side = 112.0, panel = 56.0, x = 84.0, y = 104.0, part = side / 4;
  drawing.box(x, y, side, side, "matrix");
  drawing.box(x - panel - 8, y, panel, side, "matrix");
  drawing.box(x, y - panel - 8, side, panel, "matrix");
  drawing.box(x - panel - 8, y + part, panel, part, "needed");
  drawing.box(x + part, y - panel - 8, part, panel, "needed");
  drawing.box(x - panel / 2, y + part, panel / 5, part, "now");
  drawing.box(x + part, y - panel / 2, part, panel / 5, "now");
  drawing.box(x + part, y + part, part, part, "now");
  drawing.words(x - panel / 2 - 8, y + side + 16, "A", "middle");
  drawing.words(x + side / 2, y + side + 16, "C", "middle");
  drawing.words(x + side + 6, y - panel / 2, "B");
  drawing.words(x + part * 1.5, y + part * 1.5 + 4, "tile", "middle inside small");
  drawing.words(x + side / 2, y + side + 36, tile.global, "middle faint small");
}

std::string extents(int rows, int columns) {
  return fmt::format("{} x {}", rows, columns);
}

}  // namespace

std::string draw_svg(const TilePicture& tile) {
  constexpr double most = 100.0, top = 60.0, shared_x = 300.0, register_x = 600.0;
  Drawing drawing(780, 270, tile.title);
  drawing.words(140, 18, "memory of the GPU", "middle strong");
  drawing.words(shared_x + 107, 18, "shared memory of a block", "middle strong");
  drawing.words(register_x + 70, 18, "registers of a thread", "middle strong");
  draw_product(drawing, tile);
  const double scale = most / std::max({tile.rows, tile.columns, tile.depth});
  const CellBox a(tile.rows, tile.depth, scale * std::max(tile.rows, tile.depth)),
      b(tile.depth, tile.columns, scale * std::max(tile.depth, tile.columns));
  a.draw(drawing, shared_x, top, "held");
  drawing.words(shared_x, top + a.height() + 16, "A: " + extents(tile.rows, tile.depth), "small");
  const double b_x = shared_x + most + 14;
  b.draw(drawing, b_x, top, "held");
  drawing.words(b_x, top + b.height() + 16, "B: " + extents(tile.depth, tile.columns), "small");
  drawing.words(shared_x + 107, 236, tile.shared, "middle faint small");
  const CellBox sums(tile.thread_rows, tile.thread_columns,
                     std::min(90.0, 22.0 * std::max(tile.thread_rows, tile.thread_columns)));
  sums.draw(drawing, register_x + 30, top, "now");
  drawing.words(register_x + 30, top + sums.height() + 16,
                "C: " + extents(tile.thread_rows, tile.thread_columns), "small");
  drawing.words(register_x + 70, 236, tile.registers, "middle faint small");
  draw_arrow(drawing, 212, shared_x - 8, 160, tile.loads);
  draw_arrow(drawing, 528, register_x + 22, 160, tile.operations);
  return drawing.svg();
}

std::string draw_svg(const MemoryLevels& levels) {
  constexpr double row = 54.0, top = 34.0, middle = 220.0, bars_from = 440.0, bars_to = 640.0;
  double most = 1.0;
  std::string said = levels.title;
  for (const MemoryLevels::Level& level : levels.levels) {
    most = std::max(most, level.cycles);
    said += fmt::format("; {}: {}, {}, {}", level.name, level.latency, level.size, level.bandwidth);
  }
  const auto count = static_cast<double>(levels.levels.size());
  Drawing drawing(760, top + row * count + 10, said);
  drawing.words(middle, 18, "from the thread outwards", "middle faint");
  drawing.words(bars_from, 18, "how long an access takes", "faint");
  double y = top;
  for (std::size_t i = 0; i < levels.levels.size(); ++i) {
    const MemoryLevels::Level& level = levels.levels[i];
    const double width = 200.0 + 220.0 * double(i + 1) / count;
    drawing.box(middle - width / 2, y, width, row - 10, "level");
    drawing.words(middle, y + 18, level.name, "middle strong");
    drawing.words(middle, y + 35, clipped(level.size + level.bandwidth, 52), "middle faint small");
    const double length = (bars_to - bars_from) * level.cycles / most;
    if (level.cycles > 0.0) drawing.box(bars_from, y + 12, std::max(2.0, length), 16, "bar");
    drawing.words(bars_from + length + 6, y + 25, level.latency, level.cycles > 0.0 ? "" : "faint");
    y += row;
  }
  return drawing.svg();
}

std::string draw_svg(const BlockWarps& block) {
  constexpr double left_x = 96.0, top = 26.0, most_width = 640.0;
  const double step =
      std::min(20.0, most_width / double(std::max<std::uint32_t>(1, block.columns)));
  const std::uint64_t threads = block.threads, all = std::uint64_t{block.warps} * block.warp_size;
  const std::uint64_t rows = (all + block.columns - 1) / block.columns;
  Drawing drawing(left_x + most_width + 10, top + step * double(rows) + 30, block.title);
  drawing.words(left_x, 16, block.across, "faint");
  const auto at = [&](std::uint64_t thread) {
    const double x = left_x + step * double(thread % block.columns);
    return Reach{x, x + step - 2};
  };
  for (std::uint64_t row = 0; row < rows; ++row) {
    const double y = top + step * double(row);
    const std::uint64_t first = row * block.columns, last = std::min(all, first + block.columns);
    std::vector<Reach> even, odd, idle;
    for (std::uint64_t thread = first; thread < last; ++thread) {
      const bool is_even = thread / block.warp_size % 2 == 0;
      (thread >= threads ? idle : is_even ? even : odd).push_back(at(thread));
    }
    drawing.row_of_boxes(even, y, step - 2, "warp even");
    drawing.row_of_boxes(odd, y, step - 2, "warp odd");
    drawing.row_of_boxes(idle, y, step - 2, "padding");
    // The warps that begin in this row.
    const std::uint64_t begin = (first + block.warp_size - 1) / block.warp_size,
                        end = (last + block.warp_size - 1) / block.warp_size;
    if (begin >= end) continue;
    drawing.words(left_x - 8, y + step * 0.7,
                  end - begin == 1 ? fmt::format("warp {}", begin)
                                   : fmt::format("warps {}-{}", begin, end - 1),
                  "end small");
  }
  drawing.words(left_x, top + step * double(rows) + 18, block.below,
                threads < all ? "strong badtext" : "faint");
  return drawing.svg();
}

}  // namespace tilescope::report
