#include "compile/host_values.hpp"

#include <algorithm>
#include <limits>

#include "base/text.hpp"
#include "compile/cpp_tokens.hpp"

namespace tilescope::compile {
namespace {

constexpr std::size_t longest_expression = 64;  // tokens; constants of sizes are short

bool is_opening(std::string_view t) {
  return t == "(" || t == "{" || t == "[";
}
bool is_closing(std::string_view t) {
  return t == ")" || t == "}" || t == "]";
}

}  // namespace

HostValues::HostValues(std::string_view source) : tokens_(cpp_tokens(source)) {
  macros(source);
  definitions();
  known_.clear();  // sizes of members were asked for before everything was read
}

/// #define NAME VALUE and NAME(x) VALUE; cpp_tokens passes over these lines.
void HostValues::macros(std::string_view source) {
  for (std::string_view line : split(source, '\n')) {
    line = trim(line);
    if (!line.starts_with('#')) continue;
    line = trim(line.substr(1));
    constexpr std::string_view define = "define ";
    if (!line.starts_with(define)) continue;
    const Tokens words = cpp_tokens(line.substr(define.size()));
    if (words.size() < 2 || !is_word(words[0])) continue;
    if (words[1] != "(" || words[1].data() != words[0].data() + words[0].size()) {
      set(words[0], Tokens(words.begin() + 1, words.end()));
      types_[words[0]].emplace_back(words.begin() + 1, words.end());
      continue;
    }
    const auto close = std::find(words.begin(), words.end(), ")");
    if (close == words.end()) continue;
    HostFunction macro{.parameters = {}, .body = Tokens(close + 1, words.end())};
    std::copy_if(words.begin() + 2, close, std::back_inserter(macro.parameters), is_word);
    functions_.emplace(words[0], std::move(macro));
  }
}

/// Everything outside of kernels, whose variables have the names of host ones.
void HostValues::definitions() {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const bool is_host = is(i + 1, "__host__") || (i > 0 && is(i - 1, "__host__"));
    if (tokens_[i] == "template") template_parameters(i);
    if (tokens_[i] == "struct") read_structure(i);
    if ((tokens_[i] == "__global__" || tokens_[i] == "__device__") && !is_host) {
      while (i < tokens_.size() && tokens_[i] != "{" && tokens_[i] != ";") ++i;
      int depth = 0;
      for (; i < tokens_.size(); ++i) {
        depth += tokens_[i] == "{" ? 1 : tokens_[i] == "}" ? -1 : 0;
        if (depth == 0) break;
      }
      continue;
    }
    definition(i);
  }
}

Tokens HostValues::words(std::size_t begin, std::size_t end) const {
  return {tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
          tokens_.begin() + static_cast<std::ptrdiff_t>(std::min(end, tokens_.size()))};
}

std::size_t HostValues::expression_end(std::size_t begin) const {
  int depth = 0;
  const std::size_t end = std::min(begin + longest_expression, tokens_.size());
  for (std::size_t i = begin; i < end; ++i) {
    const std::string_view t = tokens_[i];
    if (depth == 0 && (t == "," || t == ";" || t == ")" || t == "}")) return i;
    depth += is_opening(t) ? 1 : is_closing(t) ? -1 : 0;
  }
  return end;
}

std::vector<Tokens> HostValues::list(std::size_t begin) const {
  std::vector<Tokens> items;
  while (begin < tokens_.size()) {
    const std::size_t end = expression_end(begin);
    if (end > begin) items.push_back(words(begin, end));
    if (!is(end, ",")) break;
    begin = end + 1;
  }
  return items;
}

void HostValues::definition(std::size_t i) {
  const std::string_view token = tokens_[i];
  if (token == "=" && i > 0) {
    change(i);
  } else if ((token == "+" || token == "-") && is(i + 1, token)) {  // n++ has no one value
    if (i > 0 && is_word(tokens_[i - 1])) set(tokens_[i - 1], {});
    if (i + 2 < tokens_.size() && is_word(tokens_[i + 2])) set(tokens_[i + 2], {});
  } else if (token.ends_with("scanf")) {
    for (; i + 1 < tokens_.size() && !is(i, ";"); ++i) {
      if (is(i, "&")) set(tokens_[i + 1], {});
    }
  } else if (token == "dim3" && i + 1 < tokens_.size() && is_word(tokens_[i + 1])) {
    dimension(i + 1);
  } else if (token == "return" && i > 1 && is(i - 1, "{") && is(i - 2, ")")) {
    function(i);
  } else if (token == "typedef" || token == "using") {
    alias(i);
  } else if (token == "*" && i > 0 && is_word(tokens_[i - 1]) && i + 1 < tokens_.size() &&
             is_word(tokens_[i + 1])) {
    for (std::size_t name = i + 1; name < tokens_.size() && is_word(tokens_[name]); name += 3) {
      pointers_.emplace(tokens_[name], Tokens{tokens_[i - 1]});
      if (!is(name + 1, ",") || !is(name + 2, "*")) break;
    }
  } else if ((token == "cudaMalloc" || token == "cudaMallocManaged") && is(i + 1, "(")) {
    const std::vector<Tokens> given = list(i + 2);
    if (given.size() < 2 || !is_word(given[0].back())) return;
    const std::size_t n = given[0].size();
    const bool is_member = n > 1 && (given[0][n - 2] == "." || given[0][n - 2] == ">");
    if (!is_member) allocations_[given[0].back()].push_back(given[1]);
  }
}

/// An assignment; `i` is the place of =.
void HostValues::change(std::size_t i) {
  const std::string_view before = tokens_[i - 1];
  if (is(i + 1, "=")) return;
  if (!is_word(before)) {  // n += 2
    const bool is_update = std::string_view("+-*/%|^").find(before) != std::string_view::npos;
    if (is_update && i > 1 && is_word(tokens_[i - 2])) set(tokens_[i - 2], {});
    return;
  }
  const Tokens value = words(i + 1, expression_end(i + 1));
  const bool is_member = i > 2 && (is(i - 2, ".") || is(i - 2, ">"));
  if (!is_member) {
    const bool is_dimension =
        (i > 1 && is(i - 2, "dim3")) || (!value.empty() && value[0] == "dim3");
    if (is_dimension) dimensions_.insert(before);
    set(before, value);
  } else if (is(i - 2, ".") && (before == "x" || before == "y" || before == "z")) {
    values_[std::string(tokens_[i - 3]) + "." + std::string(before)].push_back(value);
  }
}

/// dim3 grid(4, 4), block{16, 16}, other;
void HostValues::dimension(std::size_t name) {
  while (name + 1 < tokens_.size() && is_word(tokens_[name])) {
    dimensions_.insert(tokens_[name]);
    const std::size_t end = expression_end(name + 1);
    if (is(name + 1, "(") || is(name + 1, "{")) set(tokens_[name], words(name + 1, end));
    if (!is(end, ",")) return;
    name = end + 1;
  }
}

/// int half(int n) { return n / 2; }, from its `return`.
void HostValues::function(std::size_t at) {
  const std::size_t end = expression_end(at + 1);
  if (!is(end, ";") || !is(end + 1, "}")) return;
  std::size_t open = at - 2;
  while (open > 0 && !is(open, "(")) --open;
  if (open == 0 || !is_word(tokens_[open - 1])) return;
  HostFunction read{.parameters = {}, .body = words(at + 1, end)};
  for (const Tokens& parameter : list(open + 1)) read.parameters.push_back(parameter.back());
  functions_.emplace(tokens_[open - 1], std::move(read));
}

/// typedef float real; using real = float;
void HostValues::alias(std::size_t at) {
  const std::size_t end = expression_end(at + 1);
  if (!is(end, ";") || end < at + 3) return;
  if (is(at, "typedef")) {
    types_[tokens_[end - 1]].push_back(words(at + 1, end - 1));
  } else if (is(at + 2, "=")) {
    types_[tokens_[at + 1]].push_back(words(at + 3, end));
  }
}

/// struct NAME { float* p[4]; int n, m; }. With anything else inside it stays unknown.
void HostValues::read_structure(std::size_t at) {
  const bool is_typedef = at > 0 && is(at - 1, "typedef") && is(at + 1, "{");
  std::size_t i = at + (is_typedef ? 2 : 3);
  if (!is(i - 1, "{")) return;
  std::vector<HostMember> members;
  while (i < tokens_.size() && !is(i, "}")) {
    Tokens type;
    while (i + 1 < tokens_.size() && is_word(tokens_[i]) && is_word(tokens_[i + 1])) {
      type.push_back(tokens_[i++]);
    }
    if (i < tokens_.size() && is_word(tokens_[i]) && is(i + 1, "*")) type.push_back(tokens_[i++]);
    if (type.empty()) return;
    while (true) {
      HostMember member{.name = {}, .type = type};
      for (; is(i, "*") || is(i, "const") || is(i, "__restrict__"); ++i) member.is_pointer = true;
      if (i >= tokens_.size() || !is_word(tokens_[i])) return;
      member.name = tokens_[i++];
      while (is(i, "[")) {
        const std::size_t begin = ++i;
        while (i < tokens_.size() && !is(i, "]")) ++i;
        const auto count = value(words(begin, i++));
        if (!count || count->integer < 1 || count->integer > 4096) return;
        member.count *= count->integer;
        if (member.count > 4096) return;
      }
      members.push_back(std::move(member));
      if (!is(i, ",")) break;
      ++i;
    }
    if (!is(i, ";")) return;
    ++i;
  }
  const std::string_view name =
      is_typedef && i + 1 < tokens_.size() ? tokens_[i + 1] : tokens_[at + 1];
  structures_.emplace(name, std::move(members));
}

/// template <typename T, int N> and the function behind it.
void HostValues::template_parameters(std::size_t at) {
  if (!is(at + 1, "<")) return;
  Tokens parameters;
  std::size_t i = at + 2;
  for (; i < tokens_.size() && !is(i, ">"); ++i) {
    const bool is_last = is(i + 1, ",") || is(i + 1, ">") || is(i + 1, "=");
    if (is_word(tokens_[i]) && is_last) parameters.push_back(tokens_[i]);
  }
  for (++i; i < tokens_.size() && !is(i, "{") && !is(i, ";"); ++i) {
    if (is_word(tokens_[i]) && is(i + 1, "(") && !tokens_[i].starts_with("__")) {
      bind(tokens_[i], parameters);
      return;
    }
  }
}

/// Binds the parameters of `function` to the arguments of its calls and launches between < and >.
void HostValues::bind(std::string_view function, const Tokens& parameters) {
  for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
    if (tokens_[i] != function || !is(i + 1, "<") || is(i + 2, "<")) continue;
    std::size_t begin = i + 2, end = begin, parameter = 0;
    for (; end < tokens_.size() && parameter < parameters.size(); ++end) {
      if (!is(end, ",") && !is(end, ">")) {
        if (is(end, ";") || is(end, "{")) break;
        continue;
      }
      const Tokens argument = words(begin, end);
      const bool is_same = argument.size() == 1 && argument[0] == parameters[parameter];
      if (!is_same && !argument.empty()) {
        set(parameters[parameter], argument);
        types_[parameters[parameter]].push_back(argument);
        template_arguments_[parameters[parameter]].push_back(argument);
      }
      ++parameter;
      begin = end + 1;
      if (is(end, ">")) break;
    }
  }
}

const HostFunction* HostValues::function_named(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : &found->second;
}

std::optional<Tokens> HostValues::template_argument(std::string_view parameter) const {
  const auto found = template_arguments_.find(parameter);
  return found == template_arguments_.end() ? std::nullopt : std::optional(found->second.front());
}

Tokens HostValues::pointed_type(std::string_view pointer) const {
  const auto found = pointers_.find(pointer);
  return found == pointers_.end() ? Tokens{} : found->second;
}

/// With the file's own names of types replaced.
Tokens HostValues::resolved(Tokens words) const {
  constexpr int most = 8;  // names of names
  for (int i = 0; i < most; ++i) {
    const auto own = std::find_if(words.begin(), words.end(), [&](std::string_view word) {
      return types_.contains(word) && !element_type(word);
    });
    if (own == words.end()) break;
    const Tokens& meaning = types_.find(*own)->second.front();
    const auto at = words.erase(own);
    words.insert(at, meaning.begin(), meaning.end());
    if (words.size() > longest_expression) break;
  }
  return words;
}

std::optional<ElementType> HostValues::type(const Tokens& words) const {
  return element_type(resolved(words));
}

const std::vector<HostMember>* HostValues::structure(const Tokens& words) const {
  for (const std::string_view word : resolved(words)) {
    if (const auto found = structures_.find(word); found != structures_.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

std::optional<std::int64_t> HostValues::size(const Tokens& words) {
  if (const auto known = type(words)) return known->size();
  const std::vector<HostMember>* members = structure(words);
  if (members == nullptr) return std::nullopt;
  std::int64_t bytes = 0, widest = 1;
  for (const HostMember& member : *members) {
    const auto known = type(member.type);
    if (!known && !member.is_pointer) return std::nullopt;
    const auto size = static_cast<std::int64_t>(member.is_pointer ? 8 : known->size());
    const auto aligned = static_cast<std::int64_t>(member.is_pointer ? 8
                                                   : known->components % 2 == 0
                                                       ? known->size()  // float4, not float3
                                                       : known->bytes);
    bytes = (bytes + aligned - 1) / aligned * aligned + size * member.count;
    widest = std::max(widest, aligned);
  }
  return (bytes + widest - 1) / widest * widest;
}

std::optional<HostNumber> HostValues::value(const Tokens& expression, int depth) {
  if (expression.size() >= longest_expression) return std::nullopt;
  return HostEvaluator(*this, expression, depth).evaluate();
}

std::optional<HostNumber> HostValues::value(const Tokens& expression) {
  return value(expression, 0);
}

/// The value of a name: the first of its values that is a number, sure if all agree. Nothing for
/// cycles.
std::optional<HostNumber> HostValues::value_of(std::string_view name, int depth) {
  const auto [known, is_new] = known_.emplace(name, std::nullopt);
  if (!is_new) return known->second;
  std::optional<HostNumber>& result = known->second;
  const std::size_t dot = name.find('.');
  const auto found = values_.find(name);
  if (found == values_.end()) {
    if (dot != name.npos && name.size() == dot + 2) {
      result = extent_of(name.substr(0, dot), name.substr(dot + 1), depth);
    }
    return result;
  }
  if (dot != name.npos && !dimensions_.contains(name.substr(0, dot))) return std::nullopt;
  bool is_sure = true;
  for (const Tokens& candidate : found->second) {
    const auto next = value(candidate, depth + 1);
    is_sure = is_sure && next && next->is_sure && (!result || result->real == next->real);
    if (!result) result = next;
  }
  if (result) result->is_sure = is_sure;
  return result;
}

/// A component of a dim3 as it is first written.
std::optional<HostNumber> HostValues::extent_of(std::string_view name, std::string_view member,
                                                int depth) {
  const auto found = values_.find(name);
  if (!dimensions_.contains(name)) return std::nullopt;
  if (found == values_.end()) return HostNumber::of(std::int64_t{1});
  const std::vector<Tokens> parts = parts_of(found->second.front());
  const std::size_t index = member == "x" ? 0 : member == "y" ? 1 : 2;
  auto extent = index < parts.size() ? value(parts[index], depth + 1)
                                     : std::optional(HostNumber::of(std::int64_t{1}));
  if (extent && found->second.size() > 1) extent->is_sure = false;
  return extent;
}

std::optional<HostNumber> HostValues::allocated(std::string_view pointer) {
  const auto found = allocations_.find(pointer);
  std::optional<HostNumber> result;
  if (found == allocations_.end()) return result;
  bool is_sure = true;
  for (const Tokens& bytes : found->second) {
    const auto next = value(bytes);
    is_sure = is_sure && next && next->is_sure && (!result || result->real == next->real);
    if (!result) result = next;
  }
  if (result) result->is_sure = is_sure;
  return result;
}

/// The expressions in dim3(a, b) or {a, b}; the expression itself if it is none.
std::vector<Tokens> HostValues::parts_of(Tokens expression) {
  const Tokens whole = expression;
  if (!expression.empty() && expression[0] == "dim3") expression.erase(expression.begin());
  if (expression.size() < 3 || (expression[0] != "(" && expression[0] != "{")) return {whole};
  std::vector<Tokens> parts(1);
  int depth = 0;
  for (std::size_t i = 1; i < expression.size(); ++i) {
    if (depth == 0 && (expression[i] == ")" || expression[i] == "}")) {
      return i + 1 < expression.size() ? std::vector<Tokens>{whole} : parts;  // (n + 255) / 256
    }
    depth += is_opening(expression[i]) ? 1 : is_closing(expression[i]) ? -1 : 0;
    if (depth == 0 && expression[i] == ",") {
      parts.emplace_back();
    } else {
      parts.back().push_back(expression[i]);
    }
  }
  return parts;
}

std::optional<HostExtents> HostValues::extents(Tokens expression) {
  std::vector<Tokens> parts = parts_of(std::move(expression));
  std::vector<std::optional<HostNumber>> numbers;
  if (parts.size() == 1 && parts[0].size() == 1 && dimensions_.contains(parts[0][0])) {
    const std::string name(parts[0][0]);
    for (const char* member : {".x", ".y", ".z"}) numbers.push_back(value_of(name + member, 1));
  } else {
    for (const Tokens& part : parts) numbers.push_back(value(part));
  }
  if (numbers.size() > 3) return std::nullopt;
  HostExtents result;
  std::uint32_t* const extents[] = {&result.extents.x, &result.extents.y, &result.extents.z};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!numbers[i] || numbers[i]->integer < 1 ||
        numbers[i]->integer > std::numeric_limits<std::uint32_t>::max()) {
      return std::nullopt;
    }
    *extents[i] = static_cast<std::uint32_t>(numbers[i]->integer);
    result.is_sure = result.is_sure && numbers[i]->is_sure;
  }
  return result;
}

}  // namespace tilescope::compile
