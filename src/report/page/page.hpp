// The output of a command, as data: blocks to read from the top down, and the values behind them. A
// renderer (text/, json/) prints it; commands and reports only build pages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "report/page/figure.hpp"
#include "report/page/outcome.hpp"
#include "report/page/picture.hpp"
#include "report/page/value.hpp"

namespace tilescope::report {

/// The name of the blocks up to the next heading.
struct Heading {
  std::string text;
};

/// A paragraph; its line breaks stay.
struct Text {
  std::string text;
  std::size_t indent = 0;
  std::size_t hang = 0;  ///< more indent of the lines after the first
};

/// Names and their values, one a line.
struct Facts {
  std::size_t name_width = 0;  ///< least width
  std::vector<std::pair<std::string, std::string>> facts;
};

enum class Side : std::uint8_t { left, right };
using enum Side;

struct Column {
  std::string title;
  Side side = left;
  std::size_t width = 0;    ///< least width
  std::string cell;         ///< a sentence of Record::fill, filled with each row
  std::size_t widest = 80;  ///< longer cells are broken into lines
};

/// Rows of values. A renderer keeps columns apart, however wide their cells are.
struct Table {
  std::vector<Column> columns;
  std::vector<Record> rows;
  std::size_t indent = 0;
  bool has_head = true;
  /// A sentence of Record::fill. For a row in which it is not empty, it replaces the columns from
  /// `note_from` on.
  std::string note = {};
  std::size_t note_from = 1;
  std::string below = {};  ///< a sentence for lines of their own below the row
};

/// Source lines with figures beside them.
struct Listing {
  struct Line {
    std::uint32_t number = 0;  ///< 0: a gap between lines
    bool hot = false;
    Record figures = {};  ///< empty: no figures, a line for context
    std::string source = {};
  };
  std::string file;
  std::vector<Column> columns;  ///< between the number and the source
  std::vector<Line> lines;
};

/// One defect or remark about places in source files.
struct Diagnostic {
  struct Place {
    std::string text;         ///< "k.cu:12"
    std::uint32_t line = 0;   ///< in the source; 0: none to quote
    std::string quoted = {};  ///< the source line, if there is one
    std::string who = {};     ///< "write of 4 bytes: block (0,0,0), thread (1,0,0)"
    std::string calls = {};   ///< "called from k.cu:30, from k.cu:52": where it was inlined
  };
  std::string severity;  ///< "error", "warning" or "note"
  std::string kind;
  std::string where;          ///< all places in words; empty: about the launch as a whole
  std::vector<Place> places;  ///< the first is the defect's own
  std::vector<std::string> paragraphs;
};

using Block =
    std::variant<Heading, Text, Facts, Table, Listing, Diagnostic, Curve, RooflinePlot, Grid>;

class Page {
 public:
  explicit Page(std::string_view command_name) : command(command_name) {}

  std::string command;
  Record data;                     ///< the values for JSON, beside its version and `command`
  std::vector<Block> blocks;       ///< the blocks for people
  std::vector<Figure> figures;     ///< for renderers with graphics, before the blocks
  Outcome outcome;                 ///< the same for other tools; of check and explain
  std::vector<std::string> steps;  ///< a worked calculation
  bool with_steps = false;         ///< whether the steps are shown

  /// Adds a paragraph, a fact or a step. Their sentences are filled from `data`.
  void say(std::string_view sentence, std::size_t indent = 0, std::size_t hang = 0);
  void fact(std::string name, std::string_view sentence);
  void step(std::string_view what, std::string_view how);
  /// A step that is a complete sentence.
  void remark(std::string_view sentence);
  /// The same from the values of `record`.
  void fact(std::string name, std::string_view sentence, const Record& record);
  void step(std::string_view what, std::string_view how, const Record& record);

  /// Names of facts are padded to `name_width` from here on.
  void facts(std::size_t name_width);
  void head(std::string text);
  /// An empty line.
  void gap();
  void add(Block block);
};

}  // namespace tilescope::report
