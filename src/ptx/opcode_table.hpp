// What our tables know of each operation: its name, operands and modifiers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ptx/opcode.hpp"
#include "ptx/slots.hpp"

namespace tilescope::ptx {

/// The modifiers that `opcode` allows, in the order in which we write them.
std::span<const Slot> slots(Opcode opcode);

/// A mnemonic taken apart: "ld.global.nc.f32". Opcode::unknown when the operation or one of its
/// modifiers is not in the tables; `problem` then says which, and is also set when a type is
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
