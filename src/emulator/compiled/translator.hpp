// From instructions to operations.
#pragma once

#include "emulator/compiled/known_operation.hpp"

namespace tilescope::emulator::compiled {

/// The operation at index `index` of a function's code.
Operation operation_at(const Program& program, const CodeFunction& function,
                       const RegisterTable& registers, std::uint32_t index);
/// The registers that the instruction mentions, whatever it does.
Operation mentions_at(const Program& program, const CodeFunction& function,
                      const RegisterTable& registers, std::uint32_t index);

}  // namespace tilescope::emulator::compiled
