#include "report/banks_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::report {
namespace {

using gpu::BankAccess;
using gpu::BankMatrix;

constexpr int most_rows = 34, most_columns = 40;

Record access_record(const BankAccess& access) {
  return {{"ways", access.ways},
          {"wavefronts", access.wavefronts},
          {"ideal_wavefronts", access.ideal},
          {"conflicts", access.wavefronts - access.ideal}};
}

void add_access(Page& page, const char* name, const BankAccess& access) {
  page.fact(name,
            access.wavefronts == access.ideal
                ? "conflict-free ({wavefronts} wavefront{wavefronts:s})"
                : "{ways}-way conflict ({wavefronts} wavefronts instead of {ideal_wavefronts})",
            access_record(access));
}

/// The bank of each element. The column that the warp's lanes would read first is marked.
Grid picture(const BankMatrix& m) {
  const int cell = m.banks > 10 ? 3 : 2;
  const int columns = std::min(m.columns + m.padding, most_columns);
  Grid grid{.rows = {},
            .cell_width = static_cast<std::size_t>(cell),
            .more_columns = m.columns + m.padding > columns,
            .banks = m.banks};
  for (int row = 0; row < std::min(m.rows, most_rows); ++row) {
    Grid::Row& drawn = grid.rows.emplace_back(Grid::Row{std::to_string(row), {}});
    for (int column = 0; column < columns; ++column) {
      drawn.cells.push_back({.bank = column >= m.columns ? -1 : m.bank_of(row, column),
                             .marked = column == 0 && row < std::min(m.rows, m.warp())});
    }
  }
  return grid;
}

void add_steps(Page& page, const BankMatrix& m) {
  const int pitch = (m.columns + m.padding) * m.element_bytes;
  std::string down;
  for (int row = 0; row < std::min({m.rows, m.warp(), 8}); ++row) {
    down += fmt::format("{}{}", row == 0 ? "" : ", ", m.bank_of(row, 0));
  }
  page.data.let("pitch", pitch)
      .let("words", double(pitch) / m.word_bytes)
      .let("down", down + (m.rows > 8 ? ", ..." : ""))
      .let("accessing", std::min(m.warp(), m.rows * m.columns));
  page.step("A row takes",
            "({columns:plain} + {padding_elements}) elements x {element_bytes:count} B = "
            "{pitch:plain} B = {words} words of {word_bytes:count} B");
  page.step("Bank of an element",
            "(row x {pitch:plain} + column x {element_bytes:count}) / {word_bytes:count}, mod "
            "{banks}");
  page.step("Down column 0", "banks {down}");
  page.step("A column access",
            "{accessing} lanes; the busiest bank has {column_access.ways} different words to give, "
            "so {column_access.wavefronts} wavefronts (without conflicts "
            "{column_access.ideal_wavefronts})");
}

}  // namespace

Page banks_page(const BankMatrix& m) {
  const int cure = padding_that_cures(m);
  const BankAccess row = row_access(m), column = column_access(m);
  Page page("banks");
  page.data = {{"banks", m.banks},
               {"word_bytes", m.word_bytes},
               {"rows", m.rows},
               {"columns", m.columns},
               {"padding_elements", m.padding},
               {"element_bytes", m.element_bytes},
               {"lanes", m.warp()},
               {"row_access", access_record(row)},
               {"column_access", access_record(column)},
               {"padding_that_cures_elements", cure < 0 ? Value() : Value(cure)}};
  page.data.let("padded",
                m.padding > 0 ? page.data.fill(", rows padded by {padding_elements}") : "");
  page.say(
      "{rows:plain} x {columns:plain} elements of {element_bytes:count} B{padded} in {banks} banks "
      "of {word_bytes:count} B: the bank of each element");
  page.add(picture(m));
  if (m.rows > most_rows) {
    page.add(Text{fmt::format("... {} more rows", m.rows - most_rows), 2});
  }
  page.say(m.padding > 0 ? "*: the lanes of a column access; .: padding"
                         : "*: the lanes of a column access",
           2);
  page.gap();
  page.facts(24);
  add_access(page, "Along a row", row);
  add_access(page, "Down a column", column);
  if (column.wavefronts > column.ideal) {
    page.fact("Cure", cure < 0 ? "no padding cures it: read along rows"
                               : "{padding_that_cures_elements} "
                                 "element{padding_that_cures_elements:s} of padding a row: "
                                 "[{rows:plain}][{columns:plain} + {padding_that_cures_elements}]");
  }
  add_steps(page, m);
  return page;
}

}  // namespace tilescope::report
