#include "cudart/state/textures.hpp"

#include <algorithm>

namespace tilescope::cudart {
namespace {

std::uint64_t address_of_memory(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

Sampler sampler_of(const cudaTextureDesc& d) {
  Sampler sampler;
  for (std::size_t i = 0; i < 3; ++i) {
    require(d.addressMode[i] >= cudaAddressModeWrap && d.addressMode[i] <= cudaAddressModeBorder,
            cudaErrorInvalidValue);
    sampler.address[i] = static_cast<AddressMode>(d.addressMode[i]);
  }
  const auto filter = [](cudaTextureFilterMode mode) {
    return mode == cudaFilterModeLinear ? Filter::linear : Filter::point;
  };
  sampler.filter = filter(d.filterMode);
  sampler.level_filter = filter(d.mipmapFilterMode);
  sampler.normalized = d.normalizedCoords != 0;
  sampler.as_float = d.readMode == cudaReadModeNormalizedFloat;
  sampler.srgb = d.sRGB != 0;
  sampler.seamless = d.seamlessCubemap != 0;
  sampler.anisotropy = std::max(d.maxAnisotropy, 1u);
  sampler.bias = d.mipmapLevelBias;
  sampler.least_level = d.minMipmapLevelClamp;
  sampler.most_level = d.maxMipmapLevelClamp;
  std::copy(d.borderColor, d.borderColor + 4, sampler.border.begin());
  return sampler;
}

/// The format of a view: the enumeration counts channels 1, 2, 4 of each kind and width.
TexelFormat format_of_view(cudaResourceViewFormat format) {
  require(format >= cudaResViewFormatUnsignedChar1 && format <= cudaResViewFormatFloat4,
          cudaErrorNotSupported);  // others are compressed
  const int number = format - cudaResViewFormatUnsignedChar1;
  constexpr struct {
    unsigned bits;
    TexelKind kind;
  } rows[] = {{8, TexelKind::natural},   {8, TexelKind::integer},  {16, TexelKind::natural},
              {16, TexelKind::integer},  {32, TexelKind::natural}, {32, TexelKind::integer},
              {16, TexelKind::floating}, {32, TexelKind::floating}};
  const auto& row = rows[number / 3];
  return {.channels = 1u << (number % 3), .bits = row.bits, .kind = row.kind};
}

void take_view(TextureRequest& request, const cudaResourceViewDesc& view) {
  request.part = true;
  request.first_level = view.firstMipmapLevel;
  request.last_level = view.lastMipmapLevel;
  request.first_layer = view.firstLayer;
  request.last_layer = view.lastLayer;
  if (view.format == cudaResViewFormatNone) return;
  request.format = format_of_view(view.format);
  request.other_format = true;
}

TextureRequest request_for(Arrays& arrays, const cudaResourceDesc& resource) {
  TextureRequest request;
  switch (resource.resType) {
    case cudaResourceTypeArray: {
      const cudaArray& array = arrays.find(resource.res.array.array);
      request.array = array.array;
      request.part = array.level != 0;
      request.first_level = request.last_level = array.level;
      if (array.flags & cudaArrayLayered) {
        request.last_layer =
            static_cast<unsigned>(array.slices() / (array.flags & cudaArrayCubemap ? 6 : 1) - 1);
      }
      return request;
    }
    case cudaResourceTypeMipmappedArray:
      request.array = arrays.find(resource.res.mipmap.mipmap).levels.front().array;
      return request;
    case cudaResourceTypeLinear: {
      const auto& linear = resource.res.linear;
      request.address = address_of_memory(linear.devPtr);
      request.format = format_of(linear.desc);
      request.width = linear.sizeInBytes / request.format.bytes();
      return request;
    }
    case cudaResourceTypePitch2D: {
      const auto& rows = resource.res.pitch2D;
      request.address = address_of_memory(rows.devPtr);
      request.format = format_of(rows.desc);
      request.width = rows.width;
      request.height = rows.height;
      request.pitch = rows.pitchInBytes;
      return request;
    }
    default:
      throw Failure{cudaErrorInvalidValue};
  }
}

/// The object in `objects`; throws cudaErrorInvalidValue if there is none.
template <typename Objects>
auto find_object(Objects& objects, unsigned long long handle) {
  const auto found = objects.find(handle);
  require(found != objects.end(), cudaErrorInvalidValue);
  return found;
}

}  // namespace

cudaTextureObject_t Textures::create_texture(Device& device, Arrays& arrays,
                                             const cudaResourceDesc& resource,
                                             const cudaTextureDesc& texture,
                                             const cudaResourceViewDesc* view) {
  TextureRequest request = request_for(arrays, resource);
  request.sampler = sampler_of(texture);
  if (view != nullptr) {
    require(request.array != 0, cudaErrorInvalidValue);
    take_view(request, *view);
  }
  Texture made{.object = device.create_texture(request), .resource = resource, .texture = texture};
  made.viewed = view != nullptr;
  if (view != nullptr) made.view = *view;
  const cudaTextureObject_t handle = made.object.value();
  textures_.emplace(handle, std::move(made));
  return handle;
}

cudaSurfaceObject_t Textures::create_surface(Device& device, Arrays& arrays,
                                             const cudaResourceDesc& resource) {
  require(resource.resType == cudaResourceTypeArray, cudaErrorInvalidValue);
  const cudaArray& array = arrays.find(resource.res.array.array);
  Surface made{.object = device.create_surface(array.array, array.level), .resource = resource};
  const cudaSurfaceObject_t handle = made.object.value();
  surfaces_.emplace(handle, std::move(made));
  return handle;
}

const Textures::Texture& Textures::texture(cudaTextureObject_t object) const {
  return find_object(textures_, object)->second;
}

const Textures::Surface& Textures::surface(cudaSurfaceObject_t object) const {
  return find_object(surfaces_, object)->second;
}

void Textures::destroy_texture(cudaTextureObject_t object) {
  textures_.erase(find_object(textures_, object));
}

void Textures::destroy_surface(cudaSurfaceObject_t object) {
  surfaces_.erase(find_object(surfaces_, object));
}

}  // namespace tilescope::cudart
