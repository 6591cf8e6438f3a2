// Counts of small kernels whose figures can be worked out on paper.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "kernel_run.hpp"
#include "observe/count/count_observer.hpp"

namespace tilescope::observe {
namespace {

class CountsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  }
  /// `body` with int* in, int* out (4,096 elements each, in[i] = i), int n and int i, the thread.
  CountedLaunch count(const std::string& body, const Launch& launch, std::int32_t n = 0,
                      unsigned threads = 2) {
    testing::KernelRun run(compile::compile(
        testing::compilation("extern \"C\" __global__ void k(const int* in, int* out, int n) {\n"
                             "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
                             body + "\n}\n")));
    run.threads = threads;
    std::vector<std::int32_t> values(4096);
    std::iota(values.begin(), values.end(), 0);
    const std::uint64_t in = run.array("in", values), out = run.array("out", values);
    CountObserver counter;
    EXPECT_TRUE(run.launch(launch, {&counter}, in, out, n).complete());
    return counter.result();
  }
  const Launch one_warp_{{1}, {32}};
};

TEST_F(CountsTest, SectorsDependOnWhereARowBegins) {
  // 32 words from word k on: 4 sectors, and one more unless k is a multiple of 8.
  const Counts counts =
      count("#pragma unroll 1\n  for (int k = 0; k < n; ++k) out[i] += in[i + k];", one_warp_, 16)
          .totals;
  // The sum stays in a register, so that out is loaded once.
  EXPECT_EQ(counts.global_load, (SectorCounts{1 + 16, 4 + 2 * 4 + 14 * 5, 17 * 4}));
}

TEST_F(CountsTest, BytesBeginAnywhere) {
  const Counts counts = count(
                            "#pragma unroll 1\n  for (int k = 0; k < n; ++k)\n"
                            "    out[i] = reinterpret_cast<const char*>(in)[i + k];",
                            one_warp_, 32)
                            .totals;
  EXPECT_EQ(counts.global_load.sectors, 1u + 31 * 2);
  EXPECT_EQ(counts.global_load.ideal_sectors, 32u);
}

/// 8 rows of 64 bytes, `apart` words from each other, to rows of `pitch` bytes in shared memory; a
/// lane reads `bytes` of its 16.
std::string copied_rows(int apart, int pitch, const std::string& cache, const std::string& bytes) {
  return fmt::format(
      "  __shared__ __align__(128) int tile[1024];\n"
      "  const int* from = in + i / 4 * {} + i % 4 * 4;\n"
      "  const unsigned to = (unsigned)__cvta_generic_to_shared(tile) + i / 4 * {} + i % 4 * 16;\n"
      "  asm volatile(\"cp.async.{}.shared.global [%0], [%1], 16, %2;\" :: \"r\"(to), "
      "\"l\"(from),\n"
      "               \"r\"({}) : \"memory\");\n"
      "  asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n"
      "  out[i] = tile[i];",
      apart, pitch, cache, bytes);
}

TEST_F(CountsTest, CopiesPastTheL1CacheCountWhatEachLineFills) {
  const auto sectors = [&](int apart, int pitch, const std::string& cache) {
    return count(copied_rows(apart, pitch, cache, "16"), one_warp_).totals.global_load;
  };
  EXPECT_EQ(sectors(32, 64, "cg"), (SectorCounts{1, 16, 16}));
  // Every other row begins in the middle of a sector and lies in 3, two rows of them in two lines.
  EXPECT_EQ(sectors(36, 64, "cg"), (SectorCounts{1, 18, 16}));
  EXPECT_EQ(sectors(36, 64, "ca"), (SectorCounts{1, 20, 16}));
  // Every other row fills halves of two sectors of shared memory.
  EXPECT_EQ(sectors(32, 80, "cg"), (SectorCounts{1, 20, 16}));
  EXPECT_EQ(sectors(32, 80, "ca"), (SectorCounts{1, 16, 16}));
}

TEST_F(CountsTest, LanesThatCopyFewerBytesAreOfTheSameRequest) {
  for (const std::string cache : {"cg", "ca"}) {
    const Counts some = count(copied_rows(32, 64, cache, "i % 4 * 4"), one_warp_).totals;
    EXPECT_EQ(some.global_load.requests, 1u) << cache;
    EXPECT_EQ(some.global_load.sectors, 16u) << cache;  // 3 chunks of each row
    const Counts none = count(copied_rows(32, 64, cache, "0"), one_warp_).totals;
    EXPECT_EQ(none.global_load, SectorCounts{}) << cache;
    EXPECT_EQ(none.shared_async.requests, 1u) << cache;
  }
}

TEST_F(CountsTest, AtomicsAndReductionsAreApart) {
  const Counts counts = count(
                            "out[i] = atomicAdd(out + 64, in[i]);\n  atomicMax(out + 65, in[i]);\n"
                            "  atomicAdd(out + 128 + i, 1);",
                            one_warp_)
                            .totals;
  EXPECT_EQ(counts.global_atomic, (SectorCounts{1, 1, 1}));
  EXPECT_EQ(counts.global_reduction, (SectorCounts{2, 1 + 4, 1 + 4}));
}

TEST_F(CountsTest, SharedColumnsConflict) {
  const Counts counts = count(
                            "  __shared__ int tile[32][32], padded[32][33];\n"
                            "  tile[i][0] = padded[i][0] = in[i];\n  __syncthreads();\n"
                            "  out[i] = tile[i ^ n][0] + padded[i ^ n][0];",
                            one_warp_, 1)
                            .totals;
  EXPECT_EQ(counts.shared_store, (WavefrontCounts{2, 32 + 1, 2, 32}));
  EXPECT_EQ(counts.shared_load, (WavefrontCounts{2, 32 + 1, 2, 32}));
  EXPECT_EQ(counts.barriers, 1u);
}

TEST_F(CountsTest, SharedAtomicsOnOneWordTakeTurns) {
  const Counts counts = count(
                            "  __shared__ int sum;\n  sum = 0;\n  __syncthreads();\n"
                            "  atomicAdd(&sum, in[i]);\n  __syncthreads();\n  out[i] = sum;",
                            one_warp_)
                            .totals;
  EXPECT_EQ(counts.shared_atomic.requests, 1u);
  EXPECT_EQ(counts.shared_atomic.wavefronts, 32u);
}

TEST_F(CountsTest, LocalWordsLieSideBySide) {
  const Counts counts =
      count("  volatile int bins[8];\n  bins[n] = i;\n  out[i] = bins[n];", one_warp_, 3).totals;
  EXPECT_EQ(counts.local_store, (SectorCounts{1, 4, 4}));
  EXPECT_EQ(counts.local_load, (SectorCounts{1, 4, 4}));
}

TEST_F(CountsTest, DivergenceNamesTheFirstWarp) {
  const CountedLaunch counts = count(
      "  int v = in[i];\n  if (i % 64 >= 40)\n"
      "    for (int k = 0; k < n; ++k) v = v * v + k;\n  out[i] = v;",
      {{4}, {64}}, 9);
  EXPECT_EQ(counts.totals.divergent_branches, 4u);
  for (const InstructionCount& instruction : counts.instructions) {
    if (!instruction.diverged) continue;
    EXPECT_EQ(instruction.diverged->block, 0u);
    EXPECT_EQ(instruction.diverged->warp, 1u);
    EXPECT_EQ(instruction.diverged->active, 0xffffffffu);
    EXPECT_TRUE(instruction.diverged->taken == 0xffu || instruction.diverged->taken == 0xffffff00u);
    // 8 lanes wait for every instruction that the other 24 of the 4 warps run alone.
    EXPECT_GE(instruction.diverged->idle_lanes, 4u * 8 * 9);
  }
}

TEST_F(CountsTest, UniqueBytesAreCountedOnce) {
  const CountedLaunch counts = count("out[i] = in[i] + in[i + 1] + in[0];", {{4}, {64}});
  EXPECT_EQ(counts.unique_bytes_read(), 257u * 4);
  EXPECT_EQ(counts.unique_bytes_written(), 256u * 4);
}

TEST_F(CountsTest, NoInstructionIsWithoutALine) {
  const CountedLaunch counts =
      count("  for (int k = 0; k < n; ++k) out[i * n + k] = in[i * k];", {{4}, {64}}, 5);
  Counts sum;
  for (const LineCounts& line : counts.lines) {
    EXPECT_GE(line.place.line, 1u);
    EXPECT_EQ(line.place.file, "kernel.cu");
    sum += line.counts;
  }
  EXPECT_EQ(sum, counts.totals);
}

TEST_F(CountsTest, DoNotDependOnTheNumberOfHostThreads) {
  const std::string body =
      "  __shared__ int part[64];\n  part[threadIdx.x] = in[(i * 7) & 4095];\n  __syncthreads();\n"
      "  if (part[threadIdx.x ^ 5] % 3 == 0) atomicAdd(out + (i & 31), part[threadIdx.x]);";
  const CountedLaunch one = count(body, {{64}, {64}}, 0, 1), four = count(body, {{64}, {64}}, 0, 4);
  EXPECT_EQ(one.totals, four.totals);
  ASSERT_EQ(one.instructions.size(), four.instructions.size());
  for (std::size_t i = 0; i < one.instructions.size(); ++i) {
    EXPECT_EQ(one.instructions[i].counts, four.instructions[i].counts);
    ASSERT_EQ(one.instructions[i].diverged.has_value(), four.instructions[i].diverged.has_value());
    if (one.instructions[i].diverged) {
      EXPECT_EQ(one.instructions[i].diverged->block, four.instructions[i].diverged->block);
      EXPECT_EQ(one.instructions[i].diverged->taken, four.instructions[i].diverged->taken);
    }
  }
}

// One instruction, as ncu measured it on a GPU of compute capability 9.0:
// sm__inst_executed_pipe_tensor, sm__ops_path_tensor_..., sm__sass_data_bytes_mem_shared_op_gmma.
TEST(TensorCounts, EqualTheProfilers) {
  struct Case {
    std::string instruction;
    unsigned threads;
    std::uint64_t instructions, operations, bytes;
  };
  const std::string d = "{%r0, %r1, %r2, %r3}";
  const std::string n16 = "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}";
  for (const Case& c : {
           Case{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + d + ", " + d +
                    ", {%r4, %r5}, " + d,
                32, 1, 4096, 0},
           Case{"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 " + d +
                    ", " + d + ", " + d + ", " + d + ", %r9, 0",
                32, 1, 8192, 0},
           Case{"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 " + d + ", " + d +
                    ", {%r4, %r5}, " + d,
                32, 2, 8192, 0},
           Case{"mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 " + d + ", " + d +
                    ", {%r4, %r5}, " + d,
                32, 2, 16384, 0},
           Case{"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc " + d + ", " + d +
                    ", {%r4, %r5}, " + d,
                32, 1, 65536, 0},
           Case{"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc " + d + ", " + d +
                    ", {%r4, %r5}, " + d,
                32, 2, 65536, 0},
           Case{"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " + n16 + ", " + n16 + ", " + n16 +
                    ", " + n16,
                32, 2, 8192, 0},
           Case{"wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 " + n16 + ", " + d +
                    ", " + d + ", " + n16,
                32, 4, 4096, 0},
           Case{"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " + d +
                    ", %a, %a, %p, 1, 1, 0, 0",
                128, 4, 16384, 2304},
           Case{"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " + n16 +
                    ", %a, %a, %p, 1, 1, 0, 0",
                128, 4, 32768, 2560},
           Case{"wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 " + d + ", %a, %a, %p, 1, 1",
                128, 4, 8192, 2304},
           Case{"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 " + d + ", %a, %a, %p", 128, 4,
                32768, 2304},
           Case{"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 " + d +
                    ", %a, %a, %r9, 0, %p, 1, 1, 0, 0",
                128, 4, 32768, 2560},
       }) {
    testing::KernelRun run(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
        ".reg .b32 %r<10>; .reg .b64 %a; .reg .pred %p; .shared .align 128 .b8 s[8192];\n"
        "mov.u64 %a, 0x0000001000080000; mov.u32 %r9, 0x44444444; setp.ne.u32 %p, 1, 0;\n" +
        c.instruction + ";\nret;\n}\n");
    CountObserver counter;
    EXPECT_TRUE(run.launch({{1}, {c.threads}}, {&counter}).complete());
    const OperationCounts counts = counter.result().totals.operations;
    EXPECT_EQ(counts.tensor, c.instructions) << c.instruction;
    EXPECT_EQ(counts.tensor_flops, c.operations) << c.instruction;
    EXPECT_EQ(counts.tensor_bytes, c.bytes) << c.instruction;
  }
}

// On an H200 operations on mbarriers are in none of the metrics of shared memory.
TEST(BarrierCounts, AreNoneOfSharedMemory) {
  testing::KernelRun run(
      ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
      ".reg .b64 %t; .reg .b32 %r; .reg .pred %p; .shared .align 8 .b64 bar;\n"
      ".shared .align 4 .b32 word;\n"
      "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.shared.b64 %t, [bar];\n"
      "mbarrier.test_wait.shared.b64 %p, [bar], %t;\n"
      "st.shared.b32 [word], 0; atom.shared.inc.u32 %r, [word], 7;\nret;\n}\n");
  CountObserver counter;
  EXPECT_TRUE(run.launch({{1}, {1}}, {&counter}).complete());
  const Counts& counts = counter.result().totals;
  EXPECT_EQ(counts.shared_store.requests, 1u);
  EXPECT_EQ(counts.shared_atomic.requests, 1u);
}

}  // namespace
}  // namespace tilescope::observe
