// Runs a kernel on the emulated GPU for tests of observers.
#pragma once

#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <tilescope/launch.hpp>
#include <utility>
#include <vector>

#include "compile/compiler.hpp"
#include "emulator/machine.hpp"
#include "ptx/module_parser.hpp"
#include "support/gpus.hpp"

namespace tilescope::testing {

inline std::string read_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The rows of a comma-separated table that have `columns` cells, without its heading.
inline std::vector<std::vector<std::string>> table_rows(const std::string& path,
                                                        std::size_t columns) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream in(read_text(path));
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (cells.size() == columns) rows.push_back(cells);
  }
  return rows;
}

/// Is there an NVRTC that tests of CUDA C++ can use?
inline bool has_compiler() {
  return !compile::compiler_description().empty();
}

inline compile::Compilation compilation(
    std::string source, std::vector<std::pair<std::string, std::string>> defines = {}) {
  compile::Compilation c;
  c.source_name = "kernel.cu";
  c.source = std::move(source);
  c.architecture = "sm_90";
  c.defines = std::move(defines);
  return c;
}

class KernelRun {
 public:
  explicit KernelRun(const compile::Program& program) : KernelRun(program.ptx) {}
  explicit KernelRun(const std::string& ptx)
      : machine_(h200()), module_(machine_.load(ptx::parse(ptx, "kernel.ptx"))) {}

  emulator::Machine& machine() { return machine_; }
  emulator::LoadedModule& module() { return *module_; }
  std::string kernel() const { return module_->kernels().front(); }

  template <class T>
  std::uint64_t array(const std::string& name, const std::vector<T>& values) {
    const std::uint64_t at = uninitialised(name, values.size() * sizeof(T));
    machine_.copy_to_device(at, values.data(), values.size() * sizeof(T));
    return at;
  }
  std::uint64_t uninitialised(const std::string& name, std::size_t bytes) {
    return machine_.allocate(bytes, name);
  }
  template <class T>
  std::vector<T> fetch(std::uint64_t at, std::size_t count) {
    std::vector<T> values(count);
    machine_.copy_to_host(values.data(), at, count * sizeof(T));
    return values;
  }

  template <class... Arguments>
  emulator::LaunchSummary launch(const Launch& launch, std::vector<emulator::Observer*> observers,
                                 const Arguments&... arguments) {
    emulator::LaunchOptions options;
    options.threads = threads;
    options.observers = std::move(observers);
    options.print = [](std::string_view) {};
    const KernelArguments packed = KernelArguments::of(arguments...);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(packed.bytes().data());
    return machine_.launch(*module_, kernel(), launch.grid, launch.block,
                           static_cast<std::uint32_t>(launch.shared_bytes),
                           {bytes, packed.bytes().size()}, options);
  }
  unsigned threads = 2;

 private:
  emulator::Machine machine_;
  std::shared_ptr<emulator::LoadedModule> module_;
};

}  // namespace tilescope::testing
