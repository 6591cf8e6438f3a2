// Texture and surface objects.
#include <algorithm>

#include "cudart/state/api_call.hpp"

using namespace tilescope;
using namespace tilescope::cudart;

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture,
                                    const cudaResourceViewDesc* view) {
  return api_call("cudaCreateTextureObject", [&](Context& context) {
    require(object != nullptr && resource != nullptr && texture != nullptr, cudaErrorInvalidValue);
    *object = context.textures().create_texture(context.device(), context.arrays(), *resource,
                                                *texture, view);
  });
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  return api_call("cudaDestroyTextureObject", [&](Context& context) {
    if (object != 0) context.textures().destroy_texture(object);
  });
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaTextureObject_t object) {
  return api_call("cudaGetTextureObjectResourceDesc", [&](Context& context) {
    require(resource != nullptr, cudaErrorInvalidValue);
    *resource = context.textures().texture(object).resource;
  });
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, cudaTextureObject_t object) {
  return api_call("cudaGetTextureObjectTextureDesc", [&](Context& context) {
    require(texture != nullptr, cudaErrorInvalidValue);
    *texture = context.textures().texture(object).texture;
  });
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view,
                                                 cudaTextureObject_t object) {
  return api_call("cudaGetTextureObjectResourceViewDesc", [&](Context& context) {
    require(view != nullptr && context.textures().texture(object).viewed, cudaErrorInvalidValue);
    *view = context.textures().texture(object).view;
  });
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  return api_call("cudaCreateSurfaceObject", [&](Context& context) {
    require(object != nullptr && resource != nullptr, cudaErrorInvalidValue);
    *object = context.textures().create_surface(context.device(), context.arrays(), *resource);
  });
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
  return api_call("cudaDestroySurfaceObject", [&](Context& context) {
    if (object != 0) context.textures().destroy_surface(object);
  });
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaSurfaceObject_t object) {
  return api_call("cudaGetSurfaceObjectResourceDesc", [&](Context& context) {
    require(resource != nullptr, cudaErrorInvalidValue);
    *resource = context.textures().surface(object).resource;
  });
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* width,
                                                 const cudaChannelFormatDesc* channels,
                                                 int device) {
  return api_call("cudaDeviceGetTexture1DLinearMaxWidth", [&](Context& context) {
    require(device == 0, cudaErrorInvalidDevice);
    require(width != nullptr && channels != nullptr, cudaErrorInvalidValue);
    const std::size_t most = std::size_t{1} << 28;  // elements, on every GPU so far
    *width = std::min(most, context.gpu().global_bytes / format_of(*channels).bytes());
  });
}
