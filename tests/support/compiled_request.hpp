// A kernel's source compiled for a GPU, as its device would compile it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compile/compiler.hpp"
#include "gpu/architecture.hpp"

namespace tilescope::testing {

/// By default the log has the assembler's report: registers, stack frame, spills.
inline compile::Program compiled(const KernelRequest& request, const DeviceProperties& device,
                                 std::vector<std::string> options = {"--ptxas-options=-v"}) {
  return compile::compile(
      {.source_name = request.source_name,
       .source = request.source,
       .kernel = request.kernel,
       .architecture = gpu::architecture_name(device.compute_major, device.compute_minor),
       .defines = request.defines,
       .include_directories = {},
       .headers = request.headers,
       .extra_options = std::move(options)});
}

}  // namespace tilescope::testing
