// Pictures of 8 bits a sample in PNG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilescope::io {

/// A picture: rows from top to bottom, pixels from left to right, the samples of a pixel side by
/// side.
struct Picture {
  std::uint32_t width = 0, height = 0;  ///< pixels
  std::uint32_t channels = 1;           ///< 1: grey, 3: red, green, blue
  std::vector<std::uint8_t> samples;    ///< height * width * channels
};

/// Reads a grey or RGB picture, interlaced or not. Palettes become RGB, and grey of 1, 2 or 4 bits
/// becomes 8 bits. An alpha channel is dropped where every pixel is opaque. Sample values are taken
/// as they stand, without gamma or colour correction.
///
/// Throws Error(bad_input), one line, for a file that is no PNG, is damaged or truncated, has 16
/// bits a sample or transparent pixels, or more than 2^28 pixels.
Picture read_png(const std::string& path);

/// Writes `samples` (height * width * channels of them) under `path`, whole or not at all (see
/// base/output_file.hpp). The same samples always give the same bytes. Throws Error(usage) for a
/// shape that PNG cannot hold or that does not fit the samples, Error(bad_input) when the file
/// cannot be written.
void write_png(const std::string& path, std::uint32_t width, std::uint32_t height,
               std::uint32_t channels, std::span<const std::uint8_t> samples);
void write_png(const std::string& path, const Picture& picture);

}  // namespace tilescope::io
