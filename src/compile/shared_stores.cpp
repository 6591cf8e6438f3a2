#include "compile/shared_stores.hpp"

#include <algorithm>

#include "compile/cpp_tokens.hpp"

namespace tilescope::compile {
namespace {

/// "scale" of "lib::scale<16>(float*)".
std::string_view bare_name(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find_first_of("<("));
  const std::size_t colon = kernel.rfind(':');
  return colon == kernel.npos ? kernel : kernel.substr(colon + 1);
}

class KernelBody {
 public:
  KernelBody(std::string_view source, std::string_view kernel)
      : source_(source), tokens_(cpp_tokens(source)) {
    const auto text = [&](std::size_t i) {
      return i < tokens_.size() ? tokens_[i] : std::string_view{};
    };
    for (std::size_t i = 0; i < tokens_.size() && end_ == 0; ++i) {
      if (tokens_[i] != "__global__") continue;
      while (i < tokens_.size() && !(text(i) == kernel && text(i + 1) == "(") && text(i) != ";" &&
             text(i) != "{") {
        ++i;
      }
      if (text(i) != kernel) continue;
      const std::size_t parameters_end = closing(i + 1, "(", ")");
      if (text(parameters_end + 1) != "{") continue;
      begin_ = parameters_end + 1;
      end_ = closing(begin_, "{", "}");
    }
  }

  std::vector<SharedStore> stores() const {
    std::vector<SharedStore> result;
    if (end_ == 0 || end_ == tokens_.size() || has_conditions()) return result;
    for (std::size_t i = begin_; i < end_; ++i) {
      if (tokens_[i] != "__shared__") continue;
      for (const std::string_view variable : declared(i)) {
        const std::size_t store = first_store(variable, i);
        if (store != end_) result.push_back({std::string(variable), line_of(store)});
      }
    }
    return result;
  }

 private:
  /// The index of the bracket that closes the one at `open`, or the number of tokens.
  std::size_t closing(std::size_t open, std::string_view in, std::string_view out) const {
    std::size_t depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      if (tokens_[i] == in) ++depth;
      if (tokens_[i] == out && --depth == 0) return i;
    }
    return tokens_.size();
  }

  std::size_t offset_of(std::size_t token) const {
    return static_cast<std::size_t>(tokens_[token].data() - source_.data());
  }
  std::uint32_t line_of(std::size_t token) const {
    const std::string_view before = source_.substr(0, offset_of(token));
    return 1 + static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  }

  /// Whether a preprocessor condition stands in the body: part of it may not count.
  bool has_conditions() const {
    const std::string_view body =
        source_.substr(offset_of(begin_), offset_of(end_) - offset_of(begin_));
    for (std::size_t at = body.find('#'); at != body.npos; at = body.find('#', at + 1)) {
      const std::size_t word = body.find_first_not_of(" \t", at + 1);
      if (word != body.npos && body.substr(word).starts_with("if")) return true;
    }
    return false;
  }

  /// The names in the declaration that `__shared__` at `begin` belongs to.
  std::vector<std::string_view> declared(std::size_t begin) const {
    std::vector<std::string_view> names;
    std::size_t depth = 0;
    for (std::size_t i = begin + 1; i < end_ && tokens_[i] != ";"; ++i) {
      const std::string_view next = tokens_[i + 1];
      if (tokens_[i] == "(" || tokens_[i] == "[" || tokens_[i] == "<") ++depth;
      if (tokens_[i] == ")" || tokens_[i] == "]" || tokens_[i] == ">") depth -= depth != 0;
      if (depth == 0 && is_word(tokens_[i]) && (next == "[" || next == "," || next == ";")) {
        names.push_back(tokens_[i]);
      }
    }
    return names;
  }

  /// The first token of an assignment to the variable or an element of it; end_: none.
  std::size_t first_store(std::string_view variable, std::size_t declaration) const {
    std::size_t from = declaration;
    while (from < end_ && tokens_[from] != ";") ++from;
    for (std::size_t i = from; i < end_; ++i) {
      if (tokens_[i] != variable) continue;
      std::size_t after = i + 1;
      while (after < end_ && (tokens_[after] == "[" || tokens_[after] == ".")) {
        after = tokens_[after] == "[" ? closing(after, "[", "]") + 1 : after + 2;
      }
      if (after + 2 < end_ && assigns(after)) return i;
    }
    return end_;
  }

  /// Whether an assignment operator begins at the token.
  bool assigns(std::size_t at) const {
    const std::string_view a = tokens_[at], b = tokens_[at + 1], c = tokens_[at + 2];
    if (a == "=") return b != "=";
    if ((a == "+" && b == "+") || (a == "-" && b == "-")) return true;
    if ((a == "<" && b == "<") || (a == ">" && b == ">")) return c == "=";
    return a.size() == 1 && std::string_view("+-*/%&|^").find(a[0]) != a.npos && b == "=" &&
           c != "=";
  }

  std::string_view source_;
  std::vector<std::string_view> tokens_;
  std::size_t begin_ = 0, end_ = 0;  ///< the braces of the body; end_ 0: not found
};

}  // namespace

std::vector<SharedStore> shared_stores(std::string_view source, std::string_view kernel) {
  return KernelBody(source, bare_name(kernel)).stores();
}

}  // namespace tilescope::compile
