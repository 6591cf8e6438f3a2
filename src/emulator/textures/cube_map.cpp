#include "emulator/textures/cube_map.hpp"

#include <cmath>

namespace tilescope::emulator {
namespace {

/// The direction of s, of t, and out of each face.
struct FaceAxes {
  std::array<int, 3> s, t, out;
};
constexpr FaceAxes kFaces[6] = {
    {{0, 0, -1}, {0, -1, 0}, {1, 0, 0}}, {{0, 0, 1}, {0, -1, 0}, {-1, 0, 0}},
    {{1, 0, 0}, {0, 0, 1}, {0, 1, 0}},   {{1, 0, 0}, {0, 0, -1}, {0, -1, 0}},
    {{1, 0, 0}, {0, -1, 0}, {0, 0, 1}},  {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}},
};

std::int64_t along(const std::array<int, 3>& axis, const std::array<std::int64_t, 3>& point) {
  return axis[0] * point[0] + axis[1] * point[1] + axis[2] * point[2];
}

}  // namespace

CubePlace cube_place(const std::array<float, 3>& direction) {
  const double x = direction[0], y = direction[1], z = direction[2];
  const double ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  CubePlace place;  // of equally long axes z comes first, then y
  double major = ax;
  place.face = x < 0 ? 1 : 0;
  if (az >= ax && az >= ay) {
    place.face = z < 0 ? 5 : 4;
    major = az;
  } else if (ay >= ax) {
    place.face = y < 0 ? 3 : 2;
    major = ay;
  }
  const FaceAxes& axes = kFaces[place.face];
  const auto across = [&](const std::array<int, 3>& axis) {
    const double along_axis = axis[0] * x + axis[1] * y + axis[2] * z;
    return major > 0 ? (along_axis / major + 1) / 2 : 0.5;
  };
  place.s = across(axes.s);
  place.t = across(axes.t);
  return place;
}

std::optional<CubeTexel> across_edge(const CubeTexel& texel, std::int64_t extent) {
  const auto outside = [&](std::int64_t at) { return at < 0 || at >= extent; };
  if (!outside(texel.x) && !outside(texel.y)) return texel;
  if (outside(texel.x) && outside(texel.y)) return std::nullopt;
  // Centres of elements in a cube of half edge `extent`, doubled coordinates; a step over the edge
  // is a step down the next face.
  const FaceAxes& from = kFaces[texel.face];
  const std::int64_t s = 2 * texel.x + 1 - extent, t = 2 * texel.y + 1 - extent;
  std::array<std::int64_t, 3> point;
  for (std::size_t a = 0; a < 3; ++a) {
    const auto inside = [&](std::int64_t at) {
      return at < -extent ? -extent : at > extent ? extent : at;
    };
    const std::int64_t depth = extent - (outside(texel.x) || outside(texel.y) ? 1 : 0);
    point[a] = from.s[a] * inside(s) + from.t[a] * inside(t) + from.out[a] * depth;
  }
  for (unsigned face = 0; face < 6; ++face) {
    if (along(kFaces[face].out, point) != extent) continue;
    return CubeTexel{face, (along(kFaces[face].s, point) + extent - 1) / 2,
                     (along(kFaces[face].t, point) + extent - 1) / 2};
  }
  return std::nullopt;
}

}  // namespace tilescope::emulator
