// f32 and f64 arithmetic against the host's, in every rounding mode; approximations against double.
#include <cfenv>
#include <cmath>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

float flush(float v) {
  return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v;
}

const std::vector<Row>& singles() {
  static const std::vector<Row> rows = rows_of(float_edges(), 3, 32, 3000);
  return rows;
}
const std::vector<Row>& doubles() {
  static const std::vector<Row> rows = rows_of(double_edges(), 3, 64, 3000);
  return rows;
}

struct Mode {
  const char* name;
  int host;
};
const Mode kModes[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

/// The host's result under a rounding mode; volatile keeps the compiler from moving the operation.
template <class V, class F>
V rounded(int mode, F f, V a, V b = 0, V c = 0) {
  volatile V x = a, y = b, z = c;
  std::fesetround(mode);
  volatile V r = f(x, y, z);
  std::fesetround(FE_TONEAREST);
  return r;
}

template <class F>
void check32(const std::string& name, const std::string& list, unsigned operands, F f) {
  std::vector<std::string> types(operands + 1, "f32");
  for (const Mode& mode : kModes) {
    expect_rows(name + "." + mode.name + ".f32 %r, " + list + ";", types, singles(),
                [&](const Row& r) {
                  return bits(rounded<float>(mode.host, f, f32(r[0]), f32(r[1]), f32(r[2])));
                });
  }
  expect_rows(name + ".rn.ftz.f32 %r, " + list + ";", types, singles(), [&](const Row& r) {
    return bits(flush(
        rounded<float>(FE_TONEAREST, f, flush(f32(r[0])), flush(f32(r[1])), flush(f32(r[2])))));
  });
}
template <class F>
void check64(const std::string& name, const std::string& list, unsigned operands, F f) {
  std::vector<std::string> types(operands + 1, "f64");
  for (const Mode& mode : kModes) {
    expect_rows(name + "." + mode.name + ".f64 %r, " + list + ";", types, doubles(),
                [&](const Row& r) {
                  return bits(rounded<double>(mode.host, f, f64(r[0]), f64(r[1]), f64(r[2])));
                });
  }
}

TEST(Real, SumsAndProducts) {
  check32("add", "%a, %b", 2, [](float a, float b, float) { return a + b; });
  check32("sub", "%a, %b", 2, [](float a, float b, float) { return a - b; });
  check32("mul", "%a, %b", 2, [](float a, float b, float) { return a * b; });
  check32("fma", "%a, %b, %c", 3, [](float a, float b, float c) { return std::fma(a, b, c); });
  check64("add", "%a, %b", 2, [](double a, double b, double) { return a + b; });
  check64("mul", "%a, %b", 2, [](double a, double b, double) { return a * b; });
  check64("fma", "%a, %b, %c", 3, [](double a, double b, double c) { return std::fma(a, b, c); });
}

TEST(Real, QuotientsAndRoots) {
  check32("div", "%a, %b", 2, [](float a, float b, float) { return a / b; });
  check32("sqrt", "%a", 1, [](float a, float, float) { return std::sqrt(a); });
  check32("rcp", "%a", 1, [](float a, float, float) { return 1 / a; });
  check64("div", "%a, %b", 2, [](double a, double b, double) { return a / b; });
  check64("sqrt", "%a", 1, [](double a, double, double) { return std::sqrt(a); });
  check64("rcp", "%a", 1, [](double a, double, double) { return 1 / a; });
}

TEST(Real, AProductAndASumAreNotFused) {
  // (1 + 2^-12)^2 - 1 - 2^-11 is 2^-24 exactly, and 0 when the product is rounded first.
  const std::uint64_t a = bits(1 + 0x1p-12f), c = bits(-1 - 0x1p-11f);
  expect_rows(".reg .f32 %x; mul.f32 %x, %a, %a; add.f32 %r, %x, %b;", {"f32", "f32", "f32"},
              {{a, c, 0, 0}}, [](const Row&) { return bits(0.0f); });
  expect_rows("fma.rn.f32 %r, %a, %a, %b;", {"f32", "f32", "f32"}, {{a, c, 0, 0}},
              [](const Row&) { return bits(0x1p-24f); });
}

TEST(Real, Saturation) {
  const auto sat = [](float v) { return std::isnan(v) || v <= 0 ? 0.0f : v > 1 ? 1.0f : v; };
  expect_rows("add.sat.f32 %r, %a, %b;", {"f32", "f32", "f32"}, singles(),
              [&](const Row& r) { return bits(sat(f32(r[0]) + f32(r[1]))); });
  expect_rows(
      "fma.rn.ftz.sat.f32 %r, %a, %b, %c;", {"f32", "f32", "f32", "f32"}, singles(),
      [&](const Row& r) {
        return bits(flush(sat(std::fma(flush(f32(r[0])), flush(f32(r[1])), flush(f32(r[2]))))));
      });
}

TEST(Real, MinimaAndMaxima) {
  const auto pick = [](float a, float b, bool larger, bool nan) {
    if (std::isnan(a) || std::isnan(b)) {
      if (nan || (std::isnan(a) && std::isnan(b))) return std::uint64_t{0x7fffffff};
      return bits(std::isnan(a) ? b : a);
    }
    if (a == b) return bits(std::signbit(a) == larger ? b : a);
    return bits((a < b) == larger ? b : a);
  };
  for (const bool larger : {false, true}) {
    const std::string name = larger ? "max" : "min";
    expect_rows(name + ".f32 %r, %a, %b;", {"f32", "f32", "f32"}, singles(),
                [&](const Row& r) { return pick(f32(r[0]), f32(r[1]), larger, false); });
    expect_rows(name + ".NaN.f32 %r, %a, %b;", {"f32", "f32", "f32"}, singles(),
                [&](const Row& r) { return pick(f32(r[0]), f32(r[1]), larger, true); });
    expect_rows(name + ".ftz.f32 %r, %a, %b;", {"f32", "f32", "f32"}, singles(), [&](const Row& r) {
      return pick(flush(f32(r[0])), flush(f32(r[1])), larger, false);
    });
    expect_rows(name + ".xorsign.abs.f32 %r, %a, %b;", {"f32", "f32", "f32"}, singles(),
                [&](const Row& r) {
                  const float a = std::fabs(f32(r[0])), b = std::fabs(f32(r[1]));
                  return (pick(a, b, larger, false) & 0x7fffffff) | ((r[0] ^ r[1]) & 0x80000000u);
                });
    for (const bool nan : {false, true}) {
      expect_rows(name + (nan ? ".NaN.abs" : ".abs") + ".f32 %r, %a, %b, %c;",
                  {"f32", "f32", "f32", "f32"}, singles(), [&](const Row& r) {
                    const float a = std::fabs(f32(r[0])), b = std::fabs(f32(r[1]));
                    return pick(f32(pick(a, b, larger, nan)), std::fabs(f32(r[2])), larger, nan);
                  });
    }
  }
}

TEST(Real, Signs) {
  expect_rows("neg.f32 %r, %a;", {"f32", "f32"}, singles(),
              [](const Row& r) { return (r[0] & 0xffffffff) ^ 0x80000000u; });
  expect_rows("abs.f64 %r, %a;", {"f64", "f64"}, doubles(),
              [](const Row& r) { return r[0] & 0x7fffffffffffffffu; });
  expect_rows("copysign.f32 %r, %a, %b;", {"f32", "f32", "f32"}, singles(),
              [](const Row& r) { return (r[0] & 0x80000000u) | (r[1] & 0x7fffffffu); });
}

TEST(Real, Classification) {
  const std::vector<std::pair<std::string, bool (*)(float)>> kinds = {
      {"finite", [](float v) { return std::isfinite(v); }},
      {"infinite", [](float v) { return std::isinf(v); }},
      {"number", [](float v) { return !std::isnan(v); }},
      {"notanumber", [](float v) { return std::isnan(v); }},
      {"normal", [](float v) { return std::isnormal(v); }},
      {"subnormal", [](float v) { return std::fpclassify(v) == FP_SUBNORMAL; }}};
  for (const auto& [name, of] : kinds) {
    expect_rows("testp." + name + ".f32 %r, %a;", {"f32", "pred"}, singles(),
                [&](const Row& r) { return std::uint64_t{of(f32(r[0]))}; });
  }
}

TEST(Real, Approximations) {
  const std::vector<std::pair<std::string, double (*)(double)>> functions = {
      {"sin", [](double v) { return std::sin(v); }},
      {"cos", [](double v) { return std::cos(v); }},
      {"lg2", [](double v) { return std::log2(v); }},
      {"ex2", [](double v) { return std::exp2(v); }},
      {"tanh", [](double v) { return std::tanh(v); }},
      {"rcp", [](double v) { return 1 / v; }},
      {"sqrt", [](double v) { return std::sqrt(v); }},
      {"rsqrt", [](double v) { return 1 / std::sqrt(v); }}};
  for (const auto& [name, of] : functions) {
    expect_rows(name + ".approx.f32 %r, %a;", {"f32", "f32"}, singles(), [&](const Row& r) {
      return bits(static_cast<float>(of(static_cast<double>(f32(r[0])))));
    });
  }
  expect_rows("ex2.approx.ftz.f32 %r, %a;", {"f32", "f32"}, singles(), [](const Row& r) {
    return bits(flush(static_cast<float>(std::exp2(static_cast<double>(flush(f32(r[0])))))));
  });
  expect_rows("div.full.f32 %r, %a, %b;", {"f32", "f32", "f32"}, singles(),
              [](const Row& r) { return bits(f32(r[0]) / f32(r[1])); });
}

// The reciprocal of a divisor beyond 2^126 would be subnormal, and is 0.
TEST(Real, DivApproxByHugeNumbers) {
  std::vector<Row> rows = singles();
  for (const float x : {1.0f, -3.0f, 0.0f, 0x1p127f, INFINITY, NAN}) {
    for (const float y : {0x1p126f, 0x1.000002p126f, -0x1p127f, 0x1.fffffep127f, INFINITY}) {
      rows.push_back({bits(x), bits(y), 0, 0});
    }
  }
  expect_rows("div.approx.f32 %r, %a, %b;", {"f32", "f32", "f32"}, rows, [](const Row& r) {
    const float x = f32(r[0]), y = f32(r[1]);
    if (std::fabs(y) <= 0x1p126f || std::isnan(y)) return bits(x / y);
    return bits(x * std::copysign(0.0f, y));
  });
}

// The gross approximations in f64 use the upper words alone.
TEST(Real, ReciprocalsOfUpperWords) {
  const std::vector<std::pair<std::string, double (*)(double)>> functions = {
      {"rcp", [](double v) { return 1 / v; }},
      {"rsqrt", [](double v) { return 1 / std::sqrt(v); }}};
  for (const auto& [name, of] : functions) {
    const auto got = run_rows(name + ".approx.ftz.f64 %r, %a;", {"f64", "f64"}, doubles());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double x = f64(doubles()[i][0]);
      const double flushed = std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0, x) : x;
      const double wanted = of(flushed);
      ASSERT_EQ(got[i] & 0xffffffff, 0u) << name << " of " << x;
      if (std::isnan(wanted)) {
        ASSERT_TRUE(std::isnan(f64(got[i]))) << name << " of " << x;
      } else if (std::isnormal(wanted)) {
        ASSERT_NEAR(f64(got[i]) / wanted, 1, 0x1p-19) << name << " of " << x;
      } else {
        ASSERT_EQ(std::isinf(f64(got[i])), std::isinf(wanted)) << name << " of " << x;
        ASSERT_EQ(std::signbit(f64(got[i])), std::signbit(wanted)) << name << " of " << x;
      }
    }
  }
}

TEST(Real, PairsOfSingles) {
  const auto both = [](const Row& r, auto f) {
    const auto low = [](std::uint64_t v) { return f32(v & 0xffffffff); };
    const auto high = [](std::uint64_t v) { return f32(v >> 32); };
    return bits(f(low(r[0]), low(r[1]), low(r[2]))) | bits(f(high(r[0]), high(r[1]), high(r[2])))
                                                          << 32;
  };
  std::vector<Row> rows;
  for (std::size_t i = 1; i < singles().size(); ++i) {
    const Row &a = singles()[i - 1], &b = singles()[i];
    rows.push_back({a[0] | b[0] << 32, a[1] | b[1] << 32, a[2] | b[2] << 32, 0});
  }
  const std::vector<std::string> two = {"b64", "b64", "b64"}, three = {"b64", "b64", "b64", "b64"};
  expect_rows("add.rn.f32x2 %r, %a, %b;", two, rows,
              [&](const Row& r) { return both(r, [](float a, float b, float) { return a + b; }); });
  expect_rows("sub.rz.f32x2 %r, %a, %b;", two, rows, [&](const Row& r) {
    return both(r, [](float a, float b, float) {
      return rounded<float>(
          FE_TOWARDZERO, [](float x, float y, float) { return x - y; }, a, b);
    });
  });
  expect_rows("mul.ftz.f32x2 %r, %a, %b;", two, rows, [&](const Row& r) {
    return both(r, [](float a, float b, float) { return flush(flush(a) * flush(b)); });
  });
  expect_rows("fma.rn.f32x2 %r, %a, %b, %c;", three, rows, [&](const Row& r) {
    return both(r, [](float a, float b, float c) { return std::fma(a, b, c); });
  });
}

}  // namespace
}  // namespace tilescope::emulator::test
