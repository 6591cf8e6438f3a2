#include "compile/launch_sites.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tilescope/error.hpp>
#include <utility>

#include "base/text.hpp"
#include "compile/cpp_tokens.hpp"
#include "expression/expression.hpp"

namespace tilescope::compile {
namespace {

using Tokens = std::vector<std::string_view>;
using Range = std::pair<std::size_t, std::size_t>;  // tokens from first to before second

constexpr std::size_t longest_expression = 64;  // tokens; constants of sizes are short

/// The size of a fundamental type by its last word; 0 for others.
std::size_t size_of_type(std::string_view word) {
  static const std::map<std::string_view, std::size_t> sizes = {
      {"char", 1},     {"bool", 1},     {"int8_t", 1},  {"uint8_t", 1}, {"short", 2},
      {"int16_t", 2},  {"uint16_t", 2}, {"half", 2},    {"__half", 2},  {"int", 4},
      {"unsigned", 4}, {"float", 4},    {"int32_t", 4}, {"uint", 4},    {"uint32_t", 4},
      {"float2", 8},   {"int2", 8},     {"double", 8},  {"long", 8},    {"size_t", 8},
      {"int64_t", 8},  {"uint64_t", 8}, {"float4", 16}, {"int4", 16},   {"double2", 16},
      {"uchar4", 4},   {"uchar3", 3},   {"float3", 12}, {"int3", 12}};
  const auto found = sizes.find(word);
  return found == sizes.end() ? 0 : found->second;
}

class Reader {
 public:
  explicit Reader(std::string_view source) : tokens_(cpp_tokens(source)) { macros(source); }

  std::vector<LaunchSite> read() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) definition(i);
    std::vector<LaunchSite> sites;
    for (std::size_t i = 1; i + 2 < tokens_.size(); ++i) {
      if (is(i, "<") && is(i + 1, "<") && is(i + 2, "<")) launch(i, sites);
    }
    return sites;
  }

 private:
  bool is(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i] == text;
  }

  /// #define NAME VALUE; cpp_tokens passes over these lines.
  void macros(std::string_view source) {
    for (std::string_view line : split(source, '\n')) {
      line = trim(line);
      if (!line.starts_with('#')) continue;
      line = trim(line.substr(1));
      constexpr std::string_view define = "define ";
      if (!line.starts_with(define)) continue;
      const Tokens tokens = cpp_tokens(line.substr(define.size()));
      if (tokens.size() < 2 || !is_word(tokens[0])) continue;
      const bool function =
          tokens[1] == "(" && tokens[1].data() == tokens[0].data() + tokens[0].size();
      if (!function) set(tokens[0], Tokens(tokens.begin() + 1, tokens.end()));
    }
  }

  void set(std::string_view name, Tokens value) { values_[name].push_back(std::move(value)); }

  /// The end of the expression at `begin`: the first of , ; ) } outside of brackets.
  std::size_t expression_end(std::size_t begin) const {
    int depth = 0;
    const std::size_t end = std::min(begin + longest_expression, tokens_.size());
    for (std::size_t i = begin; i < end; ++i) {
      const std::string_view t = tokens_[i];
      if (depth == 0 && (t == "," || t == ";" || t == ")" || t == "}")) return i;
      if (t == "(" || t == "{" || t == "[") ++depth;
      if (t == ")" || t == "}" || t == "]") --depth;
    }
    return end;
  }

  /// The comma-separated expressions from `begin`, the first after the opening bracket.
  std::vector<Range> list(std::size_t begin) const {
    std::vector<Range> items;
    while (begin < tokens_.size()) {
      const std::size_t end = expression_end(begin);
      if (end > begin) items.emplace_back(begin, end);
      if (!is(end, ",")) break;
      begin = end + 1;
    }
    return items;
  }

  Tokens words(const Range& range) const {
    return {tokens_.begin() + static_cast<std::ptrdiff_t>(range.first),
            tokens_.begin() + static_cast<std::ptrdiff_t>(range.second)};
  }

  void definition(std::size_t i) {
    const std::string_view token = tokens_[i];
    if (token == "=" && i > 0 && is_word(tokens_[i - 1]) && !is(i + 1, "=")) {
      set(tokens_[i - 1], words({i + 1, expression_end(i + 1)}));
    } else if (token == "dim3" && i + 2 < tokens_.size() && is_word(tokens_[i + 1]) &&
               (is(i + 2, "(") || is(i + 2, "{"))) {
      dimension(i + 1);
    } else if ((token == "cudaMalloc" || token == "cudaMallocManaged") && is(i + 1, "(")) {
      const std::vector<Range> given = list(i + 2);
      if (given.size() < 2 || !is_word(tokens_[given[0].second - 1])) return;
      allocations_.emplace(tokens_[given[0].second - 1], words(given[1]));
    }
  }

  /// dim3 grid(4, 4), block(16, 16);
  void dimension(std::size_t name) {
    while (name + 1 < tokens_.size() && is_word(tokens_[name]) &&
           (is(name + 1, "(") || is(name + 1, "{"))) {
      const std::size_t end = expression_end(name + 1);
      set(tokens_[name], words({name + 1, end}));
      if (!is(end, ",")) return;
      name = end + 1;
    }
  }

  /// The value of a name: the first of its values that is a number. Nothing for cycles.
  std::optional<std::int64_t> value_of(std::string_view name, int depth) {
    constexpr int deepest = 32;  // names within names
    const auto found = values_.find(name);
    if (found == values_.end() || depth > deepest) return std::nullopt;
    const auto [known, is_new] = known_.emplace(name, std::nullopt);
    if (!is_new) return known->second;
    for (const Tokens& candidate : found->second) {
      if (known->second = value(candidate, depth + 1); known->second) break;
    }
    return known->second;
  }

  std::optional<std::int64_t> value(const Tokens& tokens, int depth = 0) {
    if (tokens.empty() || tokens.size() >= longest_expression) return std::nullopt;
    std::string text;
    std::map<std::string, std::int64_t, std::less<>> names;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::string_view token = tokens[i];
      // << and >= are one operator to the parser, two tokens here
      const bool joined = i > 0 && tokens[i - 1].data() + tokens[i - 1].size() == token.data();
      if (!joined) text += ' ';
      if (token == "sizeof") {
        while (i < tokens.size() && tokens[i] != ")") ++i;
        const std::size_t size = i < tokens.size() ? size_of_type(tokens[i - 1]) : 0;
        if (size == 0) return std::nullopt;
        text += std::to_string(size);
      } else if (token == "std" && i + 2 < tokens.size()) {
        i += 2;  // the ::
      } else if (!is_word(token)) {
        text += without_suffix(token);
      } else if (size_of_type(token) != 0 || token == "min" || token == "max") {
        text += token;  // a cast, or a function of the parser's
      } else if (const auto known = value_of(token, depth)) {
        names[std::string(token)] = *known;
        text += token;
      } else {
        return std::nullopt;
      }
    }
    try {
      return expression::Expression::parse(text).evaluate(names);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  static std::string without_suffix(std::string_view token) {
    std::string number(token);
    if (!number.empty() && number[0] >= '0' && number[0] <= '9') {
      std::erase(number, '\'');
      while (std::string_view("uUlL").find(number.back()) != std::string_view::npos) {
        number.pop_back();
      }
    }
    return number;
  }

  /// A grid or block: a number, a dim3 of numbers, or the name of one.
  std::optional<Dim3> extents(Tokens tokens) {
    if (tokens.size() == 1) {
      const auto found = values_.find(tokens[0]);
      if (found != values_.end()) tokens = found->second.front();
    }
    if (!tokens.empty() && tokens[0] == "dim3") tokens.erase(tokens.begin());
    const bool bracketed = tokens.size() > 2 && (tokens[0] == "(" || tokens[0] == "{");
    if (!bracketed) return dim3_of({tokens});
    std::vector<Tokens> parts(1);
    int depth = 0;
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (depth == 0 && (tokens[i] == ")" || tokens[i] == "}")) {
        if (i + 1 < tokens.size()) return dim3_of({tokens});  // (n + 255) / 256
        break;
      }
      depth += tokens[i] == "(" ? 1 : tokens[i] == ")" ? -1 : 0;
      if (depth == 0 && tokens[i] == ",") {
        parts.emplace_back();
      } else {
        parts.back().push_back(tokens[i]);
      }
    }
    return dim3_of(parts);
  }

  std::optional<Dim3> dim3_of(const std::vector<Tokens>& parts) {
    std::uint32_t extent[3] = {1, 1, 1};
    if (parts.size() > 3) return std::nullopt;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::optional<std::int64_t> known = value(parts[i]);
      if (!known || *known < 1 || *known > std::numeric_limits<std::uint32_t>::max()) {
        return std::nullopt;
      }
      extent[i] = static_cast<std::uint32_t>(*known);
    }
    return Dim3{extent[0], extent[1], extent[2]};
  }

  /// `at`: the first < of <<<.
  void launch(std::size_t at, std::vector<LaunchSite>& sites) {
    LaunchSite site;
    std::size_t first = at - 1;
    if (is(first, ">")) {
      int depth = 0;
      while (first > 0 && (depth += is(first, ">") ? 1 : is(first, "<") ? -1 : 0) > 0) --first;
      if (first == 0) return;
      --first;
    }
    if (!is_word(tokens_[first])) return;
    for (std::size_t i = first; i < at; ++i) {
      site.kernel += i > first && is(i - 1, ",") ? " " : "";
      site.kernel += tokens_[i];
    }
    std::size_t close = at + 3;
    while (close < tokens_.size() && !is(close, ";") &&
           !(is(close, ">") && is(close + 1, ">") && is(close + 2, ">"))) {
      ++close;
    }
    if (!is(close, ">") || !is(close + 3, "(")) return;
    std::vector<Tokens> configuration;
    for (std::size_t begin = at + 3; begin < close;) {
      const std::size_t end = std::min(expression_end(begin), close);
      configuration.push_back(words({begin, end}));
      begin = end + 1;
    }
    if (configuration.size() < 2) return;
    site.grid = extents(configuration[0]);
    site.block = extents(configuration[1]);
    if (configuration.size() > 2) site.shared_bytes = value(configuration[2]);
    for (const Range& range : list(close + 4)) site.arguments.push_back(argument(words(range)));
    sites.push_back(std::move(site));
  }

  LaunchSite::Argument argument(const Tokens& tokens) {
    LaunchSite::Argument argument{.value = value(tokens), .bytes = std::nullopt};
    const auto found = tokens.empty() ? allocations_.end() : allocations_.find(tokens.back());
    if (found != allocations_.end()) argument.bytes = value(found->second);
    return argument;
  }

  Tokens tokens_;
  std::map<std::string_view, std::vector<Tokens>> values_;
  std::map<std::string_view, Tokens> allocations_;
  std::map<std::string_view, std::optional<std::int64_t>> known_;
};

}  // namespace

std::vector<LaunchSite> launches_in(std::string_view source) {
  return Reader(source).read();
}

}  // namespace tilescope::compile
