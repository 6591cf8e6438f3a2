#include "emulator/textures/sampling.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "emulator/textures/addressing.hpp"
#include "emulator/textures/cube_map.hpp"
#include "emulator/textures/texels.hpp"

#if defined(__GLIBC__) && defined(__x86_64__)
// glibc 2.35 gave hypot a second version, with the same results; the first is in every glibc.
__asm__(".symver hypot, hypot@GLIBC_2.2.5");
#endif

namespace tilescope::emulator {
namespace {

/// A place in a level: coordinates in texels along each axis, and the slice.
struct LevelPoint {
  std::array<double, 3> texels{};
  std::uint32_t face = 0, layer = 0;
};

/// Reads elements of one level, with its addressing.
class LevelReader {
 public:
  LevelReader(const Image& image, const Sampler& sampler, std::uint32_t level,
              TouchedTexels* touched)
      : image_(image),
        sampler_(sampler),
        level_(image.levels[level]),
        touched_(touched),
        axes_(std::max(image.dimensions, 2u)),
        element_bytes_(image.format.bytes()),
        seamless_(image.cube && sampler.seamless && sampler.filter == Filter::linear) {
    for (unsigned axis = 0; axis < axes_; ++axis) modes_[axis] = effective_mode(sampler, axis);
  }

  const ImageLevel& level() const { return level_; }
  std::uint32_t extent(unsigned axis) const {
    return axis == 0 ? level_.width : axis == 1 ? level_.height : level_.depth;
  }

  /// The element, or null for the border.
  const std::uint8_t* element(std::array<std::int64_t, 3> at, std::uint32_t face,
                              std::uint32_t layer) const {
    if (seamless_) {
      const auto neighbour = across_edge({face, at[0], at[1]}, level_.width);
      if (neighbour) {
        at[0] = neighbour->x;
        at[1] = neighbour->y;
        face = neighbour->face;
      }
    }
    for (unsigned axis = 0; axis < axes_; ++axis) {
      at[axis] = addressed(at[axis], extent(axis), modes_[axis]);
      if (at[axis] < 0) return nullptr;
    }
    if (image_.dimensions < 3) at[2] = image_.cube ? layer * 6 + face : layer;
    const std::uint64_t offset = level_.offset(element_bytes_, at[0], at[1], at[2]);
    if (touched_ != nullptr) touched_->push_back(level_.address + offset);
    return level_.data + offset;
  }

  Texel texel(const std::array<std::int64_t, 3>& at, const LevelPoint& point) const {
    const std::uint8_t* const from = element(at, point.face, point.layer);
    if (from != nullptr) return read_texel(image_.format, from, sampler_.as_float, sampler_.srgb);
    Texel border;
    const bool floats = image_.format.kind == TexelKind::floating || sampler_.as_float;
    for (unsigned i = 0; i < image_.format.channels; ++i) {
      const auto value = static_cast<float>(border_value(image_.format, sampler_.border[i]));
      border.bits[i] = std::bit_cast<std::uint32_t>(floats ? value : sampler_.border[i]);
    }
    return border;
  }

  /// Adds the weighted elements, up to 8, to `sum`. An element without weight is not touched.
  void blend(const LevelPoint& point, const std::array<Taps, 3>& taps, const CornerWeights& weights,
             const FilterChannels& channels, FilterSum& sum) const {
    const auto add = [&](const std::array<std::int64_t, 3>& at, double weight) {
      const std::uint8_t* const from = element(at, point.face, point.layer);
      if (from != nullptr) {
        channels.add(from, weight, kWholeWeight, sum);
      } else {
        channels.add_border(sampler_.border, weight, kWholeWeight, sum);
      }
    };
    for (unsigned corner = 0; corner < weights.size(); ++corner) {
      if (weights[corner] == 0) continue;
      const std::array<std::int64_t, 3> at = {(corner & 1) != 0 ? taps[0].second : taps[0].first,
                                              (corner & 2) != 0 ? taps[1].second : taps[1].first,
                                              (corner & 4) != 0 ? taps[2].second : taps[2].first};
      if (!meets_three_faces(at)) {
        add(at, weights[corner]);
        continue;
      }
      // No element lies across the corner of a cube: the mean of those around it takes its place.
      const std::int64_t last = level_.width - 1;
      const std::int64_t x = std::clamp<std::int64_t>(at[0], 0, last);
      const std::int64_t y = std::clamp<std::int64_t>(at[1], 0, last);
      for (const auto& [nx, ny] : {std::pair{x, y}, {at[0], y}, {x, at[1]}}) {
        add({nx, ny, 0}, weights[corner] / 3.0);
      }
    }
  }

  /// A coordinate of the level in texels.
  double in_texels(float coordinate, unsigned axis) const {
    if (!sampler_.normalized) return coordinate;
    return normalized_in_texels(coordinate, extent(axis), modes_[axis]);
  }

 private:
  bool meets_three_faces(const std::array<std::int64_t, 3>& at) const {
    return seamless_ && !across_edge({0, at[0], at[1]}, level_.width).has_value();
  }

  const Image& image_;
  const Sampler& sampler_;
  const ImageLevel& level_;
  TouchedTexels* touched_;
  unsigned axes_;
  std::size_t element_bytes_;
  bool seamless_;  ///< filters across the edges of a cube
  std::array<AddressMode, 3> modes_{};
};

LevelPoint place_in(const LevelReader& reader, const Image& image, const SamplePoint& point) {
  LevelPoint place;
  place.layer = std::min(point.layer, image.layers - 1);
  if (image.cube) {
    const CubePlace on_cube = cube_place(point.at);
    place.face = on_cube.face;
    place.texels = {on_cube.s * reader.level().width, on_cube.t * reader.level().width, 0};
    return place;
  }
  for (unsigned axis = 0; axis < image.dimensions; ++axis) {
    place.texels[axis] = reader.in_texels(point.at[axis], axis) + point.offset[axis];
  }
  return place;
}

std::array<Taps, 3> all_taps(const Image& image, const Sampler& sampler, const LevelPoint& place,
                             bool linear) {
  std::array<Taps, 3> taps;
  // One dimension is two with y = 0, which is half on the border.
  if (image.dimensions == 1 && sampler.address[1] == AddressMode::border) {
    taps[1] = taps_at(0, linear);
  }
  for (unsigned axis = 0; axis < image.dimensions; ++axis) {
    taps[axis] = taps_at(place.texels[axis], linear);
  }
  return taps;
}

/// One of the two levels that a linear filter blends: the first, or the next, which has `weight`.
struct LevelShare {
  std::uint32_t level = 0;
  std::uint32_t weight = 0;
  bool next = false;
};

/// The weights of a level's elements. The level is an axis like others: the third of two
/// dimensions, the last of three.
CornerWeights weights_of(const Image& image, std::array<Taps, 3> taps, const LevelShare& share) {
  if (image.dimensions == 3) {
    CornerWeights weights = corner_weights(taps);
    for (std::uint32_t& weight : weights) {
      const std::uint32_t part = (weight * share.weight + kWholeWeight / 2) >> kWeightBits;
      weight = share.next ? part : weight - part;
    }
    return weights;
  }
  taps[2].weight = share.weight;
  const CornerWeights both = corner_weights(taps);
  CornerWeights weights{};
  for (unsigned corner = 0; corner < 4; ++corner) {
    weights[corner] = both[corner + (share.next ? 4 : 0)];
  }
  return weights;
}

void add_level(const Image& image, const Sampler& sampler, const SamplePoint& point,
               const LevelShare& share, TouchedTexels* touched, const FilterChannels& channels,
               FilterSum& sum) {
  const LevelReader reader(image, sampler, share.level, touched);
  const LevelPoint place = place_in(reader, image, point);
  const std::array<Taps, 3> taps =
      all_taps(image, sampler, place, sampler.filter == Filter::linear);
  reader.blend(place, taps, weights_of(image, taps, share), channels, sum);
}

/// The levels that a level of detail means: the first, and the weight of the next in 1/256.
struct LevelTaps {
  std::uint32_t first = 0;
  std::uint32_t weight = 0;
};

LevelTaps level_taps(const Image& image, const Sampler& sampler, double detail) {
  const auto last = static_cast<std::uint32_t>(image.levels.size() - 1);
  if (last == 0 || !(detail > 0)) return {};
  const auto fixed = static_cast<std::int64_t>(std::min<double>(detail, last) * kWholeWeight);
  if (sampler.level_filter == Filter::point) {
    return {static_cast<std::uint32_t>((fixed + kWholeWeight / 2) >> kWeightBits), 0};
  }
  const auto first = static_cast<std::uint32_t>(fixed >> kWeightBits);
  return {first, first == last ? 0 : static_cast<std::uint32_t>(fixed & (kWholeWeight - 1))};
}

}  // namespace

namespace {

/// The axes of the ellipse that the gradients span, in elements of the first level.
struct Footprint {
  double major = 0, minor = 0;
};

Footprint footprint_of(const Image& image, const Sampler& sampler, const SamplePoint& point) {
  const ImageLevel& base = image.levels.front();
  const double extents[] = {double(base.width), double(base.height), double(base.depth)};
  double dx = 0, dy = 0, both = 0;
  for (unsigned axis = 0; axis < image.dimensions; ++axis) {
    const double scale = sampler.normalized ? extents[axis] : 1.0;
    const double x = point.dx[axis] * scale, y = point.dy[axis] * scale;
    dx += x * x;
    dy += y * y;
    both += x * y;
  }
  const double middle = (dx + dy) / 2, spread = std::hypot((dx - dy) / 2, both);
  return {std::sqrt(middle + spread), std::sqrt(std::max(middle - spread, 0.0))};
}

}  // namespace

double level_of_detail(const Image& image, const Sampler& sampler, const SamplePoint& point) {
  if (point.choice == LevelChoice::base) return 0;
  double detail = point.level;
  if (point.choice == LevelChoice::by_gradient) {
    const Footprint footprint = footprint_of(image, sampler, point);
    const double most = std::clamp<double>(sampler.anisotropy, 1, 16);
    const double samples =
        footprint.minor * most > footprint.major ? footprint.major / footprint.minor : most;
    detail = std::log2(footprint.major / (sampler.anisotropy > 1 ? samples : 1));
  }
  // Both are kept with 8 fractional bits, the rest cut.
  const auto cut = [](double level) { return std::trunc(level * kWholeWeight) / kWholeWeight; };
  detail = cut(detail) + cut(sampler.bias);
  return std::clamp<double>(detail, sampler.least_level,
                            std::max(sampler.least_level, sampler.most_level));
}

Texel sample(const Image& image, const Sampler& sampler, const SamplePoint& point,
             TouchedTexels* touched) {
  const LevelTaps levels = image.levels.size() == 1
                               ? LevelTaps{}
                               : level_taps(image, sampler, level_of_detail(image, sampler, point));
  if (sampler.filter == Filter::point && levels.weight == 0) {
    const LevelReader reader(image, sampler, levels.first, touched);
    const LevelPoint place = place_in(reader, image, point);
    const std::array<Taps, 3> taps = all_taps(image, sampler, place, false);
    return reader.texel({taps[0].first, taps[1].first, taps[2].first}, place);
  }
  const FilterChannels channels(image.format, sampler.srgb);
  FilterSum sum{};
  add_level(image, sampler, point, {levels.first, levels.weight, false}, touched, channels, sum);
  if (levels.weight != 0) {
    add_level(image, sampler, point, {levels.first + 1, levels.weight, true}, touched, channels,
              sum);
  }
  return channels.rounded(sum);
}

Texel fetch(const Image& image, const Sampler& sampler, const std::array<std::int64_t, 3>& at,
            std::uint32_t layer, std::uint32_t level, TouchedTexels* touched) {
  Sampler whole = sampler;
  whole.address = {AddressMode::border, AddressMode::border, AddressMode::border};
  whole.border = {};  // elements outside read as 0, whatever the mode
  whole.normalized = false;
  const auto last = static_cast<std::uint32_t>(image.levels.size() - 1);
  const LevelReader reader(image, whole, std::min(level, last), touched);
  LevelPoint place;
  place.layer = std::min(layer, image.layers - 1);
  return reader.texel(at, place);
}

Texel gather(const Image& image, const Sampler& sampler, const SamplePoint& point,
             unsigned component, TouchedTexels* touched) {
  const LevelReader reader(image, sampler, 0, touched);
  const LevelPoint place = place_in(reader, image, point);
  const std::array<Taps, 3> taps = all_taps(image, sampler, place, true);
  const auto channel = [&](std::int64_t x, std::int64_t y) {
    return reader.texel({x, y, 0}, place).bits[component];
  };
  return {{channel(taps[0].first, taps[1].second), channel(taps[0].second, taps[1].second),
           channel(taps[0].second, taps[1].first), channel(taps[0].first, taps[1].first)}};
}

}  // namespace tilescope::emulator
