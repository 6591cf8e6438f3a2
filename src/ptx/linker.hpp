// Joins the modules of several translation units (nvcc -rdc=true) into one, as the driver's linker
// does.
#pragma once

#include <string>
#include <vector>

#include "ptx/module.hpp"

namespace tilescope::ptx {

/// A module, and its name for messages.
struct LinkUnit {
  std::string name;
  Module module;
};

/// One module with the variables and functions of all units. A symbol of a unit that is not
/// internal is the one of that name in the others: a definition takes the place of .extern
/// declarations, and a strong one that of .weak and .common ones. An internal symbol whose name is
/// taken gets the number of its unit: "table.2".
///
/// Throws Error(bad_input) if a symbol is defined twice, if two units disagree about what it is, or
/// if a variable in memory is declared and never defined. Functions may stay undefined: a call of
/// one is refused when its kernel is decoded.
Module link(std::vector<LinkUnit> units);

}  // namespace tilescope::ptx
