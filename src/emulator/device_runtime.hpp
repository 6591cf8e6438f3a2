// CUDA's device runtime: what the threads of one grid ask of it. Launches, copies and fills that a
// kernel makes wait until every block of its grid has ended, as late as CUDA's rules allow; tail
// launches wait for these too. The machine does them then, in the order in which they were made.
//
// A program that uses it runs on one host thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "emulator/heap.hpp"
#include "emulator/launch.hpp"
#include "emulator/memory_map.hpp"
#include "emulator/program.hpp"
#include "tilescope/device_properties.hpp"

namespace tilescope::emulator {

/// CUDA's codes that the device runtime returns.
enum class DeviceError : std::uint32_t {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  invalid_configuration = 9,
  pending_count_exceeded = 69,
  invalid_device_function = 98,
  invalid_device = 101,
  invalid_resource_handle = 400,
  launch_out_of_resources = 701,
  not_supported = 801,
};

/// "cudaErrorInvalidValue" and "invalid argument"; for other codes, that they are not recognised.
struct DeviceErrorWords {
  std::string_view name, text;
};
DeviceErrorWords words_of(DeviceError error);

/// A grid that a kernel launched.
struct ChildGrid {
  std::string kernel;  ///< its name in the PTX
  Dim3 grid, block;
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<std::uint8_t> parameters;
  std::uint64_t number = 0;  ///< of the launch, from 1
};
/// Rows of bytes that a kernel copies...
struct ChildCopy {
  std::uint64_t to, to_pitch, from, from_pitch, width, rows;
};
/// ...or fills.
struct ChildFill {
  std::uint64_t to, pitch, width, rows;
  std::uint8_t value;
};
using ChildWork = std::variant<ChildGrid, ChildCopy, ChildFill>;

/// The handles that stand for streams without creating one.
inline constexpr std::uint64_t kLastNamedStream = 4, kTailLaunchStream = 3;

class DeviceRuntime {
 public:
  struct Setup {
    MemoryMap& memory;
    KernelHeap& heap;
    const DeviceProperties& gpu;
    KernelLimits limits;
    /// Launches by kernels that have not ended yet, of all grids of one launch by the host.
    std::uint64_t& pending;
    /// Launches by kernels so far.
    std::uint64_t& numbers;
    /// The grid's own; it lives until its children have run.
    std::shared_ptr<const Program> program;
    /// The kernel with this number in the module; null if it is none.
    std::function<std::shared_ptr<const Program>(std::uint64_t)> kernel;
  };

  explicit DeviceRuntime(Setup setup) : setup_(std::move(setup)) {}
  ~DeviceRuntime();

  const DeviceProperties& gpu() const { return setup_.gpu; }
  const KernelLimits& limits() const { return setup_.limits; }
  KernelHeap& heap() { return setup_.heap; }
  MemoryMap& memory() { return setup_.memory; }

  /// Names the thread that makes the next calls, and its instruction.
  void enter(std::uint64_t block, std::uint32_t thread, InstructionId instruction);

  /// Device memory for the parameters of `kernel`, an address of a function; 0, with the reason as
  /// the thread's last error, if such a launch is impossible.
  std::uint64_t parameter_buffer(std::uint64_t kernel, Dim3 grid, Dim3 block,
                                 std::uint32_t dynamic_shared_bytes);
  /// The same for a launch that is described later.
  std::uint64_t plain_buffer(std::uint64_t bytes);
  /// Queues the launch whose parameters are in `buffer`.
  DeviceError launch(std::uint64_t buffer, std::uint64_t stream);
  DeviceError launch(std::uint64_t kernel, std::uint64_t buffer, Dim3 grid, Dim3 block,
                     std::uint32_t dynamic_shared_bytes, std::uint64_t stream);
  /// The number of the last launch, which succeeded; 0 if it waits for the end of the grid.
  std::uint64_t last_launch() const { return last_launch_; }
  DeviceError copy(const ChildCopy& copy, std::uint64_t stream);
  DeviceError fill(const ChildFill& fill, std::uint64_t stream);

  /// A new stream or event.
  std::uint64_t create();
  bool destroy(std::uint64_t handle) { return handles_.erase(handle) == 1; }
  bool is_stream(std::uint64_t handle) const {
    return handle <= kLastNamedStream || handles_.contains(handle);
  }
  bool is_event(std::uint64_t handle) const { return handles_.contains(handle); }

  /// Keeps an error as the thread's last one.
  DeviceError fail(DeviceError error);
  /// The thread's last error; it now knows of it.
  DeviceError last_error(bool clear);
  /// Device memory with a text that ends with 0.
  std::uint64_t text(std::string_view text);

  /// The work to do next; tail launches come last. Nothing: all is done.
  std::optional<ChildWork> take();
  /// Whether the work taken last was the last tail launch.
  bool ends_with_tail() const { return in_tail_ && tail_.empty(); }
  /// The launches that failed without the thread asking for an error, by instruction.
  std::vector<RefusedLaunch> refused() const;

 private:
  struct Thread {
    DeviceError last = DeviceError::success;
    std::string unknown_refusal;  ///< why a launch failed, until the thread asks
    InstructionId refused_at = 0;
  };
  DeviceError refuse(DeviceError error, std::string why);
  /// Success if the device can run it.
  DeviceError examine(std::uint64_t kernel, ChildGrid& grid, std::uint64_t& parameter_bytes);
  DeviceError queue(ChildWork work, std::uint64_t stream);
  bool is_device_memory(std::uint64_t address, std::uint64_t pitch, std::uint64_t width,
                        std::uint64_t rows);

  Setup setup_;
  std::pair<std::uint64_t, std::uint32_t> thread_;
  InstructionId instruction_ = 0;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Thread> threads_;
  std::map<std::uint64_t, ChildGrid> prepared_;  ///< by parameter buffer
  std::vector<std::uint64_t> buffers_;           ///< pieces of the heap, freed at the end
  std::map<std::string, std::uint64_t, std::less<>> texts_;
  std::set<std::uint64_t> handles_;
  std::uint64_t next_handle_ = 0x6000'0000'0000;
  std::uint64_t last_launch_ = 0;
  std::deque<ChildWork> work_, tail_;
  bool in_tail_ = false;  ///< the first tail launch has been taken
};

}  // namespace tilescope::emulator
