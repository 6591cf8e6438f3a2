// Instructions of compute capability 10: narrow floats, sums of mixed precision, redux of floats,
// accesses of 256 bits; and what is refused by name.
#include <cmath>
#include <set>
#include <tilescope/error.hpp>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

using ::testing::HasSubstr;

/// The value of a float without infinity and NaN: `e` bits of exponent, `m` of fraction.
double narrow(std::uint64_t v, int e, int m) {
  const auto field = static_cast<int>(v >> m & ((1u << e) - 1));
  const auto fraction = static_cast<double>(v & ((1u << m) - 1)) / (1 << m);
  const int bias = (1 << (e - 1)) - 1;
  const double magnitude =
      field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, field - bias);
  return (v >> (e + m) & 1) != 0 ? -magnitude : magnitude;
}

struct Format {
  const char* name;
  int exponent, fraction, place;  ///< the upper element begins at bit `place`
  const char* reg;
};
constexpr Format kFormats[] = {
    {"e2m1x2", 2, 1, 4, "b8"}, {"e2m3x2", 2, 3, 8, "b16"}, {"e3m2x2", 3, 2, 8, "b16"}};

TEST(NarrowFloats, AreExactInHalf) {
  for (const Format& f : kFormats) {
    const unsigned count = 2u << (f.exponent + f.fraction);
    std::vector<Row> rows;
    for (std::uint64_t i = 0; i < count; ++i) rows.push_back({i << f.place | (i * 7 + 3) % count});
    const std::string to_half = std::string(".reg .") + f.reg + " %nn; cvt.u16.u32 %nn, %a;" +
                                "cvt.rn.f16x2." + f.name + " %r, %nn;";
    const std::string as_bytes =
        ".reg .b16 %h; .reg .b8 %nn, %z; cvt.u16.u32 %h, %a;"
        "mov.b16 {%nn, %z}, %h; cvt.rn.f16x2." +
        std::string(f.name) + " %r, %nn;";
    const std::uint64_t mask = count - 1;
    expect_rows(f.place == 4 ? as_bytes : to_half, {"b32", "b32"}, rows, [&](const Row& r) {
      const auto half = [&](std::uint64_t v) {
        const double d = narrow(v & mask, f.exponent, f.fraction);
        std::uint64_t h = std::signbit(d) ? 0x8000 : 0;
        if (d == 0) return h;
        const int e = std::ilogb(d);
        return h | static_cast<std::uint64_t>(e + 15) << 10 |
               static_cast<std::uint64_t>(std::ldexp(std::fabs(d), 10 - e) - 1024);
      };
      return half(r[0] >> f.place) << 16 | half(r[0] & mask);
    });
  }
}

TEST(NarrowFloats, RoundToTheNearestAndSaturate) {
  for (const Format& f : kFormats) {
    const std::uint64_t largest = (1u << (f.exponent + f.fraction)) - 1;
    std::vector<Row> rows;
    for (const float v : {0.0f, -0.0f, 0.3f, 0.25f, 0.75f, 1.75f, 2.5f, 3.49f, 5.0f, 5.1f, 7.6f,
                          29.0f, 1e9f, INFINITY, NAN, 0x1p-140f}) {
      rows.push_back({bits(v), bits(-v), 0, 0});
    }
    const auto nearest = [&](std::uint64_t v) {
      const double d = static_cast<double>(f32(v));
      if (std::isnan(d)) return largest;
      std::uint64_t best = 0;
      for (std::uint64_t i = 0; i <= largest; ++i) {
        const double here = std::fabs(narrow(i, f.exponent, f.fraction) - std::fabs(d));
        const double there = std::fabs(narrow(best, f.exponent, f.fraction) - std::fabs(d));
        if (here < there || (here == there && i % 2 == 0)) best = i;
      }
      if (std::isinf(d)) best = largest;
      return best | (std::signbit(d) ? largest + 1 : 0);
    };
    const std::string convert = std::string("cvt.rn.satfinite.") + f.name + ".f32 %nn, %a, %b;";
    const std::string text = f.place == 4 ? ".reg .b8 %nn; .reg .b16 %h; " + convert +
                                                "mov.b16 %h, {%nn, 0}; cvt.u32.u16 %r, %h;"
                                          : ".reg .b16 %nn; " + convert + "cvt.u32.u16 %r, %nn;";
    expect_rows(text, {"f32", "f32", "b32"}, rows,
                [&](const Row& r) { return nearest(r[0]) << f.place | nearest(r[1]); });
  }
}

TEST(NarrowFloats, ExponentsAlone) {
  const std::string text = ".reg .b16 %h; cvt.MODE.ue8m0x2.f32 %h, %a, %b; cvt.u32.u16 %r, %h;";
  const auto run = [&](const std::string& mode, float upper, float lower) {
    std::string with = text;
    with.replace(with.find("MODE"), 4, mode);
    return run_rows(with, {"f32", "f32", "b32"}, {{bits(upper), bits(lower), 0, 0}}).at(0);
  };
  EXPECT_EQ(run("rz", 1.0f, 1.5f), 0x7f7fu);
  EXPECT_EQ(run("rp", 1.0f, 1.5f), 0x7f80u);
  EXPECT_EQ(run("rp", -3.0f, 0x1p-127f), 0x8100u);
  EXPECT_EQ(run("rp", 0x1.8p-127f, 0.0f), 0x0100u);
  EXPECT_EQ(run("rp", 0x1.8p127f, INFINITY), 0xffffu);
  EXPECT_EQ(run("rp.satfinite", 0x1.8p127f, INFINITY), 0xfefeu);
  EXPECT_EQ(run("rz.satfinite", NAN, 0x1.8p127f), 0xfffeu);
  expect_rows(".reg .b16 %h; cvt.u16.u32 %h, %a; cvt.rn.bf16x2.ue8m0x2 %r, %h;", {"b32", "b32"},
              {{0x7f80}, {0x01fe}}, [](const Row& r) {
                return r[0] == 0x7f80 ? std::uint64_t{0x3f804000} : std::uint64_t{0x00807f00};
              });
}

TEST(MixedPrecision, SumsInF32) {
  std::vector<Row> rows;
  for (const std::uint64_t h : {0x0000u, 0x0001u, 0x3c00u, 0xbc01u, 0x7bffu, 0x7c00u, 0x7e00u}) {
    for (const float v : {0.0f, 1.0f, -1.0009765625f, 1e-30f, 3e38f, -INFINITY}) {
      rows.push_back({h, bits(v), (h * 3) & 0x7bff, 0});
    }
  }
  const auto f16 = [](std::uint64_t v) {
    const auto e = static_cast<int>(v >> 10 & 31);
    const auto f = static_cast<float>(v & 1023);
    const float m = e == 31  ? (f != 0 ? NAN : INFINITY)
                    : e == 0 ? std::ldexp(f, -24)
                             : std::ldexp(1024 + f, e - 25);
    return (v & 0x8000) != 0 ? -m : m;
  };
  const auto bf16 = [](std::uint64_t v) { return f32(v << 16); };
  const std::vector<std::string> sum = {"b16", "f32", "f32"};
  expect_rows("add.rn.f32.f16 %r, %a, %b;", sum, rows,
              [&](const Row& r) { return bits(f16(r[0]) + f32(r[1])); });
  expect_rows("sub.f32.bf16 %r, %a, %b;", sum, rows,
              [&](const Row& r) { return bits(bf16(r[0]) - f32(r[1])); });
  expect_rows("add.sat.f32.bf16 %r, %a, %b;", sum, rows, [&](const Row& r) {
    const float s = bf16(r[0]) + f32(r[1]);
    return bits(s > 1 ? 1.0f : s > 0 ? s : 0.0f);
  });
  expect_rows("fma.rn.f32.f16 %r, %a, %c, %b;", {"b16", "f32", "b16", "f32"}, rows,
              [&](const Row& r) { return bits(std::fma(f16(r[0]), f16(r[2]), f32(r[1]))); });
}

TEST(Redux, OfFloats) {
  const auto run = [](const std::string& form, const std::vector<float>& values) {
    Bench bench(std::string(kHeader) +
                ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
                ".reg .b32 %t; .reg .f32 %v, %r; .reg .b64 %i, %o, %at;\n"
                "mov.u32 %t, %tid.x; mul.wide.u32 %at, %t, 4;\n"
                "ld.param.u64 %i, [in]; ld.param.u64 %o, [out];\n"
                "add.u64 %i, %i, %at; add.u64 %o, %o, %at; ld.global.f32 %v, [%i];\n"
                "redux.sync." +
                form + ".f32 %r, %v, 0xffffffff; st.global.f32 [%o], %r; ret; }\n");
    std::vector<float> in(32, values[0]);
    std::copy(values.begin(), values.end(), in.begin() + 3);
    const std::uint64_t at = bench.upload(in, "in"), out = bench.machine.allocate(128, "out");
    EXPECT_TRUE(bench.run("k", {1}, {32}, {.threads = 1}, at, out).complete());
    const auto got = bench.download<std::uint32_t>(out, 32);
    EXPECT_EQ(std::set<std::uint32_t>(got.begin(), got.end()).size(), 1u);
    return std::uint64_t{got[31]};
  };
  EXPECT_EQ(run("min", {3.0f, -2.0f, 5.0f}), bits(-2.0f));
  EXPECT_EQ(run("max", {3.0f, -2.0f, 5.0f}), bits(5.0f));
  EXPECT_EQ(run("max.abs", {3.0f, -7.0f, 5.0f}), bits(7.0f));
  EXPECT_EQ(run("min", {0.0f, -0.0f}), bits(-0.0f));
  EXPECT_EQ(run("max", {-0.0f, 0.0f}), bits(0.0f));
  EXPECT_EQ(run("max", {3.0f, NAN}), bits(3.0f));
  EXPECT_EQ(run("max.NaN", {3.0f, NAN}), bits(NAN));
  EXPECT_EQ(run("min", {NAN}), bits(NAN));
}

TEST(WideAccesses, Of256Bits) {
  Bench bench(std::string(kHeader) +
              ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
              ".reg .b32 %r<8>; .reg .b64 %d<4>, %i, %o;\n"
              "ld.param.u64 %i, [in]; ld.param.u64 %o, [out];\n"
              "ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%i];\n"
              "st.global.v8.b32 [%o], {%r7, %r6, %r5, %r4, %r3, %r2, %r1, %r0};\n"
              "ld.global.v4.b64 {%d0, %d1, %d2, %d3}, [%i];\n"
              "st.global.v4.b64 [%o+32], {%d3, %d2, %d1, %d0}; ret; }\n");
  const auto in = bench.upload(std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}, "in");
  const auto out = bench.machine.allocate(64, "out");
  EXPECT_TRUE(bench.run("k", {1}, {1}, {.threads = 1}, in, out).complete());
  EXPECT_THAT(bench.download<std::uint32_t>(out, 16),
              ::testing::ElementsAre(7, 6, 5, 4, 3, 2, 1, 0, 6, 7, 4, 5, 2, 3, 0, 1));
}

std::string refusal_of_code(const std::string& body) {
  try {
    Bench bench(std::string(kHeader) + ".visible .entry k() {\n.reg .b32 %r<4>; .reg .b64 %d;\n" +
                body + "\nret; }\n");
    bench.run("k", {1}, {1}, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Refusals, NameTensorMemoryOnce) {
  EXPECT_EQ(
      refusal_of_code("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;\n"
                      "tcgen05.wait::st.sync.aligned;\ntcgen05.wait::st.sync.aligned;"),
      "kernel 'k' uses operations that the emulator does not execute: "
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 (line 6 of the PTX, and 2 more "
      "places): the tensor memory of compute capability 10 (tcgen05) is not emulated");
  EXPECT_THAT(refusal_of_code("multimem.st.weak.global.f32 [%d], %r1;"),
              HasSubstr("memory of several devices at once (multimem) is not emulated"));
}

TEST(Refusals, CountThePlacesOfAnOperation) {
  const std::string text = refusal_of_code("what.ever %r1;\nwhat.ever %r2;\nother.thing;");
  EXPECT_THAT(text,
              HasSubstr("what.ever (line 6 of the PTX, and 1 more place); other.thing (line"));
}

}  // namespace
}  // namespace tilescope::emulator::test
