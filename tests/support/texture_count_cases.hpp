// The launches whose texture requests and sectors a profiler counted: one warp each, its lanes laid
// over a texture in several ways (bench/texture_samples.cu --count, tests/observe).
#pragma once

#include "support/texture_case_list.hpp"

namespace texture_cases {

enum class Layout : int { row, tile, near, far, same, part };
constexpr Layout kLayouts[] = {Layout::row, Layout::tile, Layout::near,
                               Layout::far, Layout::same, Layout::part};

/// Lanes that sample: `part` has the first ones alone.
constexpr unsigned lanes_of(Layout layout) {
  return layout == Layout::part ? 13 : 32;
}

inline const char* text(Layout layout) {
  constexpr const char* names[] = {"row", "tile", "near", "far", "same", "part"};
  return names[static_cast<int>(layout)];
}

/// Where lane `lane` samples, in elements; scattered lanes depend on the case's number too.
inline Point counted_point(const Case& c, Layout layout, std::uint32_t number, std::uint32_t lane) {
  const auto among = [&](std::uint32_t axis, int extent) {
    return static_cast<int>(hash(number, 60 + axis, lane) % static_cast<std::uint32_t>(extent));
  };
  const int slices = std::max(c.depth, 1);
  int at[3] = {4, 5, 2 % slices};
  switch (layout) {
    case Layout::row:
      at[0] = static_cast<int>(lane) + 3;
      break;
    case Layout::tile:
      at[0] = static_cast<int>(lane) % 8 + 4, at[1] = static_cast<int>(lane) / 8 + 6;
      break;
    case Layout::near:
    case Layout::part:
      at[0] = 20 + among(0, 12), at[1] = 8 + among(1, 6), at[2] = among(2, std::min(slices, 4));
      break;
    case Layout::far:
      at[0] = among(0, c.width - 1), at[1] = among(1, std::max(c.height - 1, 1));
      at[2] = among(2, slices);
      break;
    case Layout::same:
      break;
  }
  Point p;
  const bool whole = c.operation >= Operation::fetch;
  const float shift[] = {whole      ? 0
                         : c.linear ? 0.8f
                                    : 0.5f,
                         whole      ? 0
                         : c.linear ? 0.7f
                                    : 0.5f,
                         whole      ? 0
                         : c.linear ? 0.9f
                                    : 0.5f};
  p.x = static_cast<float>(at[0]) + shift[0];
  p.y = static_cast<float>(at[1]) + shift[1];
  p.z = static_cast<float>(at[2]) + (c.shape == Shape::d3 ? shift[2] : 0);
  p.layer = static_cast<float>(at[2]);
  p.level = 0.0f;
  if (c.is_cube()) {
    p.x = static_cast<float>(at[0]) / static_cast<float>(c.width) * 2 - 1;
    p.y = static_cast<float>(at[1]) / static_cast<float>(c.width) * 2 - 1;
    p.z = 1.0f;
    if (layout == Layout::far) p.z = (lane % 2 == 0 ? 1.0f : -1.0f) / 2;
    p.layer = 0;
  }
  if (c.levels > 1) p.level = static_cast<float>(layout == Layout::far ? lane % 4 : 1) * 0.7f;
  p.dx[0] = 3.0f, p.dy[1] = 1.0f;
  if (c.normalized && !c.is_cube()) {
    p.x /= static_cast<float>(c.width), p.y /= static_cast<float>(std::max(c.height, 1));
    p.z /= static_cast<float>(slices);
    p.dx[0] /= static_cast<float>(c.width), p.dy[1] /= static_cast<float>(std::max(c.height, 1));
  }
  return p;
}

inline std::vector<Case> counted() {
  CaseList cases;
  const Case formats[] = {
      {.kind = Kind::natural, .channels = 1, .bits = 8, .as_float = true},
      {.kind = Kind::natural, .channels = 4, .bits = 8, .as_float = true},
      {.kind = Kind::floating, .channels = 1, .bits = 32},
      {.kind = Kind::floating, .channels = 2, .bits = 32},
      {.kind = Kind::floating, .channels = 4, .bits = 32},
  };
  constexpr const char* shapes[] = {"linear",     "pitch",      "1d",   "2d",          "3d",
                                    "1d layered", "2d layered", "cube", "cube layered"};
  for (const Shape shape : {Shape::d2, Shape::linear, Shape::d3, Shape::d1, Shape::layered_2d,
                            Shape::pitch, Shape::layered_1d, Shape::cube}) {
    for (Case c : formats) {
      c.shape = shape;
      c.width = 64, c.height = 40, c.depth = 0;
      if (c.dimensions() == 1) c.width = 200, c.height = 0;
      if (shape == Shape::d3 || c.layered()) c.depth = 6;
      if (c.is_cube()) c.height = c.width, c.normalized = true;
      if (shape == Shape::linear) c.operation = Operation::fetch;
      for (const bool linear : {false, true}) {
        if (linear && shape == Shape::linear) continue;
        c.linear = linear;
        cases.add(std::string(shapes[static_cast<int>(shape)]) + " " + format_text(c) +
                      (linear ? " linear" : ""),
                  c);
      }
      c.linear = false;
      if (shape == Shape::d2) {
        c.operation = Operation::fetch;
        cases.add("2d fetch " + format_text(c), c);
        c.operation = Operation::gather;
        cases.add("2d gather " + format_text(c), c);
        c.operation = Operation::level;
        c.levels = 4, c.normalized = true, c.linear = true;
        cases.add("2d level " + format_text(c), c);
        c.linear_levels = true;
        cases.add("2d levels " + format_text(c), c);
        c.operation = Operation::gradient;
        c.linear_levels = false, c.anisotropy = 4;
        cases.add("2d anisotropic " + format_text(c), c);
      }
    }
  }
  for (const Shape shape : {Shape::d2, Shape::d3, Shape::layered_2d}) {
    for (const int bits : {8, 16}) {
      for (const Operation operation : {Operation::load, Operation::load_zero}) {
        Case c{.shape = shape, .operation = operation, .kind = Kind::natural, .channels = 4};
        c.bits = bits, c.width = 64, c.height = 40, c.depth = shape == Shape::d2 ? 0 : 6;
        cases.add(std::string("load ") + (operation == Operation::load ? "" : "zero ") +
                      shapes[static_cast<int>(shape)] + " " + format_text(c),
                  c);
      }
    }
  }
  return cases.list;
}

}  // namespace texture_cases
