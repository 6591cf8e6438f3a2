// Exit codes of commands that no ErrorKind stands for.
#pragma once

namespace tilescope::cli {

constexpr int interrupted_exit = 130;  // ended by Ctrl-C

}  // namespace tilescope::cli
