#include "ptx/declaration.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tilescope::ptx {
namespace {

constexpr std::uint64_t largest_alignment = 1u << 20;
constexpr std::size_t most_dimensions = 8;
/// CUDA's kernels take 32,764 bytes of parameters, so none has this many parameters.
constexpr std::size_t most_parameters = 1u << 16;

std::uint64_t parse_alignment(ParseContext& context) {
  const std::uint32_t line = context.token().line;
  const std::uint64_t value = context.expect_integer("an alignment", 1, largest_alignment);
  if (!std::has_single_bit(value)) fail(line, "the alignment {} is not a power of two", value);
  return value;
}

/// `.attribute(.managed, .unified(1, 2))`: only .managed matters here.
void parse_attribute(ParseContext& context, bool& managed) {
  context.expect('(', "after .attribute");
  for (int depth = 1; depth > 0;) {
    if (context.token().kind == Token::Kind::end) context.unexpected("')' to close .attribute");
    if (context.at(".managed")) managed = true;
    depth += context.at('(') ? 1 : context.at(')') ? -1 : 0;
    context.lexer.next();
  }
}

std::uint64_t checked_size(std::uint64_t count, std::uint64_t element, std::string_view name,
                           std::uint32_t line) {
  if (element != 0 && count > largest_variable / element) {
    fail(line, "{} is larger than 2^40 bytes", quoted(name));
  }
  return count * element;
}

void parse_dimensions(ParseContext& context, Variable& variable) {
  while (context.accept('[')) {
    if (variable.dims.size() == most_dimensions) {
      fail(variable.line, "an array has more than {} dimensions", most_dimensions);
    }
    if (context.accept(']')) {
      if (!variable.dims.empty()) fail(variable.line, "only the first dimension may be left out");
      variable.unsized = true;
      variable.dims.push_back(0);
      continue;
    }
    variable.dims.push_back(context.expect_integer("the size of an array", 0, largest_variable));
    context.expect(']', "after the size of an array");
  }
  std::uint64_t extent = 1;  // as if no dimension were 0, so that strides cannot overflow either
  for (const std::uint64_t dim : variable.dims) {
    extent = checked_size(extent, std::max<std::uint64_t>(dim, 1), variable.name, variable.line);
    variable.element_count *= dim;
  }
}

void parse_pointer(ParseContext& context, Parameter& parameter) {
  parameter.pointer = true;
  const Space space = context.token().kind == Token::Kind::dotted_word
                          ? space_of(context.token().text.substr(1))
                          : Space::none;
  if (space != Space::none) {
    parameter.pointer_space = space;
    context.lexer.next();
  }
  if (context.accept(".align")) parameter.pointer_alignment = parse_alignment(context);
}

Parameter parse_parameter(ParseContext& context) {
  Parameter parameter;
  parameter.in_register = context.at(".reg");
  if (!context.accept(".reg") && !context.accept(".param")) context.unexpected("'.param'");
  const TypeSpecifier specifier = parse_type_specifier(context);
  if (context.accept(".ptr")) parse_pointer(context, parameter);
  const Token name = context.expect_name("the name of a parameter");
  parameter.name = std::string(name.text);
  parameter.type = specifier.type;
  parameter.vector = specifier.vector;

  // A parameter and a variable have the same shape.
  Variable shape;
  shape.name = parameter.name;
  shape.line = name.line;
  parse_dimensions(context, shape);
  if (shape.dims.size() > 1) fail(name.line, "a parameter has at most one dimension");
  const std::uint64_t element = std::uint64_t{byte_size(parameter.type)} * parameter.vector;
  if (element == 0 && !parameter.in_register) {
    fail(name.line, "a parameter in memory cannot be of type .{}", ptx::name(parameter.type));
  }
  if (parameter.in_register && parameter.vector > 4) {
    fail(name.line, "a register has at most four components");
  }
  parameter.is_array = !shape.dims.empty();
  parameter.unsized = shape.unsized;
  parameter.element_count = shape.element_count;
  parameter.size = checked_size(shape.element_count, element, parameter.name, name.line);
  parameter.alignment =
      std::max<std::uint64_t>(specifier.alignment != 0 ? specifier.alignment : element, 1);
  return parameter;
}

/// A vector of registers becomes one parameter for each component: `.reg .v2 .b32 x` is `x.x, x.y`.
void append_parameter(std::vector<Parameter>& parameters, Parameter parameter) {
  if (!parameter.in_register || parameter.vector == 1) {
    parameters.push_back(std::move(parameter));
    return;
  }
  const std::string base = parameter.name;
  const unsigned count = std::exchange(parameter.vector, 1);
  parameter.size /= count;
  parameter.alignment = parameter.size;
  for (unsigned i = 0; i < count; ++i) {
    if (base != "_") parameter.name = fmt::format("{}.{}", base, "xyzw"[i]);
    parameters.push_back(parameter);
  }
}

}  // namespace

TypeSpecifier parse_type_specifier(ParseContext& context) {
  TypeSpecifier result;
  while (context.token().kind == Token::Kind::dotted_word && !context.at(".ptr")) {
    const Token word = context.lexer.next();
    const Type type = type_of(word.text.substr(1));
    if (word.is(".align")) {
      result.alignment = parse_alignment(context);
    } else if (word.is(".attribute")) {
      parse_attribute(context, result.managed);
    } else if (word.is(".v2") || word.is(".v4") || word.is(".v8")) {
      result.vector = static_cast<std::uint8_t>(word.text[2] - '0');
    } else if (type != Type::none && result.type == Type::none) {
      result.type = type;
    } else {
      fail(word.line, "{} does not belong in a declaration", quoted(word.text));
    }
  }
  if (result.type == Type::none) context.unexpected("a type");
  return result;
}

std::vector<DeclaredVariable> parse_variables(ParseContext& context, Space space, Linkage linkage,
                                              std::uint32_t function,
                                              std::uint32_t first_variable) {
  const TypeSpecifier specifier = parse_type_specifier(context);
  std::vector<DeclaredVariable> variables;
  do {
    const Token name = context.expect_name("the name of a variable");
    Variable variable;
    variable.name = std::string(name.text);
    variable.line = name.line;
    variable.space = space;
    variable.linkage = linkage;
    variable.type = specifier.type;
    variable.vector = specifier.vector;
    variable.managed = specifier.managed;
    const std::uint64_t element = std::uint64_t{byte_size(variable.type)} * variable.vector;
    if (element == 0) {
      fail(name.line, "a variable in memory cannot be of type .{}", ptx::name(variable.type));
    }
    // Opaque handles are eight bytes wherever they are; .v4 .b8 and its like are packed.
    variable.alignment = specifier.alignment != 0 ? specifier.alignment : std::bit_ceil(element);
    parse_dimensions(context, variable);
    if (variable.unsized) variable.element_count = 0;
    if (context.accept('=')) {
      const auto index = static_cast<std::uint32_t>(first_variable + variables.size());
      parse_initializer(context, variable, function, index);
    }
    variable.size = checked_size(variable.element_count, element, variable.name, name.line);
    variables.push_back({name.text, std::move(variable)});
  } while (context.accept(','));
  context.expect(';', "after a declaration");
  return variables;
}

std::vector<Parameter> parse_parameters(ParseContext& context) {
  const std::uint32_t line = context.token().line;
  std::vector<Parameter> parameters;
  context.expect('(', "before parameters");
  if (context.accept(')')) return parameters;
  do {
    if (parameters.size() == most_parameters) fail(line, "a function has too many parameters");
    append_parameter(parameters, parse_parameter(context));
  } while (context.accept(','));
  context.expect(')', "after parameters");
  return parameters;
}

}  // namespace tilescope::ptx
