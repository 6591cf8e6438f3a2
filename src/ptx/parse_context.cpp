#include "ptx/parse_context.hpp"

#include "ptx/constant_expression.hpp"

namespace tilescope::ptx {

bool ParseContext::accept(char c) {
  if (!at(c)) return false;
  lexer.next();
  return true;
}

bool ParseContext::accept(std::string_view word) {
  if (!at(word)) return false;
  lexer.next();
  return true;
}

void ParseContext::expect(char c, std::string_view where) {
  if (!accept(c)) unexpected(fmt::format("'{}' {}", c, where));
}

Token ParseContext::expect_name(std::string_view what) {
  const Token& found = token();
  if (found.kind != Token::Kind::word || found.text.find('.') != std::string_view::npos) {
    unexpected(what);
  }
  return lexer.next();
}

std::uint64_t ParseContext::expect_integer(std::string_view what, std::uint64_t lowest,
                                           std::uint64_t highest) {
  const std::uint32_t line = token().line;
  const std::uint64_t value = parse_integer_constant(lexer);
  if (value < lowest || value > highest) {
    fail(line, "{} must be from {} to {}, not {}", what, lowest, highest, value);
  }
  return value;
}

void ParseContext::unexpected(std::string_view wanted) const {
  const Token& found = token();
  fail(found.line, "expected {}, found {}", wanted,
       found.kind == Token::Kind::end ? std::string("the end of the text") : quoted(found.text));
}

}  // namespace tilescope::ptx
