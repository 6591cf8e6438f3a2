// Pipelines of bulk copies: how far producers run ahead, worked out on paper.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tilescope/explain.hpp>

#include "kernel_run.hpp"
#include "observe/trace/pipeline_trace.hpp"

namespace tilescope::observe {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr unsigned kPhases = 8, kRowBytes = 256;

/// Rows of 64 floats come in stages, each with a barrier that says when it is full and one that
/// says when it is empty. `body` begins on line 3.
std::string pipeline_kernel(const std::string& body) {
  return R"(
#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
__device__ void load(float* to, const float* from, unsigned long long* bar) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%2], 256;"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
      ::"r"(AT(to)), "l"(from), "r"(AT(bar)) : "memory");
}
__device__ void wait(unsigned long long* bar, int parity) {
  asm volatile(
      "{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W; }"
      ::"r"(AT(bar)), "r"(parity) : "memory");
}
__device__ void arrive(unsigned long long* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(AT(bar)) : "memory");
}
extern "C" __global__ void k(const float* in, float* out) {
  __shared__ alignas(128) float tile[STAGES][64];
  __shared__ unsigned long long full[STAGES], empty[STAGES];
  const int t = threadIdx.x, n = 8;
  float sum = 0;
  if (t == 0) {
    for (int s = 0; s < STAGES; ++s) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(AT(full + s)) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(AT(empty + s)) : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
#line 3
)" + body +
         "\n  if (t >= 32) out[t] = sum;\n}\n";
}

/// Warp 0 copies, warp 1 adds. `more` follows each copy.
std::string specialised(const std::string& more = "") {
  return pipeline_kernel(R"(
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    const int s = k % STAGES, round = k / STAGES;
    if (t == 0) {
      if (round > 0) wait(empty + s, (round - 1) & 1);
      load(tile[s], in + 64 * k, full + s);)" +
                         more + R"(
    }
    if (t >= 32) {
      wait(full + s, round & 1);
      sum += tile[s][t] + tile[s][t - 32];
      arrive(empty + s);
    }
  })");
}

class Pipelines : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  }
  std::vector<Pipeline> trace(const std::string& source, unsigned stages,
                              std::uint32_t blocks = 1) {
    testing::KernelRun run(
        compile::compile(testing::compilation(source, {{"STAGES", std::to_string(stages)}})));
    const std::uint64_t in = run.array("in", std::vector<float>(64 * kPhases, 1.0f));
    const std::uint64_t out = run.array("out", std::vector<float>(64));
    PipelineTrace tracer;
    const emulator::LaunchSummary done = run.launch(Launch{{blocks}, {64}}, {&tracer}, in, out);
    EXPECT_TRUE(done.complete());
    EXPECT_EQ(done.deadlocked_blocks, 0u);
    EXPECT_EQ(run.fetch<float>(out, 64)[40], 2.0f * kPhases);
    return tracer.result();
  }
  static std::vector<std::uint32_t> ahead(const Pipeline& pipeline) {
    std::vector<std::uint32_t> all;
    for (const PipelinePhase& phase : pipeline.phases) all.push_back(phase.ahead);
    return all;
  }
};

TEST_F(Pipelines, ProducersRunAheadByTheNumberOfStages) {
  for (const unsigned stages : {1u, 2u, 4u}) {
    const std::vector<Pipeline> found = trace(specialised(), stages);
    ASSERT_THAT(found, SizeIs(1));
    const Pipeline& p = found.front();
    EXPECT_EQ(p.kernel, "k");
    EXPECT_EQ(p.barrier, "full");
    EXPECT_EQ(p.stages, stages);
    EXPECT_EQ(p.phase_bytes(), kRowBytes);
    ASSERT_THAT(p.phases, SizeIs(kPhases));
    EXPECT_EQ(p.depth(), stages);
    EXPECT_EQ(p.bytes_under_way(), stages * kRowBytes);
    std::uint32_t k = 0;
    for (const PipelinePhase& phase : p.phases) {
      EXPECT_EQ(phase.stage, k % stages);
      EXPECT_EQ(phase.ahead, std::min(++k, stages));
      EXPECT_EQ(phase.under_way, phase.ahead);
      EXPECT_LE(phase.ready, stages);
      EXPECT_EQ(phase.ready == 0, phase.consumer_waited);
      // The stages are free at the beginning.
      if (k <= stages) {
        EXPECT_FALSE(phase.producer_waited);
      }
    }
  }
}

TEST_F(Pipelines, ProducersThatWaitEachTimeHaveOnePhaseUnderWay) {
  const std::vector<Pipeline> found = trace(specialised("\n      wait(empty + s, round & 1);"), 4);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().stages, 4u);
  EXPECT_EQ(found.front().depth(), 1u);
  EXPECT_EQ(found.front().bytes_under_way(), kRowBytes);
  EXPECT_THAT(found.front().phases, Each(Field(&PipelinePhase::ahead, 1u)));
}

TEST_F(Pipelines, AWaitForTheCopyItselfLeavesFullStages) {
  // The copy has landed before the next is issued, but its data need not have been used.
  const std::vector<Pipeline> found = trace(specialised("\n      wait(full + s, round & 1);"), 4);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().depth(), 4u);
  EXPECT_EQ(found.front().bytes_under_way(), kRowBytes);
}

/// All threads add; one of them issues the copy of phase k + `lead` before or after the work of k.
std::string uniform(bool before) {
  const std::string issue = R"(
    if (t == 0 && k + STAGES - 1 < n && STAGES > 1) {
      load(tile[(k + STAGES - 1) % STAGES], in + 64 * (k + STAGES - 1),
           full + (k + STAGES - 1) % STAGES);
    })";
  const std::string next = R"(
    if (t == 0 && k + 1 < n) load(tile[(k + 1) % STAGES], in + 64 * (k + 1), full + (k + 1) % STAGES);)";
  return pipeline_kernel(std::string(before ? R"(
  if (t == 0) for (int s = 0; s < STAGES - 1; ++s) load(tile[s], in + 64 * s, full + s);)"
                                            : R"(
  if (t == 0) load(tile[0], in, full);)") +
                         R"(
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    wait(full + k % STAGES, k / STAGES & 1);)" +
                         (before ? issue : "") + R"(
    if (t >= 32) sum += tile[k % STAGES][t] + tile[k % STAGES][t - 32];
    __syncthreads();)" + (before ? "" : next) +
                         "\n  }");
}

TEST_F(Pipelines, CopiesBeforeTheWorkOfAPhaseFillAllStages) {
  const std::vector<Pipeline> found = trace(uniform(true), 3);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().depth(), 3u);
  EXPECT_EQ(found.front().bytes_under_way(), 2 * kRowBytes);
  EXPECT_THAT(ahead(found.front()), ElementsAre(1, 2, 3, 3, 3, 3, 3, 3));
}

TEST_F(Pipelines, CopiesBehindTheWorkOfAPhaseFillOneStage) {
  const std::vector<Pipeline> found = trace(uniform(false), 2);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().stages, 2u);
  EXPECT_EQ(found.front().depth(), 1u);
}

TEST_F(Pipelines, OneCopyIsNone) {
  EXPECT_THAT(trace(pipeline_kernel(R"(
  if (t == 0) load(tile[0], in, full);
  wait(full, 0);
  sum = 16 * tile[0][t];)"),
                    1),
              IsEmpty());
}

TEST_F(Pipelines, OnlyBlock0IsFollowed) {
  const std::vector<Pipeline> found = trace(specialised(), 2, 3);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found.front().phases, SizeIs(kPhases));
}

TEST_F(Pipelines, HopperRungsFillAllTheirStages) {
  struct Rung {
    const char* name;
    std::uint32_t stages;
  };
  for (const Rung& rung :
       {Rung{"wgmma", 1}, Rung{"wgmma_stages", 4}, Rung{"persistent", 4}, Rung{"cluster", 4}}) {
    LadderRung target{.name = std::string("matmul/") + rung.name};
    target.problem.size = 512;
    target.problem.precision = "bf16";
    const ExplainResult result = explain(target);
    ASSERT_THAT(result.pipelines, SizeIs(1)) << rung.name;
    const Pipeline& p = result.pipelines.front();
    EXPECT_EQ(p.stages, rung.stages) << rung.name;
    EXPECT_EQ(p.depth(), rung.stages) << rung.name;
    const auto shallow = std::ranges::count_if(advise(result), [](const Advice& advice) {
      return advice.kind == AdviceKind::shallow_pipeline;
    });
    EXPECT_EQ(shallow, rung.stages == 1 ? 1 : 0) << rung.name;
  }
}

TEST_F(Pipelines, KernelsWithoutCopiesAreNotWatched) {
  testing::KernelRun run(compile::compile(testing::compilation(
      "extern \"C\" __global__ void k(float* out) { out[threadIdx.x] = 1; }")));
  const std::uint64_t out = run.array("out", std::vector<float>(32));
  class Asked : public PipelineTrace {
   public:
    std::uint32_t events() const override { return seen = PipelineTrace::events(); }
    mutable std::uint32_t seen = emulator::kAllEvents;
  } tracer;
  run.launch(Launch{{1}, {32}}, {&tracer}, out);
  EXPECT_EQ(tracer.seen, emulator::kNoEvents);
}

}  // namespace
}  // namespace tilescope::observe
