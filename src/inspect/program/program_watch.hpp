// The child's side of a watched program: the CUDA run time tells it what happens, and it appends
// records to the journal, which the parent process reads.
//
//     if (ProgramWatch* watch = ProgramWatch::instance()) {
//       watch->attach(device);                                         // once, for each device
//       device.call([=] { watch->before_launch(call); }, stream);      // just before each launch
//       watch->report(finding, call);                              // a mistake of the host
//     }
//
// Every function may be called from several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "inspect/program/host_call.hpp"
#include "inspect/program/program_settings.hpp"
#include "tilescope/device.hpp"
#include "tilescope/finding.hpp"

namespace tilescope::device {
class EmulatedDevice;
struct EmulationOptions;
}  // namespace tilescope::device

namespace tilescope::inspect {

class ProgramWatch {
 public:
  /// Null for a program that runs by itself, without TILESCOPE_PROGRAM. The first call reads the
  /// settings; unreadable ones end the process with one line.
  static ProgramWatch* instance();

  /// Throws Error(bad_input) if the journal cannot be written.
  explicit ProgramWatch(ProgramSettings settings);
  ~ProgramWatch();

  const ProgramSettings& settings() const { return settings_; }
  /// Whether mistakes are looked for: with check and explain, a faulty launch is reported and the
  /// program goes on without an error.
  bool tolerant() const { return settings_.mode != ProgramMode::run; }

  /// Sets the device's options: observers, limits, tolerance. Call it before the first launch.
  void attach(device::EmulatedDevice& device);

  /// A name for the memory that `call` allocates, such as "cudaMalloc 3": one for each stack of
  /// calls. Reports show the source's own name instead, such as "d_x".
  std::string allocation_name(const HostCall& call);
  /// `text` with the source's names instead, for a message that the program itself prints. It looks
  /// them up, which takes some milliseconds.
  std::string in_source_words(std::string text);

  /// The next launch on this thread comes from `call`. Call it in stream order, just before the
  /// launch runs; launches run one at a time.
  void before_launch(const HostCall& call);
  /// A copy from device to host is about to run, in stream order. With check, elements that nothing
  /// ever wrote are reported.
  void before_read(DeviceAddress from, std::size_t bytes, const HostCall& call);

  /// A mistake in host code. `finding` has kind, facts and memory (an allocation is an object with
  /// its name and bytes); severity and places are filled in: `call`, and `other`, where the
  /// memory was allocated or freed, or the work queued. Ignored with ProgramMode::run and explain.
  void report(Finding finding, const HostCall& call, const HostCall* other = nullptr);
  /// A remark for the reader, such as a function that is not supported. Equal ones appear once.
  void note(const std::string& text);

  /// Writes what is not written yet. Call it when the process ends; further calls do little.
  void finish();

 private:
  struct State;
  void choose_launches(device::EmulationOptions& options);
  void end_if_cancelled();
  void end_if_enough();
  ProgramSettings settings_;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope::inspect
