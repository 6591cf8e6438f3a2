// Kernel launches.
#include "cudart/graph/kernel_operation.hpp"
#include "cudart/streamed/default_stream.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

void queue_launch(Context& context, const void* function, const Launch& launch, void** arguments,
                  cudaStream_t handle, const std::optional<Dim3>& cluster = {}) {
  CUstream_st& stream = context.streams().find(handle, null_stream);
  submit(context, stream, kernel_operation(context, function, launch, arguments, cluster));
}

/// Applies an attribute of cudaLaunchKernelExC; one that is a hint changes nothing.
void apply(const cudaLaunchAttribute& attribute, Launch& launch, std::optional<Dim3>& cluster) {
  switch (attribute.id) {
    case cudaLaunchAttributeCooperative:
      launch.cooperative = attribute.val.cooperative != 0;
      break;
    case cudaLaunchAttributeClusterDimension:
      cluster = {attribute.val.clusterDim.x, attribute.val.clusterDim.y,
                 attribute.val.clusterDim.z};
      break;
    case cudaLaunchAttributeProgrammaticStreamSerialization:
      launch.overlaps_previous = attribute.val.programmaticStreamSerializationAllowed != 0;
      break;
    default:
      break;
  }
}

}  // namespace

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  return api_call("cudaLaunchKernel", [&](Context& context) {
    queue_launch(context, function,
                 {.grid = extents(grid), .block = extents(block), .shared_bytes = shared_bytes},
                 arguments, stream);
  });
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                        void** arguments, size_t shared_bytes,
                                        cudaStream_t stream) {
  return api_call("cudaLaunchCooperativeKernel", [&](Context& context) {
    queue_launch(context, function,
                 {.grid = extents(grid),
                  .block = extents(block),
                  .shared_bytes = shared_bytes,
                  .cooperative = true},
                 arguments, stream);
  });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  return api_call("cudaLaunchKernelEx", [&](Context& context) {
    require(config != nullptr && (config->numAttrs == 0 || config->attrs != nullptr),
            cudaErrorInvalidValue);
    Launch launch{.grid = extents(config->gridDim),
                  .block = extents(config->blockDim),
                  .shared_bytes = config->dynamicSmemBytes};
    std::optional<Dim3> cluster;
    for (unsigned i = 0; i < config->numAttrs; ++i) apply(config->attrs[i], launch, cluster);
    queue_launch(context, function, launch, arguments, config->stream, cluster);
  });
}

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif

extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                          void** arguments, size_t shared_bytes,
                                          cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
