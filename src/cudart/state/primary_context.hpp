// The primary context: the device with everything that a program has made on it. One for the
// process, opened by the first call that needs it, thrown away by cudaDeviceReset.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "cudart/state/allocations.hpp"
#include "cudart/state/arrays.hpp"
#include "cudart/state/device_code.hpp"
#include "cudart/state/failure.hpp"
#include "cudart/state/graph_memory.hpp"
#include "cudart/state/graphs.hpp"
#include "cudart/state/host_guard.hpp"
#include "cudart/state/size_suspects.hpp"
#include "cudart/state/streams.hpp"
#include "cudart/state/textures.hpp"
#include "inspect/program/program_watch.hpp"
#include "tilescope/device.hpp"

namespace tilescope::cudart {

/// Everything that cudaDeviceReset destroys. Destroyed from the last member to the first.
struct DeviceState {
  explicit DeviceState(std::shared_ptr<Device> opened)
      : device(std::move(opened)), memory(*device), streams(*device) {}

  std::shared_ptr<Device> device;
  Memory memory;
  GraphMemory graph_memory;
  Arrays arrays;
  Textures textures;
  LoadedCode code;
  Graphs graphs;
  SizeSuspects sizes;
  Streams streams;
};

class Context {
 public:
  /// Never destroyed: the program's own destructors may still call the API.
  static Context& instance();

  /// Holds the lock during a call, and its name for reports.
  class Call {
   public:
    Call(Context& context, const char* name);
    ~Call();

   private:
    Context& context_;
    std::lock_guard<std::recursive_mutex> lock_;
    const char* outer_;
  };

  bool is_open() const { return state_.has_value(); }
  /// How many the program has made.
  std::uint64_t calls() const { return calls_; }
  Device& device() { return *state().device; }
  const DeviceProperties& gpu() { return device().properties(); }
  Memory& memory() { return state().memory; }
  GraphMemory& graph_memory() { return state().graph_memory; }
  Arrays& arrays() { return state().arrays; }
  Textures& textures() { return state().textures; }
  Graphs& graphs() { return state().graphs; }
  SizeSuspects& sizes() { return state().sizes; }
  Streams& streams() { return state().streams; }
  LoadedCode& code() { return state().code; }
  /// The code that the program's objects registered; it outlives a reset.
  CodeRegistry& registry() { return registry_; }
  /// Null unless the program runs under the command.
  inspect::ProgramWatch* watch() const { return watch_; }

  /// Whether mistakes of the host are looked for, on an emulated GPU.
  bool checks();
  /// A report about the call that is being served: its error needs no further one.
  void report(Finding finding, const inspect::HostCall* other = nullptr);
  /// The end of a call with `code`.
  void settle(cudaError_t code);
  /// This thread's next call is a launch by <<< >>>, of which the program sees no result.
  static void begin_configured_launch() noexcept;
  /// The program asked for its last error, or for the meaning of one.
  void asked(cudaError_t code);

  /// The call that is being served, with the stack above it; empty unless the program is watched.
  inspect::HostCall here() const;

  /// The error that ended the context; cudaSuccess: none did.
  cudaError_t ended() const { return ended_; }
  void require_intact() const { require(ended_ == cudaSuccess, ended_); }
  /// All further calls fail with `code`, as after a kernel that failed on a GPU.
  void end_with(cudaError_t code) { ended_ = code; }
  void reset();
  /// The object file of the code is about to leave the process.
  void forget(CodeImage& image);
  /// The end of the process: runs what is queued if it is watched, and reports.
  void finish() noexcept;

 private:
  Context();
  DeviceState& state();
  /// The emulated device was used, and no error has ended its context.
  bool runs_emulated() const;
  void finish_queued_work() noexcept;
  void report_early_touches();
  void report_leaks();
  void report_unasked();

  /// An error that the program has not asked for yet.
  struct Unasked {
    cudaError_t code = cudaSuccess;
    inspect::HostCall call;
    bool went_on = false;  ///< with other work, or without a look at the result as there is none
  };

  std::recursive_mutex mutex_;
  const char* call_ = "";
  std::atomic<std::uint64_t> calls_ = 0;
  bool reported_ = false;  ///< in this call
  bool failed_ = false;    ///< some call did
  std::optional<Unasked> unasked_;
  inspect::ProgramWatch* watch_;
  CodeRegistry registry_;
  std::optional<DeviceState> state_;
  std::atomic<cudaError_t> ended_ = cudaSuccess;
};

}  // namespace tilescope::cudart
