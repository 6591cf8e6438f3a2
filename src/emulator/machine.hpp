// The emulated GPU: device memory, loaded modules, launches.
//
//     Machine machine(profile);
//     const std::uint64_t x = machine.allocate(n * 4, "x");
//     machine.copy_to_device(x, host, n * 4);
//     auto module = machine.load(ptx::parse(text, "k.ptx"));
//     LaunchSummary summary = machine.launch(*module, "scale", {blocks}, {256}, 0, arguments, {});
//
// One thread at a time may use a machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/device_runtime.hpp"
#include "emulator/heap.hpp"
#include "emulator/launch.hpp"
#include "emulator/memory_contents.hpp"
#include "emulator/memory_map.hpp"
#include "emulator/program.hpp"
#include "emulator/texture_table.hpp"
#include "tilescope/device_properties.hpp"

namespace tilescope::emulator {

/// A module whose variables are in device memory. Lives as long as its machine.
class LoadedModule {
 public:
  const ptx::Module& module() const { return *module_; }
  /// The kernel whose address a program has; null if no kernel has it.
  std::shared_ptr<const Program> kernel_at(std::uint64_t address);
  /// A kernel, decoded on first use and kept. Throws bad_input for an unknown kernel (by its
  /// mangled name, as in the PTX) or one with operations that the emulator does not execute.
  /// `pauses`: for launches with a schedule.
  std::shared_ptr<const Program> program(std::string_view kernel, bool pauses = false);
  /// Names of the module's kernels.
  std::vector<std::string> kernels() const;

 private:
  friend class Machine;
  std::shared_ptr<const ptx::Module> module_;
  SymbolAddresses addresses_;
  std::array<std::map<std::string, std::shared_ptr<const Program>, std::less<>>, 2>
      programs_;  ///< those with pauses are the second
};

/// The place of a module variable.
struct Variable {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool managed = false;  ///< the host reaches it at the same address
};

class Machine {
 public:
  /// The limits of `gpu` hold for launches and memory.
  explicit Machine(DeviceProperties gpu);
  ~Machine();

  const DeviceProperties& gpu() const { return gpu_; }
  MemoryMap& memory() { return memory_; }
  TextureTable& textures() { return textures_; }
  /// The size of the heap stays once a kernel has used it.
  void set_limits(const KernelLimits& limits) { limits_ = limits; }

  /// Allocates device memory, zero-filled but counted as uninitialised. Throws no_device when it is
  /// used up.
  std::uint64_t allocate(std::uint64_t bytes, std::string_view name);
  void free(std::uint64_t address);
  /// Each throws usage, naming the allocation and its size, when the range is not inside one.
  void copy_to_device(std::uint64_t to, const void* from, std::size_t bytes);
  void copy_to_host(void* to, std::uint64_t from, std::size_t bytes) const;
  void copy_on_device(std::uint64_t to, std::uint64_t from, std::size_t bytes);
  void fill(std::uint64_t to, std::uint8_t value, std::size_t bytes);

  /// Allocates and initialises the module's global and constant variables.
  std::shared_ptr<LoadedModule> load(ptx::Module module);
  /// Frees the module's variables.
  void unload(LoadedModule& module);
  /// Throws bad_input when the module has no such variable in global or constant memory.
  Variable variable(const LoadedModule& module, std::string_view name) const;

  /// Runs `kernel` to its end, and the grids that it launches. `arguments` is its parameter buffer,
  /// as KernelArguments packs it. Throws usage if a limit of the GPU or of the kernel forbids the
  /// launch, bad_input if the kernel cannot be decoded. The summary reports what happened inside
  /// the kernel; `options.after_grid` receives it too, and those of the grids that it launched.
  LaunchSummary launch(LoadedModule& module, std::string_view kernel, Dim3 grid, Dim3 block,
                       std::uint32_t dynamic_shared_bytes, std::span<const std::uint8_t> arguments,
                       const LaunchOptions& options);

  /// Everything that a launch can change. Allocations must be the same when it is restored.
  struct State {
    MemoryContents memory;
    std::optional<KernelHeap> heap;
    std::uint64_t launches;
  };
  State save() const;
  void restore(const State& state);

 private:
  struct Grid {
    std::string_view kernel;
    Dim3 grid, block;
    std::uint32_t dynamic_shared_bytes;
    std::span<const std::uint8_t> arguments;
  };
  /// Runs one grid. `runtime` receives what its kernel has asked for, if it uses the device
  /// runtime.
  LaunchSummary launch_grid(LoadedModule& module, const Grid& grid, const LaunchOptions& options,
                            std::unique_ptr<DeviceRuntime>& runtime);
  void run_copies(const ChildWork& work);
  void check_launch(const Program& program, Dim3 grid, Dim3 block,
                    std::uint32_t dynamic_shared_bytes, std::size_t argument_bytes,
                    bool cooperative) const;
  /// The blocks of a cluster, by the kernel's directives and the launch; checked.
  Dim3 cluster_of(const Program& program, Dim3 grid, const LaunchOptions& options) const;
  std::uint64_t resident_blocks(const Program& program, Dim3 block,
                                std::uint32_t dynamic_shared_bytes) const;
  std::uint8_t* range(std::uint64_t address, std::size_t bytes, std::string_view what) const;
  void initialise(const ptx::Module& module, const ptx::Variable& variable,
                  const SymbolAddresses& addresses, std::uint64_t address);

  DeviceProperties gpu_;
  mutable MemoryMap memory_;
  TextureTable textures_{memory_};
  KernelLimits limits_;
  std::uint64_t pending_ = 0;   ///< launches by kernels that have not ended
  std::uint64_t children_ = 0;  ///< launches by kernels so far
  std::unique_ptr<KernelHeap> heap_;
  std::uint64_t grid_workspace_ = 0;
  std::uint64_t launches_ = 0;
};

}  // namespace tilescope::emulator
