// A Hopper GPU for tests of the kernels that need one, and the compiled form of their plans.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/compiler.hpp"
#include "operations/rung/kernel_plan.hpp"
#include "operations/rung/kernel_source.hpp"
#include "support/gpus.hpp"

namespace tilescope::testing {

/// An H200 as a real one: on an emulated one warpgroup products do not pay.
inline DeviceProperties hopper() {
  DeviceProperties device = h200();
  device.warpgroup_products = true;
  return device;
}

/// The value of a constant that a step's kernel is compiled with; "none".
inline std::string constant(const operations::Step& step, std::string_view name) {
  for (const auto& [key, value] : step.defines) {
    if (key == name) return value;
  }
  return "none";
}

/// A source below kernels/, compiled for Hopper.
inline compile::Program compiled(const std::string& source, const operations::Defines& defines,
                                 std::vector<std::string> options = {}) {
  const KernelRequest request = operations::embedded_request(source);
  return compile::compile({.source_name = request.source_name,
                           .source = request.source,
                           .kernel = "gemm",
                           .architecture = "sm_90a",
                           .defines = defines,
                           .include_directories = {},
                           .headers = request.headers,
                           .extra_options = std::move(options)});
}

/// The messages of compiler and assembler for it.
inline std::string compiler_log(const std::string& source, const operations::Defines& defines,
                                std::vector<std::string> options = {}) {
  options.emplace_back("--ptxas-options=-v");
  return compiled(source, defines, std::move(options)).log;
}

}  // namespace tilescope::testing
