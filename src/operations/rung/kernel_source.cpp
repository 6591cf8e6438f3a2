#include "operations/rung/kernel_source.hpp"

#include <fmt/format.h>

#include "base/errors.hpp"
#include "compile/embedded_kernels.hpp"

namespace tilescope::operations {

KernelRequest embedded_request(std::string_view source) {
  KernelRequest request{.is_self_contained = true};
  for (const compile::EmbeddedKernel& file : compile::embedded_kernels()) {
    if (file.name == source) {
      request.source_name = fmt::format("kernels/{}", file.name);
      request.source = file.text;
    }
    if (file.name.ends_with(".cuh")) {
      // A kernel includes its neighbours by their plain names.
      const std::string_view folder = source.substr(0, source.rfind('/') + 1);
      const std::string_view name =
          file.name.starts_with(folder) ? file.name.substr(folder.size()) : file.name;
      request.headers.emplace_back(name, file.text);
    }
  }
  if (request.source.empty()) {
    throw usage_error("there is no kernel source {}", source);
  }
  return request;
}

}  // namespace tilescope::operations
