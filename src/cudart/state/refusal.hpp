// How a function that is not supported answers.
#pragma once

namespace tilescope::cudart {

/// Names the function once, on standard error and in the journal, and returns
/// cudaErrorNotSupported, which becomes the thread's last error.
int refuse(const char* function) noexcept;

}  // namespace tilescope::cudart
