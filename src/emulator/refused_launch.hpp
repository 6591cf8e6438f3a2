// A launch by a kernel that failed, and whose error the kernel never asked for.
#pragma once

#include <cstdint>
#include <string>

namespace tilescope::emulator {

struct RefusedLaunch {
  std::uint32_t instruction = 0;  ///< InstructionId, in the launching kernel's program
  std::uint64_t block = 0;        ///< linear, of the first example
  std::uint32_t thread = 0;       ///< linear, in the block
  std::string reason;
  std::uint64_t count = 1;
};

}  // namespace tilescope::emulator
