// Calls pass arguments and results in registers.
#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

// A predicate is an argument and a result like any other, in every lane its own.
TEST(Calls, PredicatesAreArgumentsAndResults) {
  Bench bench(
      std::string(kHeader) +
      ".func (.reg .b32 r, .reg .pred even) f(.reg .pred three, .reg .b32 x) {\n"
      ".reg .b32 t; selp.u32 r, 33, x, three; and.b32 t, x, 1; setp.eq.u32 even, t, 0; ret; }\n"
      ".func (.reg .pred r) inverse(.reg .pred x) { not.pred r, x; ret; }\n"
      ".visible .entry k(.param .u64 out) {\n"
      ".reg .b32 x, r, e, i; .reg .b64 at, o; .reg .pred three, even, odd, high;\n"
      "mov.u32 x, %tid.x; setp.eq.u32 three, x, 3; setp.gt.u32 high, x, 5;\n"
      "mov.u32 r, 0; mov.pred even, 0; mov.pred odd, 0;\n"
      "@high bra SKIP;\n"  // lanes that do not call keep what they had
      "call (r, even), f, (three, x);\n"
      "call (odd), inverse, (even);\n"
      "SKIP: selp.u32 e, 100, 0, even; selp.u32 i, 1000, 0, odd;\n"
      "add.u32 r, r, e; add.u32 r, r, i;\n"
      "ld.param.u64 o, [out]; mul.wide.u32 at, x, 4; add.u64 at, at, o;\n"
      "st.global.u32 [at], r; ret; }\n");
  const std::uint64_t out = bench.upload(std::vector<std::uint32_t>(8, 7), "out");
  EXPECT_TRUE(bench.run("k", {1}, {8}, {.threads = 1}, out).complete());
  EXPECT_THAT(bench.download<std::uint32_t>(out, 8),
              ::testing::ElementsAre(100, 1001, 102, 1033, 104, 1005, 0, 0));
}

TEST(Calls, VectorsOfRegistersAreArgumentsAndResults) {
  Bench bench(std::string(kHeader) +
              ".func (.reg .v2 .b32 r) swapped(.reg .v2 .b32 a) {\n"
              "mov.b32 r.x, a.y; mov.b32 r.y, a.x; ret; }\n"
              ".visible .entry k(.param .u64 out) {\n"
              ".reg .v2 .b32 v; .reg .b64 o;\n"
              "mov.b32 v.x, 1; mov.b32 v.y, 2; call (v), swapped, (v);\n"
              "ld.param.u64 o, [out]; st.global.v2.b32 [o], v; ret; }\n");
  const std::uint64_t out = bench.upload(std::vector<std::uint32_t>(2, 7), "out");
  EXPECT_TRUE(bench.run("k", {1}, {1}, {.threads = 1}, out).complete());
  EXPECT_THAT(bench.download<std::uint32_t>(out, 2), ::testing::ElementsAre(2, 1));
}

TEST(Calls, APredicateMayBeAConstantOrHaveNoName) {
  Bench bench(std::string(kHeader) +
              ".func (.reg .b32 r) f(.reg .pred x, .reg .pred _) { selp.u32 r, 1, 2, x; ret; }\n"
              ".visible .entry k(.param .u64 out) {\n"
              ".reg .b32 x, y; .reg .b64 o;\n"
              "call (x), f, (1, 0); call (y), f, (0, 1);\n"
              "ld.param.u64 o, [out]; st.global.u32 [o], x; st.global.u32 [o+4], y; ret; }\n");
  const std::uint64_t out = bench.upload(std::vector<std::uint32_t>(2, 7), "out");
  EXPECT_TRUE(bench.run("k", {1}, {1}, {.threads = 1}, out).complete());
  EXPECT_THAT(bench.download<std::uint32_t>(out, 2), ::testing::ElementsAre(1, 2));
}

}  // namespace
}  // namespace tilescope::emulator::test
