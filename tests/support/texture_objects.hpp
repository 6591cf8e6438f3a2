// The cases of support/texture_cases.hpp as requests of the library: arrays and samplers.
#pragma once

#include <tilescope/texture.hpp>

#include "support/texture_cases.hpp"

namespace texture_cases {

inline tilescope::ArrayRequest request_of(const Case& c) {
  constexpr tilescope::TexelKind kinds[] = {
      tilescope::TexelKind::integer, tilescope::TexelKind::natural, tilescope::TexelKind::floating};
  const bool deep = c.shape == Shape::d3 || c.layered() || c.is_cube();
  return {.format = {.channels = static_cast<unsigned>(c.channels),
                     .bits = static_cast<unsigned>(c.bits),
                     .kind = kinds[static_cast<int>(c.kind)]},
          .width = static_cast<std::size_t>(c.width),
          .height = static_cast<std::size_t>(c.dimensions() == 1 ? 0 : c.height),
          .depth = static_cast<std::size_t>(deep ? c.slices(0) : 0),
          .levels = static_cast<unsigned>(c.levels),
          .layered = c.layered(),
          .cube = c.is_cube()};
}

inline tilescope::Sampler sampler_of(const Case& c) {
  tilescope::Sampler s;
  for (tilescope::AddressMode& mode : s.address)
    mode = static_cast<tilescope::AddressMode>(c.address);
  s.filter = c.linear ? tilescope::Filter::linear : tilescope::Filter::point;
  s.level_filter = c.linear_levels ? tilescope::Filter::linear : tilescope::Filter::point;
  s.normalized = c.normalized;
  s.as_float = c.as_float;
  s.srgb = c.srgb;
  s.seamless = c.seamless;
  s.anisotropy = static_cast<unsigned>(c.anisotropy);
  s.bias = c.bias;
  s.least_level = c.min_level;
  s.most_level = c.max_level;
  if (c.border_color) s.border = {0.25f, 0.5f, -0.75f, 2.0f};
  return s;
}

}  // namespace texture_cases
