#include "compile/launch_sites.hpp"

#include <algorithm>
#include <utility>

#include "compile/cpp_tokens.hpp"

namespace tilescope::compile {
namespace {

/// The kernel's name from token `first` to before `end`, the file's own template parameters
/// replaced by what it calls them with.
std::string kernel_name(HostValues& values, std::size_t first, std::size_t end) {
  const Tokens& tokens = values.tokens();
  std::string name;
  for (std::size_t i = first; i < end; ++i) {
    if (i > first && values.is(i - 1, ",")) name += " ";
    const auto argument = i > first ? values.template_argument(tokens[i]) : std::nullopt;
    if (!argument) {
      // Names inside functions mean nothing to the compiler here.
      const auto number =
          i > first && is_word(tokens[i]) ? values.value({tokens[i]}) : std::nullopt;
      const bool is_integer = number && !number->is_real;
      name += is_integer ? std::to_string(number->integer) : std::string(tokens[i]);
      continue;
    }
    for (std::size_t k = 0; k < argument->size(); ++k) {
      const bool two_words = k > 0 && is_word((*argument)[k]) && is_word((*argument)[k - 1]);
      name += (two_words ? " " : "") + std::string((*argument)[k]);
    }
  }
  return name;
}

LaunchSite::Argument argument_of(HostValues& values, const Tokens& tokens) {
  LaunchSite::Argument argument{.value = values.value(tokens)};
  // A name, or a cast of one: (void*)d_x.
  const bool is_cast =
      tokens.size() > 3 && tokens.front() == "(" && tokens[tokens.size() - 2] == ")";
  if (!is_word(tokens.back()) || (tokens.size() > 1 && !is_cast)) return argument;
  argument.bytes = values.allocated(tokens.back());
  argument.is_null = tokens.back() == "nullptr" || tokens.back() == "NULL";
  argument.pointed = values.pointed_type(tokens.back());
  return argument;
}

/// `at`: the first < of <<<.
std::optional<LaunchSite> launch(HostValues& values, std::size_t at) {
  const Tokens& tokens = values.tokens();
  std::size_t first = at - 1;
  if (values.is(first, ">")) {
    int depth = 0;
    while (first > 0 && (depth += values.is(first, ">") ? 1 : values.is(first, "<") ? -1 : 0) > 0) {
      --first;
    }
    if (first == 0) return std::nullopt;
    --first;
  }
  if (!is_word(tokens[first])) return std::nullopt;
  std::size_t close = at + 3;
  while (close < tokens.size() && !values.is(close, ";") &&
         !(values.is(close, ">") && values.is(close + 1, ">") && values.is(close + 2, ">"))) {
    ++close;
  }
  if (!values.is(close, ">") || !values.is(close + 3, "(")) return std::nullopt;
  std::vector<Tokens> configuration;
  for (std::size_t begin = at + 3; begin < close;) {
    const std::size_t end = std::min(values.expression_end(begin), close);
    configuration.emplace_back(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                               tokens.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end + 1;
  }
  if (configuration.size() < 2) return std::nullopt;
  LaunchSite site{.kernel = kernel_name(values, first, at),
                  .grid = values.extents(configuration[0]),
                  .block = values.extents(configuration[1])};
  site.gives_shared_bytes = configuration.size() > 2;
  if (site.gives_shared_bytes) site.shared_bytes = values.value(configuration[2]);
  for (const Tokens& argument : values.list(close + 4)) {
    site.arguments.push_back(argument_of(values, argument));
  }
  return site;
}

}  // namespace

std::vector<LaunchSite> launches_in(HostValues& values) {
  std::vector<LaunchSite> sites;
  for (std::size_t i = 1; i + 2 < values.tokens().size(); ++i) {
    if (!values.is(i, "<") || !values.is(i + 1, "<") || !values.is(i + 2, "<")) continue;
    if (auto site = launch(values, i)) sites.push_back(*std::move(site));
  }
  return sites;
}

std::set<std::string> symbols_copied_to(std::string_view source) {
  const Tokens tokens = cpp_tokens(source);
  std::set<std::string> symbols;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i] == "cudaMemcpyToSymbol" && tokens[i + 1] == "(") symbols.emplace(tokens[i + 2]);
  }
  return symbols;
}

}  // namespace tilescope::compile
