// atom and red: every operation and type, in global and shared memory.
#include <algorithm>
#include <cmath>

#include "base/half.hpp"
#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

struct Case {
  std::string operation, type;
  std::uint64_t start;
  std::vector<std::uint64_t> operands;  ///< one for each of the threads, in order
  std::uint64_t (*combine)(std::uint64_t old, std::uint64_t b);
};

std::uint64_t raw_bits(float v) {
  return std::bit_cast<std::uint32_t>(v);
}
std::uint64_t raw_bits(double v) {
  return std::bit_cast<std::uint64_t>(v);
}

/// All 32 threads of a warp change one cell; thread i must see what the threads before it left.
void check(const Case& c, const std::string& space) {
  const bool wide = c.type.find("64") != std::string::npos,
             half = c.type == "f16" || c.type == "bf16" || c.type == "b16";
  const std::string reg = wide ? "rd" : half ? "h" : "r", width = wide ? "64" : half ? "16" : "32";
  const std::string cell = space == "shared" ? "cell" : "%rd2";
  std::string text(kHeader);
  text +=
      ".shared .align 8 .b64 cell;\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      ".reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .b16 %h<10>; .reg .pred %p;\n"
      "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;\n"
      "mul.wide.u32 %rd3, %r1, 8; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;\n";
  if (space == "shared") {
    text +=
        "setp.ne.u32 %p, %r1, 0; @%p bra READY; ld.global.u64 %rd6, [%rd2]; st.shared.u64 [cell], "
        "%rd6;"
        "READY: bar.sync 0;\n";
  }
  text += "ld.global.b" + width + " %" + reg + "7, [%rd4];\n";
  text += "atom." + space + "." + c.operation + "." + c.type + " %" + reg + "8, [" + cell + "], %" +
          reg + "7;\n";
  text += "st.global.b" + width + " [%rd5+8], %" + reg + "8;\n";
  text += "bar.sync 0; ld." + space + ".u64 %rd6, [" + cell +
          "]; st.global.u64 [%rd2], %rd6; ret;\n}\n";
  Bench bench(text);
  std::vector<std::uint64_t> operands(32);
  for (std::size_t i = 0; i < 32; ++i) operands[i] = c.operands[i % c.operands.size()];
  const auto in = bench.upload(operands, "in");
  std::vector<std::uint64_t> initial(33, 0);
  initial[0] = c.start;
  const auto out = bench.upload(initial, "out");
  const LaunchSummary summary = bench.run("k", {1}, {32}, {}, in, out);
  ASSERT_TRUE(summary.complete()) << summary.message;
  ASSERT_EQ(summary.fault_count, 0u);
  const auto got = bench.download<std::uint64_t>(out, 33);
  std::uint64_t value = c.start;
  for (std::size_t i = 0; i < 32; ++i) {
    ASSERT_EQ(got[i + 1], value) << c.operation << c.type << space << i;
    value = c.combine(value, operands[i]);
  }
  EXPECT_EQ(got[0], value) << c.operation << c.type << space;
}

using U = std::uint64_t;
const std::vector<Case>& cases() {
  static const std::vector<U> small = {5, 1, 0, 9, 3},
                              mixed = {0x80000001, 7, 0xfffffff0, 0x7fffffff, 0};
  static const std::vector<U> wide = {0x8000000000000001, 7, 0xfffffffffffffff0, 0x7fffffffffffffff,
                                      0};
  static const std::vector<Case> all = {
      {"add", "u32", 10, mixed, [](U a, U b) -> U { return u32(a + b); }},
      {"add", "s32", 10, mixed, [](U a, U b) -> U { return u32(a + b); }},
      {"add", "u64", 10, wide, [](U a, U b) -> U { return a + b; }},
      {"min", "s32", 10, mixed,
       [](U a, U b) -> U { return u32(U(std::min(std::int32_t(a), std::int32_t(b)))); }},
      {"max", "s32", 0x80000000, mixed,
       [](U a, U b) -> U { return u32(U(std::max(std::int32_t(a), std::int32_t(b)))); }},
      {"min", "u32", 0xffffffff, mixed, [](U a, U b) -> U { return std::min(a, b); }},
      {"max", "u32", 1, mixed, [](U a, U b) -> U { return std::max(a, b); }},
      {"min", "s64", 10, wide,
       [](U a, U b) -> U { return U(std::min(std::int64_t(a), std::int64_t(b))); }},
      {"max", "u64", 10, wide, [](U a, U b) -> U { return std::max(a, b); }},
      {"inc", "u32", 0, small, [](U a, U b) -> U { return a >= b ? 0 : a + 1; }},
      {"dec", "u32", 4, small, [](U a, U b) -> U { return a == 0 || a > b ? b : a - 1; }},
      {"and", "b32", 0xffffffff, mixed, [](U a, U b) -> U { return a & (b | 0); }},
      {"or", "b32", 0, mixed, [](U a, U b) -> U { return a | b; }},
      {"xor", "b64", 1, wide, [](U a, U b) -> U { return a ^ b; }},
      {"exch", "b32", 1, mixed, [](U, U b) -> U { return b; }},
      {"exch", "b64", 1, wide, [](U, U b) -> U { return b; }},
      {"add",
       "f32",
       raw_bits(1.0f),
       {raw_bits(0.1f), raw_bits(1e8f), raw_bits(-1e8f), raw_bits(0x1p-20f)},
       [](U a, U b) -> U { return raw_bits(f32(a) + f32(b)); }},
      {"add",
       "f64",
       raw_bits(1.0),
       {raw_bits(0.1), raw_bits(1e17), raw_bits(-1e17)},
       [](U a, U b) -> U { return raw_bits(std::bit_cast<double>(a) + std::bit_cast<double>(b)); }},
      {"add.noftz",
       "f16",
       0x3c00,
       {0x3555, 0x0001, 0xc000, 0x7000},
       [](U a, U b) -> U {
         return float32_to_float16(float16_to_float32(std::uint16_t(a)) +
                                   float16_to_float32(std::uint16_t(b)));
       }},
      {"add.noftz", "bf16x2", 0x3f803f80, {0x3eab3f00, 0xc0003dcd}, [](U a, U b) -> U {
         U r = 0;
         for (int i = 0; i < 32; i += 16) {
           const float s = bfloat16_to_float32(std::uint16_t(a >> i)) +
                           bfloat16_to_float32(std::uint16_t(b >> i));
           r |= U{float32_to_bfloat16(s)} << i;
         }
         return r;
       }}};
  return all;
}

TEST(Atomic, EachThreadSeesTheOnesBefore) {
  for (const Case& c : cases()) {
    check(c, "global");
    check(c, "shared");
  }
}

TEST(Atomic, GlobalFloatAddsFlushSubnormals) {
  const std::string body =
      ".reg .b64 %rd<3>; .reg .f32 %f; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; "
      "ld.global.f32 %f, [%rd1];"
      "red.global.add.f32 [%rd2], %f; ret;";
  Bench bench(std::string(kHeader) + ".visible .entry k(.param .u64 in, .param .u64 out) {" + body +
              "}");
  const auto in = bench.upload(std::vector<float>{0x1p-130f}, "in"),
             out = bench.upload(std::vector<float>{0}, "out");
  bench.run("k", {1}, {1}, {}, in, out);
  EXPECT_EQ(bench.download<float>(out, 1)[0], 0.0f);
}

TEST(Atomic, CompareAndSwap) {
  for (const std::string width : {"16", "32", "64"}) {
    const std::string r = width == "64" ? "%rd" : width == "32" ? "%r" : "%h";
    const std::string id = width == "64"   ? "cvt.u64.u32 %rd7, %r1;"
                           : width == "32" ? "mov.u32 %r7, %r1;"
                                           : "cvt.u16.u32 %h7, %r1;";
    Bench bench(std::string(kHeader) +
                ".visible .entry k(.param .u64 in, .param .u64 out) {"
                ".reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .b16 %h<10>;"
                "ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;" +
                id + "add.u" + width + " " + r + "8, " + r +
                "7, 1;"
                "atom.global.cas.b" +
                width + " " + r + "9, [%rd2], " + r + "7, " + r + "8; ret; }");
    // Thread i turns i into i + 1: in ascending order they climb to the top.
    const auto out = bench.upload(std::vector<std::uint64_t>{0}, "out");
    bench.run("k", {2}, {32}, {}, out, out);
    EXPECT_EQ(bench.download<std::uint64_t>(out, 1)[0], 32u) << width;
  }
  Bench bench(
      std::string(kHeader) +
      ".visible .entry k(.param .u64 in, .param .u64 out) {"
      ".reg .b64 %rd<9>; .reg .b128 %q<4>; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];"
      "ld.global.v2.b64 {%rd3, %rd4}, [%rd1]; mov.b128 %q1, {%rd3, %rd4}; mov.b128 %q2, {%rd4, "
      "%rd3};"
      "atom.global.cas.b128 %q3, [%rd2], %q1, %q2; mov.b128 {%rd5, %rd6}, %q3;"
      "st.global.v2.b64 [%rd1], {%rd5, %rd6}; ret; }");
  const auto in = bench.upload(std::vector<std::uint64_t>{3, 4}, "in"),
             out = bench.upload(std::vector<std::uint64_t>{3, 4}, "out");
  bench.run("k", {1}, {1}, {}, in, out);
  EXPECT_EQ(bench.download<std::uint64_t>(out, 2), (std::vector<std::uint64_t>{4, 3}));
}

TEST(Atomic, Vectors) {
  Bench bench(std::string(kHeader) +
              ".visible .entry k(.param .u64 in, .param .u64 out) {"
              ".reg .b64 %rd<9>; .reg .f32 %f<5>; ld.param.u64 %rd2, [out]; mov.f32 %f1, "
              "0f3F800000; mov.f32 %f2, 0f40000000;"
              "red.global.add.v2.f32 [%rd2], {%f1, %f2}; ret; }");
  const auto out = bench.upload(std::vector<float>{0, 0}, "out");
  bench.run("k", {3}, {32}, {}, out, out);
  EXPECT_EQ(bench.download<float>(out, 2), (std::vector<float>{96, 192}));
}

/// Thread t of 4 blocks of 48 adds t + 1 to cell 7 t % 17. With 16 cells some are beyond the end.
template <class T>
void add_to_cells(std::size_t cells, unsigned threads) {
  const bool wide = sizeof(T) == 8;
  Bench bench(std::string(kHeader) +
              ".visible .entry k(.param .u64 in, .param .u64 out) {"
              ".reg .b64 %rd<9>; .reg .b32 %r<5>; ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;"
              "mul.lo.u32 %r2, %r1, 7; rem.u32 %r2, %r2, 17; add.u32 %r3, %r1, 1;" +
              (wide ? "mul.wide.u32 %rd2, %r2, 8; add.u64 %rd3, %rd1, %rd2; cvt.u64.u32 %rd4, %r3;"
                      "red.global.add.u64 [%rd3], %rd4; ret; }"
                    : "mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;"
                      "red.global.add.u32 [%rd3], %r3; ret; }"));
  const auto out = bench.upload(std::vector<T>(cells, 5), "out");
  const auto summary = bench.run("k", {4}, {48}, {.threads = threads}, out, out);
  std::vector<T> expected(17, 5);
  std::uint64_t beyond = 0;
  for (T t = 0; t < 48; ++t) {
    expected[7 * t % 17] += 4 * (t + 1);
    beyond += 7 * t % 17 < cells ? 0 : 4;
  }
  expected.resize(cells);
  EXPECT_EQ(bench.download<T>(out, cells), expected);
  EXPECT_EQ(summary.faults.empty() ? 0 : summary.faults[0].count, beyond);
}

TEST(Atomic, SumsOfScatteredCells) {
  for (const std::size_t cells : {17, 16}) {
    for (const unsigned threads : {1u, 3u}) {
      add_to_cells<std::uint32_t>(cells, threads);
      add_to_cells<std::uint64_t>(cells, threads);
    }
  }
}

TEST(Atomic, FloatSumsDoNotDependOnThreads) {
  const std::string text = std::string(kHeader) +
                           ".visible .entry k(.param .u64 in, .param .u64 out) {"
                           ".reg .b64 %rd<9>; .reg .b32 %r<5>; .reg .f32 %f<5>; ld.param.u64 %rd2, "
                           "[out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;"
                           "mad.lo.u32 %r3, %r1, 37, %r2; cvt.rn.f32.u32 %f1, %r3; rcp.rn.f32 %f1, "
                           "%f1; max.f32 %f1, %f1, 0f00000000; min.f32 %f1, %f1, 0f3F800000;"
                           "red.global.add.f32 [%rd2], %f1; ret; }";
  std::vector<float> results;
  for (const unsigned threads : {1u, 2u, 7u}) {
    Bench bench(text);
    const auto out = bench.upload(std::vector<float>{0}, "out");
    const auto summary = bench.run("k", {300}, {37}, {.threads = threads}, out, out);
    EXPECT_EQ(summary.threads, 1u);  // in order
    results.push_back(bench.download<float>(out, 1)[0]);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace tilescope::emulator::test
