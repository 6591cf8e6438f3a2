// Faults and deadlocks in words, for errors and summaries without an observer.
#pragma once

#include <string>

#include "emulator/events.hpp"

namespace tilescope::emulator {

class Block;

/// One line: "k.cu:12: store of 4 bytes 8 bytes past the end of 'a' (400 bytes), block ...,
/// thread".
std::string fault_text(const Block& block, const Fault& fault);
std::string deadlock_text(const Block& block, const Deadlock& deadlock);

}  // namespace tilescope::emulator
