// The common part of check(), explain() and run(): their options, and their report on the run
// besides their own results.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilescope/block_sample.hpp"
#include "tilescope/device_properties.hpp"
#include "tilescope/target.hpp"

namespace tilescope {

namespace inspect {
struct RunTrace;
}

/// The device, and the limits of the run.
struct InspectOptions {
  /// "emulated", "emulated:GPU" (such as "emulated:t4") or "auto"; run() also takes "cuda" and
  /// "cuda:N". "auto" is the emulated H200; for run() a GPU, if there is one.
  std::string device = "auto";
  std::uint64_t max_instructions = 0;         ///< warp instructions of one launch; 0: no limit
  const std::atomic<bool>* cancel = nullptr;  ///< becoming true ends an emulated launch soon
  /// Receives the text that emulated kernels print, as they print it. Null: it goes to
  /// Inspection::printed.
  std::function<void(std::string_view)> print = {};
  /// Called once everything is compiled and in place, before the first launch.
  std::function<void()> before_launch = {};
  /// The launches of a Program that are watched; the others run as with run(), but go on where one
  /// fails (check() has a note then). Empty: all. Throws Error(usage) if no launch is among them.
  std::vector<LaunchRange> launches = {};
  /// explain(): the blocks of each launch that are counted. All run. Nothing: all are counted.
  std::optional<BlockSample> blocks = {};
  /// check() of a Program: a file that keeps what is known of finished launches. A run that was cut
  /// short is continued: launches that it has checked run as with run(). Empty: none.
  std::string resume = {};
  /// check(): orders of blocks, warps and bulk copies in which to run each launch: the usual one,
  /// and those with the seeds 1, 2, 3 ... Their results are compared.
  std::uint64_t schedules = 1;
  /// check(): run in the order of this seed alone.
  std::optional<std::uint64_t> schedule = {};
  /// check(): end after so many different findings, notes not counted; 0: check everything.
  std::uint64_t max_findings = 0;
  bool phases = false;    ///< explain(): trace which thread loads and computes what in a tile
                          ///< kernel's phases
  bool pictures = false;  ///< explain(): keep what only pictures show, such as each round of a loop
  bool trace = false;     ///< keep the launches with their first blocks in Inspection::trace
  std::uint64_t most_elements = UINT64_MAX;  ///< run(): elements of each array to return
  bool progress = false;  ///< show the progress of long emulated launches on a terminal
};

/// The reason why a run ended.
enum class Ending : std::uint8_t {
  complete,      ///< every launch ran to its end
  trapped,       ///< a kernel gave up: a trap, or a failed assertion
  unfinished,    ///< a launch reached the limit of instructions
  interrupted,   ///< cancelled
  refused,       ///< the device forbids the launch: nothing ran
  killed,        ///< a signal ended the program
  found_enough,  ///< check() found as much as InspectOptions::max_findings
};

/// The amount of work, over all launches.
struct RunSummary {
  std::uint64_t launches = 0;
  std::uint64_t blocks = 0;             ///< blocks that ran to their end
  std::uint64_t warp_instructions = 0;  ///< of the PTX; 0 on a GPU
  std::uint64_t faults = 0;             ///< faulty accesses, which were left out, by thread
  std::uint64_t deadlocked_blocks = 0;
  Ending ending = Ending::complete;
  std::string message;  ///< the reason if a launch did not complete
};

/// The target, the device and the run.
struct Inspection {
  std::string target;  ///< "matmul/tiled_16, 128 x 128 x 128", or "mine.cu: scale"
  std::string device;  ///< as Device::open takes it, such as "emulated:h200"
  DeviceProperties properties;
  RunSummary ran;
  std::vector<std::string> guessed;  ///< as LaunchDescription::guessed: the result holds for these
  std::vector<std::string> unset;    ///< __constant__ variables that a kernel reads, all zeros
  std::vector<std::string> notes;    ///< remarks for the reader, such as code that was left out
  std::string printed;               ///< by emulated kernels, unless InspectOptions::print took it
  std::vector<SourceText> sources;  ///< the sources that the result's places name, if they were not
                                    ///< read from disk

  std::optional<ProgramRun> program;  ///< a Program's end
  /// The launches over time, if InspectOptions::trace is set; a program's are in `program`.
  std::shared_ptr<const inspect::RunTrace> trace;

  bool complete() const { return ran.ending == Ending::complete; }
};

}  // namespace tilescope
