// C++ names of the symbols in a PTX module.
#pragma once

#include <string>
#include <string_view>

namespace tilescope {

/// "void scale<16>(float*)", with the parameter list; empty when the symbol is no mangled name.
std::string demangled(const std::string& symbol);

/// "scale<16>", without the parameter list; the symbol itself when it is no mangled name.
std::string function_name(const std::string& symbol);

/// "tile" for a variable inside a function ("_ZZ6matmulE4tile"); the symbol itself when it is no
/// mangled name. Empty for the compiler's name of a thread's stack frame, which no source has.
std::string variable_name(std::string_view symbol);

}  // namespace tilescope
