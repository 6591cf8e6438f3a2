// A module as text again, in one canonical form: for messages, and to test that nothing is lost.
#pragma once

#include <string>

#include "ptx/module.hpp"

namespace tilescope::ptx {

/// One instruction without its semicolon: "@%p1 ld.global.f32 %f1, [%rd2+4]".
std::string print(const Module& module, const Function& function, const Instruction& instruction);

/// The whole module. Parsing the result gives an equal module, but for line numbers of the text
/// and locations that no instruction has.
std::string print(const Module& module);

}  // namespace tilescope::ptx
