// A module on a CUDA GPU, and its kernels.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tilescope/device.hpp>
#include <vector>

#include "device/cuda/driver.hpp"
#include "ptx/module.hpp"

namespace tilescope::device {

class CudaKernel;

/// The context that a module lies in.
struct CudaContext {
  std::weak_ptr<const Device> owner;  ///< may itself own what lies in the context
  const Driver& driver;
  CUcontext handle;

  /// Makes it that of this thread, for destructors too: a failure is ignored.
  void enter() const noexcept { driver.set_current(handle); }
  /// The same object, for holders that outlive their own use of the device: it keeps the owner, and
  /// so the context, alive.
  template <typename Object>
  std::shared_ptr<Object> with_owner(std::shared_ptr<Object> object) const {
    struct Both {
      std::shared_ptr<const Device> owner;
      std::shared_ptr<Object> object;  // goes first
    };
    const auto both = std::make_shared<Both>(Both{owner.lock(), std::move(object)});
    return {both, both->object.get()};
  }
};

/// Without its device: who gets a module, or a kernel, from outside this folder holds both.
class CudaModule final : public Module::State, public std::enable_shared_from_this<CudaModule> {
 public:
  /// Loads `cubin`, or, when that is empty, the texts, which the driver compiles and links. The
  /// texts describe the cubin's parameters. The context must be current. `can_be_kept`: who loads
  /// the same code later may get this module.
  CudaModule(CudaContext context, std::vector<PtxText> texts, std::string cubin,
             bool can_be_kept = false);
  ~CudaModule() override;

  std::vector<std::string> kernels() const override;
  Kernel kernel(std::string_view name) override;
  std::shared_ptr<CudaKernel> cuda_kernel(std::string_view name);
  ModuleVariable variable(std::string_view name) const override;

  const CudaContext& context() const { return context_; }
  bool can_be_kept() const { return can_be_kept_; }
  std::vector<KernelParameter> parameters(std::string_view kernel) const;
  std::vector<KernelVariable> variables(std::string_view kernel) const;
  bool is_made_of(std::string_view ptx, std::string_view cubin) const;

 private:
  void load_ptx();
  /// Links the texts, and a library of machine code unless it is empty.
  void link_units(std::string library);
  void add_to(CUlinkState link, const PtxText& unit, const std::string& log) const;
  /// Takes out the units of machine code, which come last, unless some text declares a function
  /// that no text defines.
  void drop_unneeded_machine_code();
  void check_ptx(CUresult result, std::string_view call, const std::string& log) const;
  /// The texts, parsed when first asked for.
  const std::vector<ptx::Module>& parsed() const;
  /// The number of the text that has the kernel's body.
  std::size_t unit_of(std::string_view kernel) const;

  const CudaContext context_;
  const Driver& driver_;
  std::vector<PtxText> texts_;
  const std::string cubin_;
  const bool can_be_kept_;
  CUmodule module_ = nullptr;
  mutable std::once_flag parse_once_;
  mutable std::vector<ptx::Module> parsed_;
};

class CudaKernel final : public Kernel::State {
 public:
  CudaKernel(std::shared_ptr<CudaModule> module, const Driver& driver, CUfunction function,
             std::string entry);

  std::vector<KernelParameter> parameters() const override { return module_->parameters(entry_); }
  std::vector<KernelVariable> variables() const override { return module_->variables(entry_); }
  Module module() const override { return Module(module_->context().with_owner(module_)); }
  CUfunction function() const { return function_; }
  const std::string& entry() const { return entry_; }
  const CudaModule& owner() const { return *module_; }

  /// Lets a block have `bytes` of dynamic shared memory. The limit only grows: threads that launch
  /// the kernel with less must not lower what another has just been granted.
  void allow_dynamic_shared(std::size_t bytes);
  /// Lets clusters have more blocks than every GPU can run.
  void allow_large_clusters();

 private:
  int attribute(CUfunction_attribute which) const;

  const std::shared_ptr<CudaModule> module_;
  const Driver& driver_;
  const CUfunction function_;
  const std::string entry_;  ///< the kernel's name in the PTX
  std::mutex mutex_;
  std::atomic<std::size_t> allowed_dynamic_shared_ = 0;  // set under the mutex
  std::atomic<bool> allows_large_clusters_ = false;
};

}  // namespace tilescope::device
