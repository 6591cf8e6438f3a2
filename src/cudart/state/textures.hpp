// Texture and surface objects, with the descriptions that they were made from.
#pragma once

#include <map>

#include "cudart/state/arrays.hpp"

namespace tilescope::cudart {

class Textures {
 public:
  struct Texture {
    TextureObject object;
    cudaResourceDesc resource{};
    cudaTextureDesc texture{};
    cudaResourceViewDesc view{};
    bool viewed = false;
  };
  struct Surface {
    TextureObject object;
    cudaResourceDesc resource{};
  };

  cudaTextureObject_t create_texture(Device& device, Arrays& arrays,
                                     const cudaResourceDesc& resource,
                                     const cudaTextureDesc& texture,
                                     const cudaResourceViewDesc* view);
  cudaSurfaceObject_t create_surface(Device& device, Arrays& arrays,
                                     const cudaResourceDesc& resource);
  /// Each throws cudaErrorInvalidValue if there is no such object.
  const Texture& texture(cudaTextureObject_t object) const;
  const Surface& surface(cudaSurfaceObject_t object) const;
  void destroy_texture(cudaTextureObject_t object);
  void destroy_surface(cudaSurfaceObject_t object);

 private:
  std::map<cudaTextureObject_t, Texture> textures_;
  std::map<cudaSurfaceObject_t, Surface> surfaces_;
};

}  // namespace tilescope::cudart
