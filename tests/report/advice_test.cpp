// Advice on small kernels with one defect each, and on their cured twins.
#include "report/advice.hpp"

#include <gmock/gmock.h>

#include "observe/kernel_run.hpp"

namespace tilescope {

void PrintTo(const Advice& advice, std::ostream* out) {
  *out << to_string(advice.kind) << " at line " << advice.place.line << ": " << advice.message;
}

namespace report {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Runs `source` on (const int* in, int* out, int n): 65,536 elements each, in[i] = i.
class AdviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  }
  std::vector<Advice> advice(const std::string& source, const Launch& launch,
                             std::int32_t n = 16384) {
    LaunchArgument in = LaunchArgument::array(DataType::int32, 65536, Initial::iota), out = in;
    in.name = "in";
    out.name = "out";
    const ExplainResult result =
        explain(SourceText{source}, {.grid = launch.grid,
                                     .block = launch.block,
                                     .shared_bytes = launch.shared_bytes,
                                     .arguments = {in, out, LaunchArgument::scalar(n)}});
    EXPECT_TRUE(result.complete());
    silent_ = no_advice(result.counts);
    return advise(result);
  }
  static std::string kernel(const std::string& body) {
    return "extern \"C\" __global__ void k(const int* in, int* out, int n) {\n"
           "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
           body + "\n}\n";
  }
  static auto says(AdviceKind kind, const std::string& words) {
    return Contains(AllOf(::testing::Field(&Advice::kind, kind),
                          ::testing::Field(&Advice::message, HasSubstr(words))));
  }
  const Launch line_{{16}, {256}}, plane_{{4, 4}, {32, 8}};
  std::string silent_;
};

TEST_F(AdviceTest, CoalescedCodeGetsNone) {
  EXPECT_THAT(advice(kernel("out[i] = 2 * in[i];"), line_), IsEmpty());
  EXPECT_EQ(silent_, "none: 100% of the global sectors are needed, no warp diverges");
}

TEST_F(AdviceTest, ColumnWiseNamesTheTermAndTheStride) {
  const auto found =
      advice(kernel("  const int row = i;\n  int sum = 0;\n"
                    "  for (int c = 0; c < 16; ++c) sum += in[row * 16 + c];\n  out[row] = sum;"),
             {{4}, {128}});
  EXPECT_THAT(found, says(AdviceKind::uncoalesced,
                          "The load of in[row * 16 + c] takes 32.0 sectors a request where 4.0"));
  EXPECT_THAT(found, says(AdviceKind::uncoalesced,
                          "its term row * 16 carries threadIdx.x, times 16, so that neighbouring "
                          "threads lie 64 bytes apart"));
  EXPECT_EQ(found.front().place, (SourcePlace{"kernel.cu", 5}));
}

TEST_F(AdviceTest, RowWiseIsItsCure) {
  EXPECT_THAT(advice(kernel("  int sum = 0;\n  for (int r = 0; r < 16; ++r) sum += in[r * 512 + i];"
                            "\n  out[i] = sum;"),
                     {{4}, {128}}),
              IsEmpty());
}

TEST_F(AdviceTest, StructuresAreNamedAsSuch) {
  const std::string head = "struct Body { int x, y, z, w; };\n";
  const auto body = [&](const std::string& statement) {
    return head +
           "extern \"C\" __global__ void k(const Body* in, Body* out, int n) {\n"
           "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
           statement + "\n}\n";
  };
  EXPECT_THAT(advice(body("  out[i].x = in[i].y;"), line_),
              says(AdviceKind::uncoalesced, "the structures lie 16 bytes apart"));
}

TEST_F(AdviceTest, NarrowBlocksSplitRows) {
  const std::string source =
      kernel("  const int y = threadIdx.y;\n  out[y * 512 + threadIdx.x] = in[y * 512];");
  EXPECT_THAT(advice(source, {{1}, {16, 16}}),
              says(AdviceKind::split_rows,
                   "a warp spans 2 rows of it, and its term y * 512 carries"
                   " threadIdx.y, times 512"));
  EXPECT_THAT(advice(source, {{1}, {32, 8}}), IsEmpty());
}

TEST_F(AdviceTest, ShiftedRowsAreMisaligned) {
  EXPECT_THAT(advice(kernel("out[i] = in[i + 1];"), line_),
              says(AdviceKind::misaligned, "begin 4 bytes behind the start of a 32-byte sector"));
  EXPECT_THAT(advice(kernel("out[i] = in[i + 8];"), line_), IsEmpty());
}

TEST_F(AdviceTest, GathersHaveNoStep) {
  EXPECT_THAT(advice(kernel("out[i] = in[(i * i) % n];"), line_),
              says(AdviceKind::uncoalesced, "follow no fixed step"));
}

TEST_F(AdviceTest, BytesOneByOne) {
  const std::string source =
      "extern \"C\" __global__ void k(const unsigned char* in, unsigned char* out, int n) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  out[i] = in[i];\n}\n";
  EXPECT_THAT(advice(source, line_), says(AdviceKind::narrow, "1 byte a thread"));
}

TEST_F(AdviceTest, PaddingCuresATransposedTile) {
  const auto source = [&](const std::string& pad) {
    return "extern \"C\" __global__ void k(const int* in, int* out, int n) {\n"
           "  __shared__ int tile[32][32" +
           pad +
           "];\n"
           "  const int x = threadIdx.x, y = threadIdx.y;\n"
           "  for (int j = 0; j < 32; j += 8) tile[y + j][x] = in[(y + j) * 128 + x];\n"
           "  __syncthreads();\n"
           "  for (int j = 0; j < 32; j += 8)\n"
           "    out[(y + j) * 128 + x] = tile[x][y + j];\n}\n";
  };
  EXPECT_THAT(
      advice(source(""), {{1}, {32, 8}}),
      says(AdviceKind::bank_conflict, "The load of tile[x][y + j] has 32-way bank conflicts"));
  EXPECT_THAT(advice(source(""), {{1}, {32, 8}}),
              says(AdviceKind::bank_conflict, "Rows of 33 elements instead of 32"));
  EXPECT_THAT(advice(source(" + 1"), {{1}, {32, 8}}), IsEmpty());
}

TEST_F(AdviceTest, AStepAlongADiagonalIsNoRow) {
  const auto source = [&](const std::string& width) {
    return kernel("  __shared__ int tile[33][" + width +
                  "];\n  const int x = threadIdx.x, y = 32 - x;\n  tile[y][x] = in[i];\n"
                  "  __syncthreads();\n  out[i] = tile[y][x] + tile[0][x];");
  };
  EXPECT_THAT(advice(source("33"), {{1}, {32}}),
              says(AdviceKind::bank_conflict, "Rows that are 1 element longer cure it"));
  EXPECT_THAT(advice(source("34"), {{1}, {32}}), IsEmpty());
}

TEST_F(AdviceTest, AStepOfOneDimensionIsNoRow) {
  const auto source = [&](const std::string& step) {
    return kernel("  __shared__ int tile[96];\n  tile[" + step +
                  " * i] = in[i];\n  __syncthreads();\n  out[i] = tile[i];");
  };
  EXPECT_THAT(advice(source("2"), {{1}, {32}}),
              says(AdviceKind::bank_conflict, "A step of 3 elements instead of 2 cures it"));
  EXPECT_THAT(advice(source("3"), {{1}, {32}}), IsEmpty());
}

TEST_F(AdviceTest, JoinedLoadsAreExplained) {
  const std::string source =
      "extern \"C\" __global__ void k(const int* in, int* out, int n) {\n"
      "  __shared__ int tile[32][32];\n"
      "  const int x = threadIdx.x;\n"
      "  for (int j = 0; j < 32; ++j) tile[j][x] = in[j * 128 + x];\n"
      "  __syncthreads();\n  int sum = 0;\n"
      "  for (int j = 0; j < 32; ++j) sum += tile[x][j];\n  out[x] = sum;\n}\n";
  EXPECT_THAT(
      advice(source, {{1}, {32}}),
      says(AdviceKind::bank_conflict, "joins 4 neighbouring accesses into one of 16 bytes"));
}

TEST_F(AdviceTest, DivergenceSaysWhichThreads) {
  const auto source = [&](const std::string& condition) {
    return kernel("  int v = in[i];\n  if (" + condition +
                  ") {\n    for (int j = 0; j < n; ++j) v = v * v + j;\n  }\n  out[i] = v;");
  };
  EXPECT_THAT(advice(source("threadIdx.x % 2 == 0"), {{1}, {64}}, 20),
              says(AdviceKind::divergence, "the even threads go one way, the odd ones the other"));
  EXPECT_THAT(advice(source("threadIdx.x < 40"), {{1}, {64}}, 20),
              says(AdviceKind::divergence, "in warp 1 of block 0, the first 8 of its 32"));
  EXPECT_THAT(advice(source("threadIdx.x / 32 % 2 == 0"), {{1}, {64}}, 20), IsEmpty());
}

TEST_F(AdviceTest, WhatOneThreadDoesForAWarpIsNotWorthAWord) {
  EXPECT_THAT(advice(kernel("  int v = in[i];\n  for (int j = 0; j < 50; ++j) v = v * v + n;\n"
                            "  if (threadIdx.x == 0) out[blockIdx.x] = v;\n  out[i] = v;"),
                     line_),
              IsEmpty());
}

TEST_F(AdviceTest, LoopsOfDifferentLength) {
  EXPECT_THAT(
      advice(kernel("  int v = 1;\n  for (int j = 0; j < (in[i] & 31); ++j) v = v * v + n;\n"
                    "  out[i] = v;"),
             {{1}, {32}}),
      says(AdviceKind::divergence, "leave the loop early wait for the others"));
}

TEST_F(AdviceTest, AtomicsOnOneWord) {
  EXPECT_THAT(advice(kernel("atomicAdd(out, in[i]);"), line_),
              says(AdviceKind::contended_atomic, "32 of a warp's 32 threads change the same word"));
  EXPECT_THAT(advice(kernel("atomicAdd(out + i, in[i]);"), line_), IsEmpty());
}

TEST_F(AdviceTest, SharedAtomicsOnOneWordTakeTurnsUnlessTheyAddOne) {
  const auto source = [&](const std::string& update) {
    return kernel("  __shared__ int bins[1024];\n  bins[threadIdx.x] = 0;\n  __syncthreads();\n  " +
                  update + ";\n  __syncthreads();\n  out[i] = bins[threadIdx.x];");
  };
  const std::string same = "change words of one bank, or the same word, take turns";
  EXPECT_THAT(advice(source("atomicAdd(&bins[5], n)"), {{1}, {32}}),
              says(AdviceKind::bank_conflict, same));
  EXPECT_THAT(advice(source("out[i] = atomicAdd(&bins[5], 1)"), {{1}, {32}}),
              says(AdviceKind::bank_conflict, same));
  EXPECT_THAT(advice(source("atomicAdd(&bins[5], 1)"), {{1}, {32}}), IsEmpty());
  EXPECT_THAT(advice(source("atomicAdd(&bins[32 * threadIdx.x], 1)"), {{1}, {32}}),
              says(AdviceKind::bank_conflict,
                   "add 1 to the same word share a turn, those that access"
                   " different words of one bank take turns"));
}

TEST_F(AdviceTest, LocalArrays) {
  EXPECT_THAT(advice(kernel("  int bins[16] = {};\n"
                            "  for (int j = 0; j < 16; ++j) bins[in[i + 32 * j] & 15] += j;\n"
                            "  out[i] = bins[n & 15];"),
                     {{1}, {32}}),
              says(AdviceKind::local_memory, "array whose index is known only at run time"));
}

TEST_F(AdviceTest, PartialWarps) {
  const auto found = advice(kernel("out[i] = in[i];"), {{4}, {40}});
  EXPECT_THAT(found, says(AdviceKind::partial_warps, "A block of 40 threads is 2 warps, the last"));
}

}  // namespace
}  // namespace report
}  // namespace tilescope
