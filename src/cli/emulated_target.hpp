// What check and explain look at: a rung of an operation, or a kernel from a user's file, on the
// emulated device.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <tilescope/device.hpp>

#include "cli/launch_arguments.hpp"
#include "cli/user_kernel.hpp"
#include "device/emulated/emulated_device.hpp"
#include "operations/registry.hpp"
#include "report/source_text.hpp"

namespace tilescope::cli {

/// The options that check and explain share.
struct TargetArguments {
  std::string target, device = "auto";
  LaunchArguments launch;
  operations::ProblemOptions problem;
  int tile = 0;
  std::uint64_t max_instructions = 0;

  void add_to(CLI::App& command);
};

class EmulatedTarget {
 public:
  /// Makes everything ready; nothing runs yet. Errors as UserKernel and make_operation have them,
  /// usage for a target that is neither a file nor OPERATION/VARIANT, or a device that is not
  /// emulated.
  explicit EmulatedTarget(const TargetArguments& arguments);
  ~EmulatedTarget();

  /// Launches. `options` but for the limits of TargetArguments, which this fills in; launches are
  /// tolerant, so that defects do not end the run.
  void run(device::EmulationOptions options);

  /// Throws Error(usage) when the launch breaks a limit of the device; operations check theirs.
  void require_launchable() const;

  device::EmulatedDevice& device() { return *device_; }
  /// "matmul/tiled_16, 128 x 128 x 128", or the file and kernel.
  const std::string& title() const { return title_; }
  /// What the reader should know of the run, such as "padded to 16 x 16 x 16"; may be empty.
  const std::string& note() const { return note_; }
  report::SourceTexts& sources() { return sources_; }

 private:
  void open_operation(const TargetArguments& arguments);

  std::uint64_t max_instructions_;
  std::shared_ptr<device::EmulatedDevice> device_;
  std::string title_, note_;
  report::SourceTexts sources_;
  std::unique_ptr<operations::Operation> operation_;
  std::unique_ptr<operations::Prepared> prepared_;
  std::unique_ptr<UserKernel> kernel_;
};

/// The variant that a user calls `name`. One that comes in widths and is named without gets `tile`,
/// or where that is 0 a width of 16, else its widest.
std::string chosen_variant(const operations::Operation& operation, const std::string& name,
                           int tile);

/// The options with a size that is emulated in no time, where none was given.
operations::ProblemOptions emulated_size(std::string_view operation,
                                         operations::ProblemOptions options);

/// How the launches of a run went, added up.
struct RunEnd {
  std::uint64_t launches = 0, blocks = 0, warp_instructions = 0, faults = 0, deadlocked_blocks = 0;
  emulator::LaunchEnd end = emulator::LaunchEnd::complete;
  std::string message;  ///< of the launch that did not end well

  void add(const emulator::LaunchSummary& summary);
  bool complete() const { return end == emulator::LaunchEnd::complete; }
  /// "trap", "unfinished" or "interrupted"; empty when complete.
  std::string_view kind() const;
};

}  // namespace tilescope::cli
