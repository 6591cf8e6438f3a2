// The cases of support/texture_cases.hpp: formats, filters, modes and shapes.
#pragma once

#include "support/texture_cases.hpp"

namespace texture_cases {

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
      Case c{.pattern = Pattern::ramp,
             .kind = kind,
             .bits = bits,
             .width = 256,
             .height = 1,
             .as_float = true,
             .points = 256};
      cases.add("values " + format_text(c), c);
    }
  }
  Case srgb{.pattern = Pattern::ramp,
            .kind = Kind::natural,
            .channels = 4,
            .bits = 8,
            .width = 256,
            .height = 1,
            .as_float = true,
            .srgb = true,
            .points = 256};
  cases.add("values sRGB", srgb);
  srgb.linear = true;
  cases.add("filtered values sRGB", srgb);
  srgb.width = 16, srgb.height = 16;
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
      for (const Operation operation : {Operation::load, Operation::load_zero}) {
        Case c{.operation = operation, .kind = kind, .channels = bits == 32 ? 2 : 4, .bits = bits};
        cases.add((operation == Operation::load ? "load " : "load zero ") + format_text(c), c);
        if (bits != 8) continue;
        c.shape = Shape::d3, c.depth = 4;
        cases.add(std::string("3d ") + cases.list.back().name, c);
        c.shape = Shape::layered_2d;
        cases.add(std::string("layered ") + cases.list.back().name, c);
      }
    }
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
