#include "device/cuda/cuda_textures.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace tilescope::device {
namespace {

CUarray_format native(const TexelFormat& format) {
  const bool small = format.bits == 8, medium = format.bits == 16;
  switch (format.kind) {
    case TexelKind::natural:
      return small    ? CU_AD_FORMAT_UNSIGNED_INT8
             : medium ? CU_AD_FORMAT_UNSIGNED_INT16
                      : CU_AD_FORMAT_UNSIGNED_INT32;
    case TexelKind::integer:
      return small    ? CU_AD_FORMAT_SIGNED_INT8
             : medium ? CU_AD_FORMAT_SIGNED_INT16
                      : CU_AD_FORMAT_SIGNED_INT32;
    default:
      return medium ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
  }
}

/// A view of the format: the values of 1, 2 and 4 channels are in one order for all kinds.
CUresourceViewFormat view_of(const TexelFormat& format) {
  const int kind = format.kind == TexelKind::natural   ? 0
                   : format.kind == TexelKind::integer ? 1
                                                       : 2;
  const int channels = format.channels == 4 ? 2 : static_cast<int>(format.channels) - 1;
  constexpr CUresourceViewFormat first[3][3] = {
      {CU_RES_VIEW_FORMAT_UINT_1X8, CU_RES_VIEW_FORMAT_SINT_1X8, CU_RES_VIEW_FORMAT_NONE},
      {CU_RES_VIEW_FORMAT_UINT_1X16, CU_RES_VIEW_FORMAT_SINT_1X16, CU_RES_VIEW_FORMAT_FLOAT_1X16},
      {CU_RES_VIEW_FORMAT_UINT_1X32, CU_RES_VIEW_FORMAT_SINT_1X32, CU_RES_VIEW_FORMAT_FLOAT_1X32}};
  const int width = format.bits == 8 ? 0 : format.bits == 16 ? 1 : 2;
  return static_cast<CUresourceViewFormat>(first[width][kind] + channels);
}

CUDA_TEXTURE_DESC native(const Sampler& sampler, const TexelFormat& format) {
  CUDA_TEXTURE_DESC d = {};
  constexpr CUaddress_mode modes[] = {CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_CLAMP,
                                      CU_TR_ADDRESS_MODE_MIRROR, CU_TR_ADDRESS_MODE_BORDER};
  for (std::size_t i = 0; i < 3; ++i) {
    d.addressMode[i] = modes[static_cast<std::size_t>(sampler.address[i])];
  }
  const auto filter = [](Filter of) {
    return of == Filter::linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
  };
  d.filterMode = filter(sampler.filter);
  d.mipmapFilterMode = filter(sampler.level_filter);
  if (!sampler.as_float && format.kind != TexelKind::floating) d.flags |= CU_TRSF_READ_AS_INTEGER;
  if (sampler.normalized) d.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (sampler.srgb) d.flags |= CU_TRSF_SRGB;
  if (sampler.seamless) d.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
  d.maxAnisotropy = sampler.anisotropy;
  d.mipmapLevelBias = sampler.bias;
  d.minMipmapLevelClamp = sampler.least_level;
  d.maxMipmapLevelClamp = sampler.most_level;
  std::copy(sampler.border.begin(), sampler.border.end(), d.borderColor);
  return d;
}

}  // namespace

std::uint64_t CudaTextures::create_array(const ArrayRequest& request, std::string_view name) {
  CUDA_ARRAY3D_DESCRIPTOR d = {};
  d.Width = request.width;
  d.Height = request.height;
  d.Depth = request.depth;
  d.Format = native(request.format);
  d.NumChannels = request.format.channels;
  if (request.layered) d.Flags |= CUDA_ARRAY3D_LAYERED;
  if (request.cube) d.Flags |= CUDA_ARRAY3D_CUBEMAP;
  if (request.writable) d.Flags |= CUDA_ARRAY3D_SURFACE_LDST;
  if (request.gatherable) d.Flags |= CUDA_ARRAY3D_TEXTURE_GATHER;
  Array array{.request = request};
  if (request.levels == 1) {
    driver_.check(driver_.array_create(&array.single, &d), "cuArray3DCreate", name);
  } else {
    driver_.check(driver_.mipmapped_create(&array.mipmapped, &d, request.levels),
                  "cuMipmappedArrayCreate", name);
  }
  const std::lock_guard lock(mutex_);
  const std::uint64_t handle = next_;
  next_ += kArrayStride;
  arrays_.emplace(handle, array);
  return handle;
}

void CudaTextures::destroy_array(std::uint64_t handle) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = arrays_.find(handle);
  if (found == arrays_.end()) return;
  if (found->second.mipmapped != nullptr) {
    driver_.mipmapped_destroy(found->second.mipmapped);
  } else {
    driver_.array_destroy(found->second.single);
  }
  arrays_.erase(found);
}

CudaTextures::Array CudaTextures::find(std::uint64_t handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = arrays_.find(handle);
  if (found == arrays_.end()) throw usage_error("{:#x} is no array", handle);
  return found->second;
}

CUarray CudaTextures::level_of(const Array& array, unsigned level) const {
  if (array.mipmapped == nullptr) return array.single;
  CUarray result = nullptr;
  driver_.check(driver_.mipmapped_level(&result, array.mipmapped, level),
                "cuMipmappedArrayGetLevel");
  return result;
}

std::uint64_t CudaTextures::create_texture(const TextureRequest& request) const {
  CUDA_RESOURCE_DESC resource = {};
  CUDA_RESOURCE_VIEW_DESC view = {};
  TexelFormat format = request.format;
  bool viewed = false;
  if (request.array != 0) {
    const Array array = find(request.array);
    if (!request.other_format) format = array.request.format;
    resource.resType =
        array.mipmapped != nullptr ? CU_RESOURCE_TYPE_MIPMAPPED_ARRAY : CU_RESOURCE_TYPE_ARRAY;
    resource.res.mipmap.hMipmappedArray = array.mipmapped;
    if (array.mipmapped == nullptr) resource.res.array.hArray = array.single;
    viewed = request.other_format || request.part;
    view.format = view_of(format);
    view.width = array.request.width;
    view.height = array.request.height;
    view.depth = array.request.depth;
    view.firstMipmapLevel = request.first_level;
    view.lastMipmapLevel = request.part ? request.last_level : array.request.levels - 1;
    view.firstLayer = request.first_layer;
    view.lastLayer = request.last_layer;
  } else if (request.height == 0) {
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = request.address;
    resource.res.linear.format = native(format);
    resource.res.linear.numChannels = format.channels;
    resource.res.linear.sizeInBytes = request.width * format.bytes();
  } else {
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = request.address;
    resource.res.pitch2D.format = native(format);
    resource.res.pitch2D.numChannels = format.channels;
    resource.res.pitch2D.width = request.width;
    resource.res.pitch2D.height = request.height;
    resource.res.pitch2D.pitchInBytes = request.pitch;
  }
  const CUDA_TEXTURE_DESC texture = native(request.sampler, format);
  CUtexObject object = 0;
  driver_.check(driver_.texture_create(&object, &resource, &texture, viewed ? &view : nullptr),
                "cuTexObjectCreate");
  return object;
}

std::uint64_t CudaTextures::create_surface(std::uint64_t array, unsigned level) const {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = level_of(find(array), level);
  CUsurfObject object = 0;
  driver_.check(driver_.surface_create(&object, &resource), "cuSurfObjectCreate");
  return object;
}

void CudaTextures::copy(const BoxCopy& copy, CUstream stream) const {
  CUDA_MEMCPY3D c = {};
  c.WidthInBytes = copy.row_bytes;
  c.Height = copy.rows;
  c.Depth = copy.slices;
  const auto rows = [&](const BoxSide& side) {
    return side.pitch == 0 || side.slice_pitch == 0 ? copy.rows : side.slice_pitch / side.pitch;
  };
  const auto type = [](const BoxSide& side) {
    return side.array != 0 ? CU_MEMORYTYPE_ARRAY
           : side.on_host  ? CU_MEMORYTYPE_HOST
                           : CU_MEMORYTYPE_DEVICE;
  };
  c.srcMemoryType = type(copy.from);
  c.srcXInBytes = copy.from.x_bytes;
  c.srcY = copy.from.y;
  c.srcZ = copy.from.z;
  c.dstMemoryType = type(copy.to);
  c.dstXInBytes = copy.to.x_bytes;
  c.dstY = copy.to.y;
  c.dstZ = copy.to.z;
  if (copy.from.array != 0) c.srcArray = level_of(find(copy.from.array), copy.from.level);
  if (copy.to.array != 0) c.dstArray = level_of(find(copy.to.array), copy.to.level);
  c.srcDevice = copy.from.address;
  c.srcHost = reinterpret_cast<const void*>(copy.from.address);
  c.srcPitch = copy.from.pitch;
  c.srcHeight = rows(copy.from);
  c.dstDevice = copy.to.address;
  c.dstHost = reinterpret_cast<void*>(copy.to.address);
  c.dstPitch = copy.to.pitch;
  c.dstHeight = rows(copy.to);
  driver_.check(driver_.copy_3d(&c, stream), "cuMemcpy3DAsync");
}

}  // namespace tilescope::device
