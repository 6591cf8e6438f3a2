#include "ptx/line_directives.hpp"

#include <limits>

#include "base/octal_escapes.hpp"

namespace tilescope::ptx {
namespace {

constexpr std::uint64_t largest_number = std::numeric_limits<std::uint32_t>::max() - 1;

std::uint32_t number(ParseContext& context, std::string_view what) {
  return static_cast<std::uint32_t>(context.expect_integer(what, 0, largest_number));
}

LineTable::Place place(ParseContext& context, std::string_view directive) {
  const std::uint32_t file = number(context, fmt::format("the file of {}", directive));
  const std::uint32_t line = number(context, fmt::format("the line of {}", directive));
  return {file, line, number(context, fmt::format("the column of {}", directive))};
}

void parse_names(ParseContext& context) {
  while (!context.at('}')) {
    if (context.accept(".b8")) {
      do {
        context.lines.add_string_byte(
            static_cast<char>(context.expect_integer("a byte of .debug_str", 0, 255)));
      } while (context.accept(','));
    } else {
      const Token label = context.expect_name("a label or .b8 in .debug_str");
      context.expect(':', "after a label in .debug_str");
      context.lines.add_string_label(label.text);
    }
  }
}

}  // namespace

void parse_file(ParseContext& context) {
  const std::uint32_t index = number(context, "the number of a .file");
  if (context.token().kind != Token::Kind::string) context.unexpected("the path of the .file");
  context.lines.set_file(index, without_octal_escapes(context.lexer.next().text));
  while (context.accept(',')) number(context, "the time or size of a .file");
}

void parse_loc(ParseContext& context) {
  const LineTable::Place here = place(context, "a .loc");
  LineTable::NameAt name;
  std::optional<LineTable::Place> call;
  if (context.accept(',')) {
    if (!context.accept("function_name")) context.unexpected("'function_name' in a .loc");
    name.label = context.expect_name("the label of a function's name").text;
    if (context.accept('+')) {
      name.offset = context.expect_integer("the offset of a function's name", 0, largest_number);
    }
    context.expect(',', "before inlined_at");
    if (!context.accept("inlined_at")) context.unexpected("'inlined_at' in a .loc");
    call = place(context, "inlined_at");
  }
  context.lines.set(here, name, call);
}

void parse_section(ParseContext& context) {
  const Token name = context.lexer.next();
  if (name.kind != Token::Kind::dotted_word && name.kind != Token::Kind::word) {
    fail(name.line, "expected the name of a .section, found {}", quoted(name.text));
  }
  context.expect('{', "to open a .section");
  if (name.is(".debug_str")) parse_names(context);
  while (!context.at('}')) {
    if (context.token().kind == Token::Kind::end) context.unexpected("'}' to close a .section");
    context.lexer.next();
  }
  context.lexer.next();
}

}  // namespace tilescope::ptx
