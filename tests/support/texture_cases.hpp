// The textures and coordinates that bench/texture_samples.cu samples on a GPU and that
// tests/emulator/texture_chip_test.cpp samples in the emulator. Both make contents and coordinates
// from the same hash, so that the recorded file holds results alone.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace texture_cases {

enum class Shape : int { linear, pitch, d1, d2, d3, layered_1d, layered_2d, cube, layered_cube };
enum class Kind : int { integer, natural, floating };  // signed, unsigned
enum class Address : int { wrap, clamp, mirror, border };
enum class Operation : int {
  sample,
  level,
  gradient,
  gather,
  fetch,  // integer coordinates
  load,   // surface, clamped
  load_zero,
};
enum class Pattern : int {
  random,
  single,  // one element in the middle is 1, the others 0
  level,   // each element of level n is n
  ramp,    // bytes count up
};

struct Case {
  std::string name;
  Shape shape = Shape::d2;
  Operation operation = Operation::sample;
  Pattern pattern = Pattern::random;
  Kind kind = Kind::floating;
  int channels = 1, bits = 32;
  int width = 13, height = 7, depth = 0;  // depth: layers of layered shapes; cubes: height = width
  int levels = 1;
  Address address = Address::clamp;
  bool linear = false, normalized = false, as_float = false, srgb = false;
  bool linear_levels = false, seamless = false, trilinear_optimized = true;
  float bias = 0, min_level = 0, max_level = 16;
  int anisotropy = 1;
  int component = 0;
  int points = 48;
  bool border_color = false;

  bool layered() const {
    return shape == Shape::layered_1d || shape == Shape::layered_2d || shape == Shape::layered_cube;
  }
  bool is_cube() const { return shape == Shape::cube || shape == Shape::layered_cube; }
  int dimensions() const {
    if (shape == Shape::linear || shape == Shape::d1 || shape == Shape::layered_1d) return 1;
    return shape == Shape::d3 ? 3 : 2;
  }
  int element_bytes() const { return channels * bits / 8; }
  int rows(int at_level) const { return dimensions() == 1 ? 1 : std::max(height >> at_level, 1); }
  int row_elements(int at_level) const { return std::max(width >> at_level, 1); }
  // Slices of a 3-D texture, layers of a layered one, faces of a cube.
  int slices(int at_level) const {
    if (shape == Shape::d3) return std::max(depth >> at_level, 1);
    return (layered() ? depth : 1) * (is_cube() ? 6 : 1);
  }
};

inline std::uint32_t hash(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint64_t x = (std::uint64_t{a} << 40) ^ (std::uint64_t{b} << 20) ^ c;
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>(x >> 32);
}

// In [0, 1), a multiple of 2^-24.
inline double fraction(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return (hash(a, b, c) >> 8) * 0x1p-24;
}

inline std::uint32_t value_bits(const Case& c, double value) {
  if (c.kind == Kind::floating && c.bits == 32) {
    const auto single = static_cast<float>(value);
    std::uint32_t bits;
    std::memcpy(&bits, &single, 4);
    return bits;
  }
  if (c.kind == Kind::floating) {  // halves of small integers and of simple fractions
    if (value == 0) return 0;
    int exponent;
    const double mantissa = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
    const auto field = static_cast<std::uint32_t>((mantissa * 2 - 1) * 1024);
    return (value < 0 ? 0x8000u : 0u) | static_cast<std::uint32_t>(exponent + 14) << 10 | field;
  }
  const double most =
      c.kind == Kind::integer ? std::ldexp(1.0, c.bits - 1) - 1 : std::ldexp(1.0, c.bits) - 1;
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(value * most));
}

// The level's elements, packed: rows, slices, and (layered cubes) faces of layers.
inline std::vector<std::uint8_t> contents(const Case& c, std::uint32_t number, int level) {
  const int width = c.row_elements(level), rows = c.rows(level), slices = c.slices(level);
  const std::size_t elements = std::size_t(width) * rows * slices;
  std::vector<std::uint8_t> bytes(elements * c.element_bytes());
  const std::size_t middle = (std::size_t(slices / 2) * rows + rows / 2) * width + width / 2;
  for (std::size_t i = 0; i < elements * c.channels; ++i) {
    const auto at = static_cast<std::uint32_t>(i);
    std::uint32_t bits = 0;
    switch (c.pattern) {
      case Pattern::random:
        bits = c.kind == Kind::floating ? value_bits(c, fraction(number, 77 + level, at) * 2 - 1)
                                        : hash(number, 77 + level, at);
        break;
      case Pattern::single:
        bits = value_bits(c, i / c.channels == middle ? 1 : 0);
        break;
      case Pattern::level:
        bits = c.kind == Kind::floating ? value_bits(c, level) : static_cast<std::uint32_t>(level);
        break;
      case Pattern::ramp:
        bits = at / c.channels * 0x01010101u;
        break;
    }
    std::memcpy(bytes.data() + i * (c.bits / 8), &bits, c.bits / 8);
  }
  return bytes;
}

// x, y, z (or the direction into a cube); layer; level; two gradients of three.
struct Point {
  float x = 0, y = 0, z = 0, layer = 0, level = 0;
  float dx[3] = {}, dy[3] = {};
  float padding = 0;
};

inline float coordinate(const Case& c, std::uint32_t number, std::uint32_t point,
                        std::uint32_t axis, int extent) {
  const double unit = fraction(number, 2 * axis + 1, point);
  const std::uint32_t pick = hash(number, 2 * axis + 2, point);
  if (point + 6 >= static_cast<std::uint32_t>(c.points) && c.pattern == Pattern::ramp) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    const float odd[] = {inf, -inf, std::numeric_limits<float>::quiet_NaN(), 1e30f, -1e30f, -0.0f};
    return odd[point + 6 - static_cast<std::uint32_t>(c.points)];
  }
  double texel = 0;
  switch (point % 4) {
    case 0:
      texel = (unit * 2.5 - 0.75) * extent;
      break;
    case 1:  // multiples of 1/1024: weights have 8 bits
      texel = std::floor((unit * 1.5 - 0.25) * extent) + (pick % 1024) / 1024.0;
      break;
    case 2:  // just beside a boundary
      texel = std::floor(unit * (extent + 1)) + (int(pick % 9) - 4) * 0x1p-12;
      break;
    default:
      texel = unit * extent;
  }
  const auto single = static_cast<float>(texel);
  return c.normalized ? single / static_cast<float>(extent) : single;
}

inline Point point(const Case& c, std::uint32_t number, std::uint32_t i) {
  Point p;
  const int slices = c.layered() ? c.depth : 1;
  p.layer = static_cast<float>(static_cast<int>(hash(number, 20, i) % (slices + 2)) - 1);
  if (c.is_cube()) {
    float* const axes[] = {&p.x, &p.y, &p.z};
    for (int a = 0; a < 3; ++a) {
      *axes[a] = static_cast<float>(fraction(number, 21 + a, i) * 2 - 1);
    }
    if (i % 4 == 1) *axes[hash(number, 24, i) % 3] = *axes[hash(number, 25, i) % 3];  // an edge
    if (i % 4 == 2) *axes[hash(number, 24, i) % 3] = -*axes[hash(number, 25, i) % 3];
    if (i % 8 == 3) {  // a whole number of steps across a face
      const float edge = (hash(number, 26, i) & 1) != 0 ? 1.0f : -1.0f;
      const int major = static_cast<int>(hash(number, 27, i) % 3);
      for (int a = 0; a < 3; ++a) {
        *axes[a] =
            a == major ? edge : static_cast<float>(int(hash(number, 28 + a, i) % 65) - 32) / 32;
      }
    }
  } else {
    p.x = coordinate(c, number, i, 0, c.width);
    p.y = coordinate(c, number, i, 1, std::max(c.height, 1));
    p.z = coordinate(c, number, i, 2, std::max(c.depth, 1));
  }
  if (c.operation == Operation::fetch || c.operation == Operation::load ||
      c.operation == Operation::load_zero) {
    const auto whole = [&](std::uint32_t axis, int extent) {
      return static_cast<float>(
          static_cast<int>(hash(number, 40 + axis, i) % static_cast<std::uint32_t>(extent + 4)) -
          2);
    };
    p.x = whole(0, c.width);
    p.y = whole(1, std::max(c.height, 1));
    p.z = whole(2, std::max(c.depth, 1));
  }
  if (c.pattern == Pattern::ramp && c.width == 256) {  // the elements one after the other
    p.x = static_cast<float>(i) + 0.5f;
    p.y = 0.5f;
  }
  p.level = static_cast<float>(fraction(number, 30, i) * (c.levels + 2) - 1);
  if (i % 4 == 1) p.level = std::floor(p.level) + (hash(number, 31, i) % 1024) / 1024.0f;
  for (int a = 0; a < 3; ++a) {
    const double size = std::exp2(fraction(number, 32 + a, i) * 6 - 7);
    p.dx[a] = static_cast<float>((fraction(number, 35, i * 4 + a) * 2 - 1) * size);
    p.dy[a] = static_cast<float>((fraction(number, 36, i * 4 + a) * 2 - 1) * size);
    if (i % 3 == 0 && a > 0) p.dx[a] = p.dy[a] = 0;  // along x alone
  }
  return p;
}

}  // namespace texture_cases
