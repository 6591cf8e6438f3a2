// The device code of the program: what its object files register before main(), and what of it has
// been loaded. A module is parsed when one of its kernels or variables is first used.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cudart/state/failure.hpp"
#include "tilescope/device.hpp"

namespace tilescope::cudart {

struct CodeImage;

/// A variable of the device: the program names it by the address of its host shadow.
struct CodeVariable {
  CodeImage* image = nullptr;
  std::string name;
  std::size_t bytes = 0;
  void** managed = nullptr;  ///< receives the address of a managed variable; else null
};

}  // namespace tilescope::cudart

/// The kernel behind a cudaKernel_t or a cudaFunction_t.
struct CUkern_st {
  tilescope::cudart::CodeImage* image = nullptr;
  std::string name;
};

namespace tilescope::cudart {

/// A fat binary that the program registered.
struct CodeImage {
  const void* wrapper = nullptr;
  std::vector<CodeVariable*> managed;
};

/// Filled by the program's constructors.
class CodeRegistry {
 public:
  CodeImage& add_image(const void* wrapper);
  void add_kernel(CodeImage& image, const void* host, const char* name);
  void add_variable(CodeImage& image, const void* host, CodeVariable variable);
  void remove(CodeImage& image);

  /// By the address of the host function, or by a handle. Throws cudaErrorInvalidDeviceFunction.
  const CUkern_st& kernel(const void* host_or_handle) const;
  /// By the address of the host variable. Throws cudaErrorInvalidSymbol.
  const CodeVariable& variable(const void* host) const;
  const std::vector<std::unique_ptr<CodeImage>>& images() const { return images_; }

 private:
  std::vector<std::unique_ptr<CodeImage>> images_;
  std::map<const void*, CUkern_st> kernels_;  ///< by the address of the host function
  std::set<const void*> handles_;             ///< the addresses of these kernels
  std::map<const void*, CodeVariable> variables_;
};

/// The clusters that a kernel asks for.
struct ClusterBounds {
  Dim3 required{0, 0, 0};    ///< of __cluster_dims__ or cudaFuncSetAttribute; zeros without
  bool is_compiled = false;  ///< __cluster_dims__ requires it
  std::uint32_t most = 0;    ///< blocks, of __launch_bounds__; 0 without
};

/// A kernel on the device, with what the program has set for it.
struct LoadedKernel {
  Kernel kernel;
  std::vector<KernelParameter> parameters;
  std::size_t max_dynamic_shared = 0;
  int ptx_version = 0;  ///< 80 for PTX of compute capability 8.0
  int carveout = -1;
  bool nonportable_cluster = false;
  ClusterBounds cluster;

  /// The place of a parameter among the bytes of the arguments.
  std::size_t offset(std::size_t index) const;
};

class LoadedCode {
 public:
  /// Throws a Failure with a line that says why: no PTX, PTX that is not understood, no such
  /// kernel.
  LoadedKernel& kernel(Device& device, const CUkern_st& kernel);
  ModuleVariable variable(Device& device, const CodeVariable& variable);
  /// Loads the image if it has managed variables, and tells the program where these are.
  void load_managed(Device& device, CodeImage& image);
  /// The variable of a loaded module that holds the address; null: none does.
  const ModuleVariable* variable_at(std::uint64_t address) const;
  /// The name of that variable.
  const std::string& name_at(std::uint64_t address) const;
  void unload(const CodeImage& image);

 private:
  struct LoadedModule {
    Module module;
    int ptx_version = 0;
    std::map<std::string, ClusterBounds, std::less<>> clusters;  ///< of kernels that have bounds
  };
  LoadedModule& module(Device& device, CodeImage& image);

  std::map<const CodeImage*, LoadedModule> modules_;
  std::map<const CUkern_st*, LoadedKernel> kernels_;
  struct KnownVariable {
    ModuleVariable place;
    std::string name;
  };
  std::map<std::uint64_t, KnownVariable> variables_;  ///< that were asked for
};

}  // namespace tilescope::cudart
