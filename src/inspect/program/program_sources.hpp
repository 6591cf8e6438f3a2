// The files of a program, by their endings.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tilescope::inspect {

/// Whether nvcc compiles the file: .cu, .cpp, .cc, .cxx or .c.
inline bool is_program_source(std::string_view path) {
  constexpr std::string_view endings[] = {".cu", ".cpp", ".cc", ".cxx", ".c"};
  return std::any_of(std::begin(endings), std::end(endings),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

}  // namespace tilescope::inspect
