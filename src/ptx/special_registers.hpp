// The registers that the machine sets, by name.
#pragma once

#include <optional>
#include <string_view>

#include "ptx/instruction.hpp"

namespace tilescope::ptx {

/// The operand for "%tid.x", "%envreg7", "%pm3_64"; nothing when `text` names no special register.
std::optional<Operand> special_register(std::string_view text);

}  // namespace tilescope::ptx
