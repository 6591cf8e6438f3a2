// The model of races beyond barriers: equal bits, flags that are volatile, what follows from a bad
// access.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "race_case.hpp"

namespace tilescope::observe {
namespace {

using testing::check;
using testing::Checked;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kernel;
using testing::kernel_with;

using RaceModel = testing::RaceTest;

/// "error race 4/4 s": the findings of `check().brief()` with their severity.
std::vector<std::string> judged(const Checked& what) {
  const auto result = check(what);
  std::vector<std::string> lines = result.brief();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i] = std::string(to_string(result.findings[i].severity)) + " " + lines[i];
  }
  return lines;
}

TEST_F(RaceModel, LanesThatStoreTheSameBits) {
  // The shuffles leave one sum in all lanes, which the text of the program does not show.
  const auto source = [](const char* stored) {
    return kernel(std::string("  __shared__ int s[2]; int v = in[threadIdx.x];\n"
                              "  for (int d = 16; d > 0; d /= 2)\n"
                              "    v += __shfl_xor_sync(0xffffffffu, v, d);\n"
                              "  s[threadIdx.x / 32] = ") +
                  stored +
                  ";\n  __syncthreads();\n"
                  "  out[threadIdx.x] = s[threadIdx.x / 32];");
  };
  EXPECT_THAT(judged({source("v")}), ElementsAre("note race 5/5 s"));
  EXPECT_THAT(judged({source("v + threadIdx.x")}), ElementsAre("error race 5/5 s"));
  // One warp alone, and then both with the same and with different values.
  EXPECT_THAT(judged({source("v"), {{1}, {32}}}), ElementsAre("note race 5/5 s"));
}

TEST_F(RaceModel, WarpsAndBlocksThatStoreTheSameBits) {
  const auto source = [](const char* stored) {
    return kernel(std::string("  int any = __syncthreads_or(in[threadIdx.x] > 5);\n"
                              "  *out = any + ") +
                  stored + ";");
  };
  EXPECT_THAT(judged({source("in[3]")}), ElementsAre("note race 3/3 out"));
  EXPECT_THAT(judged({source("in[threadIdx.x / 32]")}), ElementsAre("error race 3/3 out"));
  EXPECT_THAT(judged({source("in[3]"), {{4}, {32}}}), ElementsAre("note race 3/3 out"));
  EXPECT_THAT(judged({source("in[blockIdx.x]"), {{4}, {32}}}), ElementsAre("error race 3/3 out"));
}

TEST_F(RaceModel, LanesThatLoseAnUpdateAreNoNote) {
  EXPECT_THAT(judged({kernel("  __shared__ int bin[4]; bin[threadIdx.x % 4] = 0;\n"
                             "  __syncthreads();\n"
                             "  bin[in[threadIdx.x] % 4] += 1;\n"
                             "  __syncthreads();\n"
                             "  out[threadIdx.x] = bin[threadIdx.x % 4];"),
                      {{1}, {32}}}),
              ElementsAre("error race 4/4 bin"));
}

TEST_F(RaceModel, NotesDoNotHideWhatDiffers) {
  // Both lines store to one word: in line 3 the same value, in line 4 different ones.
  EXPECT_THAT(judged({kernel("  int any = __syncthreads_or(in[threadIdx.x] > 5);\n"
                             "  out[0] = any;\n"
                             "  out[1] = any + threadIdx.x;")}),
              ElementsAre("note race 3/3 out", "error race 4/4 out"));
}

// in[] has 4096 elements: what lies behind it reads as 0, and all such threads meet at out[0].
TEST_F(RaceModel, WhatFollowsFromABadReadIsLeftOut) {
  const auto source = [](const char* from) {
    return kernel(std::string("  int at = in[threadIdx.x + ") + from +
                  "];\n  out[at % 64] = threadIdx.x;");
  };
  EXPECT_THAT(judged({source("0")}), IsEmpty());
  EXPECT_THAT(judged({source("4096")}), ElementsAre("error out-of-bounds 2 in"));
  EXPECT_THAT(judged({source("4096"), {{4}, {1}}}), ElementsAre("error out-of-bounds 2 in"));
  // Threads without a bad read still race.
  EXPECT_THAT(judged({kernel("  int at = in[threadIdx.x + 4090];\n"
                             "  out[at > 0 ? 1 : 0] = threadIdx.x;")}),
              ElementsAre("error out-of-bounds 2 in", "error race 3/3 out"));
}

TEST_F(RaceModel, VolatileInSharedMemoryThatOnlyBranchesIsData) {
  // Odd-even sort: the compares decide branches, but no loop ends by them.
  const auto source = [](const char* barrier) {
    return kernel(std::string("  __shared__ volatile int s[64];\n"
                              "  s[threadIdx.x] = in[63 - threadIdx.x];\n"
                              "  __syncthreads();\n"
                              "  for (int round = 0; round < 64; ++round) {\n"
                              "    int i = 2 * threadIdx.x + round % 2;\n"
                              "    if (i + 1 < 64 && s[i] > s[i + 1]) {\n"
                              "      int v = s[i]; s[i] = s[i + 1]; s[i + 1] = v;\n    }\n    ") +
                  barrier + "\n  }\n  out[threadIdx.x] = s[threadIdx.x];");
  };
  EXPECT_THAT(check({source("")}).brief(), ::testing::Not(IsEmpty()));
  EXPECT_THAT(check({source("__syncthreads();")}).brief(), IsEmpty());
}

TEST_F(RaceModel, VolatileAgainstAtomic) {
  const auto source = [](const char* lock) {
    return kernel_with("__device__ int word;", std::string("  if (threadIdx.x != 0) return;\n"
                                                           "  volatile int* plain = &word;\n") +
                                                   lock);
  };
  // A lock that is released by a volatile store: what the atomic returned decides.
  EXPECT_THAT(check({source("  while (atomicCAS(&word, 0, 1) != 0) {}\n"
                            "  __threadfence();\n  out[0] += in[1];\n"
                            "  __threadfence();\n  *plain = 0;"),
                     {{3}, {32}}})
                  .brief(),
              IsEmpty());
  // Nobody looks at what this atomic returns: the word is data.
  EXPECT_THAT(
      check({source("  if (blockIdx.x == 0) atomicExch(&word, 1); else *plain = 2;"), {{2}, {32}}})
          .brief(),
      ElementsAre("race 4/4 word"));
}

}  // namespace
}  // namespace tilescope::observe
