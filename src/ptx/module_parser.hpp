// Text of PTX to a module.
#pragma once

#include <string_view>

#include "ptx/module.hpp"

namespace tilescope::ptx {

/// Parses `text`. `file` is the name that errors begin with ("kernel.ptx").
///
/// Throws Error(bad_input) whose text has up to ten lines "kernel.ptx:123: what is wrong", all that
/// were found. Operations that are not in our tables are no error here: they are kept as
/// Opcode::unknown with their text, so that whoever executes can refuse those it reaches. What a
/// module is promised to satisfy: every index is in range, every label, register and symbol that is
/// named is declared, each operation has a number of operands that its opcode allows.
Module parse(std::string_view text, std::string_view file);

}  // namespace tilescope::ptx
