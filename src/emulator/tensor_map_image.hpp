// The 128 bytes of a tensor map on the emulated device: a layout of our own, since that of the chip
// is not documented. The host encodes it, kernels change it with tensormap.replace, and the copy
// engine reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tilescope::emulator {

/// The types of elements, with the numbers of tensormap.replace.
enum class TensorElement : std::uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f32_ftz,
  f64,
  bf16,
  tf32,
  tf32_ftz,
  count_
};
unsigned byte_size(TensorElement type);
bool is_real(TensorElement type);

enum class TensorInterleave : std::uint8_t { none, bytes_16, bytes_32, count_ };
enum class TensorSwizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128, count_ };
enum class TensorFill : std::uint8_t { zeros, nan, count_ };
enum class TensorMode : std::uint8_t { tiled, im2col, count_ };

inline constexpr std::size_t kMostTensorDimensions = 5;

struct alignas(64) TensorMapImage {
  static constexpr std::uint64_t kMagic = 0x70614d726f736e54;

  /// kMagic in a map that an encoder or tensormap.replace has made; anything else is no map.
  std::uint64_t magic = kMagic;
  std::uint64_t address = 0;
  std::array<std::uint64_t, 5> extents{};  ///< elements, innermost first
  std::array<std::uint64_t, 4> strides{};  ///< bytes between neighbours along dimensions 1 to 4
  std::array<std::uint16_t, 5> box{};      ///< elements
  std::array<std::uint8_t, 5> element_strides{};
  TensorElement type = TensorElement::u8;
  // im2col: corners of the box of pixels, innermost spatial dimension first
  std::array<std::int16_t, 3> lower{}, upper{};
  std::uint16_t channels = 0;  ///< per pixel
  std::uint16_t pixels = 0;    ///< per column
  std::uint8_t rank = 0;
  TensorInterleave interleave = TensorInterleave::none;
  TensorSwizzle swizzle = TensorSwizzle::none;
  TensorFill fill = TensorFill::zeros;
  TensorMode mode = TensorMode::tiled;
  std::array<std::uint8_t, 3> unused{};

  bool is_tensor_map() const { return magic == kMagic; }
  bool is_interleaved() const { return interleave != TensorInterleave::none; }
  /// Bytes of one step along the innermost dimension: an element or, interleaved, 16 or 32 bytes.
  unsigned unit_bytes() const;
  /// Units that a tile has along a dimension. Of an interleaved tensor's channels, the last
  /// dimension but one, it has one slice.
  unsigned box_units(std::size_t dimension) const;
  /// Units of a row in shared memory, and rows.
  std::uint64_t row_units() const;
  std::uint64_t rows() const;
  /// Bytes that one copy moves, which its barrier counts.
  std::uint64_t box_bytes() const { return row_units() * rows() * unit_bytes(); }
  /// From the begin of a row in shared memory to that of the next. Swizzling needs whole spans.
  std::uint64_t row_pitch() const;
  /// Bytes that the box takes in shared memory.
  std::uint64_t box_extent() const;
};
static_assert(sizeof(TensorMapImage) == 128);

/// The rule that a map breaks, in one line that names the value; empty if it breaks none. These are
/// the driver's rules for cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, as it applies them:
/// its manual has one more, that interleaving by 32 bytes takes swizzling by 32 bytes only.
std::string tensor_map_problem(const TensorMapImage& map);

}  // namespace tilescope::emulator
