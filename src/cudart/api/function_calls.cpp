// Kernels by the address of their host function: handles, attributes, occupancy.
#include <fmt/format.h>

#include "cudart/graph/kernel_operation.hpp"
#include "cudart/state/api_call.hpp"
#include "cudart/state/kernel_limits.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

LoadedKernel& loaded(Context& context, const void* function) {
  return context.code().kernel(context.device(), context.registry().kernel(function));
}

/// A handle for a kernel; loading it waits until it is used.
CUkern_st* handle_of(Context& context, const void* function) {
  return const_cast<CUkern_st*>(&context.registry().kernel(function));
}

cudaFuncAttributes attributes_of(Context& context, const LoadedKernel& kernel) {
  const KernelAttributes& known = kernel.kernel.attributes();
  const DeviceProperties& gpu = context.gpu();
  cudaFuncAttributes attributes = {};
  attributes.sharedSizeBytes = known.static_shared_bytes;
  attributes.constSizeBytes = known.constant_bytes;
  attributes.localSizeBytes = known.local_bytes_per_thread;
  attributes.maxThreadsPerBlock = known.max_threads_per_block;
  attributes.numRegs = known.registers_per_thread;
  attributes.ptxVersion = kernel.ptx_version;
  attributes.binaryVersion = gpu.compute_major * 10 + gpu.compute_minor;
  attributes.maxDynamicSharedSizeBytes = static_cast<int>(kernel.max_dynamic_shared);
  attributes.preferredShmemCarveout = kernel.carveout;
  attributes.nonPortableClusterSizeAllowed = kernel.nonportable_cluster ? 1 : 0;
  attributes.clusterDimMustBeSet = kernel.cluster.is_compiled ? 1 : 0;
  attributes.requiredClusterWidth = static_cast<int>(kernel.cluster.required.x);
  attributes.requiredClusterHeight = static_cast<int>(kernel.cluster.required.y);
  attributes.requiredClusterDepth = static_cast<int>(kernel.cluster.required.z);
  return attributes;
}

void set_required(LoadedKernel& kernel, std::uint32_t Dim3::*extent, int value) {
  require(value >= 0 && !kernel.cluster.is_compiled, cudaErrorInvalidValue);
  kernel.cluster.required.*extent = static_cast<std::uint32_t>(value);
}

/// The clusters that the configuration asks for, for the kernel. Throws as cluster_of() does.
Dim3 cluster_in(const cudaLaunchConfig_t& config, const LoadedKernel& kernel) {
  std::optional<Dim3> given;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    if (attribute.id != cudaLaunchAttributeClusterDimension) continue;
    const auto& cluster = attribute.val.clusterDim;
    given = {cluster.x, cluster.y, cluster.z};
  }
  return cluster_of(kernel, given, extents(config.gridDim));
}

std::int64_t clusters_for(Context& context, const LoadedKernel& kernel,
                          const cudaLaunchConfig_t& config, std::uint64_t blocks) {
  const auto threads = static_cast<std::int64_t>(extents(config.blockDim).count());
  return resident_clusters(context, kernel, static_cast<std::int64_t>(blocks), threads,
                           config.dynamicSmemBytes);
}

void set_attribute(Context& context, const void* function, cudaFuncAttribute attribute, int value) {
  LoadedKernel& kernel = loaded(context, function);
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize: {
      const std::size_t most = context.gpu().shared_bytes_per_block_optin -
                               kernel.kernel.attributes().static_shared_bytes;
      require(value >= 0 && static_cast<std::size_t>(value) <= most, cudaErrorInvalidValue);
      kernel.max_dynamic_shared = static_cast<std::size_t>(value);
      break;
    }
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      require(value >= -1 && value <= 100, cudaErrorInvalidValue);
      kernel.carveout = value;
      break;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      kernel.nonportable_cluster = value != 0;
      break;
    case cudaFuncAttributeRequiredClusterWidth:
      set_required(kernel, &Dim3::x, value);
      break;
    case cudaFuncAttributeRequiredClusterHeight:
      set_required(kernel, &Dim3::y, value);
      break;
    case cudaFuncAttributeRequiredClusterDepth:
      set_required(kernel, &Dim3::z, value);
      break;
    default:
      throw Failure{cudaErrorNotSupported,
                    fmt::format("cudaFuncSetAttribute {} is not supported", int{attribute})};
  }
}

}  // namespace

extern "C" cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* function) {
  return cudaGetKernel(handle, function);
}

cudaError_t cudaGetKernel(cudaKernel_t* handle, const void* function) {
  return api_call("cudaGetKernel", [&](Context& context) {
    require(handle != nullptr, cudaErrorInvalidValue);
    *handle = handle_of(context, function);
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* handle, const void* function) {
  return api_call("cudaGetFuncBySymbol", [&](Context& context) {
    require(handle != nullptr, cudaErrorInvalidValue);
    *handle = reinterpret_cast<cudaFunction_t>(handle_of(context, function));
  });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return api_call("cudaFuncGetName", [&](Context& context) {
    require(name != nullptr, cudaErrorInvalidValue);
    *name = context.registry().kernel(function).name.c_str();
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return api_call("cudaFuncGetAttributes", [&](Context& context) {
    require(attributes != nullptr, cudaErrorInvalidValue);
    *attributes = attributes_of(context, loaded(context, function));
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return api_call("cudaFuncSetAttribute",
                  [&](Context& context) { set_attribute(context, function, attribute, value); });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return api_call("cudaFuncSetCacheConfig", [&](Context& context) {
    handle_of(context, function);  // a hint, but for a kernel that exists
  });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig) {
  return api_call("cudaFuncSetSharedMemConfig",
                  [&](Context& context) { handle_of(context, function); });
}

cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset,
                                 size_t* bytes) {
  return api_call("cudaFuncGetParamInfo", [&](Context& context) {
    const LoadedKernel& kernel = loaded(context, function);
    require(offset != nullptr && index < kernel.parameters.size(), cudaErrorInvalidValue);
    *offset = kernel.offset(index);
    if (bytes != nullptr) *bytes = kernel.parameters[index].bytes;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int threads, size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                shared_bytes, 0);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   const void* function,
                                                                   int threads, size_t shared_bytes,
                                                                   unsigned) {
  return api_call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", [&](Context& context) {
    require(blocks != nullptr, cudaErrorInvalidValue);
    const LoadedKernel& kernel = loaded(context, function);
    const bool fits = threads <= kernel.kernel.attributes().max_threads_per_block;
    *blocks = fits ? occupancy_of(context, kernel, threads, shared_bytes).blocks_per_sm : 0;
  });
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function,
                                                      int blocks, int threads) {
  return api_call("cudaOccupancyAvailableDynamicSMemPerBlock", [&](Context& context) {
    require(bytes != nullptr && blocks > 0 && threads > 0, cudaErrorInvalidValue);
    const LoadedKernel& kernel = loaded(context, function);
    const DeviceProperties& gpu = context.gpu();
    const std::size_t taken =
        kernel.kernel.attributes().static_shared_bytes + gpu.reserved_shared_bytes_per_block;
    const std::size_t share = gpu.shared_bytes_per_sm / static_cast<std::size_t>(blocks);
    const std::size_t most =
        gpu.shared_bytes_per_block_optin - kernel.kernel.attributes().static_shared_bytes;
    *bytes = std::min(most, share - std::min(share, taken));
  });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* cluster, const void* function,
                                                 const cudaLaunchConfig_t* config) {
  return api_call("cudaOccupancyMaxPotentialClusterSize", [&](Context& context) {
    require(cluster != nullptr && config != nullptr, cudaErrorInvalidValue);
    const LoadedKernel& kernel = loaded(context, function);
    cluster_in(*config, kernel);
    constexpr int portable = 8, most = 16;
    const bool fits = clusters_for(context, kernel, *config, 1) > 0;
    *cluster = !fits ? 0 : kernel.nonportable_cluster ? most : portable;
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  return api_call("cudaOccupancyMaxActiveClusters", [&](Context& context) {
    require(clusters != nullptr && config != nullptr, cudaErrorInvalidValue);
    const LoadedKernel& kernel = loaded(context, function);
    const Dim3 cluster = cluster_in(*config, kernel);
    *clusters = static_cast<int>(clusters_for(context, kernel, *config, cluster.count()));
  });
}
