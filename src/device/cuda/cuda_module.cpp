#include "device/cuda/cuda_module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "base/cuda_paths.hpp"
#include "base/file.hpp"
#include "base/symbol_names.hpp"
#include "base/text.hpp"
#include "device/loading/ptx_kernel.hpp"
#include "ptx/module_parser.hpp"

namespace tilescope::device {
namespace {

// Without opting in, a block gets at most this much dynamic shared memory.
constexpr std::size_t default_shared_limit = 48 * 1024;

/// The driver's messages about PTX go to a log.
struct JitLog {
  std::string text = std::string(8192, '\0');
  CUjit_option options[2] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[2] = {text.data(), reinterpret_cast<void*>(text.size())};
};

/// Whether kernels of the texts launch kernels, by functions of CUDA's device run time.
bool needs_device_run_time(const std::vector<PtxText>& texts) {
  return std::any_of(texts.begin(), texts.end(), [](const PtxText& text) {
    return text.ptx.find("__cudaCDP2") != std::string::npos;
  });
}

/// The library with the device run time's machine code.
std::string device_run_time() {
  for (const std::filesystem::path& root : cuda_roots()) {
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
      const std::filesystem::path path = root / folder / "libcudadevrt.a";
      std::error_code failed;
      if (std::filesystem::is_regular_file(path, failed)) return read_text_file(path.string());
    }
  }
  throw Error(
      ErrorKind::no_device,
      "a kernel launches kernels, and libcudadevrt.a, which a GPU's driver links to it, was "
      "not found; set CUDA_HOME to a CUDA toolkit, or use --device emulated");
}

}  // namespace

CudaModule::CudaModule(CudaContext context, std::vector<PtxText> texts, std::string cubin,
                       bool can_be_kept)
    : context_(std::move(context)),
      driver_(context_.driver),
      texts_(std::move(texts)),
      cubin_(std::move(cubin)),
      can_be_kept_(can_be_kept) {
  if (!cubin_.empty()) {
    driver_.check(driver_.module_load(&module_, cubin_.data(), 0, nullptr, nullptr),
                  "cuModuleLoadDataEx");
    return;
  }
  drop_unneeded_machine_code();
  const bool has_machine_code = !texts_.empty() && !texts_.back().machine_code.empty();
  const bool lacks_run_time = !has_machine_code && needs_device_run_time(texts_);
  if (texts_.size() == 1 && !lacks_run_time) {
    load_ptx();
  } else {
    link_units(lacks_run_time ? device_run_time() : "");
  }
}

CudaModule::~CudaModule() {
  context_.enter();
  driver_.module_unload(module_);
}

void CudaModule::check_ptx(CUresult result, std::string_view call, const std::string& log) const {
  if (result == CUDA_SUCCESS) return;
  std::string names;
  for (const PtxText& text : texts_) names += (names.empty() ? "" : ", ") + text.name;
  const std::string messages = log.substr(0, log.find('\0'));
  if (result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
      (!messages.empty() && result == CUDA_ERROR_INVALID_IMAGE)) {
    throw Error(ErrorKind::bad_input, fmt::format("{}: the driver refuses the PTX: {}", names,
                                                  printable(trim(messages))));
  }
  driver_.check(result, call, names);
}

void CudaModule::load_ptx() {
  JitLog log;
  const CUresult result =
      driver_.module_load(&module_, texts_.front().ptx.c_str(), 2, log.options, log.values);
  check_ptx(result, "cuModuleLoadDataEx", log.text);
}

void CudaModule::drop_unneeded_machine_code() {
  const auto is_machine_code = [](const PtxText& unit) { return !unit.machine_code.empty(); };
  const auto machine_code =
      std::stable_partition(texts_.begin(), texts_.end(), std::not_fn(is_machine_code));
  if (machine_code == texts_.end()) return;
  std::set<std::string_view> declared, defined;
  for (const ptx::Module& unit : parsed()) {
    for (const ptx::Function& function : unit.functions) {
      (function.has_body ? defined : declared).insert(function.name);
    }
  }
  if (std::includes(defined.begin(), defined.end(), declared.begin(), declared.end())) {
    texts_.erase(machine_code, texts_.end());
  }
}

void CudaModule::add_to(CUlinkState link, const PtxText& unit, const std::string& log) const {
  const bool is_ptx = unit.machine_code.empty();
  const void* const data = is_ptx ? static_cast<const void*>(unit.ptx.c_str())
                                  : static_cast<const void*>(unit.machine_code.data());
  check_ptx(driver_.link_add(link, is_ptx ? CU_JIT_INPUT_PTX : CU_JIT_INPUT_FATBINARY,
                             const_cast<void*>(data),
                             is_ptx ? unit.ptx.size() + 1 : unit.machine_code.size(),
                             unit.name.c_str(), 0, nullptr, nullptr),
            "cuLinkAddData", log);
}

void CudaModule::link_units(std::string library) {
  if (texts_.empty()) throw Error(ErrorKind::bad_input, "there is no PTX to link");
  JitLog log;
  CUlinkState state = nullptr;
  driver_.check(driver_.link_create(2, log.options, log.values, &state), "cuLinkCreate");
  const auto destroy = [this](CUlinkState link) { driver_.link_destroy(link); };
  const std::unique_ptr<CUlinkState_st, decltype(destroy)> owner(state, destroy);
  for (const PtxText& unit : texts_) add_to(state, unit, log.text);
  if (!library.empty()) {
    driver_.check(driver_.link_add(state, CU_JIT_INPUT_LIBRARY, library.data(), library.size(),
                                   "libcudadevrt.a", 0, nullptr, nullptr),
                  "cuLinkAddData");
  }
  void* image = nullptr;  // belongs to the state
  std::size_t bytes = 0;
  check_ptx(driver_.link_complete(state, &image, &bytes), "cuLinkComplete", log.text);
  driver_.check(driver_.module_load(&module_, image, 0, nullptr, nullptr), "cuModuleLoadDataEx");
}

const std::vector<ptx::Module>& CudaModule::parsed() const {
  std::call_once(parse_once_, [this] {
    for (const PtxText& unit : texts_) {
      if (unit.machine_code.empty()) parsed_.push_back(ptx::parse(unit.ptx, unit.name));
    }
  });
  return parsed_;
}

std::vector<std::string> CudaModule::kernels() const {
  std::vector<std::string> names;
  for (const ptx::Module& module : parsed()) {
    for (const ptx::Function& function : module.functions) {
      if (function.is_entry && function.has_body) names.push_back(function.name);
    }
  }
  return names;
}

Kernel CudaModule::kernel(std::string_view name) {
  return Kernel(context_.with_owner(cuda_kernel(name)));
}

std::shared_ptr<CudaKernel> CudaModule::cuda_kernel(std::string_view name) {
  context_.enter();
  const std::string entry(name);
  CUfunction function = nullptr;
  const CUresult result = driver_.module_function(&function, module_, entry.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) {
    throw Error(ErrorKind::bad_input,
                fmt::format("the module has no kernel '{}'", printable(entry, 200)));
  }
  driver_.check(result, "cuModuleGetFunction", entry);
  return std::make_shared<CudaKernel>(shared_from_this(), driver_, function, entry);
}

ModuleVariable CudaModule::variable(std::string_view name) const {
  context_.enter();
  const std::string symbol(name);
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  const CUresult result = driver_.module_global(&address, &bytes, module_, symbol.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) {
    throw Error(ErrorKind::bad_input,
                fmt::format("the module has no variable '{}' in global or constant memory",
                            printable(symbol, 200)));
  }
  driver_.check(result, "cuModuleGetGlobal", symbol);
  const auto& units = parsed();
  const bool managed = std::any_of(units.begin(), units.end(), [&](const ptx::Module& unit) {
    const std::uint32_t index = unit.find_variable(symbol);
    return index != ptx::no_index && unit.variables[index].managed;
  });
  return {.address = address, .bytes = bytes, .managed = managed};
}

std::size_t CudaModule::unit_of(std::string_view kernel) const {
  const std::vector<ptx::Module>& units = parsed();
  const auto holder = std::find_if(units.begin(), units.end(), [&](const ptx::Module& unit) {
    const std::uint32_t index = unit.find_function(kernel);
    return index != ptx::no_index && unit.functions[index].has_body;
  });
  return holder == units.end() ? 0 : static_cast<std::size_t>(holder - units.begin());
}

std::vector<KernelParameter> CudaModule::parameters(std::string_view kernel) const {
  const std::size_t unit = unit_of(kernel);
  return parameters_of(find_ptx_kernel(parsed()[unit], kernel, texts_[unit].name));
}

std::vector<KernelVariable> CudaModule::variables(std::string_view kernel) const {
  const std::size_t unit = unit_of(kernel);
  return variables_of(parsed()[unit], find_ptx_kernel(parsed()[unit], kernel, texts_[unit].name));
}

bool CudaModule::is_made_of(std::string_view ptx, std::string_view cubin) const {
  return cubin_ == cubin && texts_.size() == 1 && texts_.front().ptx == ptx;
}

CudaKernel::CudaKernel(std::shared_ptr<CudaModule> module, const Driver& driver,
                       CUfunction function, std::string entry)
    : module_(std::move(module)), driver_(driver), function_(function), entry_(std::move(entry)) {
  const auto bytes = [this](CUfunction_attribute which) {
    return static_cast<std::size_t>(attribute(which));
  };
  name = function_name(entry_);
  attributes.registers_per_thread = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  attributes.static_shared_bytes = bytes(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  attributes.local_bytes_per_thread = bytes(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  attributes.constant_bytes = bytes(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  attributes.max_threads_per_block = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
}

int CudaKernel::attribute(CUfunction_attribute which) const {
  int value = 0;
  driver_.check(driver_.function_attribute(&value, which, function_), "cuFuncGetAttribute");
  return value;
}

void CudaKernel::allow_dynamic_shared(std::size_t bytes) {
  if (bytes + attributes.static_shared_bytes <= default_shared_limit) return;
  if (bytes <= allowed_dynamic_shared_) return;
  const std::lock_guard lock(mutex_);
  if (bytes <= allowed_dynamic_shared_) return;
  driver_.check(
      driver_.set_function_attribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     static_cast<int>(bytes)),
      "cuFuncSetAttribute", "for dynamic shared memory");
  allowed_dynamic_shared_ = bytes;
}

void CudaKernel::allow_large_clusters() {
  if (allows_large_clusters_) return;
  driver_.check(driver_.set_function_attribute(
                    function_, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                "cuFuncSetAttribute", "for clusters of more than 8 blocks");
  allows_large_clusters_ = true;
}

}  // namespace tilescope::device
