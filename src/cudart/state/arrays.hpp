// CUDA arrays: rows of elements on the device, which only copies and textures reach.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "cudart/state/failure.hpp"

/// The array behind a cudaArray_t.
struct cudaArray {
  std::uint64_t address = 0;
  std::size_t pitch = 0, element_bytes = 0;
  cudaChannelFormatDesc channels{};
  cudaExtent extent{};  ///< in elements; the height and depth of fewer dimensions are 0
  unsigned flags = 0;

  std::size_t rows() const {
    return (extent.height == 0 ? 1 : extent.height) * (extent.depth == 0 ? 1 : extent.depth);
  }
};

namespace tilescope::cudart {

class Arrays {
 public:
  /// Memory for the array; its owner allocates the memory and sets the address.
  cudaArray& create(const cudaChannelFormatDesc& channels, const cudaExtent& extent,
                    unsigned flags);
  /// Throws cudaErrorInvalidResourceHandle if it is no array.
  cudaArray& find(cudaArray_const_t handle);
  void destroy(cudaArray& array);

 private:
  std::map<cudaArray_const_t, std::unique_ptr<cudaArray>> arrays_;
};

}  // namespace tilescope::cudart
