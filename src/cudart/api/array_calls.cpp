// CUDA arrays as objects; copies to and from them are in streamed/array_copies.cpp.
#include "cudart/state/api_call.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

namespace {

cudaError_t create(const char* name, cudaArray_t* result, const cudaChannelFormatDesc* channels,
                   const cudaExtent& extent, unsigned flags) {
  return api_call(name, [&](Context& context) {
    require(result != nullptr && channels != nullptr, cudaErrorInvalidValue);
    cudaArray& array = context.arrays().create(*channels, extent, flags);
    try {
      array.address =
          context.memory()
              .allocate(MemoryKind::device, array.pitch * array.rows(), 0, context.here())
              .address;
    } catch (const Failure&) {
      context.arrays().destroy(array);
      throw;
    }
    *result = &array;
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

cudaError_t cudaFreeArray(cudaArray_t handle) {
  return api_call("cudaFreeArray", [&](Context& context) {
    if (handle == nullptr) return;
    cudaArray& array = context.arrays().find(handle);
    context.memory().free(array.address, MemoryKind::device, MemoryKind::device, context.here());
    context.arrays().destroy(array);
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
