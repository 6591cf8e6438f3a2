// Cuts a function into basic blocks.
#pragma once

#include "ptx/basic_blocks.hpp"
#include "ptx/module.hpp"

namespace tilescope::ptx {

/// The control flow of a function with a body. A call falls through; a guarded exit or ret both
/// leaves and falls through; brx.idx goes to every label of its table. A trap counts as falling
/// through: it ends the whole launch, so it must not keep the lanes that pass an assertion from
/// meeting behind it.
ControlFlow build_control_flow(const Function& function);

}  // namespace tilescope::ptx
