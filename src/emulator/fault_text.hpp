// Faults and deadlocks in words, for errors and summaries without an observer.
#pragma once

#include <string>
#include <string_view>

#include "emulator/events.hpp"

namespace tilescope::emulator {

class Program;

/// One line: "k.cu:12: store of 4 bytes 8 bytes past the end of 'a' (400
/// bytes), block ..., thread".
std::string fault_text(const Program& program, std::string_view thread, const Fault& fault);
std::string deadlock_text(const Program& program, const Dim3& index, const Deadlock& deadlock);

}  // namespace tilescope::emulator
