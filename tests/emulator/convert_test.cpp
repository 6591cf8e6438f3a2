// Conversions between all types, and arithmetic of 16-bit floats.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>

#include "base/half.hpp"
#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

std::uint64_t half(double v) {
  return std::isnan(v) ? 0x7fff : float64_to_float16(v);
}
std::uint64_t brain(double v) {
  return std::isnan(v) ? 0x7fff : float64_to_bfloat16(v);
}
double from_half(std::uint64_t v) {
  return float16_to_float32(static_cast<std::uint16_t>(v));
}
double from_brain(std::uint64_t v) {
  return bfloat16_to_float32(static_cast<std::uint16_t>(v));
}

/// a + b as a double that is odd where it is not exact: rounding it again, to fewer bits, is right.
double sum_to_odd(double a, double b) {
  if (std::fabs(a) < std::fabs(b)) std::swap(a, b);
  const double d = a + b;
  if (!std::isfinite(d)) return d;
  const double rest = (a - d) + b;  // exact, as a is the larger
  std::uint64_t u = std::bit_cast<std::uint64_t>(d);
  if (rest == 0 || (u & 1) != 0) return d;
  u += (rest > 0) == (d > 0) ? 1 : -1;
  return std::bit_cast<double>(u);
}

template <class T>
std::uint64_t low(T v, unsigned width) {
  const auto u = static_cast<std::uint64_t>(v);
  return width == 64 ? u : u & ((std::uint64_t{1} << width) - 1);
}

/// A wide integer as type `t` would read it.
std::int64_t read(std::uint64_t v, const std::string& t) {
  const int width = std::stoi(t.substr(1)), shift = 64 - width;
  return t[0] == 's' ? static_cast<std::int64_t>(v << shift) >> shift
                     : static_cast<std::int64_t>(v << shift >> shift);
}
std::string register_type(const std::string& t) {
  const std::string width = t.substr(1);
  return t[0] == 'f' ? t : width == "8" ? "b32" : "b" + width;
}

const std::vector<std::string> kIntegers = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};

TEST(Convert, IntegersToIntegers) {
  const auto rows = rows_of(integer_edges(64), 1, 64);
  for (const std::string& from : kIntegers) {
    for (const std::string& to : kIntegers) {
      std::vector<Row> fit = rows;
      const unsigned held =
          from.substr(1) == "8" ? 32 : static_cast<unsigned>(std::stoi(from.substr(1)));
      for (Row& row : fit) row[0] = low(row[0], held);
      const unsigned result = register_type(to) == "b16"   ? 16
                              : register_type(to) == "b64" ? 64
                                                           : 32;
      expect_rows("cvt." + to + "." + from + " %r, %a;", {register_type(from), register_type(to)},
                  fit, [&](const Row& r) {
                    // Truncated to the type, then extended to the register.
                    return low(read(static_cast<std::uint64_t>(read(r[0], from)), to), result);
                  });
    }
  }
}

TEST(Convert, LowerPartsOf64BitRegisters) {
  for (const std::string& from : kIntegers) {
    for (const std::string& to : kIntegers) {
      const unsigned result = register_type(to) == "b16"   ? 16
                              : register_type(to) == "b64" ? 64
                                                           : 32;
      expect_rows("cvt." + to + "." + from + " %r, %a;", {"b64", register_type(to)},
                  rows_of(integer_edges(64), 1, 64), [&](const Row& r) {
                    return low(read(static_cast<std::uint64_t>(read(r[0], from)), to), result);
                  });
    }
  }
}

TEST(Convert, IntegersSaturate) {
  const auto rows = rows_of(integer_edges(64), 1, 64);
  expect_rows("cvt.sat.s8.s64 %r, %a;", {"b64", "b32"}, rows, [](const Row& r) {
    return low(std::clamp<std::int64_t>(static_cast<std::int64_t>(r[0]), -128, 127), 32);
  });
  expect_rows("cvt.sat.u8.s32 %r, %a;", {"b32", "b32"}, rows_of(integer_edges(32), 1, 32),
              [](const Row& r) {
                return low(std::clamp<std::int32_t>(static_cast<std::int32_t>(r[0]), 0, 255), 32);
              });
  expect_rows("cvt.sat.s32.u64 %r, %a;", {"b64", "b32"}, rows,
              [](const Row& r) { return std::min<std::uint64_t>(r[0], 0x7fffffff); });
  expect_rows("cvt.sat.u16.u32 %r, %a;", {"b32", "b16"}, rows_of(integer_edges(32), 1, 32),
              [](const Row& r) { return std::min<std::uint64_t>(r[0], 0xffff); });
  expect_rows("cvt.pack.sat.u8.s32.b32 %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"},
              rows_of(integer_edges(32), 3, 32), [](const Row& r) {
                const auto clamp = [](std::uint64_t v) {
                  return std::uint64_t{u32(static_cast<std::uint64_t>(
                      std::clamp<std::int32_t>(static_cast<std::int32_t>(v), 0, 255)))};
                };
                return std::uint64_t{u32(r[2] << 16 | clamp(r[0]) << 8 | clamp(r[1]))};
              });
}

const std::pair<const char*, int> kRoundings[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

TEST(Convert, IntegersToReals) {
  for (const auto& [name, mode] : kRoundings) {
    const auto with_mode = [mode = mode](auto f) {
      std::fesetround(mode);
      const std::uint64_t r = f();
      std::fesetround(FE_TONEAREST);
      return r;
    };
    for (const std::string from : {"u8", "s16", "u32", "s32", "u64", "s64"}) {
      const unsigned held = from == "u8" ? 32 : static_cast<unsigned>(std::stoi(from.substr(1)));
      std::vector<Row> rows = rows_of(integer_edges(64), 1, 64, 2000);
      for (Row& row : rows) row[0] = low(row[0], held);
      expect_rows(std::string("cvt.") + name + ".f32." + from + " %r, %a;",
                  {register_type(from), "f32"}, rows, [&](const Row& r) {
                    return with_mode([&] {
                      volatile std::int64_t v = read(r[0], from);
                      volatile std::uint64_t u = r[0];
                      volatile float f =
                          from == "u64" ? static_cast<float>(u) : static_cast<float>(v);
                      return bits(f);
                    });
                  });
      expect_rows(std::string("cvt.") + name + ".f64." + from + " %r, %a;",
                  {register_type(from), "f64"}, rows, [&](const Row& r) {
                    return with_mode([&] {
                      volatile std::int64_t v = read(r[0], from);
                      volatile std::uint64_t u = r[0];
                      volatile double f =
                          from == "u64" ? static_cast<double>(u) : static_cast<double>(v);
                      return bits(f);
                    });
                  });
    }
  }
}

TEST(Convert, RealsToIntegers) {
  const std::pair<const char*, double (*)(double)> modes[] = {
      {"rni", [](double v) { return std::nearbyint(v); }},
      {"rzi", [](double v) { return std::trunc(v); }},
      {"rmi", [](double v) { return std::floor(v); }},
      {"rpi", [](double v) { return std::ceil(v); }}};
  for (const auto& [name, round] : modes) {
    for (const std::string& to : kIntegers) {
      const int width = std::stoi(to.substr(1));
      const bool sign = to[0] == 's';
      const auto expected = [&](double v, bool from_double) {
        const unsigned result = register_type(to) == "b16"   ? 16
                                : register_type(to) == "b64" ? 64
                                                             : 32;
        if (std::isnan(v)) {
          if (width != 64 && !from_double) return std::uint64_t{0};
          const std::uint64_t high = std::uint64_t{1} << (width - 1);
          return low(sign ? ~(high - 1) : high, result);
        }
        const double rounded = round(v);
        const double most = std::ldexp(1.0, sign ? width - 1 : width);
        if (rounded >= most)
          return low((sign ? std::uint64_t{1} << (width - 1) : 0) - 1,
                     std::min<unsigned>(static_cast<unsigned>(width), result));
        if (sign) {
          return low(rounded < -most ? -static_cast<std::int64_t>(most / 2) * 2
                                     : static_cast<std::int64_t>(rounded),
                     result);
        }
        return rounded < 0 ? 0 : low(static_cast<std::uint64_t>(rounded), result);
      };
      expect_rows(std::string("cvt.") + name + "." + to + ".f32 %r, %a;",
                  {"f32", register_type(to)}, rows_of(float_edges(), 1, 32, 1000),
                  [&](const Row& r) { return expected(static_cast<double>(f32(r[0])), false); });
      expect_rows(std::string("cvt.") + name + "." + to + ".f64 %r, %a;",
                  {"f64", register_type(to)}, rows_of(double_edges(), 1, 64, 1000),
                  [&](const Row& r) { return expected(f64(r[0]), true); });
    }
  }
}

TEST(Convert, RealsToReals) {
  const auto rows = rows_of(double_edges(), 1, 64, 3000);
  for (const auto& [name, mode] : kRoundings) {
    expect_rows(std::string("cvt.") + name + ".f32.f64 %r, %a;", {"f64", "f32"}, rows,
                [mode = mode](const Row& r) {
                  std::fesetround(mode);
                  volatile double v = f64(r[0]);
                  volatile float f = static_cast<float>(v);
                  std::fesetround(FE_TONEAREST);
                  return bits(f);
                });
  }
  expect_rows("cvt.f64.f32 %r, %a;", {"f32", "f64"}, rows_of(float_edges(), 1, 32),
              [](const Row& r) { return bits(static_cast<double>(f32(r[0]))); });
  expect_rows("cvt.rni.f32.f32 %r, %a;", {"f32", "f32"}, rows_of(float_edges(), 1, 32),
              [](const Row& r) { return bits(std::nearbyint(f32(r[0]))); });
  expect_rows("cvt.rmi.f64.f64 %r, %a;", {"f64", "f64"}, rows,
              [](const Row& r) { return bits(std::floor(f64(r[0]))); });
  expect_rows("cvt.sat.f32.f32 %r, %a;", {"f32", "f32"}, rows_of(float_edges(), 1, 32),
              [](const Row& r) {
                const float v = f32(r[0]);
                return bits(std::isnan(v) || v <= 0 ? 0.0f : std::min(v, 1.0f));
              });
  expect_rows("cvt.rna.tf32.f32 %r, %a;", {"f32", "b32"}, rows_of(float_edges(), 1, 32, 2000),
              [](const Row& r) {
                if (std::isnan(f32(r[0]))) return std::uint64_t{0x7fffffff};
                if (std::isinf(f32(r[0]))) return r[0];
                return std::uint64_t{u32(r[0] + 0x1000) & 0xffffe000u};
              });
}

std::vector<Row> every_half() {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 65536; i += 3)
    rows.push_back({i, (i * 2654435761u >> 7) & 0xffff, (i * 40503u >> 3) & 0xffff, 0});
  for (const std::uint64_t a :
       {0x0000u, 0x8000u, 0x0001u, 0x3c00u, 0x7bffu, 0x7c00u, 0xfc00u, 0x7e00u, 0x0400u, 0x83ffu}) {
    for (const std::uint64_t b :
         {0x0000u, 0x8000u, 0x8001u, 0xbc00u, 0x7bffu, 0x7c00u, 0xfc00u, 0xfe01u, 0x0400u}) {
      rows.push_back({a, b, a ^ 0x8000, 0});
    }
  }
  return rows;
}

TEST(Half, WideningAndNarrowing) {
  expect_rows("cvt.f32.f16 %r, %a;", {"b16", "f32"}, every_half(),
              [](const Row& r) { return bits(static_cast<float>(from_half(r[0]))); });
  expect_rows("cvt.f32.bf16 %r, %a;", {"b16", "f32"}, every_half(),
              [](const Row& r) { return bits(static_cast<float>(from_brain(r[0]))); });
  std::vector<Row> rows = rows_of(float_edges(), 2, 32, 5000);
  for (std::uint32_t e = 90; e < 150; ++e) {  // near ties of either format
    for (const std::uint32_t f : {0x1000u, 0x1001u, 0x0fffu, 0x3000u, 0x8000u, 0x7fffu, 0x18000u}) {
      rows.push_back({e << 23 | f, 0, 0, 0});
    }
  }
  expect_rows("cvt.rn.f16.f32 %r, %a;", {"f32", "b16"}, rows,
              [](const Row& r) { return half(static_cast<double>(f32(r[0]))); });
  expect_rows("cvt.rn.bf16.f32 %r, %a;", {"f32", "b16"}, rows,
              [](const Row& r) { return brain(static_cast<double>(f32(r[0]))); });
  expect_rows("cvt.rn.f16x2.f32 %r, %a, %b;", {"f32", "f32", "b32"}, rows, [](const Row& r) {
    return half(static_cast<double>(f32(r[0]))) << 16 | half(static_cast<double>(f32(r[1])));
  });
  expect_rows("cvt.rn.relu.bf16x2.f32 %r, %a, %b;", {"f32", "f32", "b32"}, rows, [](const Row& r) {
    const auto relu = [](std::uint64_t v) {
      const double d = static_cast<double>(f32(v));
      return d <= 0 ? 0 : brain(d);
    };
    return relu(r[0]) << 16 | relu(r[1]);
  });
  expect_rows("cvt.rn.f16.f64 %r, %a;", {"f64", "b16"}, rows_of(double_edges(), 1, 64),
              [](const Row& r) { return half(f64(r[0])); });
}

TEST(Half, DirectedRounding) {
  // Toward zero is the nearer of the neighbours on the inside: compare by order of magnitude.
  expect_rows("cvt.rz.f16.f32 %r, %a;", {"f32", "b16"}, rows_of(float_edges(), 1, 32, 3000),
              [](const Row& r) {
                const float v = f32(r[0]);
                if (std::isnan(v)) return std::uint64_t{0x7fff};
                if (std::isinf(v)) return half(static_cast<double>(v));
                std::uint64_t h = float32_to_float16(v);
                if (std::fabs(from_half(h)) > std::fabs(static_cast<double>(v))) --h;
                return h;
              });
}

TEST(Half, IntegersThere) {
  expect_rows("cvt.rn.f16.s32 %r, %a;", {"b32", "b16"}, rows_of(integer_edges(32), 1, 32),
              [](const Row& r) { return half(static_cast<std::int32_t>(r[0])); });
  expect_rows("cvt.rzi.s32.f16 %r, %a;", {"b16", "b32"}, every_half(), [](const Row& r) {
    const double v = from_half(r[0]);
    if (std::isnan(v)) return std::uint64_t{0};
    if (std::isinf(v)) return v > 0 ? 0x7fffffffu : std::uint64_t{0x80000000u};
    return low(static_cast<std::int64_t>(v), 32);
  });
  expect_rows("cvt.rni.u8.f16 %r, %a;", {"b16", "b32"}, every_half(), [](const Row& r) {
    const double v = from_half(r[0]);
    return std::isnan(v) ? 0
                         : static_cast<std::uint64_t>(std::clamp(std::nearbyint(v), 0.0, 255.0));
  });
}

TEST(Half, EightBitFloats) {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < 65536; i += 5) rows.push_back({i, 0, 0, 0});
  // Widening: sign, exponent with its bias, fraction; e4m3 has no infinity.
  const auto e4m3 = [](std::uint64_t v) {
    const double sign = (v & 0x80) != 0 ? -1 : 1;
    const auto e = static_cast<int>(v >> 3 & 15), f = static_cast<int>(v & 7);
    if (e == 15 && f == 7) return std::numeric_limits<double>::quiet_NaN();
    return sign * (e == 0 ? std::ldexp(f, -9) : std::ldexp(8 + f, e - 10));
  };
  expect_rows("cvt.rn.f16x2.e4m3x2 %r, %a;", {"b16", "b32"}, rows,
              [&](const Row& r) { return half(e4m3(r[0] >> 8)) << 16 | half(e4m3(r[0] & 255)); });
  expect_rows("cvt.rn.f16x2.e5m2x2 %r, %a;", {"b16", "b32"}, rows, [](const Row& r) {
    const auto wide = [](std::uint64_t v) {  // an f16 that lacks its lower fraction
      return (v & 0x7f) > 0x7c ? std::uint64_t{0x7fff} : v << 8;
    };
    return wide(r[0] >> 8) << 16 | wide(r[0] & 255);
  });
  // Every value that is exact comes back; larger ones saturate.
  expect_rows(
      ".reg .b32 %w; .reg .b16 %h, %g; .reg .f32 %x, %y; cvt.rn.f16x2.e4m3x2 %w, %a;"
      "mov.b32 {%h, %g}, %w; cvt.f32.f16 %x, %h; cvt.f32.f16 %y, %g;"
      "cvt.rn.satfinite.e4m3x2.f32 %r, %y, %x;",
      {"b16", "b16"}, rows, [](const Row& r) {
        const auto same = [](std::uint64_t v) { return (v & 0x7f) == 0x7f ? 0x7f : v; };
        return same(r[0] >> 8) << 8 | same(r[0] & 255);
      });
  expect_rows("cvt.rn.satfinite.e4m3x2.f32 %r, %a, %b;", {"f32", "f32", "b16"},
              {{bits(1e9f), bits(-500.0f), 0, 0},
               {bits(464.0f), bits(0x1p-10f), 0, 0},
               {bits(std::numeric_limits<float>::infinity()), bits(0x1.8p-9f), 0, 0}},
              [n = 0](const Row&) mutable {
                const std::uint64_t want[] = {0x7efe, 0x7e00, 0x7e02};
                return want[n++];
              });
}

TEST(Half, Arithmetic) {
  const auto rows = every_half();
  struct Format {
    const char* name;
    std::uint64_t (*narrow)(double);
    double (*widen)(std::uint64_t);
  };
  for (const Format& f : {Format{"f16", half, from_half}, Format{"bf16", brain, from_brain}}) {
    const std::string name(f.name);
    // Products are exact in double.
    expect_rows("add.rn." + name + " %r, %a, %b;", {"b16", "b16", "b16"}, rows,
                [&](const Row& r) { return f.narrow(sum_to_odd(f.widen(r[0]), f.widen(r[1]))); });
    expect_rows("sub." + name + " %r, %a, %b;", {"b16", "b16", "b16"}, rows,
                [&](const Row& r) { return f.narrow(sum_to_odd(f.widen(r[0]), -f.widen(r[1]))); });
    expect_rows("mul." + name + " %r, %a, %b;", {"b16", "b16", "b16"}, rows,
                [&](const Row& r) { return f.narrow(f.widen(r[0]) * f.widen(r[1])); });
    expect_rows("fma.rn." + name + " %r, %a, %b, %c;", {"b16", "b16", "b16", "b16"}, rows,
                [&](const Row& r) {
                  return f.narrow(sum_to_odd(f.widen(r[0]) * f.widen(r[1]), f.widen(r[2])));
                });
    expect_rows("neg." + name + " %r, %a;", {"b16", "b16"}, rows,
                [](const Row& r) { return r[0] ^ 0x8000; });
    expect_rows("max." + name + " %r, %a, %b;", {"b16", "b16", "b16"}, rows, [&](const Row& r) {
      const double a = f.widen(r[0]), b = f.widen(r[1]);
      if (std::isnan(a) && std::isnan(b)) return std::uint64_t{0x7fff};
      if (std::isnan(a)) return r[1];
      if (std::isnan(b)) return r[0];
      if (a == b) return std::signbit(a) ? r[1] : r[0];
      return a > b ? r[0] : r[1];
    });
    expect_rows("setp.lt." + name + " %r, %a, %b;", {"b16", "b16", "pred"}, rows,
                [&](const Row& r) { return std::uint64_t{f.widen(r[0]) < f.widen(r[1])}; });
    expect_rows("setp.neu." + name + " %r, %a, %b;", {"b16", "b16", "pred"}, rows,
                [&](const Row& r) { return std::uint64_t{!(f.widen(r[0]) == f.widen(r[1]))}; });
  }
}

TEST(Half, Packed) {
  std::vector<Row> rows = rows_of(integer_edges(32), 3, 32, 5000);
  const auto each = [](const Row& r, auto f) {
    std::uint64_t result = 0;
    for (int i = 0; i < 2; ++i) {
      const auto part = [&](int which) {
        return from_half(r[static_cast<std::size_t>(which)] >> 16 * i & 0xffff);
      };
      result |= half(f(part(0), part(1), part(2))) << 16 * i;
    }
    return result;
  };
  expect_rows("fma.rn.f16x2 %r, %a, %b, %c;", {"b32", "b32", "b32", "b32"}, rows,
              [&](const Row& r) {
                return each(r, [](double a, double b, double c) { return sum_to_odd(a * b, c); });
              });
  expect_rows("add.sat.f16x2 %r, %a, %b;", {"b32", "b32", "b32"}, rows, [&](const Row& r) {
    return each(r, [](double a, double b, double) {
      const double s = a + b;
      return std::isnan(s) || s <= 0 ? 0.0 : std::min(s, 1.0);
    });
  });
  expect_rows("add.ftz.f16x2 %r, %a, %b;", {"b32", "b32", "b32"}, rows, [&](const Row& r) {
    const auto flush = [](double v) { return std::fabs(v) < 0x1p-14 ? std::copysign(0.0, v) : v; };
    return each(
        r, [&](double a, double b, double) { return flush(from_half(half(flush(a) + flush(b)))); });
  });
  expect_rows(
      ".reg .pred %p, %q; .reg .b32 %x, %y; setp.ge.f16x2 %p|%q, %a, %b; selp.b32 %x, 1, 0, "
      "%p; selp.b32 %y, 2, 0, %q; or.b32 %r, %x, %y;",
      {"b32", "b32", "b32"}, rows, [](const Row& r) {
        return std::uint64_t{from_half(r[0] & 0xffff) >= from_half(r[1] & 0xffff)} +
               2 * std::uint64_t{from_half(r[0] >> 16 & 0xffff) >= from_half(r[1] >> 16 & 0xffff)};
      });
  expect_rows("ex2.approx.f16x2 %r, %a;", {"b32", "b32"}, rows, [&](const Row& r) {
    return each(r, [](double a, double, double) { return std::exp2(a); });
  });
}

}  // namespace
}  // namespace tilescope::emulator::test
