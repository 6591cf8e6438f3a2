#include "cudart/state/arrays.hpp"

#include <algorithm>

namespace tilescope::cudart {
namespace {

ArrayRequest request_of(const cudaChannelFormatDesc& channels, const cudaExtent& extent,
                        unsigned levels, unsigned flags) {
  constexpr unsigned known = cudaArrayLayered | cudaArrayCubemap | cudaArraySurfaceLoadStore |
                             cudaArrayTextureGather | cudaArrayColorAttachment;
  require((flags & ~known) == 0, cudaErrorNotSupported);
  require(extent.width > 0, cudaErrorInvalidValue);
  return {.format = format_of(channels),
          .width = extent.width,
          .height = extent.height,
          .depth = extent.depth,
          .levels = levels,
          .layered = (flags & cudaArrayLayered) != 0,
          .cube = (flags & cudaArrayCubemap) != 0,
          .writable = (flags & cudaArraySurfaceLoadStore) != 0,
          .gatherable = (flags & cudaArrayTextureGather) != 0};
}

/// An extent of a level; 0 stays 0.
std::size_t halved(std::size_t extent, unsigned level) {
  return extent == 0 ? 0 : std::max<std::size_t>(extent >> level, 1);
}

}  // namespace

TexelFormat format_of(const cudaChannelFormatDesc& channels) {
  const int bits[] = {channels.x, channels.y, channels.z, channels.w};
  unsigned count = 0;
  while (count < 4 && bits[count] > 0) ++count;
  const bool equal =
      std::all_of(bits, bits + 4, [&](int of) { return of == 0 || of == bits[0]; }) &&
      std::all_of(bits + count, bits + 4, [](int of) { return of == 0; });
  const bool size = bits[0] == 8 || bits[0] == 16 || bits[0] == 32;
  const bool floating = channels.f == cudaChannelFormatKindFloat;
  const bool kind = floating || channels.f == cudaChannelFormatKindSigned ||
                    channels.f == cudaChannelFormatKindUnsigned;
  require(equal && size && kind && count != 0 && count != 3 && !(floating && bits[0] == 8),
          cudaErrorInvalidChannelDescriptor);
  return {.channels = count,
          .bits = static_cast<unsigned>(bits[0]),
          .kind = floating                                    ? TexelKind::floating
                  : channels.f == cudaChannelFormatKindSigned ? TexelKind::integer
                                                              : TexelKind::natural};
}

cudaMipmappedArray& Arrays::create_mipmapped(Memory& memory, const cudaChannelFormatDesc& channels,
                                             const cudaExtent& extent, unsigned levels,
                                             unsigned flags, const inspect::HostCall& call) {
  const ArrayRequest request = request_of(channels, extent, levels, flags);
  const bool slices = request.layered || request.cube;
  auto made = std::make_unique<cudaMipmappedArray>();
  std::size_t bytes = 0;
  for (unsigned level = 0; level < levels; ++level) {
    cudaArray one;
    one.level = level;
    one.element_bytes = request.format.bytes();
    one.channels = channels;
    one.flags = flags;
    one.extent = {halved(extent.width, level), halved(extent.height, level),
                  slices ? extent.depth : halved(extent.depth, level)};
    one.pitch = one.extent.width * one.element_bytes;
    one.address = bytes;
    bytes += one.pitch * one.rows() * one.slices();
    made->levels.push_back(one);
  }
  const MemoryBlock& block = memory.allocate_array(request, bytes, call);
  for (cudaArray& level : made->levels) {
    level.array = block.address;
    level.address += block.address;
    levels_.insert_or_assign(&level, Holder{made.get(), false});
  }
  cudaMipmappedArray& array = *made;
  arrays_.emplace(&array, std::move(made));
  return array;
}

cudaArray& Arrays::create(Memory& memory, const cudaChannelFormatDesc& channels,
                          const cudaExtent& extent, unsigned flags, const inspect::HostCall& call) {
  cudaArray& array = create_mipmapped(memory, channels, extent, 1, flags, call).levels.front();
  levels_.at(&array).alone = true;
  return array;
}

cudaArray& Arrays::find(cudaArray_const_t handle) {
  const auto found = levels_.find(handle);
  require(found != levels_.end(), cudaErrorInvalidResourceHandle);
  return *const_cast<cudaArray*>(found->first);
}

cudaMipmappedArray& Arrays::find(cudaMipmappedArray_const_t handle) {
  const auto found = arrays_.find(handle);
  require(found != arrays_.end(), cudaErrorInvalidResourceHandle);
  return *found->second;
}

void Arrays::destroy(Memory& memory, cudaArray_t handle, const inspect::HostCall& call) {
  find(handle);
  const Holder& holder = levels_.at(handle);
  require(holder.alone, cudaErrorInvalidResourceHandle);
  destroy(memory, holder.whole, call);
}

void Arrays::destroy(Memory& memory, cudaMipmappedArray_t handle, const inspect::HostCall& call) {
  cudaMipmappedArray& array = find(handle);
  memory.free(array.levels.front().array, MemoryKind::array, MemoryKind::array, call);
  for (const cudaArray& level : array.levels) levels_.erase(&level);
  arrays_.erase(&array);
}

}  // namespace tilescope::cudart
