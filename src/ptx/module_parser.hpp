// Text of PTX to a module.
#pragma once

#include <string_view>

#include "ptx/module.hpp"

namespace tilescope::ptx {

/// Parses `text`. Errors begin with the name `file` ("kernel.ptx").
///
/// Throws Error(bad_input) whose text has up to ten lines "kernel.ptx:123: what is wrong", all that
/// were found. Unknown operations are no error here: they are kept as Opcode::unknown with their
/// text, so that an executor can refuse those that it reaches. In a module, every index is in
/// range; every label, register and symbol that is used is declared; each operation has a number of
/// operands that its opcode allows.
Module parse(std::string_view text, std::string_view file);

}  // namespace tilescope::ptx
