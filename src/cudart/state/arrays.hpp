// CUDA arrays: rows of elements on the device, which only copies, textures and surfaces reach.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cudart/state/allocations.hpp"

/// A cudaArray_t points to one: an array, or the level of a mipmapped one.
struct cudaArray {
  std::uint64_t array = 0;  ///< the device's
  unsigned level = 0;
  std::uint64_t address = 0;  ///< of the level in the array's block of memory
  std::size_t pitch = 0, element_bytes = 0;
  cudaChannelFormatDesc channels{};
  cudaExtent extent{};  ///< in elements; the height and depth of fewer dimensions are 0
  unsigned flags = 0;

  std::size_t rows() const { return extent.height == 0 ? 1 : extent.height; }
  std::size_t slices() const { return extent.depth == 0 ? 1 : extent.depth; }
};

/// A cudaMipmappedArray_t points to one.
struct cudaMipmappedArray {
  std::vector<cudaArray> levels;
};

namespace tilescope::cudart {

/// The device's words for a channel description. Throws cudaErrorInvalidChannelDescriptor.
TexelFormat format_of(const cudaChannelFormatDesc& channels);

class Arrays {
 public:
  /// Both allocate the memory too.
  cudaArray& create(Memory& memory, const cudaChannelFormatDesc& channels, const cudaExtent& extent,
                    unsigned flags, const inspect::HostCall& call);
  cudaMipmappedArray& create_mipmapped(Memory& memory, const cudaChannelFormatDesc& channels,
                                       const cudaExtent& extent, unsigned levels, unsigned flags,
                                       const inspect::HostCall& call);
  /// Each throws cudaErrorInvalidResourceHandle if it is none, or not one to be freed.
  cudaArray& find(cudaArray_const_t handle);
  cudaMipmappedArray& find(cudaMipmappedArray_const_t handle);
  void destroy(Memory& memory, cudaArray_t handle, const inspect::HostCall& call);
  void destroy(Memory& memory, cudaMipmappedArray_t handle, const inspect::HostCall& call);

 private:
  std::map<const cudaMipmappedArray*, std::unique_ptr<cudaMipmappedArray>> arrays_;
  /// The levels, with what holds them; arrays of one level are made by create().
  struct Holder {
    cudaMipmappedArray* whole;
    bool alone;
  };
  std::map<cudaArray_const_t, Holder> levels_;
};

}  // namespace tilescope::cudart
