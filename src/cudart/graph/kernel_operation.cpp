#include "cudart/graph/kernel_operation.hpp"

#include "cudart/state/kernel_limits.hpp"
#include "cudart/state/pointers.hpp"

namespace tilescope::cudart {
namespace {

KernelArguments packed(const std::vector<KernelParameter>& parameters, void** values) {
  KernelArguments arguments;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    require(values != nullptr && values[i] != nullptr, cudaErrorInvalidValue);
    arguments.push_bytes(values[i], parameters[i].bytes, parameters[i].alignment);
  }
  return arguments;
}

}  // namespace

KernelOperation kernel_operation(Context& context, const void* function, Launch launch,
                                 void** arguments, const std::optional<Dim3>& cluster) {
  const CUkern_st& kernel = context.registry().kernel(function);
  const LoadedKernel& loaded = context.code().kernel(context.device(), kernel);
  launch.cluster = cluster_of(loaded, cluster, launch.grid);
  require_launchable(context, loaded, launch);
  KernelOperation operation{function, loaded.kernel, launch, packed(loaded.parameters, arguments)};
  report_suspect_sizes(context);
  report_arguments(context, operation, loaded.parameters);
  return operation;
}

}  // namespace tilescope::cudart
