#include "cudart/state/arrays.hpp"

namespace tilescope::cudart {

cudaArray& Arrays::create(const cudaChannelFormatDesc& channels, const cudaExtent& extent,
                          unsigned flags) {
  const int bits = channels.x + channels.y + channels.z + channels.w;
  require(bits > 0 && bits % 8 == 0 && bits <= 128, cudaErrorInvalidChannelDescriptor);
  require(extent.width > 0, cudaErrorInvalidValue);
  auto made = std::make_unique<cudaArray>();
  cudaArray& array = *made;
  array.element_bytes = static_cast<std::size_t>(bits / 8);
  array.pitch = extent.width * array.element_bytes;
  array.channels = channels;
  array.extent = extent;
  array.flags = flags;
  arrays_.emplace(&array, std::move(made));
  return array;
}

cudaArray& Arrays::find(cudaArray_const_t handle) {
  const auto found = arrays_.find(handle);
  require(found != arrays_.end(), cudaErrorInvalidResourceHandle);
  return *found->second;
}

void Arrays::destroy(cudaArray& array) {
  arrays_.erase(&array);
}

}  // namespace tilescope::cudart
