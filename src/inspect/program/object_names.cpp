#include "inspect/program/object_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tilescope/error.hpp>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "compile/cpp_tokens.hpp"

namespace tilescope::inspect {
namespace {

using Tokens = std::vector<std::string_view>;

/// The tokens of the call's first argument.
Tokens first_argument(const Tokens& tokens, std::size_t open) {
  Tokens argument;
  int depth = 0;
  for (std::size_t i = open + 1; i < tokens.size(); ++i) {
    if (depth == 0 && (tokens[i] == "," || tokens[i] == ")")) return argument;
    if (tokens[i] == "(" || tokens[i] == "[") ++depth;
    if (tokens[i] == ")" || tokens[i] == "]") --depth;
    argument.push_back(tokens[i]);
  }
  return {};
}

/// The variable behind the & of an address, without parentheses around it.
std::string addressed(const Tokens& argument) {
  const auto sign = std::find(argument.begin(), argument.end(), "&");
  if (sign == argument.end()) return {};
  std::string name;
  for (auto token = sign + 1; token != argument.end(); ++token) {
    if (*token != "(" && *token != ")") name += *token;
  }
  return name;
}

std::uint32_t element_bytes(const Tokens& tokens, std::size_t open) {
  static const std::map<std::string_view, std::uint32_t> sizes = {
      {"char", 1},   {"int8_t", 1},  {"uint8_t", 1},  {"bool", 1},     {"short", 2},
      {"half", 2},   {"__half", 2},  {"int", 4},      {"unsigned", 4}, {"float", 4},
      {"double", 8}, {"int32_t", 4}, {"uint32_t", 4}, {"int64_t", 8},  {"uint64_t", 8},
      {"size_t", 8}, {"float2", 8},  {"float4", 16}};
  std::uint32_t bytes = 0;
  for (std::size_t i = open; i + 3 < tokens.size() && tokens[i] != ";"; ++i) {
    if (tokens[i] != "sizeof" || tokens[i + 1] != "(") continue;
    const auto known = sizes.find(tokens[i + 2]);
    const bool is_known = known != sizes.end() && (tokens[i + 3] == ")" || tokens[i + 3] == "int");
    if (!is_known || bytes != 0) return 0;
    bytes = known->second;
  }
  return bytes;
}

/// The line of a place and the next ones: a call may span several.
std::string code_at(const SourcePlace& place) {
  constexpr std::uint32_t more = 2;
  std::string text;
  try {
    text = read_text_file(place.file);
  } catch (const Error&) {
    return {};
  }
  const std::vector<std::string_view> lines = split(text, '\n');
  std::string code;
  for (std::uint32_t i = place.line; i <= place.line + more && i <= lines.size(); ++i) {
    code.append(lines[i - 1]) += '\n';
  }
  return code;
}

}  // namespace

std::size_t calls_in_line(std::string_view code, std::string_view function) {
  const Tokens tokens = compile::cpp_tokens(code.substr(0, code.find('\n')));
  return static_cast<std::size_t>(std::count(tokens.begin(), tokens.end(), function));
}

ObjectName object_in_call(std::string_view code, std::string_view function, std::size_t index) {
  const Tokens tokens = compile::cpp_tokens(code);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i] != function || index-- != 0) continue;
    std::size_t open = i + 1;
    while (open < tokens.size() && tokens[open] != "(") ++open;  // past <float>
    const Tokens argument = first_argument(tokens, open);
    // This one takes memory that has a name already.
    const bool is_name = function == "cudaHostRegister" && argument.size() == 1;
    return {is_name ? std::string(argument.front()) : addressed(argument),
            element_bytes(tokens, open)};
  }
  return {};
}

std::map<std::string, ObjectName> object_names(const Journal& journal, const HostPlaces& places) {
  // By line, and by the lines of its callers.
  std::map<std::vector<std::pair<std::string, std::uint32_t>>, std::size_t> made, named;
  const auto line_of = [&](const JournalAllocation& allocation) {
    std::vector<std::pair<std::string, std::uint32_t>> key{
        {journal.stacks.at(allocation.stack).call, 0}};
    for (const SourcePlace& at : places.at(allocation.stack)) key.emplace_back(at.file, at.line);
    return key;
  };
  for (const JournalAllocation& allocation : journal.allocations) ++made[line_of(allocation)];
  std::map<std::string, ObjectName> names;
  std::map<std::string, int> uses;
  for (const JournalAllocation& allocation : journal.allocations) {
    const std::vector<SourcePlace>& frames = places.at(allocation.stack);
    const std::string& call = journal.stacks.at(allocation.stack).call;
    ObjectName& object = names[allocation.name];
    if (frames.front().line != 0) {
      // Several calls in a line follow each other. If not all were made, nobody knows which.
      const std::string code = code_at(frames.front());
      const auto line = line_of(allocation);
      const std::size_t calls = calls_in_line(code, call), index = named[line]++;
      if (calls < 2) {
        object = object_in_call(code, call);
      } else if (calls == made[line]) {
        object = object_in_call(code, call, index);
      }
      if (object.name.empty()) {
        object.name = fmt::format("{} in line {}", call, frames.front().line);
      }
    }
    if (object.name.empty()) object.name = allocation.name;
    ++uses[object.name];
  }
  for (const JournalAllocation& allocation : journal.allocations) {
    ObjectName& object = names[allocation.name];
    const std::vector<SourcePlace>& frames = places.at(allocation.stack);
    if (uses[object.name] > 1 && frames.size() > 1) {
      object.name += fmt::format(" of line {}", frames[1].line);
    } else if (uses[object.name] > 1 && frames.front().line != 0 &&
               !object.name.ends_with(fmt::format(" in line {}", frames.front().line))) {
      object.name += fmt::format(" of line {}", frames.front().line);
    }
  }
  return names;
}

}  // namespace tilescope::inspect
