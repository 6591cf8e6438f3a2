#include "ptx/function_header.hpp"

#include <algorithm>
#include <limits>

#include "ptx/declaration.hpp"

namespace tilescope::ptx {
namespace {

constexpr std::uint64_t largest_word = std::numeric_limits<std::uint32_t>::max();

void parse_dimensions(ParseContext& context, std::array<std::uint32_t, 3>& dims) {
  dims = {1, 1, 1};
  std::size_t i = 0;
  do {
    if (i == dims.size()) context.unexpected("at most three dimensions");
    dims[i++] = static_cast<std::uint32_t>(context.expect_integer("a dimension", 1, largest_word));
  } while (context.accept(','));
}

/// A directive that takes one number; false when `word` is none.
bool parse_limit(ParseContext& context, std::string_view word, LaunchBounds& bounds) {
  std::uint32_t ignored = 0;
  std::uint32_t* target = word == ".minnctapersm"           ? &bounds.minnctapersm
                          : word == ".maxnctapersm"         ? &bounds.maxnctapersm
                          : word == ".maxnreg"              ? &bounds.maxnreg
                          : word == ".maxclusterrank"       ? &bounds.maxclusterrank
                          : word == ".abi_preserve"         ? &ignored
                          : word == ".abi_preserve_control" ? &ignored
                                                            : nullptr;
  if (target == nullptr) return false;
  context.lexer.next();
  *target = static_cast<std::uint32_t>(context.expect_integer(word, 0, largest_word));
  return true;
}

/// The directives between the parameters and the body.
void parse_directives(ParseContext& context, Function& function) {
  LaunchBounds& bounds = function.bounds;
  while (context.token().kind == Token::Kind::dotted_word) {
    if (parse_limit(context, context.token().text, bounds)) continue;
    const Token word = context.lexer.next();
    if (word.is(".maxntid")) {
      parse_dimensions(context, bounds.maxntid);
    } else if (word.is(".reqntid")) {
      parse_dimensions(context, bounds.reqntid);
    } else if (word.is(".reqnctapercluster")) {
      parse_dimensions(context, bounds.reqnctapercluster);
    } else if (word.is(".explicitcluster")) {
      bounds.explicit_cluster = true;
    } else if (word.is(".blocksareclusters")) {
      bounds.blocks_are_clusters = true;
    } else if (word.is(".noreturn")) {
      function.noreturn = true;
    } else if (word.is(".pragma")) {
      do {
        if (context.token().kind != Token::Kind::string) context.unexpected("a string");
        context.lexer.next();
      } while (context.accept(','));
      context.accept(';');
    } else {
      fail(word.line, "{} does not belong before the body of a function", quoted(word.text));
    }
  }
}

void place_parameters(Function& function) {
  std::uint64_t end = 0;
  for (Parameter& parameter : function.parameters) {
    parameter.offset = (end + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
    end = parameter.offset + parameter.size;
  }
  function.parameter_bytes = end;
}

/// Without a body, the components of a vector of registers (`x.x`) are registers called `x_x`.
void name_components(std::vector<Parameter>& parameters) {
  for (Parameter& parameter : parameters) {
    std::replace(parameter.name.begin(), parameter.name.end(), '.', '_');
  }
}

}  // namespace

Function parse_function_header(ParseContext& context, Linkage linkage) {
  Function function;
  function.linkage = linkage;
  function.line = context.token().line;
  function.is_entry = context.at(".entry");
  context.lexer.next();
  if (context.accept(".attribute")) {
    context.expect('(', "after .attribute");
    while (!context.accept(')')) {
      if (context.token().kind == Token::Kind::end) context.unexpected("')'");
      context.lexer.next();
    }
  }
  if (!function.is_entry && context.at('(')) function.returns = parse_parameters(context);
  function.name = std::string(context.expect_name("the name of a function").text);
  if (context.at('(')) function.parameters = parse_parameters(context);
  parse_directives(context, function);
  place_parameters(function);
  function.has_body = !context.accept(';');
  if (!function.has_body) {
    name_components(function.returns);
    name_components(function.parameters);
  }
  if (function.has_body && !context.at('{')) {
    context.unexpected("';' or '{' after the head of a function");
  }
  return function;
}

std::uint32_t declare_function(ParseContext& context, Function function, std::string_view name) {
  const auto index = static_cast<std::uint32_t>(context.module.functions.size());
  const auto [entry, added] =
      context.symbols.try_emplace(name, Symbol{SymbolKind::function, index});
  if (added) {
    context.module.functions.push_back(std::move(function));
    return index;
  }
  if (entry->second.kind != SymbolKind::function) {
    fail(function.line, "{} is already a variable", quoted(name));
  }
  Function& known = context.module.functions[entry->second.index];
  if (known.has_body && function.has_body) {
    fail(function.line, "the function {} is defined twice, first in line {}", quoted(name),
         known.line);
  }
  if (known.is_entry != function.is_entry ||
      known.parameters.size() != function.parameters.size() ||
      known.returns.size() != function.returns.size()) {
    fail(function.line, "the function {} does not agree with its declaration in line {}",
         quoted(name), known.line);
  }
  if (!known.has_body) known = std::move(function);
  return entry->second.index;
}

Prototype parse_prototype(ParseContext& context, std::string_view label) {
  Prototype prototype;
  prototype.name = std::string(label);
  if (context.at('(')) prototype.returns = parse_parameters(context);
  if (!context.accept("_")) context.unexpected("'_' in a .callprototype");
  if (context.at('(')) prototype.parameters = parse_parameters(context);
  name_components(prototype.returns);
  name_components(prototype.parameters);
  while (context.token().kind == Token::Kind::dotted_word) {  // .noreturn, .abi_preserve n
    context.lexer.next();
    if (context.token().kind == Token::Kind::number) context.lexer.next();
  }
  context.expect(';', "after a .callprototype");
  return prototype;
}

}  // namespace tilescope::ptx
