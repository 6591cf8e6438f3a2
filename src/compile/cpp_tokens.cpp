#include "compile/cpp_tokens.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace tilescope::compile {
namespace {

bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// Words and single punctuation marks of C++ text.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  std::vector<std::string_view> all() {
    std::vector<std::string_view> tokens;
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (skip_blank(c)) continue;
      const std::size_t begin = position_++;
      if (starts_word(c)) {
        while (position_ < text_.size() && in_word(text_[position_])) ++position_;
        if (text_[position_ - 1] == 'R' && position_ < text_.size() && text_[position_] == '"') {
          skip_raw();
        }
      } else if (c == '"' || c == '\'') {
        skip_quoted(c);
      } else if (std::isdigit(static_cast<unsigned char>(c))) {
        // A ' in a number separates digits and opens no character.
        while (position_ < text_.size() &&
               (in_word(text_[position_]) || text_[position_] == '\'' || text_[position_] == '.')) {
          ++position_;
        }
      }
      line_start_ = false;
      tokens.push_back(text_.substr(begin, position_ - begin));
      braces_ += c == '{' ? 1 : c == '}' ? -1 : 0;
    }
    return tokens;
  }

 private:
  bool skip_blank(char c) {
    if (std::isspace(static_cast<unsigned char>(c))) {
      line_start_ = line_start_ || c == '\n';
      ++position_;
      return true;
    }
    const std::string_view rest = text_.substr(position_);
    if (rest.starts_with("//")) {
      to_end_of_line();
      return true;
    }
    if (c == '#' && line_start_) {
      directive();
      return true;
    }
    if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      position_ = end == std::string_view::npos ? text_.size() : position_ + end + 2;
      return true;
    }
    return false;
  }

  /// Alternatives that open different numbers of braces than they close, as in
  ///   #if A
  ///     for (...) {
  ///   #else
  ///     while (...) {
  ///   #endif
  /// count once: all but the first are passed over.
  void directive() {
    const std::string_view word = to_end_of_directive();
    if (word.starts_with("if")) {
      before_.push_back(braces_);
    } else if (before_.empty()) {
      return;
    } else if (word == "endif") {
      before_.pop_back();
    } else if (word.starts_with("el") && before_.back() != braces_) {
      for (int open = 1; open > 0 && position_ < text_.size();) {
        position_ = text_.find_first_not_of(" \t\r\n", position_);
        if (position_ == std::string_view::npos) position_ = text_.size();
        if (position_ == text_.size() || text_[position_] != '#') {
          to_end_of_line();
          continue;
        }
        const std::string_view inner = to_end_of_directive();
        open += inner.starts_with("if") ? 1 : inner == "endif" ? -1 : 0;
      }
      before_.pop_back();
    }
  }

  /// From a # to the end of its line: its word.
  std::string_view to_end_of_directive() {
    std::size_t begin = position_ + 1;
    while (begin < text_.size() && (text_[begin] == ' ' || text_[begin] == '\t')) ++begin;
    std::size_t end = begin;
    while (end < text_.size() && in_word(text_[end])) ++end;
    to_end_of_line();
    return text_.substr(begin, end - begin);
  }

  void to_end_of_line() {
    while (position_ < text_.size() && text_[position_] != '\n') {
      position_ += text_[position_] == '\\' ? 2U : 1U;  // a line ending in \ continues
    }
    position_ = std::min(position_, text_.size());
  }

  /// R"mark(anything)mark"
  void skip_raw() {
    const std::size_t open = text_.find('(', position_);
    if (open == std::string_view::npos) return;
    const std::string end =
        ")" + std::string(text_.substr(position_ + 1, open - position_ - 1)) + "\"";
    const std::size_t close = text_.find(end, open);
    position_ = close == std::string_view::npos ? text_.size() : close + end.size();
  }

  void skip_quoted(char quote) {
    while (position_ < text_.size() && text_[position_] != quote && text_[position_] != '\n') {
      position_ += text_[position_] == '\\' ? 2U : 1U;
    }
    position_ = std::min(position_ + 1, text_.size());
  }

  std::string_view text_;
  std::size_t position_ = 0;
  bool line_start_ = true;
  int braces_ = 0;           ///< open ones
  std::vector<int> before_;  ///< those before each #if around
};

}  // namespace

bool is_word(std::string_view token) {
  return !token.empty() && starts_word(token.front());
}

std::vector<std::string_view> cpp_tokens(std::string_view text) {
  return Tokenizer(text).all();
}

}  // namespace tilescope::compile
