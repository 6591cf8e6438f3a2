// The files of a program, by their endings.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::inspect {

/// Whether nvcc compiles the file: .cu, .cpp, .cc, .cxx or .c.
inline bool is_program_source(std::string_view path) {
  constexpr std::string_view endings[] = {".cu", ".cpp", ".cc", ".cxx", ".c"};
  return std::ranges::any_of(endings, [&](auto ending) { return path.ends_with(ending); });
}

/// Whether `target`, followed by `more` words, is a program: an executable or a script, or sources
/// with a main(), their own or an included file's. A file of kernels whose main() launches none is
/// not. Throws Error(bad_input) for a source that cannot be read.
bool is_program(const std::string& target, const std::vector<std::string>& more,
                const std::vector<std::string>& include_folders = {});

}  // namespace tilescope::inspect
