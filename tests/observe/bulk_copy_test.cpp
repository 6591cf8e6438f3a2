// Bulk copies as check and explain see them: what is initialised through them, copies against the
// rules or beyond an allocation, and their counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check_run.hpp"
#include "observe/count/count_observer.hpp"

namespace tilescope::observe {
namespace {

using testing::check;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BulkCopies : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_compiler()) GTEST_SKIP() << "no NVRTC";
  }
};

/// `body` begins on line 3, in a kernel with a tile of 1,024 bytes and a barrier that is ready.
std::string bulk_kernel(const std::string& body) {
  return R"(
#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define LOAD(to, from, bytes) asm volatile( \
  "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%3], %2;" \
  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
  ::"r"(AT(to)), "l"(from), "r"(bytes), "r"(AT(&bar)) : "memory")
#define WAIT asm volatile( \
  "{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" \
  ::"r"(AT(&bar)) : "memory")
#define STORE(to, from, bytes) asm volatile( \
  "fence.proxy.async.shared::cta;" \
  "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" \
  "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" \
  ::"l"(to), "r"(AT(from)), "r"(bytes) : "memory")
extern "C" __global__ void k(int* out, int* in, int n) {
  __shared__ alignas(128) int tile[256];
  __shared__ unsigned long long bar;
  const int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.proxy.async.shared::cta;"
                 ::"r"(AT(&bar)) : "memory");
  }
  __syncthreads();
#line 3
)" + body +
         "\n}\n";
}

testing::Checked job(const std::string& body) {
  return {.source = bulk_kernel(body), .launch = {{1}, {64}}, .size = 64};
}

TEST_F(BulkCopies, WhatTheyBringIsInitialised) {
  EXPECT_THAT(check(job("if (t == 0) LOAD(tile, in, 256);\nWAIT; out[t] = tile[t];")).brief(),
              IsEmpty());
  EXPECT_THAT(check(job("if (t == 0) LOAD(tile, in, 256);\nout[t] = tile[t];")).brief(),
              Contains("unfinished-copy 3/4 tile"));
  EXPECT_THAT(check(job("if (t == 0) LOAD(tile, in, 128);\nWAIT; out[t] = tile[t];")).brief(),
              ElementsAre("uninitialised-read 4 tile"));
}

TEST_F(BulkCopies, CarryWhatIsUninitialisedAlong) {
  auto what = job("if (t == 0) LOAD(tile, out, 256);\nWAIT; in[t] = tile[t];");
  EXPECT_THAT(check(what).brief(), IsEmpty());
  what.out_is_initialised = false;
  EXPECT_THAT(check(what).brief(), ElementsAre("uninitialised-read 4 tile"));
}

TEST_F(BulkCopies, StoresInitialiseAndCountAsWritten) {
  auto what = job("tile[t] = t; __syncthreads();\nif (t == 0) STORE(out, tile, 256);");
  what.out_is_initialised = false;
  EXPECT_THAT(check(what).brief(), IsEmpty());
  what =
      job("tile[t] = t; __syncthreads(); if (t == 0) STORE(out, tile, 256);\n"
          "__syncthreads(); in[t] = out[t];");
  what.out_is_initialised = false;
  EXPECT_THAT(check(what).brief(), IsEmpty());
}

TEST_F(BulkCopies, BeyondAnAllocationAndAgainstTheRules) {
  const auto beyond = check(job("if (t == 0) LOAD(tile, in, 272);\nWAIT; out[t] = tile[t];"));
  EXPECT_THAT(beyond.brief(), ElementsAre("out-of-bounds 3 in"));
  EXPECT_THAT(message(beyond.findings[0]), HasSubstr("16 bytes past its end"));
  const auto size = check(job("if (t == 0) { tile[0] = t; STORE(out, tile, 20); }\nout[t] = 1;"));
  EXPECT_THAT(size.brief(), ElementsAre("bad-copy 3"));
  EXPECT_EQ(message(size.findings[0]), "a bulk copy of 20 bytes; sizes are multiples of 16");
}

TEST_F(BulkCopies, AreCountedByLine) {
  const compile::Program program = compile::compile(testing::compilation(
      bulk_kernel("if (t == 0) LOAD(tile, in + 4, 112);\nWAIT; __syncthreads();\n"
                  "if (t < 2) STORE(out + 32 * t, tile, 64);")));
  testing::KernelRun run(program);
  const std::uint64_t in = run.array("in", std::vector<int>(64, 1));
  const std::uint64_t out = run.array("out", std::vector<int>(64, 0));
  CountObserver counter;
  EXPECT_TRUE(run.launch({{2}, {64}}, {&counter}, out, in, 64).complete());
  const Counts& totals = counter.result().totals;
  EXPECT_EQ(totals.bulk_load, (BulkCounts{2, 2 * 112, 2 * 4}));  // bytes 16 to 127
  EXPECT_EQ(totals.bulk_store, (BulkCounts{4, 4 * 64, 4 * 2}));
  EXPECT_EQ(totals.bulk_reduction, BulkCounts{});
  for (const LineCounts& line : counter.result().lines) {
    EXPECT_EQ(line.counts.bulk_load.requests, line.place.line == 3 ? 2u : 0u);
    EXPECT_EQ(line.counts.bulk_store.requests, line.place.line == 5 ? 4u : 0u);
  }
  ASSERT_EQ(counter.result().footprint.size(), 2u);
  EXPECT_EQ(counter.result().footprint[0].read, 112u);
  EXPECT_EQ(counter.result().footprint[1].written, 2 * 64u);
}

}  // namespace
}  // namespace tilescope::observe
