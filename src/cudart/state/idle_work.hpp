// Queued work goes on while the program waits for its effects without a call.
#pragma once

namespace tilescope::cudart {

/// Starts the thread that sees to it; further calls do nothing.
void serve_idle_program();

}  // namespace tilescope::cudart
