// The functions that every kernel may call: vprintf, malloc, free, __assertfail, and those of the
// device runtime (device_runtime_calls.hpp).
#pragma once

#include "emulator/context.hpp"
#include "emulator/program.hpp"

namespace tilescope::emulator {

/// Returns false if the launch ends here (a failed assertion).
bool run_builtin(Context& w, const Code& code, const CallCode& call, LaneMask mask);

}  // namespace tilescope::emulator
