#include "device/emulated/emulated_module.hpp"

#include <algorithm>

#include "base/symbol_names.hpp"
#include "compile/cubin.hpp"
#include "device/loading/ptx_kernel.hpp"

namespace tilescope::device {

EmulatedModule::EmulatedModule(std::shared_ptr<SharedMachine> shared, ptx::Module parsed)
    : shared_(std::move(shared)) {
  const std::lock_guard lock(shared_->mutex);
  loaded_ = shared_->machine.load(std::move(parsed));
}

EmulatedModule::~EmulatedModule() {
  const std::lock_guard lock(shared_->mutex);
  shared_->machine.unload(*loaded_);
}

Kernel EmulatedModule::kernel(std::string_view name) {
  const std::lock_guard lock(shared_->mutex);
  auto kernel = std::make_shared<EmulatedKernel>();
  kernel->owner = shared_from_this();
  kernel->program = loaded_->program(name);
  kernel->entry = name;
  kernel->name = function_name(kernel->entry);
  KernelAttributes& a = kernel->attributes;
  a.static_shared_bytes = kernel->program->static_shared_bytes();
  a.local_bytes_per_thread = kernel->program->local_bytes_per_thread();
  for (const ptx::Variable& variable : loaded_->module().variables) {
    if (variable.space == ptx::Space::constant) a.constant_bytes += variable.size;
  }
  a.max_threads_per_block = shared_->machine.gpu().max_threads_per_block;
  if (const int bound = kernel->program->most_threads_per_block(); bound != 0) {
    a.max_threads_per_block = std::min(a.max_threads_per_block, bound);
  }
  return Kernel(std::move(kernel));
}

ModuleVariable EmulatedModule::variable(std::string_view name) const {
  const std::lock_guard lock(shared_->mutex);
  const emulator::Variable found = shared_->machine.variable(*loaded_, name);
  return {.address = found.address, .bytes = found.bytes, .managed = found.managed};
}

void EmulatedKernel::find_attributes() {
  std::call_once(found_, [this] {
    if (assemble) take_resources(assemble());
    assemble = nullptr;
  });
}

void EmulatedKernel::take_resources(const compile::Program& assembled) {
  for (const compile::KernelResources& found : compile::kernel_resources(assembled.cubin)) {
    if (found.name != entry) continue;
    attributes.registers_per_thread = found.registers;
    attributes.local_bytes_per_thread = found.stack_bytes;
  }
}

std::vector<KernelParameter> EmulatedKernel::parameters() const {
  return parameters_of(*program->functions()[0].source);
}

std::vector<KernelVariable> EmulatedKernel::variables() const {
  return variables_of(owner->loaded().module(), *program->functions()[0].source);
}

}  // namespace tilescope::device
