// Finds the defects of a kernel by running it on the emulated GPU.
//
//     const char* source = R"(
//         __global__ void turn(int* x) {
//           __shared__ int tile[64];
//           tile[threadIdx.x] = x[threadIdx.x];
//           x[threadIdx.x] = tile[63 - threadIdx.x];
//         })";
//     const tilescope::CheckResult result = tilescope::check(
//         tilescope::SourceText{source},
//         {.grid = tilescope::Dim3{1}, .block = tilescope::Dim3{64},
//          .arguments = {tilescope::LaunchArgument::array(std::vector<int>(64))}});
//     for (const tilescope::Finding& finding : result.findings) {
//       std::cout << to_string(finding.kind) << " in line " << finding.first.place.line << '\n';
//     }
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tilescope/finding.hpp"
#include "tilescope/inspection.hpp"
#include "tilescope/launch_description.hpp"

namespace tilescope {

/// The rest of a check that ended early (InspectOptions::max_findings).
struct LeftOut {
  std::uint64_t findings = 0;  ///< that were known then, beside those in the result
  std::uint64_t blocks = 0;    ///< of the last launch, that had not come to their end
  std::uint64_t launches = 0;  ///< behind it; of a program they are not known
};

/// The result of a check. Without findings and with complete(), the kernel is free of the defects
/// in docs/check.md, for these arguments; a program for this run.
struct CheckResult : Inspection {
  std::vector<Finding> findings;  ///< by kind, file and line; the same for any number of threads
  Limitation limitation = Limitation::none;  ///< what could not be checked to the end
  std::optional<LeftOut> left_out;           ///< if Ending::found_enough
  std::uint64_t schedules = 1;               ///< orders in which each launch ran

  /// Complete, and no finding but notes.
  bool clean() const;
};

/// Runs the kernel and reports races, bad accesses, reads of undefined memory, barriers that some
/// threads never reach, and wrong masks. A defect is a finding, not an error; so is a launch that
/// the device forbids. A rung has its own launch, so `launch` must be empty for it.
///
/// Errors: usage for a device that is not emulated; LaunchError (usage too) for a launch that is
/// incomplete or does not fit the kernel; bad_input for a file that cannot be read, and for code
/// that does not compile, with the compiler's words; no_device without NVRTC.
CheckResult check(const Target& target, const LaunchDescription& launch = {},
                  const InspectOptions& options = {});

}  // namespace tilescope
