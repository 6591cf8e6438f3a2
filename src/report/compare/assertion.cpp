#include "report/compare/assertion.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tilescope/counts.hpp>

#include "base/errors.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "expression/binary_operators.hpp"

namespace tilescope::report {
namespace {

/// The numbers of a report besides named_counts().
constexpr std::string_view other_counters[] = {"sectors_per_request",
                                               "unique_bytes_read",
                                               "unique_bytes_written",
                                               "launches",
                                               "blocks",
                                               "warp_instructions",
                                               "faults",
                                               "registers_per_thread",
                                               "local_bytes_per_thread",
                                               "static_shared_bytes",
                                               "blocks_per_sm",
                                               "warps_per_sm",
                                               "occupancy_share"};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_comparison(std::string_view op) {
  return expression::precedence(op) == expression::precedence("==") ||
         expression::precedence(op) == expression::precedence("<");
}

double apply(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/") return b == 0.0 && a == 0.0 ? 0.0 : a / b;  // nothing of nothing is no excess
  if (op == "==") return a == b ? 1.0 : 0.0;
  if (op == "!=") return a != b ? 1.0 : 0.0;
  if (op == "<=") return a <= b ? 1.0 : 0.0;
  if (op == ">=") return a >= b ? 1.0 : 0.0;
  if (op == "<") return a < b ? 1.0 : 0.0;
  if (op == ">") return a > b ? 1.0 : 0.0;
  if (op == "&&") return a != 0.0 && b != 0.0 ? 1.0 : 0.0;
  return a != 0.0 || b != 0.0 ? 1.0 : 0.0;
}

}  // namespace

class Assertion::Parser {
 public:
  Parser(Assertion& assertion, std::string_view text) : assertion_(assertion), rest_(text) {}

  Node parse() {
    Node node = binary(1);
    if (!rest_.empty()) refuse("an operator");
    if (!is_comparison(node.text) && node.text != "&&" && node.text != "||") {
      refuse("a comparison such as <= 4");
    }
    return node;
  }

 private:
  [[noreturn]] void refuse(std::string_view wanted) const {
    throw usage_error("--assert {}: expected {} {}", quoted(assertion_.text_), wanted,
                      rest_.empty() ? "at its end" : "at " + quoted(std::string(rest_)));
  }

  void skip() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }

  /// The operator that comes next; empty if there is none that counters have.
  std::string_view next_operator() {
    skip();
    for (const std::size_t length : {std::size_t{2}, std::size_t{1}}) {
      const std::string_view op = rest_.substr(0, length);
      if (op.size() < length || expression::precedence(op) == 0) continue;
      if (std::string_view("| ^ & << >> %").find(op) == std::string_view::npos || op == "||" ||
          op == "&&" || op == "<" || op == ">") {
        return op;
      }
    }
    return {};
  }

  Node binary(int least) {
    Node left = operand();
    for (;;) {
      const std::string_view op = next_operator();
      const int level = expression::precedence(op);
      if (op.empty() || level < least) return left;
      rest_.remove_prefix(op.size());
      Node right = binary(level + 1);
      if (is_comparison(op) && (is_comparison(left.text) || is_comparison(right.text))) {
        refuse("one comparison, or several joined by &&");
      }
      left = Node{std::string(op), 0.0, {std::move(left), std::move(right)}};
    }
  }

  Node operand() {
    skip();
    if (rest_.starts_with('(')) {
      rest_.remove_prefix(1);
      Node inner = binary(1);
      skip();
      if (!rest_.starts_with(')')) refuse("')'");
      rest_.remove_prefix(1);
      return inner;
    }
    double number = 0.0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error == std::errc() && rest_.front() != '-' && std::isfinite(number)) {
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      return Node{"", number, {}};
    }
    return counter();
  }

  Node counter() {
    std::size_t length = 0;
    while (length < rest_.size() && is_name_character(rest_[length])) ++length;
    const std::string name(rest_.substr(0, length));
    if (name.empty()) refuse("a counter or a number");
    const std::vector<std::string_view> names = counter_names();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string_view near = nearest(name, names);
      throw usage_error("--assert {}: there is no counter {}{}; tilescope explain --json has all",
                        quoted(assertion_.text_), name,
                        near.empty() ? "" : fmt::format(", did you mean {}?", near));
    }
    rest_.remove_prefix(length);
    assertion_.counters_.push_back(name);
    return Node{name, 0.0, {}};
  }

  Assertion& assertion_;
  std::string_view rest_;
};

Assertion::Assertion(const std::string& text) : text_(trim(text)) {
  std::string_view rest = text_;
  const std::string_view first = rest.substr(0, rest.find(' '));
  constexpr std::string_view of_kernel = "kernel:";
  const std::size_t colon = first.rfind(':');
  if (first.starts_with(of_kernel)) {
    kernel_ = first.substr(of_kernel.size());
    rest.remove_prefix(first.size());
  } else if (colon != std::string_view::npos) {
    const char* const end = first.data() + first.size();
    const auto [stop, error] = std::from_chars(first.data() + colon + 1, end, line_);
    if (error != std::errc() || stop != end || line_ == 0 || colon == 0) {
      throw usage_error("--assert {}: expected FILE:LINE or kernel:NAME, got {}", quoted(text_),
                        quoted(std::string(first)));
    }
    file_ = first.substr(0, colon);
    rest.remove_prefix(first.size());
  }
  root_ = Parser(*this, rest).parse();
  if (counters_.empty()) throw usage_error("--assert {}: it names no counter", quoted(text_));
}

double Assertion::value_of(const Node& node, const Counters& counters) {
  if (node.operands.empty()) {
    return node.text.empty() ? node.number : counters.find(node.text)->second;
  }
  return apply(node.text, value_of(node.operands[0], counters),
               value_of(node.operands[1], counters));
}

Assertion::Result Assertion::evaluate(const Snapshot& snapshot) const {
  const Counters* counters = &snapshot.totals;
  if (!kernel_.empty()) {
    const auto found = snapshot.kernels.find(kernel_);
    if (found == snapshot.kernels.end()) return {.reason = "kernel " + kernel_ + " did not run"};
    counters = &found->second;
  } else if (is_of_line()) {
    counters = nullptr;
    for (const SnapshotLine& line : snapshot.lines) {
      if (line.line == line_ && is_file(line.file, file_)) counters = &line.counters;
    }
    if (counters == nullptr) return {.reason = fmt::format("nothing of {}:{} ran", file_, line_)};
  }
  for (const std::string& name : counters_) {
    if (!counters->contains(name)) return {.reason = name + " is not known here"};
  }
  const Node& measured = is_comparison(root_.text) ? root_.operands.front() : root_;
  return {.holds = value_of(root_, *counters) != 0.0,
          .value = value_of(measured, *counters),
          .reason = {}};
}

std::vector<std::string_view> counter_names() {
  std::vector<std::string_view> names(std::begin(other_counters), std::end(other_counters));
  for (const NamedCount& count : named_counts()) names.push_back(count.name);
  return names;
}

}  // namespace tilescope::report
