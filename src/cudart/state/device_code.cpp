#include "cudart/state/device_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/symbol_names.hpp"
#include "compile/fat_binary.hpp"

namespace tilescope::cudart {
namespace {

/// Device memory of a block that a kernel may ask for without cudaFuncSetAttribute.
std::size_t unasked_dynamic_shared(const Device& device, const Kernel& kernel) {
  const std::size_t most = device.properties().shared_bytes_per_block;
  return most - std::min(most, kernel.attributes().static_shared_bytes);
}

/// 80 for text with ".target sm_80"; 0 without such a line.
int version_of(std::string_view ptx) {
  constexpr std::string_view directive = ".target sm_";
  const std::size_t at = ptx.find(directive);
  int version = 0;
  if (at == ptx.npos) return version;
  const std::string_view number = ptx.substr(at + directive.size(), 4);
  std::from_chars(number.data(), number.data() + number.size(), version);
  return version;
}

/// The number at the start of `text`, behind spaces and a comma, which it moves behind; 1 without.
std::uint32_t take_extent(std::string_view& text) {
  std::uint32_t extent = 1;
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t,")));
  const char* const end = text.data() + text.size();
  text = {std::from_chars(text.data(), end, extent).ptr, end};
  return extent;
}

/// Adds the kernels with bounds of their clusters before their bodies.
void add_cluster_bounds(std::string_view ptx,
                        std::map<std::string, ClusterBounds, std::less<>>& to) {
  constexpr std::string_view entry = ".entry ", exact = ".reqnctapercluster";
  constexpr std::string_view most = ".maxclusterrank";
  for (std::size_t at = ptx.find(entry); at != ptx.npos; at = ptx.find(entry, at + 1)) {
    std::string_view head = ptx.substr(at + entry.size());
    head = head.substr(0, head.find('{'));
    ClusterBounds bounds;
    if (const std::size_t found = head.find(exact); found != head.npos) {
      std::string_view numbers = head.substr(found + exact.size());
      bounds.required.x = take_extent(numbers);
      bounds.required.y = take_extent(numbers);
      bounds.required.z = take_extent(numbers);
      bounds.is_compiled = true;
    }
    if (const std::size_t found = head.find(most); found != head.npos) {
      std::string_view numbers = head.substr(found + most.size());
      bounds.most = take_extent(numbers);
    }
    if (!bounds.is_compiled && bounds.most == 0) continue;
    to[std::string(head.substr(0, head.find_first_of("( \t\n")))] = bounds;
  }
}

}  // namespace

CodeImage& CodeRegistry::add_image(const void* wrapper) {
  images_.push_back(std::make_unique<CodeImage>(CodeImage{.wrapper = wrapper, .managed = {}}));
  return *images_.back();
}

void CodeRegistry::add_kernel(CodeImage& image, const void* host, const char* name) {
  const auto placed = kernels_.insert_or_assign(host, CUkern_st{&image, name}).first;
  handles_.insert(&placed->second);
}

void CodeRegistry::add_variable(CodeImage& image, const void* host, CodeVariable variable) {
  variable.image = &image;
  const auto placed = variables_.insert_or_assign(host, std::move(variable)).first;
  if (placed->second.managed != nullptr) image.managed.push_back(&placed->second);
}

void CodeRegistry::remove(CodeImage& image) {
  std::erase_if(kernels_, [&](const auto& entry) {
    const bool leaves = entry.second.image == &image;
    if (leaves) handles_.erase(&entry.second);
    return leaves;
  });
  std::erase_if(variables_, [&](const auto& entry) { return entry.second.image == &image; });
  std::erase_if(images_, [&](const auto& owned) { return owned.get() == &image; });
}

const CUkern_st& CodeRegistry::kernel(const void* host_or_handle) const {
  const auto found = kernels_.find(host_or_handle);
  if (found != kernels_.end()) return found->second;
  require(handles_.contains(host_or_handle), cudaErrorInvalidDeviceFunction);
  return *static_cast<const CUkern_st*>(host_or_handle);
}

const CodeVariable& CodeRegistry::variable(const void* host) const {
  const auto found = variables_.find(host);
  require(host != nullptr && found != variables_.end(), cudaErrorInvalidSymbol);
  return found->second;
}

LoadedCode::LoadedModule& LoadedCode::module(Device& device, CodeImage& image) {
  const auto found = modules_.find(&image);
  if (found != modules_.end()) return found->second;
  const DeviceProperties& gpu = device.properties();
  std::vector<PtxText> texts;
  try {
    texts =
        compile::embedded_ptx(image.wrapper, gpu.compute_major, gpu.compute_minor, "the program");
  } catch (const Error& error) {
    throw Failure{cudaErrorNoKernelImageForDevice, error.what()};
  }
  try {
    LoadedModule loaded{device.load_module(texts), version_of(texts.front().ptx), {}};
    for (const PtxText& text : texts) add_cluster_bounds(text.ptx, loaded.clusters);
    return modules_.emplace(&image, std::move(loaded)).first->second;
  } catch (const Error& error) {
    throw Failure{cudaErrorInvalidPtx, error.what()};
  }
}

std::size_t LoadedKernel::offset(std::size_t index) const {
  std::size_t at = 0;
  for (std::size_t i = 0;; at += parameters[i++].bytes) {
    const std::size_t alignment = parameters[i].alignment;
    at = (at + alignment - 1) / alignment * alignment;
    if (i == index) return at;
  }
}

LoadedKernel& LoadedCode::kernel(Device& device, const CUkern_st& kernel) {
  const auto found = kernels_.find(&kernel);
  if (found != kernels_.end()) return found->second;
  load_managed(device, *kernel.image);
  const LoadedModule& code = module(device, *kernel.image);
  LoadedKernel loaded;
  loaded.ptx_version = code.ptx_version;
  try {
    loaded.kernel = code.module.kernel(kernel.name);
  } catch (const Error& error) {
    throw Failure{cudaErrorInvalidDeviceFunction,
                  fmt::format("kernel {}: {}", function_name(kernel.name), error.what())};
  }
  loaded.parameters = loaded.kernel.parameters();
  const auto bounds = code.clusters.find(kernel.name);
  if (bounds != code.clusters.end()) loaded.cluster = bounds->second;
  loaded.max_dynamic_shared = unasked_dynamic_shared(device, loaded.kernel);
  return kernels_.emplace(&kernel, std::move(loaded)).first->second;
}

ModuleVariable LoadedCode::variable(Device& device, const CodeVariable& variable) {
  try {
    const ModuleVariable found = module(device, *variable.image).module.variable(variable.name);
    variables_[found.address] = {found, variable.name};
    return found;
  } catch (const Error& error) {
    throw Failure{cudaErrorInvalidSymbol,
                  fmt::format("variable {}: {}", variable.name, error.what())};
  }
}

void LoadedCode::load_managed(Device& device, CodeImage& image) {
  for (const CodeVariable* managed : image.managed) {
    *managed->managed = reinterpret_cast<void*>(variable(device, *managed).address);
  }
}

const ModuleVariable* LoadedCode::variable_at(std::uint64_t address) const {
  const auto after = variables_.upper_bound(address);
  if (after == variables_.begin()) return nullptr;
  const ModuleVariable& found = std::prev(after)->second.place;
  return address - found.address < found.bytes ? &found : nullptr;
}

const std::string& LoadedCode::name_at(std::uint64_t address) const {
  return std::prev(variables_.upper_bound(address))->second.name;
}

void LoadedCode::unload(const CodeImage& image) {
  std::erase_if(kernels_, [&](const auto& entry) { return entry.first->image == &image; });
  modules_.erase(&image);
}

}  // namespace tilescope::cudart
