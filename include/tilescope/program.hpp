// A whole program as the target of check(), explain() and run(): its main() runs on the host, and
// all its launches on the emulated GPU.
//
//     const tilescope::CheckResult result =
//         tilescope::check(tilescope::Program{.files = {"vector_add.cu"}, .arguments = {"1000"}});
//     std::cout << result.program->launches.size() << " launches, exit code "
//               << result.program->exit_code << '\n';
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tilescope/finding.hpp"
#include "tilescope/launch.hpp"

namespace tilescope {

/// A program with a main(). Its input, output and errors are those of this process; with check()
/// and explain() its output goes to standard error.
struct Program {
  /// CUDA C++, C++ and C sources (.cu, .cpp, .c), which nvcc compiles and links; or one executable
  /// that is linked against the shared CUDA run time; or one script, which is run as it is.
  std::vector<std::string> files = {};
  std::vector<std::string> arguments = {};         ///< of its main()
  std::vector<std::string> compiler_options = {};  ///< for nvcc, such as "-std=c++20"
  bool output_to_stderr = false;                   ///< its standard output goes to standard error
};

/// Launches of a program by their number, from 0: of all launches, or of those of one kernel.
struct LaunchRange {
  std::string kernel = {};  ///< as reports name it, or without namespace and <...>; empty: any
  std::uint64_t first = 0, last = UINT64_MAX;
};

/// "1-3,scale:2" is launches 1 to 3 and the third launch of scale; "5-" and "scale" have no end.
/// Throws Error(usage) for anything else.
std::vector<LaunchRange> parse_launch_ranges(std::string_view text);
/// "1-3", "scale:2", as parse_launch_ranges() reads it.
std::string to_string(const LaunchRange& range);

/// A launch of the program's.
struct ProgramLaunch {
  std::string kernel;
  Dim3 grid, block;
  SourcePlace place;  ///< in the host code; line 0: not known
  std::uint64_t blocks = 0;
  std::uint64_t warp_instructions = 0;
  bool is_watched = true;  ///< false: InspectOptions::launches left it out
};

/// The program's end, and what it launched.
struct ProgramRun {
  int exit_code = 0;  ///< the program's own; 128 plus the signal that ended it
  int signal = 0;     ///< 0: none
  std::vector<ProgramLaunch> launches;
  std::vector<LaunchRange> watched;  ///< as InspectOptions::launches
  /// Why one of these is an error, though others were watched: "no launch 99: the program has 12
  /// launches ...". Empty: the program made a launch of each.
  std::string absent;
  /// The first launches, which an earlier run of the same check has watched (check(), resume).
  std::uint64_t checked_before = 0;
};

/// Whether the source at `path`, or a file that it includes from its own folder or from
/// `include_folders`, defines main(). Throws Error(bad_input) if the source cannot be read.
bool has_main(const std::string& path, const std::vector<std::string>& include_folders = {});

}  // namespace tilescope
