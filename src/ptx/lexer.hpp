// Text of PTX to tokens, one at a time: a module of ten megabytes never becomes a list of them.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilescope::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    word,         ///< an identifier, with the dotted words that follow it at once: "ld.global.f32"
    dotted_word,  ///< ".reg", ".shared::cta"
    number,       ///< as written: "0x1F", "0f3F800000", "1.5", "9.0"
    string,       ///< without the quotes
    punctuation,  ///< one character
  };
  Kind kind = Kind::end;
  std::string_view text;   ///< a part of the whole text; empty at the end
  std::uint32_t line = 0;  ///< from 1
  bool spaced = false;     ///< follows white space or a comment

  bool is(char c) const { return kind == Kind::punctuation && text.front() == c; }
  bool is(std::string_view word) const { return kind != Kind::string && text == word; }
};

class Lexer {
 public:
  /// `text` must live as long as the lexer and all tokens.
  explicit Lexer(std::string_view text) : text_(text) { next(); }

  const Token& current() const { return current_; }
  /// Advances; returns the token that was current.
  Token next();
  /// The character directly behind the current token, 0 at the end.
  char peek() const { return at(position_); }

 private:
  void skip_space();
  void skip_block_comment();
  std::size_t end_of_identifier(std::size_t at) const;
  std::size_t end_of_dotted(std::size_t at) const;
  std::size_t end_of_number(std::size_t at) const;
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  Token scan();

  std::string_view text_;
  std::size_t position_ = 0;
  std::uint32_t line_ = 1;
  Token current_;
};

}  // namespace tilescope::ptx
