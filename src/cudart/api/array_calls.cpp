// CUDA arrays as objects; copies to and from them are in streamed/array_copies.cpp.
#include <algorithm>

#include "cudart/state/api_call.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

cudaError_t create(const char* name, cudaArray_t* result, const cudaChannelFormatDesc* channels,
                   const cudaExtent& extent, unsigned flags) {
  return api_call(name, [&](Context& context) {
    require(result != nullptr && channels != nullptr, cudaErrorInvalidValue);
    *result = &context.arrays().create(context.memory(), *channels, extent, flags, context.here());
  });
}

}  // namespace

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channels, size_t width,
                            size_t height, unsigned flags) {
  return create("cudaMallocArray", array, channels, {width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* channels,
                              cudaExtent extent, unsigned flags) {
  return create("cudaMalloc3DArray", array, channels, extent, flags);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array,
                                     const cudaChannelFormatDesc* channels, cudaExtent extent,
                                     unsigned levels, unsigned flags) {
  return api_call("cudaMallocMipmappedArray", [&](Context& context) {
    require(array != nullptr && channels != nullptr, cudaErrorInvalidValue);
    // More levels than there are halves are as many as there are.
    unsigned most = 1;
    while ((std::max({extent.width, extent.height, extent.depth}) >> most) != 0) ++most;
    *array = &context.arrays().create_mipmapped(
        context.memory(), *channels, extent, std::clamp(levels, 1u, most), flags, context.here());
  });
}

cudaError_t cudaFreeArray(cudaArray_t handle) {
  return api_call("cudaFreeArray", [&](Context& context) {
    if (handle != nullptr) context.arrays().destroy(context.memory(), handle, context.here());
  });
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t handle) {
  return api_call("cudaFreeMipmappedArray", [&](Context& context) {
    if (handle != nullptr) context.arrays().destroy(context.memory(), handle, context.here());
  });
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level, cudaMipmappedArray_const_t handle,
                                       unsigned number) {
  return api_call("cudaGetMipmappedArrayLevel", [&](Context& context) {
    cudaMipmappedArray& array = context.arrays().find(handle);
    require(level != nullptr && number < array.levels.size(), cudaErrorInvalidValue);
    *level = &array.levels[number];
  });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* channels, cudaExtent* extent, unsigned* flags,
                             cudaArray_t handle) {
  return api_call("cudaArrayGetInfo", [&](Context& context) {
    const cudaArray& array = context.arrays().find(handle);
    if (channels != nullptr) *channels = array.channels;
    if (extent != nullptr) *extent = array.extent;
    if (flags != nullptr) *flags = array.flags;
  });
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* channels, cudaArray_const_t array) {
  return api_call("cudaGetChannelDesc", [&](Context& context) {
    require(channels != nullptr, cudaErrorInvalidValue);
    *channels = context.arrays().find(array).channels;
  });
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
