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

#ifdef __CUDACC__
#define TEXTURE_CASES_BOTH __host__ __device__
#else
#define TEXTURE_CASES_BOTH
#endif

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
  query,  // the texture's properties
  load,   // surface, clamped
  load_zero,
  formatted_store,  // sust.p, then the memory
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

TEXTURE_CASES_BOTH inline std::uint32_t hash(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
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

// The value that a formatted store writes: around the limits of the format, or any float.
TEXTURE_CASES_BOTH inline std::uint32_t store_value(bool floating, int bits, std::uint32_t number,
                                                    std::uint32_t i) {
  const std::uint32_t h = hash(number, 50, i);
  if (floating) return (h & 0x803fffffu) | (i % 7 == 0 ? 0x47000000u : 0x3e000000u);
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(h) >>
                                    (30 - bits > 0 ? 30 - bits : 0));
}

struct CaseList {
  std::vector<Case> list;

  void add(std::string name, Case c) {
    c.name = std::move(name);
    list.push_back(std::move(c));
  }
};

inline const char* text(Kind kind) {
  return kind == Kind::integer ? "s" : kind == Kind::natural ? "u" : "f";
}
inline std::string format_text(const Case& c) {
  return text(c.kind) + std::to_string(c.bits) + "x" + std::to_string(c.channels);
}
inline const char* text(Address address) {
  constexpr const char* names[] = {"wrap", "clamp", "mirror", "border"};
  return names[static_cast<int>(address)];
}

inline void add_reads(CaseList& cases) {
  for (const Kind kind : {Kind::natural, Kind::integer}) {
    for (const int bits : {8, 16, 32}) {
      for (const int channels : {1, 2, 4}) {
        for (const bool as_float : {false, true}) {
          if (bits == 32 && as_float) continue;
          Case c{.kind = kind, .channels = channels, .bits = bits, .as_float = as_float};
          c.points = 24;
          cases.add("read " + format_text(c) + (as_float ? " as float" : ""), c);
        }
      }
    }
  }
  for (const int bits : {16, 32}) {
    for (const int channels : {1, 2, 4}) {
      Case c{.channels = channels, .bits = bits, .points = 24};
      cases.add("read " + format_text(c), c);
    }
  }
  for (const int bits : {8, 16}) {  // every value of a byte
    for (const Kind kind : {Kind::natural, Kind::integer}) {
      Case c{.shape = Shape::d1,
             .operation = Operation::fetch,
             .pattern = Pattern::ramp,
             .kind = kind,
             .bits = bits,
             .width = 256,
             .as_float = true,
             .points = 256};
      cases.add("values " + format_text(c), c);
    }
  }
  Case srgb{.shape = Shape::d1,
            .operation = Operation::fetch,
            .pattern = Pattern::ramp,
            .kind = Kind::natural,
            .channels = 4,
            .bits = 8,
            .width = 256,
            .as_float = true,
            .srgb = true,
            .points = 256};
  cases.add("values sRGB", srgb);
  srgb.operation = Operation::sample;
  srgb.linear = true;
  srgb.pattern = Pattern::random;
  srgb.points = 64;
  cases.add("linear sRGB", srgb);
}

inline std::vector<Case> filtered_formats() {
  return {
      {.kind = Kind::floating, .channels = 1, .bits = 32},
      {.kind = Kind::floating, .channels = 4, .bits = 32},
      {.kind = Kind::floating, .channels = 1, .bits = 16},
      {.kind = Kind::floating, .channels = 4, .bits = 16},
      {.kind = Kind::natural, .channels = 1, .bits = 8, .as_float = true},
      {.kind = Kind::natural, .channels = 4, .bits = 8, .as_float = true},
      {.kind = Kind::integer, .channels = 4, .bits = 8, .as_float = true},
      {.kind = Kind::natural, .channels = 1, .bits = 16, .as_float = true},
      {.kind = Kind::integer, .channels = 2, .bits = 16, .as_float = true},
  };
}

inline void add_filters(CaseList& cases) {
  for (const Shape shape : {Shape::d2, Shape::d1, Shape::d3}) {
    for (Case c : filtered_formats()) {
      if (shape != Shape::d2 && (c.channels != 1 || c.bits == 16)) continue;
      c.shape = shape;
      if (shape == Shape::d1) c.width = 37, c.height = 0;
      if (shape == Shape::d3) c.width = 5, c.height = 6, c.depth = 7;
      for (const bool normalized : {false, true}) {
        for (const Address address :
             {Address::wrap, Address::clamp, Address::mirror, Address::border}) {
          if (!normalized && address != Address::clamp && address != Address::border) continue;
          c.normalized = normalized;
          c.address = address;
          c.linear = true;
          c.points = 40;
          const std::string where = std::to_string(c.dimensions()) + "d " + text(address) +
                                    (normalized ? " normalized" : "");
          cases.add("linear " + format_text(c) + " " + where, c);
          if (c.bits != 32 || c.channels != 1) continue;
          c.linear = false;
          cases.add("point " + format_text(c) + " " + where, c);
        }
      }
    }
  }
}

inline void add_weights(CaseList& cases) {
  for (Case c : filtered_formats()) {
    c.pattern = Pattern::single;
    c.linear = true;
    c.points = 256;
    c.shape = Shape::d1;
    c.width = 5;
    c.height = 0;
    if (c.channels == 4) continue;
    cases.add("weights " + format_text(c) + " 1d", c);
    c.normalized = true;
    cases.add("weights " + format_text(c) + " 1d normalized", c);
    c.normalized = false;
    c.shape = Shape::d2;
    c.width = 3, c.height = 3;
    cases.add("weights " + format_text(c) + " 2d", c);
    if (c.bits == 16) continue;
    c.shape = Shape::d3;
    c.depth = 3;
    cases.add("weights " + format_text(c) + " 3d", c);
  }
  for (const bool normalized : {false, true}) {
    for (const Address address :
         {Address::wrap, Address::clamp, Address::mirror, Address::border}) {
      if (!normalized && address != Address::clamp && address != Address::border) continue;
      for (const int width : {37, 64}) {
        for (const bool linear : {false, true}) {
          Case c{.shape = Shape::d1,
                 .pattern = Pattern::ramp,
                 .kind = Kind::natural,
                 .bits = 8,
                 .width = width,
                 .height = 0,
                 .address = address,
                 .linear = linear,
                 .normalized = normalized,
                 .as_float = true,
                 .points = 128};
          cases.add(std::string("steps ") + std::to_string(width) + " " + text(address) +
                        (normalized ? " normalized" : "") + (linear ? " linear" : ""),
                    c);
        }
      }
    }
  }
}

inline void add_layers_and_cubes(CaseList& cases) {
  for (const bool linear : {false, true}) {
    Case c{.shape = Shape::layered_1d, .width = 19, .height = 0, .depth = 5, .linear = linear};
    cases.add(std::string("layers 1d") + (linear ? " linear" : ""), c);
    c.shape = Shape::layered_2d;
    c.height = 7;
    c.kind = Kind::natural, c.bits = 8, c.channels = 4, c.as_float = true;
    cases.add(std::string("layers 2d") + (linear ? " linear" : ""), c);
    for (const bool seamless : {false, true}) {
      for (const Shape shape : {Shape::cube, Shape::layered_cube}) {
        for (const Address address : {Address::clamp, Address::wrap, Address::border}) {
          if (shape != Shape::cube && address != Address::clamp) continue;
          Case cube{.shape = shape,
                    .width = 6,
                    .height = 6,
                    .depth = 3,
                    .address = address,
                    .linear = linear,
                    .normalized = true,
                    .seamless = seamless,
                    .points = 192};
          cases.add(std::string("cube ") + (shape == Shape::cube ? "" : "layered ") +
                        text(address) + (linear ? " linear" : "") + (seamless ? " seamless" : ""),
                    cube);
        }
      }
    }
  }
  Case corner{.shape = Shape::cube,
              .pattern = Pattern::random,
              .width = 2,
              .height = 2,
              .address = Address::clamp,
              .linear = true,
              .normalized = true,
              .seamless = true,
              .points = 256};
  cases.add("cube corners", corner);
}

inline void add_levels(CaseList& cases) {
  for (const Pattern pattern : {Pattern::level, Pattern::random}) {
    for (const bool linear_levels : {false, true}) {
      Case c{.operation = Operation::level,
             .pattern = pattern,
             .width = 32,
             .height = 16,
             .levels = 5,
             .address = Address::wrap,
             .linear = true,
             .normalized = true,
             .linear_levels = linear_levels,
             .points = 96};
      const std::string name = std::string(pattern == Pattern::level ? "levels" : "mip random") +
                               (linear_levels ? " linear" : "");
      cases.add(name, c);
      c.bias = 0.7f;
      cases.add(name + " bias", c);
      c.bias = 0;
      c.min_level = 1.3f, c.max_level = 2.6f;
      cases.add(name + " clamped", c);
      c.min_level = 0, c.max_level = 16;
      c.operation = Operation::sample;
      c.bias = 1.4f;
      cases.add(name + " plain", c);
      c.bias = 0;
      c.operation = Operation::gradient;
      c.points = 256;
      cases.add(name + " gradient", c);
      c.anisotropy = 8;
      cases.add(name + " anisotropic", c);
      c.anisotropy = 1;
      c.trilinear_optimized = false;
      cases.add(name + " gradient exact", c);
    }
  }
  Case c{.operation = Operation::level,
         .width = 16,
         .height = 16,
         .levels = 4,
         .address = Address::mirror,
         .linear = false,
         .normalized = true,
         .linear_levels = true,
         .points = 64};
  cases.add("mip point texels", c);
  c.kind = Kind::natural, c.bits = 8, c.channels = 4, c.as_float = true, c.linear = true;
  cases.add("mip bytes", c);
  c.shape = Shape::d3, c.depth = 16, c.width = 8, c.height = 8;
  cases.add("mip 3d", c);
  c.shape = Shape::cube, c.width = 16, c.height = 16, c.depth = 0;
  cases.add("mip cube", c);
  c.shape = Shape::d1, c.height = 0;
  cases.add("mip 1d", c);
}

inline void add_others(CaseList& cases) {
  for (int component = 0; component < 4; ++component) {
    for (const Address address : {Address::wrap, Address::border, Address::mirror}) {
      Case c{.operation = Operation::gather,
             .channels = 4,
             .address = address,
             .normalized = true,
             .component = component};
      cases.add("gather " + std::to_string(component) + " " + text(address), c);
    }
  }
  Case gather{.operation = Operation::gather, .kind = Kind::natural, .channels = 1, .bits = 8};
  cases.add("gather bytes", gather);
  gather.as_float = true;
  gather.linear = true;
  cases.add("gather bytes as float", gather);
  gather.component = 2;
  cases.add("gather missing", gather);
  for (Case c : filtered_formats()) {
    c.shape = Shape::linear;
    c.operation = Operation::fetch;
    c.width = 50;
    c.height = 0;
    cases.add("buffer " + format_text(c), c);
    c.shape = Shape::pitch;
    c.operation = Operation::sample;
    c.width = 13, c.height = 7;
    c.linear = true;
    cases.add("pitched " + format_text(c), c);
    c.shape = Shape::d2;
    c.linear = false;
    c.operation = Operation::fetch;
    cases.add("whole coordinates " + format_text(c), c);
    c.border_color = true;
    c.operation = Operation::sample;
    c.address = Address::border;
    cases.add("border color " + format_text(c), c);
  }
  for (const Kind kind : {Kind::natural, Kind::integer, Kind::floating}) {
    for (const int bits : {8, 16, 32}) {
      if (kind == Kind::floating && bits == 8) continue;
      for (const Operation operation :
           {Operation::load, Operation::load_zero, Operation::formatted_store}) {
        Case c{.operation = operation, .kind = kind, .channels = bits == 32 ? 2 : 4, .bits = bits};
        const char* const names[] = {"load ", "load zero ", "formatted store "};
        cases.add(
            names[static_cast<int>(operation) - static_cast<int>(Operation::load)] + format_text(c),
            c);
        if (operation == Operation::formatted_store || bits != 8) continue;
        c.shape = Shape::d3, c.depth = 4;
        cases.add(std::string("3d ") + cases.list.back().name, c);
        c.shape = Shape::layered_2d;
        cases.add(std::string("layered ") + cases.list.back().name, c);
      }
    }
  }
  for (const Shape shape : {Shape::d1, Shape::d2, Shape::d3, Shape::layered_2d, Shape::cube}) {
    Case c{.shape = shape,
           .operation = Operation::query,
           .channels = 2,
           .width = 16,
           .height = 16,
           .depth = 8,
           .levels = 3,
           .address = Address::mirror,
           .linear = true,
           .normalized = true,
           .points = 8};
    if (shape == Shape::d1) c.height = 0;
    cases.add("query", c);
  }
}

inline std::vector<Case> all() {
  CaseList cases;
  add_reads(cases);
  add_filters(cases);
  add_weights(cases);
  add_layers_and_cubes(cases);
  add_levels(cases);
  add_others(cases);
  return cases.list;
}

}  // namespace texture_cases
