#include "report/access_words.hpp"

#include <cctype>
#include <string_view>
#include <tilescope/error.hpp>
#include <vector>

#include "base/text.hpp"
#include "expression/expression.hpp"
#include "expression/polynomial.hpp"

namespace tilescope::report {
namespace {

using expression::Definitions;
using expression::Expression;
using expression::Node;
using expression::Polynomial;

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The index behind the bracket that closes the one at `open`; npos if the text ends before.
std::size_t behind_bracket(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

/// Every NAME[...] or NAME[...][...] of a line, including those within an index, in order.
std::vector<WrittenAccess> accesses_in(std::string_view line) {
  std::vector<WrittenAccess> found;
  line = line.substr(0, line.find("//"));
  for (std::size_t open = line.find('['); open != line.npos; open = line.find('[', open + 1)) {
    std::size_t begin = open;
    while (begin > 0 && in_word(line[begin - 1])) --begin;
    std::size_t end = open;
    while (end < line.size() && line[end] == '[') {
      end = behind_bracket(line, end);
      if (end == line.npos) return found;
    }
    const std::string_view after = line.substr(end);
    const bool member = (after.starts_with('.') && after.size() > 1 && in_word(after[1])) ||
                        after.starts_with("->");
    if (begin < open) found.push_back({std::string(line.substr(begin, end - begin)), member});
  }
  return found;
}

/// The position of an assignment in a line, by = or += and the like; npos if there is none.
std::size_t assignment_in(std::string_view line) {
  for (std::size_t at = line.find('='); at != line.npos; at = line.find('=', at + 1)) {
    const char before = at > 0 ? line[at - 1] : ' ';
    const char after = at + 1 < line.size() ? line[at + 1] : ' ';
    if (after == '=') {
      ++at;
    } else if (before != '<' && before != '>' && before != '!') {
      return at;
    }
  }
  return line.npos;
}

/// `static_cast<long long>(i)` as `(i)`: a cast changes nothing here.
std::string without_casts(std::string text) {
  constexpr std::string_view cast = "static_cast<";
  for (std::size_t at = text.find(cast); at != text.npos; at = text.find(cast)) {
    const std::size_t end = text.find('>', at);
    if (end == text.npos) break;
    text.erase(at, end + 1 - at);
  }
  return text;
}

/// Adds the definitions in `line`: "const int row = blockIdx.y * TILE + ty, column = ...;".
void add_definitions(const std::string& line, Definitions& definitions) {
  for (std::size_t equals = line.find('='); equals != line.npos;
       equals = line.find('=', equals + 1)) {
    if (equals + 1 >= line.size() || line[equals + 1] == '=' || equals < 2) continue;
    std::size_t end = equals;
    while (end > 0 && line[end - 1] == ' ') --end;
    std::size_t begin = end;
    while (begin > 0 && in_word(line[begin - 1])) --begin;
    if (begin == end || begin == 0) continue;
    // A definition has a type or a comma before the name; an assignment changes an existing
    // variable.
    std::size_t before = begin;
    while (before > 0 && line[before - 1] == ' ') --before;
    if (before == begin || before == 0) continue;
    if (!in_word(line[before - 1]) && line[before - 1] != ',') continue;
    int depth = 0;
    std::size_t stop = equals + 1;
    for (; stop < line.size(); ++stop) {
      const char c = line[stop];
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
      if (depth < 0 || (depth == 0 && (c == ';' || c == ','))) break;
    }
    try {
      const std::string name = line.substr(begin, end - begin);
      definitions[name] =
          Expression::parse(without_casts(line.substr(equals + 1, stop - equals - 1)));
    } catch (const Error&) {
      // No integer expression: no part of an index, or too complex for this parser.
    }
  }
}

/// The definitions above a place, up to the kernel's head.
Definitions definitions_above(const SourcePlace& place, SourceTexts& sources) {
  constexpr std::uint32_t longest_kernel = 200;  // lines
  std::uint32_t first = place.line;
  while (first > 1 && place.line - first < longest_kernel &&
         sources.line(place.file, first).find("__global__") == std::string::npos) {
    --first;
  }
  Definitions definitions;
  for (std::uint32_t line = first; line <= place.line; ++line) {
    const std::string text = sources.line(place.file, line);
    add_definitions(text.substr(0, text.find("//")), definitions);
  }
  return definitions;
}

/// The summands of an expression as written.
void add_terms(const Expression& sum, std::size_t node, std::vector<Expression>& terms) {
  const Node& n = sum.nodes()[node];
  if (n.kind == expression::Kind::binary && (n.text == "+" || n.text == "-")) {
    add_terms(sum, n.operands[0], terms);
    add_terms(sum, n.operands[1], terms);
    return;
  }
  Expression term;
  term.add_copy(sum, node);
  terms.push_back(std::move(term));
}

}  // namespace

WrittenAccess written_access(const std::string& line, const std::string& object, bool is_store,
                             const std::set<std::string>& others) {
  for (const WrittenAccess& access : accesses_in(line)) {
    if (!object.empty() && access.text.starts_with(object + '[')) return access;
  }
  // Left of an assignment is what it stores, right of it what it loads.
  const std::size_t assignment = assignment_in(line);
  std::vector<WrittenAccess> candidates;
  if (assignment == line.npos) {
    if (!is_store) candidates = accesses_in(line);
  } else {
    candidates = accesses_in(is_store ? line.substr(0, assignment) : line.substr(assignment));
  }
  if (candidates.size() != 1) return {};
  const std::string& text = candidates.front().text;
  return others.contains(text.substr(0, text.find('['))) ? WrittenAccess{} : candidates.front();
}

std::optional<CarryingTerm> carrying_term(const std::string& access, std::size_t axis,
                                          const SourcePlace& place, SourceTexts& sources) {
  constexpr std::string_view names[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};
  const std::string_view name = names[axis];
  try {
    const expression::ArrayAccess parsed = expression::parse_access(without_casts(access));
    if (parsed.indices.size() != 1) return std::nullopt;
    const Definitions definitions = definitions_above(place, sources);
    std::vector<Expression> terms;
    add_terms(parsed.indices.front(), parsed.indices.front().root(), terms);
    std::optional<CarryingTerm> found;
    for (const Expression& term : terms) {
      const Polynomial value = Polynomial::of(term.substitute(definitions));
      const auto dependence = value.dependence_on(name);
      if (dependence == Polynomial::Dependence::none) continue;
      if (found) return std::nullopt;
      found = CarryingTerm{term.text(), {}};
      if (dependence == Polynomial::Dependence::linear) {
        found->factor = value.coefficient_of(name).text();
      }
    }
    return found;
  } catch (const Error&) {
    return std::nullopt;  // beyond the little grammar
  }
}

}  // namespace tilescope::report
