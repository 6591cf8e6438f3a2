// A module on the emulated GPU, and its kernels.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <vector>

#include "compile/compilation.hpp"
#include "emulator/machine.hpp"

namespace tilescope::device {

/// The machine of an emulated device. One thread at a time uses it. The mutex is recursive: the
/// work done may be the last owner of a kernel, which then leaves the machine.
struct SharedMachine {
  explicit SharedMachine(DeviceProperties gpu) : machine(std::move(gpu)) {}
  emulator::Machine machine;
  std::recursive_mutex mutex;
};

/// Keeps its machine alive, for its variables are in that memory.
class EmulatedModule final : public Module::State,
                             public std::enable_shared_from_this<EmulatedModule> {
 public:
  EmulatedModule(std::shared_ptr<SharedMachine> shared, ptx::Module parsed);
  ~EmulatedModule() override;

  std::vector<std::string> kernels() const override { return loaded_->kernels(); }
  Kernel kernel(std::string_view name) override;
  ModuleVariable variable(std::string_view name) const override;
  emulator::LoadedModule& loaded() { return *loaded_; }

 private:
  std::shared_ptr<SharedMachine> shared_;
  std::shared_ptr<emulator::LoadedModule> loaded_;
};

struct EmulatedKernel final : Kernel::State {
  void find_attributes() override;
  /// Those that the kernel's machine code says: registers and local memory.
  void take_resources(const compile::Program& assembled);
  std::vector<KernelParameter> parameters() const override;
  std::vector<KernelVariable> variables() const override;
  Module module() const override { return Module(owner); }

  std::shared_ptr<EmulatedModule> owner;
  std::shared_ptr<const emulator::Program> program;
  std::string entry;  ///< the kernel's name in the PTX
  /// Compiles to machine code; empty if that is done or cannot be.
  std::function<compile::Program()> assemble;

 private:
  std::once_flag found_;
};

}  // namespace tilescope::device
