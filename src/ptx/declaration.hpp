// Declarations of variables and parameters.
#pragma once

#include <vector>

#include "ptx/parse_context.hpp"

namespace tilescope::ptx {

/// The largest accepted variable, in bytes: beyond any chip's memory, and small enough that sums of
/// sizes and offsets cannot overflow.
inline constexpr std::uint64_t largest_variable = std::uint64_t{1} << 40;

/// The words between the space and the name: .align 8 .v2 .b32, in any order.
struct TypeSpecifier {
  Type type = Type::none;
  std::uint8_t vector = 1;
  std::uint64_t alignment = 0;  ///< 0: not given
  bool managed = false;
};
TypeSpecifier parse_type_specifier(ParseContext& context);

struct DeclaredVariable {
  std::string_view name;  ///< in the text
  Variable variable;
};

/// The variables of one declaration, from behind the space to the semicolon. Appends their
/// initialisers' symbols to `context.relocations`, with `function` and counting from
/// `first_variable`.
std::vector<DeclaredVariable> parse_variables(ParseContext& context, Space space, Linkage linkage,
                                              std::uint32_t function, std::uint32_t first_variable);

/// A list of parameters in parentheses, the first of which is the current token. A vector of
/// registers becomes a parameter for each component, called `x.x`, `x.y` and so on.
std::vector<Parameter> parse_parameters(ParseContext& context);

/// `= {...}`, from behind the equals sign, into `variable`.
void parse_initializer(ParseContext& context, Variable& variable, std::uint32_t function,
                       std::uint32_t variable_index);

}  // namespace tilescope::ptx
