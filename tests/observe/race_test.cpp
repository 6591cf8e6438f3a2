// Data races: kernels that have one, each with a cured twin that must stay silent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "race_case.hpp"

namespace tilescope::observe {
namespace {

using testing::check;
using testing::Checked;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Races = testing::RaceTest;
using testing::kernel;
using testing::kernel_with;

TEST_F(Races, MissingBarrierBetweenWarps) {
  const auto source = [](const char* between) {
    return kernel(std::string("  __shared__ int tile[64];\n"
                              "  tile[threadIdx.x] = in[threadIdx.x];\n") +
                  between + "\n  out[threadIdx.x] = tile[63 - threadIdx.x];");
  };
  EXPECT_THAT(check({source("")}).brief(), ElementsAre("race 3/5 tile"));
  EXPECT_THAT(check({source("__syncthreads();")}).brief(), IsEmpty());
}

TEST_F(Races, MissingBarrierAtTheEndOfAPhase) {
  const auto source = [](const char* end) {
    return kernel(std::string("  __shared__ int tile[64]; int sum = 0;\n"
                              "  for (int phase = 0; phase < 4; ++phase) {\n"
                              "    tile[threadIdx.x] = in[64 * phase + threadIdx.x];\n"
                              "    __syncthreads();\n"
                              "    sum += tile[63 - threadIdx.x];\n    ") +
                  end + "\n  }\n  out[threadIdx.x] = sum;");
  };
  EXPECT_THAT(check({source("")}).brief(), ElementsAre("race 4/6 tile"));
  EXPECT_THAT(check({source("__syncthreads();")}).brief(), IsEmpty());
}

TEST_F(Races, LanesOfAWarpNeedNotRunInStep) {
  const auto source = [](const char* between) {
    return kernel(std::string("  __shared__ int tile[32];\n"
                              "  tile[threadIdx.x] = in[threadIdx.x];\n") +
                  between + "\n  out[threadIdx.x] = tile[31 - threadIdx.x];");
  };
  const Launch warp{{1}, {32}};
  EXPECT_THAT(check({source(""), warp}).brief(), ElementsAre("race 3/5 tile"));
  EXPECT_THAT(check({source("__syncwarp();"), warp}).brief(), IsEmpty());
}

TEST_F(Races, VolatileIsNoSubstituteForSyncwarp) {
  const auto source = [](const char* between) {
    return kernel(std::string("  __shared__ volatile int s[64];\n"
                              "  s[threadIdx.x] = in[threadIdx.x]; s[threadIdx.x + 32] = 1;\n"
                              "  int mine = s[threadIdx.x];\n"
                              "  for (int d = 16; d > 0; d /= 2) {\n    ") +
                  between + " mine += s[threadIdx.x + d];\n    " + between +
                  " s[threadIdx.x] = mine;\n  }\n  out[threadIdx.x] = mine;");
  };
  const Launch warp{{1}, {32}};
  EXPECT_THAT(check({source(""), warp}).brief(), ::testing::Not(IsEmpty()));
  EXPECT_THAT(check({source("__syncwarp();"), warp}).brief(), IsEmpty());
}

TEST_F(Races, LanesOrderedByShuffles) {
  EXPECT_THAT(check({kernel("  __shared__ int tile[32];\n"
                            "  tile[threadIdx.x] = in[threadIdx.x];\n"
                            "  int v = __shfl_xor_sync(0xffffffffu, in[threadIdx.x], 1);\n"
                            "  out[threadIdx.x] = tile[31 - threadIdx.x] + v;"),
                     {{1}, {32}}})
                  .brief(),
              IsEmpty());
}

TEST_F(Races, HalfWarpsAreOrderedOnlyWithinThemselves) {
  const auto source = [](const char* index) {
    return kernel(std::string("  __shared__ int tile[32];\n"
                              "  unsigned mask = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;\n"
                              "  tile[threadIdx.x] = in[threadIdx.x];\n"
                              "  __syncwarp(mask);\n"
                              "  out[threadIdx.x] = tile[threadIdx.x ^ ") +
                  index + "];");
  };
  const Launch warp{{1}, {32}};
  EXPECT_THAT(check({source("16"), warp}).brief(), ElementsAre("race 4/6 tile"));
  EXPECT_THAT(check({source("15"), warp}).brief(), IsEmpty());
}

TEST_F(Races, AWarpSyncDoesNotOrderOtherWarps) {
  EXPECT_THAT(check({kernel("  __shared__ int tile[64];\n"
                            "  tile[threadIdx.x] = in[threadIdx.x];\n"
                            "  __syncwarp();\n"
                            "  out[threadIdx.x] = tile[63 - threadIdx.x];")})
                  .brief(),
              ElementsAre("race 3/5 tile"));
}

TEST_F(Races, SeveralLanesStoreToOneElement) {
  EXPECT_THAT(check({kernel("  __shared__ int last;\n"
                            "  last = in[threadIdx.x];\n"
                            "  __syncthreads();\n"
                            "  out[threadIdx.x] = last;")})
                  .brief(),
              ElementsAre("race 3/3 last"));
  EXPECT_THAT(check({kernel("  __shared__ int last;\n"
                            "  if (threadIdx.x == 63) last = in[threadIdx.x];\n"
                            "  __syncthreads();\n"
                            "  out[threadIdx.x] = last;")})
                  .brief(),
              IsEmpty());
}

TEST_F(Races, EqualValuesAreNoHarm) {
  EXPECT_THAT(check({kernel("  __shared__ int found; __shared__ int size;\n"
                            "  if (in[threadIdx.x] % 2 == 1) found = 1;\n"
                            "  if (in[threadIdx.x] % 3 == 1) found = 1;\n"
                            "  size = n + blockIdx.x;\n"
                            "  __syncthreads();\n"
                            "  out[threadIdx.x] = found + size;")})
                  .brief(),
              IsEmpty());
  EXPECT_THAT(check({kernel("  if (in[threadIdx.x] % 2 == 1) *out = 1;"), {{8}, {64}}}).brief(),
              IsEmpty());
  EXPECT_THAT(check({kernel("  __shared__ int found;\n"
                            "  if (in[threadIdx.x] % 2 == 1) found = 1;\n"
                            "  if (in[threadIdx.x] % 3 == 1) found = 2;\n"
                            "  __syncthreads();\n"
                            "  out[threadIdx.x] = found;")})
                  .brief(),
              ::testing::Not(IsEmpty()));
}

TEST_F(Races, NeighbouringBytesAreNotTheSameElement) {
  EXPECT_THAT(check({kernel("  __shared__ unsigned char bytes[64]; __shared__ short halves[64];\n"
                            "  bytes[threadIdx.x] = in[threadIdx.x];\n"
                            "  halves[threadIdx.x] = bytes[threadIdx.x];\n"
                            "  out[threadIdx.x] = bytes[threadIdx.x] + halves[threadIdx.x];")})
                  .brief(),
              IsEmpty());
  EXPECT_THAT(check({kernel("  __shared__ unsigned char bytes[64];\n"
                            "  bytes[threadIdx.x] = in[threadIdx.x];\n"
                            "  out[threadIdx.x] = bytes[threadIdx.x ^ 32];")})
                  .brief(),
              ElementsAre("race 3/4 bytes"));
}

TEST_F(Races, AtomicsDoNotRaceWithEachOther) {
  const auto source = [](const char* add) {
    return kernel(std::string("  __shared__ int bins[16];\n"
                              "  if (threadIdx.x < 16) bins[threadIdx.x] = 0;\n"
                              "  __syncthreads();\n") +
                  add +
                  "\n  __syncthreads();\n"
                  "  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];");
  };
  EXPECT_THAT(check({source("atomicAdd(&bins[in[threadIdx.x] % 16], 1);")}).brief(), IsEmpty());
  EXPECT_THAT(check({source("bins[in[threadIdx.x] % 16] += 1;")}).brief(),
              ::testing::Not(IsEmpty()));
}

TEST_F(Races, AtomicAgainstPlainRead) {
  const auto source = [](const char* between) {
    return kernel(std::string("  __shared__ int sum;\n"
                              "  if (threadIdx.x == 0) sum = 0;\n"
                              "  __syncthreads();\n"
                              "  atomicAdd(&sum, in[threadIdx.x]);\n") +
                  between + "\n  out[threadIdx.x] = sum;");
  };
  EXPECT_THAT(check({source("")}).brief(), ElementsAre("race 5/7 sum"));
  EXPECT_THAT(check({source("__syncthreads();")}).brief(), IsEmpty());
}

TEST_F(Races, ATreeReductionWithAndWithoutItsBarrier) {
  const auto source = [](const char* barrier) {
    return kernel(
        std::string("  __shared__ int s[256];\n"
                    "  s[threadIdx.x] = in[threadIdx.x];\n"
                    "  __syncthreads();\n"
                    "  for (int d = 128; d > 0; d /= 2) {\n"
                    "    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];\n    ") +
        barrier + "\n  }\n  if (threadIdx.x == 0) out[blockIdx.x] = s[0];");
  };
  EXPECT_THAT(check({source(""), {{4}, {256}}}).brief(), ElementsAre("race 6/6 s"));
  EXPECT_THAT(check({source("__syncthreads();"), {{4}, {256}}}).brief(), IsEmpty());
}

TEST_F(Races, NamedBarriersOrderTheirParticipants) {
  // Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2.
  const auto source = [](const char* partner) {
    return kernel(
        std::string("  __shared__ int tile[128];\n"
                    "  tile[threadIdx.x] = in[threadIdx.x];\n"
                    "  if (threadIdx.x < 64) asm volatile(\"bar.sync 1, 64;\" ::: \"memory\");\n"
                    "  else asm volatile(\"bar.sync 2, 64;\" ::: \"memory\");\n"
                    "  out[threadIdx.x] = tile[threadIdx.x ^ ") +
        partner + "];");
  };
  EXPECT_THAT(check({source("32"), {{1}, {128}}}).brief(), IsEmpty());
  EXPECT_THAT(check({source("64"), {{1}, {128}}}).brief(), ElementsAre("race 3/6 tile"));
}

TEST_F(Races, ProducersArriveAndConsumersWait) {
  const auto source = [](const char* arrive) {
    return kernel(std::string("  __shared__ int tile[32];\n"
                              "  if (threadIdx.x < 32) {\n"
                              "    tile[threadIdx.x] = in[threadIdx.x];\n") +
                  arrive +
                  "\n  } else {\n"
                  "    asm volatile(\"bar.sync 1, 64;\" ::: \"memory\");\n"
                  "    out[threadIdx.x] = tile[threadIdx.x - 32];\n"
                  "    asm volatile(\"bar.arrive 2, 64;\" ::: \"memory\");\n"
                  "  }");
  };
  const std::string arrive = "asm volatile(\"bar.arrive 1, 64;\" ::: \"memory\");";
  const std::string wait = "asm volatile(\"bar.sync 2, 64;\" ::: \"memory\");";
  EXPECT_THAT(check({source((arrive + wait + " tile[threadIdx.x] = 0;").c_str())}).brief(),
              IsEmpty());
  EXPECT_THAT(check({source((arrive + " tile[threadIdx.x] = 0;" + wait).c_str())}).brief(),
              ElementsAre("race 5/8 tile"));
}

TEST_F(Races, CopiesMustBeWaitedFor) {
  const auto source = [](const char* wait) {
    return kernel_with(
        "#include <cuda_pipeline.h>\n",
        std::string("  __shared__ int tile[64];\n"
                    "  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);\n"
                    "  __pipeline_commit();\n  ") +
            wait + "\n  out[threadIdx.x] = tile[threadIdx.x];");
  };
  EXPECT_THAT(check({source("")}).brief(), ElementsAre("unfinished-copy 4/7 tile"));
  EXPECT_THAT(check({source("__pipeline_wait_prior(1);")}).brief(),
              ElementsAre("unfinished-copy 4/7 tile"));
  EXPECT_THAT(check({source("__pipeline_wait_prior(0);")}).brief(), IsEmpty());
}

TEST_F(Races, WaitedCopiesOfOthersNeedABarrier) {
  const auto source = [](const char* barrier) {
    return kernel_with(
        "#include <cuda_pipeline.h>\n",
        std::string("  __shared__ int tile[64];\n"
                    "  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);\n"
                    "  __pipeline_commit();\n"
                    "  __pipeline_wait_prior(0);\n  ") +
            barrier + "\n  out[threadIdx.x] = tile[63 - threadIdx.x];");
  };
  EXPECT_THAT(check({source("")}).brief(), ElementsAre("race 4/8 tile"));
  EXPECT_THAT(check({source("__syncthreads();")}).brief(), IsEmpty());
}

TEST_F(Races, GlobalMemoryWithinABlock) {
  const auto source = [](const char* between) {
    return kernel(std::string("  out[threadIdx.x] = in[threadIdx.x];\n") + between +
                  "\n  out[64 + threadIdx.x] = out[63 - threadIdx.x];");
  };
  EXPECT_THAT(check({source("")}).brief(), ElementsAre("race 2/4 out"));
  EXPECT_THAT(check({source("__syncthreads();")}).brief(), IsEmpty());
}

TEST_F(Races, BlocksThatWriteTheSameElements) {
  EXPECT_THAT(
      check({kernel("  out[threadIdx.x] = in[threadIdx.x] + blockIdx.x;"), {{3}, {64}}}).brief(),
      ElementsAre("race 2/2 out"));
  EXPECT_THAT(check({kernel("  out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];"),
                     {{3}, {64}}})
                  .brief(),
              IsEmpty());
  EXPECT_THAT(
      check({kernel("  atomicAdd(&out[threadIdx.x], in[threadIdx.x]);"), {{3}, {64}}}).brief(),
      IsEmpty());
}

TEST_F(Races, BlocksThatReadWhatNeighboursWrite) {
  const Launch blocks{{4}, {64}};
  EXPECT_THAT(check({kernel("  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                            "  out[i] = out[i + 64] + 1;"),
                     blocks})
                  .brief(),
              ElementsAre("race 3/3 out"));
  EXPECT_THAT(check({kernel("  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                            "  out[i] = in[i + 64] + 1;"),
                     blocks})
                  .brief(),
              IsEmpty());
}

TEST_F(Races, SumsOfBlocksWithoutAtomics) {
  EXPECT_THAT(
      check({kernel("  if (threadIdx.x == 0) *out += in[blockIdx.x];"), {{4}, {64}}}).brief(),
      ::testing::Not(IsEmpty()));
  EXPECT_THAT(
      check({kernel("  if (threadIdx.x == 0) atomicAdd(out, in[blockIdx.x]);"), {{4}, {64}}})
          .brief(),
      IsEmpty());
}

// The last block to finish adds up the others' results: right with a fence, wrong without.
TEST_F(Races, TheLastBlockAddsUp) {
  const auto source = [](const char* fence) {
    return kernel_with(
        "__device__ unsigned int done;",
        std::string("  __shared__ bool last;\n"
                    "  if (threadIdx.x == 0) {\n"
                    "    out[1 + blockIdx.x] = in[blockIdx.x];\n    ") +
            fence +
            "\n    last = atomicInc(&done, gridDim.x) == gridDim.x - 1;\n"
            "  }\n"
            "  __syncthreads();\n"
            "  if (last && threadIdx.x < 32) {\n"
            "    int sum = 0;\n"
            "    for (int i = threadIdx.x; i < gridDim.x; i += 32) sum += out[1 + i];\n"
            "    if (threadIdx.x == 0) out[0] = sum;\n"
            "  }");
  };
  const Launch blocks{{40}, {64}};
  EXPECT_THAT(check({source("__threadfence();"), blocks}).brief(), IsEmpty());
  EXPECT_THAT(check({source(""), blocks}).brief(), ElementsAre("race 4/11 out"));
  EXPECT_THAT(check({source("__threadfence_block();"), blocks}).brief(),
              ElementsAre("race 4/11 out"));
}

TEST_F(Races, AFenceBeforeTheBarrierServesTheThreadThatPublishes) {
  const auto source = [](const char* first, const char* barrier) {
    return kernel_with(
        "__device__ unsigned int done;",
        std::string("  __shared__ bool last;\n"
                    "  out[1 + blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];\n  ") +
            first + barrier +
            "\n  if (threadIdx.x == 0) last = atomicAdd(&done, 1) == gridDim.x - 1;\n"
            "  __syncthreads();\n"
            "  if (last && threadIdx.x == 0) {\n"
            "    for (int i = 0; i < gridDim.x * blockDim.x; ++i) out[0] += out[1 + i];\n"
            "  }");
  };
  const Launch blocks{{6}, {64}};
  EXPECT_THAT(check({source("__threadfence(); ", "__syncthreads();"), blocks}).brief(), IsEmpty());
  EXPECT_THAT(check({source("__threadfence(); ", ""), blocks}).brief(),
              ElementsAre("race 3/8 out"));
}

TEST_F(Races, ALockThatFences) {
  const auto source = [](const char* fence) {
    return kernel_with("__device__ int lock;",
                       std::string("  if (threadIdx.x == 0) {\n"
                                   "    while (atomicCAS(&lock, 0, 1) != 0) {}\n    ") +
                           fence + "\n    out[0] = out[0] + in[blockIdx.x];\n    " + fence +
                           "\n    atomicExch(&lock, 0);\n  }");
  };
  EXPECT_THAT(check({source("__threadfence();"), {{8}, {32}}}).brief(), IsEmpty());
  EXPECT_THAT(check({source(""), {{8}, {32}}}).brief(), ::testing::Not(IsEmpty()));
}

TEST_F(Races, AFlagBetweenWarps) {
  const auto source = [](const char* fence) {
    return kernel(std::string("  __shared__ volatile int flag; __shared__ int value;\n"
                              "  if (threadIdx.x == 0) flag = 0;\n"
                              "  __syncthreads();\n"
                              "  if (threadIdx.x == 0) {\n"
                              "    value = in[7];\n    ") +
                  fence +
                  "\n    flag = 1;\n"
                  "  } else if (threadIdx.x == 32) {\n"
                  "    while (flag == 0) {}\n"
                  "    out[0] = value;\n"
                  "  }");
  };
  EXPECT_THAT(check({source("__threadfence_block();")}).brief(), IsEmpty());
  EXPECT_THAT(check({source("")}).brief(), ElementsAre("race 6/11 value"));
}

TEST_F(Races, AChainOfBlocks) {
  const auto source = [](const char* fence) {
    return kernel_with("__device__ volatile int turn;",
                       std::string("  if (threadIdx.x == 0) {\n"
                                   "    while (turn != blockIdx.x) {}\n"
                                   "    out[0] += in[blockIdx.x];\n    ") +
                           fence + "\n    turn = blockIdx.x + 1;\n  }");
  };
  EXPECT_THAT(check({source("__threadfence();"), {{5}, {32}}}).brief(), IsEmpty());
  EXPECT_THAT(check({source(""), {{5}, {32}}}).brief(), ::testing::Not(IsEmpty()));
}

// A checker that judges accesses in the order of blocks must see them in that order: one host
// thread runs a program that fences for other blocks, even when only its fences show that.
TEST_F(Races, ProgramsThatOrderTheirBlocksRunOnOneHostThread) {
  const auto threads_of = [](const char* fence) {
    return check({kernel(std::string("  if (threadIdx.x == 0) {\n"
                                     "    out[blockIdx.x] = 1;\n    ") +
                         fence + "\n    volatile int* flags = out + 64;\n" +
                         "    flags[blockIdx.x] = 1;\n  }"),
                  {{8}, {32}}},
                 4)
        .summary.threads;
  };
  EXPECT_EQ(threads_of("__threadfence();"), 1u);
  EXPECT_EQ(threads_of("__threadfence_block();"), 4u);
}

TEST_F(Races, ReleaseAndAcquireOfLibcuxx) {
  const auto source = [](const char* order) {
    return kernel_with(
        "#include <cuda/atomic>\n__device__ cuda::atomic<int, cuda::thread_scope_device> ready{0};",
        std::string("  if (threadIdx.x != 0) return;\n"
                    "  if (blockIdx.x == 0) {\n"
                    "    out[0] = in[5];\n"
                    "    ready.store(1, cuda::memory_order_") +
            order +
            ");\n  } else {\n"
            "    while (ready.load(cuda::memory_order_acquire) == 0) {}\n"
            "    out[1] = out[0];\n  }");
  };
  EXPECT_THAT(check({source("release"), {{2}, {32}}}).brief(), IsEmpty());
  EXPECT_THAT(check({source("relaxed"), {{2}, {32}}}).brief(), ::testing::Not(IsEmpty()));
}

TEST_F(Races, TheSameFindingsForAnyNumberOfThreads) {
  const std::string source = kernel(
      "  __shared__ int s[64];\n  s[threadIdx.x] = in[threadIdx.x];\n"
      "  out[threadIdx.x] = s[threadIdx.x ^ 33] + blockIdx.x;");
  const auto text = [&](unsigned threads) {
    std::string result;
    for (const Finding& f : check({source, {{37}, {64}}}, threads).findings) {
      result += message(f) + to_string(*f.first.thread) + to_string(*f.second->thread) +
                std::to_string(f.count) + "\n";
    }
    return result;
  };
  const std::string one = text(1);
  EXPECT_NE(one, "");
  EXPECT_EQ(text(2), one);
  EXPECT_EQ(text(5), one);
}

}  // namespace
}  // namespace tilescope::observe
