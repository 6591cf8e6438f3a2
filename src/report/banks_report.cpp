#include "report/banks_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.hpp"

namespace tilescope::report {
namespace {

using gpu::BankAccess;
using gpu::BankMatrix;

std::string access_text(const BankAccess& access) {
  if (access.wavefronts == access.ideal) {
    return fmt::format("conflict-free ({} wavefront{})", access.wavefronts,
                       access.wavefronts == 1 ? "" : "s");
  }
  return fmt::format("{}-way conflict ({} wavefronts instead of {})", access.ways,
                     access.wavefronts, access.ideal);
}

nlohmann::json access_json(const BankAccess& access) {
  return {{"ways", access.ways},
          {"wavefronts", access.wavefronts},
          {"ideal_wavefronts", access.ideal},
          {"conflicts", access.wavefronts - access.ideal}};
}

}  // namespace

std::string banks_text(const BankMatrix& m) {
  std::string text = fmt::format(
      "{} x {} elements of {} B{} in {} banks of {} B: the bank of each element\n", m.rows,
      m.columns, m.element_bytes,
      m.padding > 0 ? fmt::format(", rows padded by {}", m.padding) : "", m.banks, m.word_bytes);
  constexpr int most_rows = 34, width = 80;
  const int cell = m.banks > 10 ? 3 : 2;
  const int most_columns = (width - 10) / cell;
  const int columns = std::min(m.columns + m.padding, most_columns);
  const int lanes_down = std::min(m.rows, m.warp());
  for (int row = 0; row < std::min(m.rows, most_rows); ++row) {
    text += fmt::format("{:>5} |", row);
    for (int column = 0; column < columns; ++column) {
      const bool padding = column >= m.columns;
      // The column that the warp's lanes would read first stands out.
      const bool marked = column == 0 && row < lanes_down;
      text += padding ? fmt::format("{:>{}}", '.', cell)
                      : fmt::format("{:>{}}", m.bank_of(row, column), cell);
      if (marked) text.replace(text.size() - static_cast<std::size_t>(cell), 1, "*");
    }
    text += m.columns + m.padding > columns ? " ...\n" : "\n";
  }
  if (m.rows > most_rows) text += fmt::format("  ... {} more rows\n", m.rows - most_rows);
  text +=
      fmt::format("  *: the lanes of a column access{}\n\n", m.padding > 0 ? "; .: padding" : "");
  const BankAccess column = column_access(m);
  text += fmt::format("  {:<24} {}\n", "Along a row", access_text(row_access(m)));
  text += fmt::format("  {:<24} {}\n", "Down a column", access_text(column));
  if (column.wavefronts > column.ideal) {
    const int padding = padding_that_cures(m);
    text += fmt::format("  {:<24} {}\n", "Cure",
                        padding < 0
                            ? std::string("no padding cures it: read along rows")
                            : fmt::format("{} element{} of padding a row: [{}][{} + {}]", padding,
                                          padding == 1 ? "" : "s", m.rows, m.columns, padding));
  }
  return text;
}

Steps banks_steps(const BankMatrix& m) {
  Steps steps;
  const int pitch = (m.columns + m.padding) * m.element_bytes;
  steps.add("A row takes", fmt::format("({} + {}) elements x {} B = {} B = {:.4g} words of {} B",
                                       m.columns, m.padding, m.element_bytes, pitch,
                                       double(pitch) / m.word_bytes, m.word_bytes));
  steps.add("Bank of an element", fmt::format("(row x {} + column x {}) / {}, mod {}", pitch,
                                              m.element_bytes, m.word_bytes, m.banks));
  std::string down;
  for (int row = 0; row < std::min({m.rows, m.warp(), 8}); ++row) {
    down += fmt::format("{}{}", row == 0 ? "" : ", ", m.bank_of(row, 0));
  }
  steps.add("Down column 0", fmt::format("banks {}{}", down, m.rows > 8 ? ", ..." : ""));
  const BankAccess column = column_access(m);
  steps.add("A column access",
            fmt::format("{} lanes; the busiest bank has {} different words to give, so {} "
                        "wavefronts (without conflicts {})",
                        std::min(m.warp(), m.rows * m.columns), column.ways, column.wavefronts,
                        column.ideal));
  return steps;
}

nlohmann::json banks_json(const BankMatrix& m) {
  const int cure = padding_that_cures(m);
  return {{"banks", m.banks},
          {"word_bytes", m.word_bytes},
          {"rows", m.rows},
          {"columns", m.columns},
          {"padding_elements", m.padding},
          {"element_bytes", m.element_bytes},
          {"lanes", m.warp()},
          {"row_access", access_json(row_access(m))},
          {"column_access", access_json(column_access(m))},
          {"padding_that_cures_elements", cure < 0 ? nlohmann::json() : nlohmann::json(cure)}};
}

}  // namespace tilescope::report
