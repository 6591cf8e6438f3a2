// Arrays, textures and surfaces: memory that kernels read through coordinates.
//
//     DeviceArray image = device->create_array({.format = {.channels = 4, .bits = 8},
//                                         .width = 640, .height = 480});
//     TextureObject texture = device->create_texture({.array = image.value(),
//                                               .sampler = {.filter = Filter::linear}});
//     device->launch(kernel, launch, KernelArguments::of(texture.value(), out.address()));
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tilescope {

/// The meaning of an element's bits. `natural`: unsigned, `integer`: signed.
enum class TexelKind : std::uint8_t { natural, integer, floating };

/// One element: 1, 2 or 4 channels of 8, 16 or 32 bits each.
struct TexelFormat {
  unsigned channels = 1;
  unsigned bits = 32;
  TexelKind kind = TexelKind::natural;

  std::size_t bytes() const { return std::size_t{channels} * bits / 8; }
  friend bool operator==(const TexelFormat&, const TexelFormat&) = default;
};

/// An array in the order that suits the device. A height or depth of 0 means fewer dimensions; the
/// depth of a layered array is its number of layers, that of a cube 6, of layered cubes 6 for each.
struct ArrayRequest {
  TexelFormat format = {};
  std::size_t width = 1, height = 0, depth = 0;  ///< in elements
  unsigned levels = 1;                           ///< each half as large as the one before
  bool layered = false;
  bool cube = false;
  bool writable = false;    ///< surfaces may write to it
  bool gatherable = false;  ///< tld4 may read it
};

/// The coordinate's element outside [0, extent).
enum class AddressMode : std::uint8_t { wrap, clamp, mirror, border };
enum class Filter : std::uint8_t { point, linear };

/// How a texture turns coordinates into a value; the fields of CUDA's cudaTextureDesc.
struct Sampler {
  std::array<AddressMode, 3> address{AddressMode::wrap, AddressMode::wrap, AddressMode::wrap};
  Filter filter = Filter::point;
  Filter level_filter = Filter::point;  ///< between the levels of a mipmapped array
  bool normalized = false;              ///< coordinates from 0 to 1
  bool as_float = false;                ///< integers of 8 and 16 bits become [0, 1] or [-1, 1]
  bool srgb = false;                    ///< the first three channels, of 8 bits, are in sRGB
  bool seamless = false;                ///< filters across the edges of a cube
  unsigned anisotropy = 1;              ///< most samples along the longer axis of a footprint
  float bias = 0, least_level = 0, most_level = 0;
  std::array<float, 4> border{};
};

/// The memory of a texture: an array, or, when `array` is 0, elements at an address, in rows if the
/// height is not 0.
struct TextureRequest {
  std::uint64_t array = 0;
  std::uint64_t address = 0;
  TexelFormat format = {};  ///< of an array: its own unless it is another of the same size
  bool other_format = false;
  std::size_t width = 0, height = 0, pitch = 0;  ///< pitch in bytes
  Sampler sampler = {};
  /// A part of an array: levels and layers from first to last.
  bool part = false;
  unsigned first_level = 0, last_level = 0, first_layer = 0, last_layer = 0;
};

/// A box of bytes in the level of an array, or in memory.
struct BoxSide {
  std::uint64_t array = 0;  ///< with `level`, x, y, z; or
  unsigned level = 0;
  std::size_t x_bytes = 0, y = 0, z = 0;
  std::uint64_t address = 0;  ///< an address on the device, or of the host
  bool on_host = false;
  std::size_t pitch = 0, slice_pitch = 0;  ///< bytes; a multiple of the pitch for slices
};

struct BoxCopy {
  BoxSide to = {}, from = {};
  std::size_t row_bytes = 0, rows = 1, slices = 1;
};

}  // namespace tilescope
