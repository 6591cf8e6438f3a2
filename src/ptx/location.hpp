// From an instruction to the source lines that it came from.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx/module.hpp"

namespace tilescope::ptx {

/// One level of inlining. `file` is the path of the .file directive, "" when the module has none.
struct InlinedLocation {
  std::string_view file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string_view function;  ///< mangled name of the function inlined here; "" for the outermost
};

/// Innermost first: the line of the instruction itself, then the line of each call that was
/// inlined, ending in the function that was compiled. Empty without a line table. The views live
/// as long as `module`.
std::vector<InlinedLocation> inline_chain(const Module& module, const Instruction& instruction);

/// The innermost line outside of headers that come with the CUDA toolkit (cooperative groups, half
/// precision, libcu++, CUB): their lines are credited to the line that called them. If all lie in
/// them, the innermost. Line 0: there is none.
InlinedLocation own_line(const Module& module, const Instruction& instruction);

/// The calls through which that line was inlined, innermost first, without those in such headers.
std::vector<InlinedLocation> calls_of_own_line(const Module& module,
                                               const Instruction& instruction);

}  // namespace tilescope::ptx
