#include "report/text/table_text.hpp"

#include <algorithm>
#include <numeric>

#include "report/text/wrap.hpp"

namespace tilescope::report {
namespace {

constexpr std::size_t cell_gap = 2, title_gap = 1;
constexpr std::size_t hanging = 2;     // indent of a cell's lines after the first
constexpr std::size_t narrowest = 10;  // of a column whose cells are broken into lines

std::string without_end(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

class Layout {
 public:
  Layout(const Table& table, std::size_t most) : table_(table), most_(most) {
    for (const Record& row : table.rows) {
      notes_.push_back(row.fill(table.note));
      below_.push_back(row.fill(table.below));
      const std::size_t shown = notes_.back().empty() ? table.columns.size() : table.note_from;
      std::vector<std::string>& cells = cells_.emplace_back();
      for (std::size_t i = 0; i < shown; ++i) cells.push_back(row.fill(table.columns[i].cell));
    }
    set_widths();
    while (width() > most_ && drop_padding()) continue;
    for (const Side side : {left, right}) {
      while (width() > most_ && narrow(side)) continue;
    }
  }

  bool fits() const { return width() <= most_; }

  std::string text() const {
    std::string text;
    if (table_.has_head) {
      std::vector<std::string> titles;
      for (const Column& column : table_.columns) titles.push_back(column.title);
      text += row(titles);
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      text += notes_[i].empty() ? row(cells_[i]) : noted_row(cells_[i], notes_[i]);
      if (!below_[i].empty()) text += "  " + hang(below_[i], 2, most_ - 2) + '\n';
    }
    return text;
  }

  /// For a table that is too wide in any case.
  std::string as_lists() const {
    constexpr std::size_t indent = 4;
    std::string text;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      std::vector<std::string> lines = cells_[i];
      for (std::size_t c = 0; c < lines.size(); ++c) {
        if (!table_.columns[c].title.empty()) lines[c] = table_.columns[c].title + ": " + lines[c];
      }
      for (const std::string& more : {notes_[i], below_[i]}) {
        if (!more.empty()) lines.push_back(more);
      }
      for (std::size_t c = 0; c < lines.size(); ++c) {
        for (const std::string& line : lines_within(lines[c], 0, most_ - indent)) {
          text += without_end(std::string(c == 0 ? 0 : indent, ' ') + line);
        }
      }
    }
    return text;
  }

 private:
  /// Sets each column to the width of its title and cells and, with padding, to at least its
  /// requested width.
  void set_widths() {
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      const Column& column = table_.columns[i];
      std::size_t needed = table_.has_head ? width_of(column.title) : 0;
      for (const auto& row : cells_) {
        if (i < row.size()) needed = std::max(needed, width_of(row[i]));
      }
      needed_.push_back(std::min(needed, column.widest));
      widths_.push_back(std::max(needed_.back(), column.width));
    }
    set_gaps();
  }

  /// Takes what is too much from the column with the most padding; false if there is none.
  bool drop_padding() {
    std::size_t widest = 0;
    for (std::size_t i = 1; i < widths_.size(); ++i) {
      if (widths_[i] - needed_[i] > widths_[widest] - needed_[widest]) widest = i;
    }
    const std::size_t padding = widths_[widest] - needed_[widest];
    widths_[widest] -= std::min(width() - most_, padding);
    set_gaps();
    return padding > 0;
  }

  /// Counts the padding beside a cell as part of the gap.
  void set_gaps() {
    gaps_.assign(widths_.size(), title_gap);
    gaps_.front() = 0;
    for (const auto& row : cells_) {
      for (std::size_t i = 1; i < row.size(); ++i) {
        if (row[i].empty() || row[i - 1].empty()) continue;
        std::size_t room = 0;
        if (table_.columns[i - 1].side == left) room += spare(row, i - 1);
        if (table_.columns[i].side == right) room += spare(row, i);
        gaps_[i] = std::max(gaps_[i], cell_gap - std::min(cell_gap, room));
      }
    }
  }
  std::size_t spare(const std::vector<std::string>& row, std::size_t column) const {
    return widths_[column] - std::min(widths_[column], width_of(row[column]));
  }

  std::size_t width() const {
    return std::accumulate(widths_.begin(), widths_.end(), table_.indent) +
           std::accumulate(gaps_.begin(), gaps_.end(), std::size_t{0});
  }

  /// Makes the widest column of that side narrower; false if none can be.
  bool narrow(Side side) {
    std::size_t widest = widths_.size();
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      if (table_.columns[i].side != side || widths_[i] <= narrowest) continue;
      if (widest == widths_.size() || widths_[i] >= widths_[widest]) widest = i;
    }
    if (widest == widths_.size()) return false;
    widths_[widest] -= std::min(width() - most_, widths_[widest] - narrowest);
    set_gaps();
    return true;
  }

  std::string row(const std::vector<std::string>& cells) const {
    std::vector<std::vector<std::string>> parts;
    std::size_t height = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      parts.push_back(width_of(cells[i]) <= widths_[i]
                          ? std::vector{cells[i]}
                          : lines_within(cells[i], hanging, widths_[i]));
      height = std::max(height, parts.back().size());
    }
    std::string text;
    for (std::size_t l = 0; l < height; ++l) {
      std::string line(table_.indent, ' ');
      for (std::size_t i = 0; i < parts.size(); ++i) {
        line.append(gaps_[i], ' ');
        line += padded(l < parts[i].size() ? parts[i][l] : "", widths_[i],
                       table_.columns[i].side == right);
      }
      text += without_end(std::move(line));
    }
    return text;
  }

  /// The note begins at the first column that it replaces.
  std::string noted_row(const std::vector<std::string>& cells, const std::string& note) const {
    std::string text = row(cells);
    text.pop_back();
    std::size_t start = table_.indent;
    for (std::size_t i = 0; i < table_.note_from; ++i) start += gaps_[i] + widths_[i];
    start += table_.note_from < gaps_.size() ? gaps_[table_.note_from] : 0;
    const std::size_t last = text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1;
    const std::size_t written = width_of(std::string_view(text).substr(last));
    text.append(start > written ? start - written : 0, ' ');
    return without_end(text +
                       (start + width_of(note) <= most_ ? note : hang(note, start, most_ - start)));
  }

  const Table& table_;
  std::size_t most_;
  std::vector<std::vector<std::string>> cells_;
  std::vector<std::string> notes_, below_;
  std::vector<std::size_t> needed_, widths_;  // of a column without and with padding
  std::vector<std::size_t> gaps_;             // before a column
};

}  // namespace

std::string table_text(const Table& table, std::size_t most) {
  if (table.columns.empty()) return {};
  const Layout layout(table, most);
  return layout.fits() ? layout.text() : layout.as_lists();
}

}  // namespace tilescope::report
