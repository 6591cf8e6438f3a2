// The kernels that a source defines, found without compiling it: for "which kernel?" messages and
// for the names of parameters, which PTX does not keep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::compile {

struct KernelDeclaration {
  std::string name;  ///< with its namespaces: "lib::scale"
  bool is_template = false;
  std::string plausible_instance;       ///< arguments that a template may take: "<float, 16>"
  std::vector<std::string> parameters;  ///< names, in order; empty for a parameter without one
  /// The parameter lists of its declarations, "float* x, int n": several when overloaded (or when
  /// an earlier declaration uses other words).
  std::vector<std::string> signatures;
};

/// Every `__global__` function in `source` once, in order. Comments, strings and preprocessor
/// lines are passed over; conditions are not evaluated and macros not expanded, so what macros
/// generate is not found. Takes any text without failing.
std::vector<KernelDeclaration> kernels_in(std::string_view source);

/// The declaration that `wanted` ("scale", "lib::scale", "scale<16>", "scale(float*, int)") means,
/// or null.
const KernelDeclaration* find_kernel(const std::vector<KernelDeclaration>& kernels,
                                     std::string_view wanted);

}  // namespace tilescope::compile
