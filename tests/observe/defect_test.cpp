// Bounds, alignment, undefined reads, barriers and masks: faulty kernels and their cured twins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check_run.hpp"

namespace tilescope::observe {
namespace {

using testing::check;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Defects : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  }
};

std::string defect_kernel(const std::string& body) {
  return "extern \"C\" __global__ void k(int* out, int* in, int n) {\n" + body + "\n}\n";
}

/// With declarations in front, all on line 1.
std::string defect_kernel_with(const std::string& before, const std::string& body) {
  return before + " " + defect_kernel(body);
}

TEST_F(Defects, OffByOne) {
  const auto source = [](const char* compare) {
    return defect_kernel(std::string("  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i ") +
                         compare + " n) out[i] = in[i];");
  };
  const auto faulty = check({source("<="), {{3}, {64}}, 100});
  EXPECT_THAT(faulty.brief(), ElementsAre("out-of-bounds 3 in", "out-of-bounds 3 out"));
  EXPECT_EQ(to_string(*faulty.findings[0].memory), "in[100]");
  EXPECT_THAT(
      message(faulty.findings[0]),
      HasSubstr("in[100] misses in, which has 100 elements of 4 bytes: 4 bytes past its end"));
  EXPECT_EQ(to_string(*faulty.findings[0].first.thread), "block (1,0,0), thread (36,0,0)");
  EXPECT_THAT(check({source("<"), {{3}, {64}}, 100}).brief(), IsEmpty());
}

TEST_F(Defects, BeforeTheStart) {
  EXPECT_THAT(
      check({defect_kernel("  out[threadIdx.x] = in[static_cast<int>(threadIdx.x) - 1];")}).brief(),
      ElementsAre("out-of-bounds 2 in"));
}

TEST_F(Defects, SharedMemoryPastItsEnd) {
  EXPECT_THAT(check({defect_kernel("  __shared__ int tile[64];\n"
                                   "  tile[threadIdx.x + n] = in[threadIdx.x];\n"
                                   "  __syncthreads();\n"
                                   "  out[threadIdx.x] = tile[threadIdx.x];"),
                     {{1}, {64}},
                     65})
                  .brief(),
              ::testing::Contains("out-of-bounds 3 tile"));
}

TEST_F(Defects, Misaligned) {
  EXPECT_THAT(
      check({defect_kernel("  int2 v = *reinterpret_cast<int2*>(in + 2 * threadIdx.x + 1);\n"
                           "  out[threadIdx.x] = v.x + v.y;")})
          .brief(),
      ElementsAre("misaligned 2 in"));
  EXPECT_THAT(check({defect_kernel("  int2 v = *reinterpret_cast<int2*>(in + 2 * threadIdx.x);\n"
                                   "  out[threadIdx.x] = v.x + v.y;")})
                  .brief(),
              IsEmpty());
}

TEST_F(Defects, NullPointer) {
  EXPECT_THAT(
      check({defect_kernel("  int* p = reinterpret_cast<int*>(static_cast<size_t>(n - 4096));\n"
                           "  out[threadIdx.x] = p[threadIdx.x];")})
          .brief(),
      ElementsAre("null-pointer 3"));
}

TEST_F(Defects, MemoryOfTheHost) {
  const compile::Program program = compile::compile(
      testing::compilation(defect_kernel("  out[threadIdx.x] = in[threadIdx.x] + n;")));
  std::vector<int> values(64, 1);
  const auto on_host = reinterpret_cast<std::uint64_t>(values.data());
  for (const bool registered : {false, true}) {
    testing::KernelRun run(program);
    const std::uint64_t out = run.array("out", std::vector<int>(64));
    if (registered) run.machine().memory().adopt(values.data(), 64 * sizeof(int), "values");
    observe::CheckObserver checker;
    run.launch({{1}, {64}}, {&checker}, out, on_host, 64);
    if (registered) {
      EXPECT_TRUE(checker.findings().empty());
      continue;
    }
    ASSERT_EQ(checker.findings().size(), 1u);
    const Finding& finding = checker.findings().front();
    EXPECT_EQ(finding.kind, FindingKind::host_pointer);
    EXPECT_EQ(finding.count, 64u);
    ASSERT_TRUE(finding.memory);
    EXPECT_EQ(finding.memory->address, on_host);
  }
}

TEST_F(Defects, SharedMemoryThatNobodyWrote) {
  const auto source = [](const char* clear) {
    return defect_kernel(std::string("  __shared__ int bins[64];\n  ") + clear +
                         "\n  __syncthreads();\n"
                         "  atomicAdd(&bins[in[threadIdx.x] % 64], 1);\n"
                         "  __syncthreads();\n"
                         "  out[threadIdx.x] = bins[threadIdx.x];");
  };
  EXPECT_THAT(check({source("")}).brief(), ElementsAre("uninitialised-read 5 bins"));
  EXPECT_THAT(check({source("bins[threadIdx.x] = 0;")}).brief(), IsEmpty());
}

TEST_F(Defects, BordersOfATileLeftOut) {
  const auto source = [](const char* border) {
    return defect_kernel(std::string("  __shared__ int tile[66];\n"
                                     "  tile[threadIdx.x + 1] = in[threadIdx.x];\n  ") +
                         border +
                         "\n  __syncthreads();\n"
                         "  out[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + 2];");
  };
  EXPECT_THAT(check({source("")}).brief(), ElementsAre("uninitialised-read 6 tile"));
  EXPECT_THAT(check({source("if (threadIdx.x == 0) tile[0] = tile[65] = 0;")}).brief(), IsEmpty());
}

TEST_F(Defects, AccumulatingIntoABufferThatHoldsNothing) {
  testing::Checked sum{defect_kernel("  out[threadIdx.x] += in[threadIdx.x];")};
  EXPECT_THAT(check(sum).brief(), IsEmpty());
  sum.out_is_initialised = false;
  EXPECT_THAT(check(sum).brief(), ElementsAre("uninitialised-read 2 out"));
  testing::Checked cured{
      defect_kernel("  out[threadIdx.x] = 0; out[threadIdx.x] += in[threadIdx.x];")};
  cured.out_is_initialised = false;
  EXPECT_THAT(check(cured).brief(), IsEmpty());
}

TEST_F(Defects, AtomicsOnABufferThatHoldsNothing) {
  testing::Checked sum{defect_kernel("  atomicAdd(out, in[threadIdx.x]);")};
  EXPECT_THAT(check(sum).brief(), IsEmpty());
  sum.out_is_initialised = false;
  EXPECT_THAT(check(sum).brief(), ElementsAre("uninitialised-read 2 out"));
  sum.launch = {{5}, {64}};  // what other blocks add to is no beginning
  EXPECT_THAT(check(sum).brief(), ElementsAre("uninitialised-read 2 out"));
  // An exchange is one, and a store that comes before by a fence and a flag.
  sum.source = defect_kernel("  atomicExch(out + blockIdx.x * 64 + threadIdx.x, 1);");
  EXPECT_THAT(check(sum).brief(), IsEmpty());
  sum.source = defect_kernel_with("__device__ int ready;",
                                  "  if (threadIdx.x != 0) return;\n"
                                  "  if (blockIdx.x == 0) { *out = 0; __threadfence();"
                                  " atomicExch(&ready, 1); }\n"
                                  "  while (atomicAdd(&ready, 0) == 0) {}\n"
                                  "  __threadfence();\n"
                                  "  atomicAdd(out, 1);");
  EXPECT_THAT(check(sum).brief(), IsEmpty());
}

TEST_F(Defects, LocalArrays) {
  const auto source = [](const char* first) {
    return defect_kernel(std::string("  int local[16];\n  for (int i = ") + first +
                         "; i < 16; ++i) local[i] = in[i];\n"
                         "  out[threadIdx.x] = local[in[threadIdx.x] % 16];");
  };
  EXPECT_THAT(check({source("n - 4095")}).brief(), ElementsAre(HasSubstr("uninitialised-read 4")));
  EXPECT_THAT(check({source("n - 4096")}).brief(), IsEmpty());
}

TEST_F(Defects, PaddingMovesAlong) {
  EXPECT_THAT(check({"struct Pair { char c; int i; };\n" +
                     defect_kernel("  __shared__ Pair a[64], b[64];\n"
                                   "  a[threadIdx.x].c = 1; a[threadIdx.x].i = in[threadIdx.x];\n"
                                   "  b[threadIdx.x] = a[threadIdx.x];\n"
                                   "  out[threadIdx.x] = b[threadIdx.x].i + b[threadIdx.x].c;")})
                  .brief(),
              IsEmpty());
}

TEST_F(Defects, WhatALaunchWroteIsDefinedInTheNext) {
  const compile::Program program = compile::compile(
      testing::compilation(defect_kernel("  if (n == 0) out[threadIdx.x] = 1;\n"
                                         "  else in[threadIdx.x] = out[threadIdx.x];")));
  testing::KernelRun run(program);
  const std::uint64_t out = run.uninitialised("out", 256), in = run.uninitialised("in", 256);
  CheckObserver checker;
  run.launch({{1}, {32}}, {&checker}, out, in, 0);
  EXPECT_EQ(checker.findings().size(), 0u);
  run.launch({{1}, {32}}, {&checker}, out, in, 1);
  EXPECT_EQ(checker.findings().size(), 0u);
  run.launch({{1}, {64}}, {&checker}, out, in, 1);
  ASSERT_EQ(checker.findings().size(), 1u);
  EXPECT_EQ(to_string(*checker.findings()[0].memory), "out[32]");
  EXPECT_EQ(checker.findings()[0].count, 32u);
}

TEST_F(Defects, BarrierThatSomeThreadsNeverReach) {
  const auto source = [](const char* condition) {
    return defect_kernel(std::string("  __shared__ int tile[64];\n"
                                     "  tile[threadIdx.x] = in[threadIdx.x];\n  ") +
                         condition +
                         "\n    __syncthreads();\n"
                         "  asm volatile(\"bar.sync 1;\" ::: \"memory\");\n"
                         "  out[threadIdx.x] = tile[63 - threadIdx.x];");
  };
  EXPECT_THAT(check({source("if (threadIdx.x < 32)")}).brief(),
              ::testing::Contains(HasSubstr("barrier-unreached 5")));
  EXPECT_THAT(check({source("")}).brief(), IsEmpty());
}

TEST_F(Defects, DifferentBarriersOfTwoBranches) {
  EXPECT_THAT(check({defect_kernel("  if (threadIdx.x < 32) {\n"
                                   "    out[threadIdx.x] = 1;\n"
                                   "    __syncthreads();\n"
                                   "  } else {\n"
                                   "    out[threadIdx.x] = 2;\n"
                                   "    __syncthreads();\n"
                                   "  }\n"
                                   "  out[threadIdx.x + 64] = out[63 - threadIdx.x];")})
                  .brief(),
              ElementsAre("barrier-mismatch 4/7"));
}

TEST_F(Defects, ThreadsThatHaveLeftBeforeABarrierAreAWarning) {
  const std::string body =
      "  tile[threadIdx.x] = in[threadIdx.x];\n"
      "  __syncthreads();\n"
      "  out[threadIdx.x] = tile[47 - threadIdx.x];\n"
      "  __syncthreads();";
  const auto left = check(
      {defect_kernel("  __shared__ int tile[64];\n  if (threadIdx.x >= 48) return;\n" + body)});
  // Once: the second barrier misses the same threads.
  EXPECT_THAT(left.brief(), ElementsAre("barrier-unreached 5/5"));
  EXPECT_EQ(left.findings[0].severity, Severity::warning);
  EXPECT_TRUE(left.summary.complete());
  // Whole blocks may leave.
  EXPECT_THAT(check({defect_kernel("  __shared__ int tile[64];\n  if (blockIdx.x > 0) return;\n"
                                   "  tile[threadIdx.x % 48] = 1;\n" +
                                   body.substr(body.find('\n') + 1)),
                     {{3}, {48}}})
                  .brief(),
              IsEmpty());
}

TEST_F(Defects, ShufflesFromLanesThatHaveLeft) {
  const auto source = [](const char* mask) {
    return defect_kernel(std::string("  if (threadIdx.x >= 20) return;\n"
                                     "  __syncwarp();\n"
                                     "  out[threadIdx.x] = __shfl_down_sync(") +
                         mask + ", in[threadIdx.x], 1);");
  };
  EXPECT_THAT(check({source("0xffffffffu"), {{1}, {32}}}).brief(), ElementsAre("warp-mask 4"));
  EXPECT_THAT(check({source("0x000fffffu"), {{1}, {32}}}).brief(), IsEmpty());
  // Lanes that never were are no concern of the mask.
  EXPECT_THAT(check({source("0xffffffffu"), {{1}, {20}}}).brief(), IsEmpty());
}

TEST_F(Defects, MasksThatNameAbsentLanes) {
  const auto source = [](const char* mask) {
    return defect_kernel(
        std::string("  int v = in[threadIdx.x];\n"
                    "  if (threadIdx.x < 16) {\n    v = __shfl_xor_sync(") +
        mask + ", v, 1);\n  } else { __nanosleep(10); }\n  __syncwarp();\n  out[threadIdx.x] = v;");
  };
  EXPECT_THAT(check({source("0xffffffffu"), {{1}, {32}}}).brief(),
              ::testing::Contains(HasSubstr("warp-mask 4")));
  EXPECT_THAT(check({source("0x0000ffffu"), {{1}, {32}}}).brief(), IsEmpty());
}

TEST_F(Defects, AKernelThatWroteNothing) {
  const auto nothing = check({defect_kernel("  if (n < 0) out[threadIdx.x] = in[threadIdx.x];")});
  EXPECT_THAT(nothing.brief(), ElementsAre(::testing::StartsWith("wrote-nothing")));
  EXPECT_EQ(nothing.findings[0].severity, Severity::warning);
  EXPECT_THAT(check({defect_kernel("  if (n > 0) out[threadIdx.x] = in[threadIdx.x];")}).brief(),
              IsEmpty());
}

TEST_F(Defects, AReportNeverChangesTheResult) {
  const compile::Program program = compile::compile(testing::compilation(
      defect_kernel("  __shared__ int s[64];\n  s[threadIdx.x] = in[threadIdx.x];\n"
                    "  out[threadIdx.x] = s[63 - threadIdx.x] + s[threadIdx.x];")));
  std::vector<int> values(64, 3), results[2];
  for (const bool checked : {false, true}) {
    testing::KernelRun run(program);
    const std::uint64_t in = run.array("in", values), out = run.array("out", values);
    CheckObserver checker;
    std::vector<emulator::Observer*> observers;
    if (checked) observers.push_back(&checker);
    run.launch({{1}, {64}}, observers, out, in, 64);
    EXPECT_EQ(checker.findings().empty(), !checked);
    results[checked] = run.fetch<int>(out, 64);
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace tilescope::observe
