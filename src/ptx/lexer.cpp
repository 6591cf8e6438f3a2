#include "ptx/lexer.hpp"

namespace tilescope::ptx {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
/// Whether `c` may follow the first character of an identifier.
bool is_name(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

}  // namespace

Token Lexer::next() {
  const Token taken = current_;
  current_ = scan();
  return taken;
}

void Lexer::skip_block_comment() {
  position_ += 2;
  while (position_ < text_.size()) {
    if (text_[position_] == '*' && at(position_ + 1) == '/') {
      position_ += 2;
      return;
    }
    if (text_[position_++] == '\n') ++line_;
  }
}

void Lexer::skip_space() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (is_space(c)) {
      if (c == '\n') ++line_;
      ++position_;
    } else if (c == '/' && at(position_ + 1) == '*') {
      skip_block_comment();
    } else if ((c == '/' && at(position_ + 1) == '/') || c == '#') {
      // '#' begins a line of the C preprocessor, which the ISA allows.
      position_ = text_.find('\n', position_);
      if (position_ == std::string_view::npos) position_ = text_.size();
    } else if (c == '\0' && text_.find_first_not_of('\0', position_) == std::string_view::npos) {
      position_ = text_.size();  // the terminator that some producers count as text
    } else {
      return;
    }
  }
}

std::size_t Lexer::end_of_identifier(std::size_t i) const {
  while (i < text_.size() && is_name(text_[i])) ++i;
  return i;
}

/// After the name of a dotted word, `::name` may follow any number of times.
std::size_t Lexer::end_of_dotted(std::size_t i) const {
  i = end_of_identifier(i);
  while (at(i) == ':' && at(i + 1) == ':' && is_name(at(i + 2))) i = end_of_identifier(i + 2);
  return i;
}

std::size_t Lexer::end_of_number(std::size_t begin) const {
  const char base = at(begin + 1);
  const bool decimal = at(begin) != '0' || is_digit(base) || base == '.';
  std::size_t i = begin;
  while (i < text_.size() && (is_name(text_[i]) || text_[i] == '.')) {
    const bool exponent = decimal && (text_[i] == 'e' || text_[i] == 'E');
    ++i;
    if (exponent && (at(i) == '+' || at(i) == '-')) ++i;
  }
  return i;
}

Token Lexer::scan() {
  const std::size_t before = position_;
  skip_space();
  Token token;
  token.line = line_;
  token.spaced = position_ != before;
  if (position_ >= text_.size()) return token;

  const std::size_t begin = position_;
  const char c = text_[begin];
  std::size_t end = begin + 1;
  if (is_letter(c) || c == '_' || c == '$' || (c == '%' && is_name(at(begin + 1)))) {
    token.kind = Token::Kind::word;
    end = end_of_dotted(end);
    while (at(end) == '.' && is_name(at(end + 1))) end = end_of_dotted(end + 1);
  } else if (is_digit(c)) {
    token.kind = Token::Kind::number;
    end = end_of_number(begin);
  } else if (c == '.' && is_name(at(begin + 1))) {
    token.kind = Token::Kind::dotted_word;
    end = end_of_dotted(begin + 1);
  } else if (c == '"') {
    const std::size_t stop = text_.find_first_of("\"\n", begin + 1);
    if (stop != std::string_view::npos && text_[stop] == '"') {
      token.kind = Token::Kind::string;
      token.text = text_.substr(begin + 1, stop - begin - 1);
      position_ = stop + 1;
      return token;
    }
    token.kind = Token::Kind::punctuation;  // a quote without its partner: an error wherever it is
  } else {
    token.kind = Token::Kind::punctuation;
  }
  token.text = text_.substr(begin, end - begin);
  position_ = end;
  return token;
}

}  // namespace tilescope::ptx
