#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <tilescope/error.hpp>

#include "base/errors.hpp"
#include "base/text.hpp"
#include "expression/binary_operators.hpp"
#include "expression/expression.hpp"

namespace tilescope::expression {
namespace {

constexpr std::size_t longest_text = 10'000;
constexpr int deepest_nesting = 200;

bool is_type_name(std::string_view word) {
  constexpr std::array<std::string_view, 8> types{"int",    "unsigned", "long",    "short",
                                                  "size_t", "int64_t",  "int32_t", "uint32_t"};
  for (const std::string_view type : types) {
    if (word == type) return true;
  }
  return false;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    if (text.size() > longest_text) {
      throw usage_error("an expression of {} characters; at most {}", text.size(), longest_text);
    }
  }

  Expression parse() {
    conditional();
    skip_spaces();
    if (position_ < text_.size()) {
      if (text_[position_] == '=') fail("assignments are not allowed; compare with ==");
      if (text_[position_] == '.') fail("only whole numbers are allowed");
      fail("expected an operator");
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    throw Error(
        ErrorKind::usage,
        position_ < text_.size()
            ? fmt::format("expression \"{}\": {} at character {} (\"{}\")", printable(text_, 200),
                          why, position_ + 1, printable(text_.substr(position_), 20))
            : fmt::format("expression \"{}\": {} at its end", printable(text_, 200), why));
  }

  void skip_spaces() {
    while (position_ < text_.size() &&
           std::isspace(static_cast<unsigned char>(text_[position_])) != 0) {
      ++position_;
    }
  }

  bool accept(std::string_view token) {
    skip_spaces();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("expected '{}'", token));
  }

  struct Nesting {
    explicit Nesting(Parser& p) : parser(p) {
      if (++parser.depth_ > deepest_nesting) {
        parser.fail(fmt::format("nested more than {} deep", deepest_nesting));
      }
    }
    ~Nesting() { --parser.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    Parser& parser;
  };

  std::size_t conditional() {
    const Nesting nesting(*this);
    const std::size_t condition = binary(1);
    if (!accept("?")) return condition;
    const std::size_t yes = conditional();
    expect(":");
    const std::size_t no = conditional();
    return result_.add({Kind::conditional, "?:", 0, {condition, yes, no}});
  }

  std::string_view peek_operator() {
    skip_spaces();
    const std::string_view rest = text_.substr(position_);
    std::string_view found;
    for (const auto& [name, level] : binary_operators) {
      if (rest.starts_with(name) && name.size() > found.size()) found = name;
    }
    return found;
  }

  std::size_t binary(int least) {
    std::size_t left = unary();
    while (true) {
      const std::string_view op = peek_operator();
      if (op.empty() || precedence(op) < least) return left;
      position_ += op.size();
      const std::size_t right = binary(precedence(op) + 1);
      left = result_.add({Kind::binary, std::string(op), 0, {left, right}});
    }
  }

  std::size_t unary() {
    const Nesting nesting(*this);
    skip_spaces();
    if (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '+') {
        ++position_;
        return unary();
      }
      if (c == '-' || c == '~' || (c == '!' && !text_.substr(position_).starts_with("!="))) {
        ++position_;
        const std::size_t operand = unary();
        return result_.add({Kind::unary, std::string(1, c), 0, {operand}});
      }
    }
    if (skip_cast()) return unary();
    return primary();
  }

  // "(int)", "(unsigned int)": types of integers change nothing here.
  bool skip_cast() {
    const std::size_t start = position_;
    if (accept("(")) {
      bool any = false;
      while (is_type_name(peek_word())) {
        position_ += peek_word().size();
        any = true;
      }
      if (any && accept(")")) return true;
    }
    position_ = start;
    return false;
  }

  std::string_view peek_word() {
    skip_spaces();
    std::size_t end = position_;
    const auto is_letter = [](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    if (end >= text_.size() || !is_letter(text_[end])) return {};
    while (end < text_.size() &&
           (is_letter(text_[end]) || std::isdigit(static_cast<unsigned char>(text_[end])) != 0 ||
            (text_[end] == '.' && end + 1 < text_.size() && is_letter(text_[end + 1])))) {
      ++end;
    }
    return text_.substr(position_, end - position_);
  }

  std::size_t primary() {
    skip_spaces();
    if (position_ >= text_.size()) fail("expected a number, a name or '('");
    if (accept("(")) {
      const std::size_t inner = conditional();
      expect(")");
      return inner;
    }
    if (std::isdigit(static_cast<unsigned char>(text_[position_])) != 0) return number();
    const std::string name(peek_word());
    if (name.empty()) fail("expected a number, a name or '('");
    position_ += name.size();
    if (accept("(")) return call(name);
    if (accept("[")) return subscript(name);
    return result_.add({Kind::variable, name, 0, {}});
  }

  std::size_t number() {
    const bool hexadecimal =
        text_.substr(position_).starts_with("0x") || text_.substr(position_).starts_with("0X");
    const char* first = text_.data() + position_ + (hexadecimal ? 2 : 0);
    const char* last = text_.data() + text_.size();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(first, last, value, hexadecimal ? 16 : 10);
    if (error == std::errc::result_out_of_range) fail("a number beyond 64 bits");
    if (error != std::errc()) fail("not a number");
    position_ = static_cast<std::size_t>(end - text_.data());
    while (position_ < text_.size() &&
           std::string_view("uUlL").find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
    if (position_ < text_.size() &&
        (text_[position_] == '.' || std::isalnum(static_cast<unsigned char>(text_[position_])))) {
      fail(text_[position_] == '.' ? "only whole numbers are allowed" : "not a number");
    }
    Node node;
    node.value = value;
    return result_.add(std::move(node));
  }

  std::size_t call(const std::string& name) {
    const std::size_t wanted = name == "min" || name == "max" ? 2 : name == "abs" ? 1 : 0;
    if (wanted == 0) fail(fmt::format("no function {}; there are min, max and abs", name));
    std::vector<std::size_t> operands{conditional()};
    while (accept(",")) operands.push_back(conditional());
    expect(")");
    if (operands.size() != wanted) fail(fmt::format("{} takes {} operands", name, wanted));
    return result_.add({Kind::call, name, 0, std::move(operands)});
  }

  std::size_t subscript(const std::string& name) {
    std::vector<std::size_t> operands;
    do {
      operands.push_back(conditional());
      expect("]");
    } while (accept("["));
    return result_.add({Kind::subscript, name, 0, std::move(operands)});
  }

  std::string_view text_;
  std::size_t position_ = 0;
  int depth_ = 0;
  Expression result_;
};

}  // namespace

Expression Expression::parse(std::string_view text) {
  return Parser(text).parse();
}

ArrayAccess parse_access(std::string_view text) {
  const Expression whole = Expression::parse(text);
  const Node& root = whole.nodes()[whole.root()];
  if (root.kind != Kind::subscript) {
    throw usage_error("\"{}\" is not an access to an array; write it as A[row * n + k]",
                      printable(text, 200));
  }
  ArrayAccess access{.array = root.text, .indices = {}};
  for (const std::size_t operand : root.operands) {
    Expression index;
    index.add_copy(whole, operand);
    access.indices.push_back(std::move(index));
  }
  return access;
}

}  // namespace tilescope::expression
