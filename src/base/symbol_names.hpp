// C++ names of the symbols in a PTX module.
#pragma once

#include <string>
#include <string_view>

namespace tilescope {

/// "void scale<16>(float*)", with the parameter list; empty if the symbol is not mangled.
std::string demangled(const std::string& symbol);

/// "scale<16>", without the parameter list; the symbol itself if it is not mangled.
std::string function_name(const std::string& symbol);

/// "tile" for a variable inside a function ("_ZZ6matmulE4tile"); the symbol itself if it is not
/// mangled. Empty for the compiler's name of a thread's stack frame, which no source has.
std::string variable_name(std::string_view symbol);

}  // namespace tilescope
