// The table of operations: their names, operands and modifiers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ptx/opcode.hpp"
#include "ptx/slots.hpp"

namespace tilescope::ptx {

/// The modifiers that `opcode` allows, in the order of their output.
std::span<const Slot> slots(Opcode opcode);

/// A mnemonic split into its parts: "ld.global.nc.f32". Opcode::unknown if the operation or one of
/// its modifiers is not in the table; `problem` then names it, and is also set if a type is
/// missing.
struct Mnemonic {
  Opcode opcode = Opcode::unknown;
  Modifiers modifiers;
  std::string problem;
};
Mnemonic parse_mnemonic(std::string_view text);

/// The mnemonic in canonical order of modifiers.
std::string mnemonic(Opcode opcode, const Modifiers& modifiers);

}  // namespace tilescope::ptx
