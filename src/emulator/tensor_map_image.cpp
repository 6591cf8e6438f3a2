#include "emulator/tensor_map_image.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

namespace tilescope::emulator {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;  ///< one more than a stride may have
constexpr std::uint64_t kMostExtent = std::uint64_t{1} << 32;
constexpr unsigned kMostBox = 256, kMostElementStride = 8, kMostPixels = 1024;

std::string between(std::string_view what, std::int64_t value, std::int64_t low,
                    std::int64_t high) {
  if (value >= low && value <= high) return {};
  return fmt::format("{} is {}; {} to {} are possible", what, value, low, high);
}

std::string multiple(std::string_view what, std::uint64_t value, unsigned of) {
  if (value % of == 0) return {};
  return fmt::format("{} is {}, which is no multiple of {}", what, value, of);
}

std::string first_of(std::initializer_list<std::string> problems) {
  for (const std::string& problem : problems) {
    if (!problem.empty()) return problem;
  }
  return {};
}

std::string of_dimension(std::string_view what, std::size_t d) {
  return fmt::format("{} of dimension {}", what, d);
}

/// Numbers that select one of a few ways.
std::string selectors_problem(const TensorMapImage& m) {
  const auto choice = [](std::string_view what, auto value) {
    using Choice = decltype(value);
    const auto most = static_cast<std::int64_t>(Choice::count_) - 1;
    return between(what, static_cast<std::int64_t>(value), 0, most);
  };
  std::string problem =
      first_of({choice("the element type", m.type), choice("the interleave layout", m.interleave),
                choice("the swizzle mode", m.swizzle), choice("the fill mode", m.fill),
                choice("the mode", m.mode)});
  if (!problem.empty()) return problem;
  if (m.fill == TensorFill::nan && !is_real(m.type)) {
    return "NaN cannot fill a tensor of integers";
  }
  const bool from_three = m.interleave != TensorInterleave::none || m.mode == TensorMode::im2col;
  return between(from_three ? "the rank of an interleaved or im2col tensor" : "the rank", m.rank,
                 from_three ? 3 : 1, kMostTensorDimensions);
}

std::string extents_problem(const TensorMapImage& m) {
  const unsigned alignment = m.interleave == TensorInterleave::bytes_32 ? 32 : 16;
  std::string problem = multiple("the global address", m.address, alignment);
  for (std::size_t d = 0; d < m.rank && problem.empty(); ++d) {
    problem = first_of({between(of_dimension("the extent", d),
                                static_cast<std::int64_t>(m.extents[d]), 1, kMostExtent),
                        between(of_dimension("the element stride", d), m.element_strides[d], 1,
                                kMostElementStride)});
    if (d == 0 || !problem.empty()) continue;
    problem = first_of({between(of_dimension("the stride", d),
                                static_cast<std::int64_t>(m.strides[d - 1]), 0, kMostBytes - 1),
                        multiple(of_dimension("the stride", d), m.strides[d - 1], alignment)});
  }
  return problem;
}

/// `inner`: the bytes of a box along the innermost dimension.
std::string inner_problem(const TensorMapImage& m, std::uint64_t inner) {
  if (const std::string problem = multiple("the box's innermost extent in bytes", inner, 16);
      !problem.empty()) {
    return problem;
  }
  const std::uint64_t span = std::uint64_t{16} << static_cast<unsigned>(m.swizzle);
  if (m.is_interleaved() || m.swizzle == TensorSwizzle::none || inner <= span) return {};
  return fmt::format("the box's innermost extent is {} bytes; swizzling by {} takes no more", inner,
                     span);
}

std::string tile_problem(const TensorMapImage& m) {
  for (std::size_t d = 0; d < m.rank; ++d) {
    if (std::string problem = between(of_dimension("the box", d), m.box[d], 1, kMostBox);
        !problem.empty()) {
      return problem;
    }
  }
  return inner_problem(m, std::uint64_t{m.box[0]} * byte_size(m.type));
}

std::string im2col_problem(const TensorMapImage& m) {
  const std::int64_t half = m.rank == 3 ? 1 << 15 : m.rank == 4 ? 1 << 7 : 1 << 4;
  std::string problem =
      first_of({between("the number of channels per pixel", m.channels, 1, kMostBox),
                between("the number of pixels per column", m.pixels, 1, kMostPixels)});
  for (std::size_t i = 0; i + 2 < m.rank && problem.empty(); ++i) {
    problem =
        first_of({between(of_dimension("the lower corner", i + 1), m.lower[i], -half, half - 1),
                  between(of_dimension("the upper corner", i + 1), m.upper[i], -half, half - 1)});
  }
  if (problem.empty() && m.rank == 3) {  // as the driver has it
    problem = between("the extent of a row of pixels", static_cast<std::int64_t>(m.extents[1]), 1,
                      kMostExtent - 1);
  }
  if (!problem.empty()) return problem;
  return inner_problem(m, std::uint64_t{m.channels} * byte_size(m.type));
}

}  // namespace

unsigned byte_size(TensorElement type) {
  constexpr unsigned sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};
  return sizes[static_cast<std::size_t>(type)];
}

bool is_real(TensorElement type) {
  return type >= TensorElement::f16;
}

unsigned TensorMapImage::unit_bytes() const {
  return is_interleaved() ? 16 * static_cast<unsigned>(interleave) : byte_size(type);
}

unsigned TensorMapImage::box_units(std::size_t dimension) const {
  if (is_interleaved() && dimension + 2 == rank) return 1;
  // Without interleaving the innermost dimension has no element stride.
  if (dimension == 0 && !is_interleaved()) return box[0];
  const unsigned step = element_strides[dimension];
  return (box[dimension] + step - 1) / step;
}

std::uint64_t TensorMapImage::row_units() const {
  if (mode == TensorMode::im2col) return is_interleaved() ? 1 : channels;
  return box_units(0);
}

std::uint64_t TensorMapImage::rows() const {
  if (mode == TensorMode::im2col) return pixels;
  std::uint64_t rows = 1;
  for (std::size_t d = 1; d < rank; ++d) rows *= box_units(d);
  return rows;
}

std::uint64_t TensorMapImage::row_pitch() const {
  const std::uint64_t row = row_units() * unit_bytes();
  if (is_interleaved() || swizzle == TensorSwizzle::none) return row;
  return std::uint64_t{16} << static_cast<unsigned>(swizzle);
}

std::uint64_t TensorMapImage::box_extent() const {
  return (rows() - 1) * row_pitch() + row_units() * unit_bytes();
}

std::string tensor_map_problem(const TensorMapImage& map) {
  if (!map.is_tensor_map()) return "the 128 bytes are no tensor map";
  std::string problem = selectors_problem(map);
  if (problem.empty()) problem = extents_problem(map);
  if (!problem.empty()) return problem;
  return map.mode == TensorMode::im2col ? im2col_problem(map) : tile_problem(map);
}

}  // namespace tilescope::emulator
