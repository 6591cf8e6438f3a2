// Kernels that launch kernels, and the other functions of CUDA's device runtime.
#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// prepare() and start() wrap the calls that nvcc makes of a<<<grid, block, shared, stream>>>();
// note() is a kernel that appends `who` to a log: log[0] entries, from log[1] on.
constexpr std::string_view kRuntime = R"(
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 kernel,
    .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 buffer, .param .b64 stream);
.extern .func (.param .b32 r) __cudaCDP2GetLastError();
.func (.reg .b64 buffer) prepare(.reg .b64 kernel, .reg .b32 grid, .reg .b32 block) {
  .param .b64 k; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 r;
  st.param.b64 [k], kernel; st.param.b32 [s], 0;
  st.param.b32 [g], grid; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;
  st.param.b32 [b], block; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;
  call.uni (r), __cudaCDP2GetParameterBufferV2, (k, g, b, s);
  ld.param.b64 buffer, [r];
  ret;
}
.func (.reg .b32 error) start(.reg .b64 buffer, .reg .b64 stream) {
  .param .b64 b; .param .b64 s; .param .b32 r;
  st.param.b64 [b], buffer; st.param.b64 [s], stream;
  call.uni (r), __cudaCDP2LaunchDeviceV2, (b, s);
  ld.param.b32 error, [r];
  ret;
}
.func (.reg .b32 error) last() {
  .param .b32 r;
  call.uni (r), __cudaCDP2GetLastError, ();
  ld.param.b32 error, [r];
  ret;
}
.func append(.reg .b64 log, .reg .b32 who) {
  .reg .b32 n; .reg .b64 at;
  atom.global.add.u32 n, [log], 1;
  mul.wide.u32 at, n, 4; add.u64 at, at, log; st.global.u32 [at+4], who;
  ret;
}
.visible .entry note(.param .u64 log, .param .u32 who) {
  .reg .b64 l; .reg .b32 w;
  ld.param.u64 l, [log]; ld.param.u32 w, [who];
  call append, (l, w);
  ret;
}
.func launch_note(.reg .b64 log, .reg .b32 who, .reg .b64 stream) {
  .reg .b64 k, b; .reg .b32 e;
  mov.u64 k, note;
  call (b), prepare, (k, 1, 1);
  st.u64 [b], log; st.u32 [b+8], who;
  call (e), start, (b, stream);
  ret;
}
)";

std::string with_runtime(std::string_view kernels) {
  return std::string(kHeader) + std::string(kRuntime) + std::string(kernels);
}

/// Keeps what the launches of kernels reported as failed.
class RefusedLaunches final : public Observer {
 public:
  std::uint32_t events() const override { return kNoEvents; }
  std::unique_ptr<BlockObserver> make_block_observer() override {
    return std::make_unique<BlockObserver>();
  }
  void end_launch(const LaunchTotals& totals) override {
    for (const RefusedLaunch& refused : totals.refused) all.push_back(refused);
  }
  std::vector<RefusedLaunch> all;
};

TEST(DeviceRuntime, ChildrenRunAfterTheirGridInOrderAndTailLaunchesLast) {
  Bench bench(with_runtime(R"(
.visible .entry inner(.param .u64 log) {
  .reg .b64 l;
  ld.param.u64 l, [log];
  call launch_note, (l, 21, 3);
  call launch_note, (l, 20, 0);
  ret;
}
.visible .entry outer(.param .u64 log) {
  .reg .b64 l, k, b; .reg .b32 block, e; .reg .pred first;
  ld.param.u64 l, [log];
  mov.u32 block, %ctaid.x; setp.eq.u32 first, block, 0;
  @!first bra LAST;
  call launch_note, (l, 40, 3);
  mov.u64 k, inner;
  call (b), prepare, (k, 1, 1);
  st.u64 [b], l;
  call (e), start, (b, 0);
  call launch_note, (l, 30, 4);
LAST:
  add.u32 block, block, 10;
  call append, (l, block);
  ret;
})"));
  const std::uint64_t log = bench.upload(std::vector<std::uint32_t>(16), "log");
  std::vector<std::uint64_t> blocks;
  const LaunchSummary summary = bench.run("outer", {2}, {1},
                                          {.after_grid =
                                               [&](const auto& grid) {
                                                 blocks.push_back(grid.blocks_run);
                                                 return true;
                                               }},
                                          log);
  EXPECT_TRUE(summary.complete());
  EXPECT_EQ(summary.blocks_run, 2u);
  EXPECT_THAT(blocks, ElementsAre(2, 1, 1, 1, 1, 1));
  EXPECT_THAT(bench.download<std::uint32_t>(log, 8), ElementsAre(6, 10, 11, 20, 21, 30, 40, 0));
}

TEST(DeviceRuntime, ParametersKeepTheirPlaces) {
  Bench bench(with_runtime(R"(
.visible .entry child(.param .u8 a, .param .align 8 .b8 s[16], .param .u32 c, .param .u64 out) {
  .reg .b64 o, y; .reg .b32 x, z; .reg .b16 w;
  ld.param.u8 w, [a]; ld.param.u64 y, [s+8]; ld.param.u32 z, [c]; ld.param.u64 o, [out];
  cvt.u32.u16 x, w;
  st.global.u32 [o], x; st.global.u64 [o+8], y; st.global.u32 [o+16], z;
  ret;
}
.visible .entry parent(.param .u64 out) {
  .reg .b64 o, k, b; .reg .b32 e; .reg .b16 w;
  ld.param.u64 o, [out]; mov.u64 k, child;
  call (b), prepare, (k, 1, 1);
  mov.u16 w, 5;
  st.u8 [b], w; st.u64 [b+16], 77; st.u32 [b+24], 9; st.u64 [b+32], o;
  call (e), start, (b, 0);
  st.global.u32 [o+20], e;
  ret;
})"));
  const std::uint64_t out = bench.upload(std::vector<std::uint32_t>(6, 1), "out");
  EXPECT_TRUE(bench.run("parent", {1}, {1}, {}, out).complete());
  EXPECT_THAT(bench.download<std::uint32_t>(out, 6), ElementsAre(5, 1, 77, 0, 9, 0));
}

// A kernel that launches itself; levels count from the host's launch.
constexpr std::string_view kNest = R"(
.visible .entry nest(.param .u64 log, .param .u32 level) {
  .reg .b64 l, k, b; .reg .b32 n, e; .reg .pred none;
  ld.param.u64 l, [log]; ld.param.u32 n, [level];
  st.global.u32 [l], n;
  add.u32 n, n, 1; mov.u64 k, nest;
  call (b), prepare, (k, 1, 1);
  setp.eq.u64 none, b, 0;
  @none bra DONE;
  st.u64 [b], l; st.u32 [b+8], n;
  call (e), start, (b, 0);
DONE:
)";

TEST(DeviceRuntime, GridsNestUntilTooManyArePending) {
  Bench bench(
      with_runtime(std::string(kNest) + "call (e), last, (); st.global.u32 [l+4], e; ret; }"));
  const std::uint64_t log = bench.upload(std::vector<std::uint32_t>(2), "log");
  RefusedLaunches refused;
  EXPECT_TRUE(bench.run("nest", {1}, {1}, {.observers = {&refused}}, log, 1u).complete());
  EXPECT_THAT(bench.download<std::uint32_t>(log, 2), ElementsAre(2049, 69));  // as on an H200
  EXPECT_TRUE(refused.all.empty());                                           // the kernel asked
}

TEST(DeviceRuntime, AnErrorThatNobodyAsksForIsReported) {
  Bench bench(with_runtime(std::string(kNest) + "ret; }"));
  const std::uint64_t log = bench.upload(std::vector<std::uint32_t>(2), "log");
  RefusedLaunches refused;
  bench.machine.set_limits({.pending_launches = 3});
  EXPECT_TRUE(bench.run("nest", {1}, {1}, {.observers = {&refused}}, log, 1u).complete());
  EXPECT_THAT(bench.download<std::uint32_t>(log, 1), ElementsAre(4));
  ASSERT_EQ(refused.all.size(), 1u);
  EXPECT_THAT(refused.all[0].reason, HasSubstr("cudaErrorLaunchPendingCountExceeded"));
  EXPECT_EQ(refused.all[0].count, 1u);
}

TEST(DeviceRuntime, AChainOfTailLaunchesDoesNotNest) {
  Bench bench(with_runtime(R"(
.visible .entry again(.param .u64 log, .param .u32 level) {
  .reg .b64 l, k, b; .reg .b32 n, e; .reg .pred last_one;
  ld.param.u64 l, [log]; ld.param.u32 n, [level];
  st.global.u32 [l], n;
  setp.eq.u32 last_one, n, 5000;
  @last_one ret;
  add.u32 n, n, 1; mov.u64 k, again;
  call (b), prepare, (k, 1, 1);
  st.u64 [b], l; st.u32 [b+8], n;
  call (e), start, (b, 3);
  ret;
})"));
  const std::uint64_t log = bench.upload(std::vector<std::uint32_t>(1), "log");
  EXPECT_TRUE(bench.run("again", {1}, {1}, {}, log, 1u).complete());
  EXPECT_THAT(bench.download<std::uint32_t>(log, 1), ElementsAre(5000));
}

TEST(DeviceRuntime, SoManyLaunchesMayWait) {
  Bench bench(with_runtime(R"(
.visible .entry many(.param .u64 log) {
  .reg .b64 l, k, b; .reg .b32 i, e; .reg .pred none, more;
  ld.param.u64 l, [log]; mov.u32 i, 0; mov.u64 k, note;
NEXT:
  call (b), prepare, (k, 1, 1);
  setp.eq.u64 none, b, 0;
  @none bra DONE;
  st.u64 [b], l; st.u32 [b+8], i;
  call (e), start, (b, 0);
  add.u32 i, i, 1; setp.lt.u32 more, i, 100;
  @more bra NEXT;
DONE:
  call (e), last, (); st.global.u32 [l+64], e;
  ret;
})"));
  const std::uint64_t log = bench.upload(std::vector<std::uint32_t>(17), "log");
  bench.machine.set_limits({.pending_launches = 5});
  EXPECT_TRUE(bench.run("many", {1}, {1}, {}, log).complete());
  EXPECT_THAT(bench.download<std::uint32_t>(log, 7), ElementsAre(5, 0, 1, 2, 3, 4, 0));
  EXPECT_THAT(bench.download<std::uint32_t>(log + 64, 1), ElementsAre(69));
}

TEST(DeviceRuntime, ImpossibleLaunchesHaveCodes) {
  Bench bench(with_runtime(R"(
.visible .entry wrong(.param .u64 out, .param .u64 kernel) {
  .reg .b64 o, k, b, f; .reg .b32 e;
  ld.param.u64 o, [out]; ld.param.u64 f, [kernel]; mov.u64 k, note;
  call (b), prepare, (k, 1, 2048); call (e), last, (); st.global.u32 [o], e;
  call (b), prepare, (k, 0, 32); call (e), last, (); st.global.u32 [o+4], e;
  call (b), prepare, (f, 1, 1); call (e), last, (); st.global.u32 [o+8], e;
  call (b), prepare, (k, 1, 1); call (e), start, (b, 12345); st.global.u32 [o+12], e;
  call (e), start, (77, 0); st.global.u32 [o+16], e;
  call (e), last, (); st.global.u32 [o+20], e;
  call (e), last, (); st.global.u32 [o+24], e;
  ret;
})"));
  const std::uint64_t out = bench.upload(std::vector<std::uint32_t>(7, 9999), "out");
  EXPECT_TRUE(bench.run("wrong", {1}, {1}, {}, out, std::uint64_t{4711}).complete());
  EXPECT_THAT(bench.download<std::uint32_t>(out, 7), ElementsAre(9, 9, 98, 1, 1, 1, 0));
}

TEST(DeviceRuntime, CopiesFillsAndTheHeap) {
  Bench bench(std::string(kHeader) + R"(
.extern .func (.param .b32 r) __cudaCDP2Malloc(.param .b64 to, .param .b64 bytes);
.extern .func (.param .b32 r) __cudaCDP2Free(.param .b64 at);
.extern .func (.param .b32 r) cudaMemsetAsync_ptsz(.param .b64 to, .param .b32 value,
    .param .b64 bytes, .param .b64 stream);
.extern .func (.param .b32 r) __cudaCDP2MemcpyAsync(.param .b64 to, .param .b64 from,
    .param .b64 bytes, .param .b32 kind, .param .b64 stream);
.visible .entry k(.param .u64 out) {
  .reg .b64 o, to, p, q; .reg .b32 e;
  .param .b64 a; .param .b64 b; .param .b64 c; .param .b64 s; .param .b32 v; .param .b32 r;
  ld.param.u64 o, [out];
  add.u64 to, o, 16; st.param.b64 [a], to; st.param.b64 [b], 100;
  call.uni (r), __cudaCDP2Malloc, (a, b);
  ld.param.b32 e, [r]; st.global.u32 [o], e;
  ld.global.u64 p, [o+16]; st.u32 [p], 1;
  st.param.b64 [a], p; call.uni (r), __cudaCDP2Free, (a);
  ld.param.b32 e, [r]; st.global.u32 [o+4], e;
  call.uni (r), __cudaCDP2Free, (a);  // twice
  ld.param.b32 e, [r]; st.global.u32 [o+8], e;
  add.u64 q, o, 24; st.param.b64 [a], q; st.param.b32 [v], 7; st.param.b64 [b], 4;
  st.param.b64 [s], 0;
  call.uni (r), cudaMemsetAsync_ptsz, (a, v, b, s);
  add.u64 to, o, 28; st.param.b64 [a], to; st.param.b64 [c], q;
  call.uni (r), __cudaCDP2MemcpyAsync, (a, c, b, v, s);
  st.param.b64 [c], 64;  // no memory
  call.uni (r), __cudaCDP2MemcpyAsync, (a, c, b, v, s);
  ld.param.b32 e, [r]; st.global.u32 [o+12], e;
  ld.global.u32 e, [o+24]; st.global.u32 [o+32], e;  // the fill waits for the grid
  ret;
})");
  const std::uint64_t out = bench.upload(std::vector<std::uint32_t>(9, 3), "out");
  EXPECT_TRUE(bench.run("k", {1}, {1}, {}, out).complete());
  const auto values = bench.download<std::uint32_t>(out, 9);
  EXPECT_THAT(std::vector(values.begin(), values.begin() + 4), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(std::vector(values.begin() + 6, values.end()),
              ElementsAre(0x07070707, 0x07070707, 3));
}

TEST(DeviceRuntime, TheCallbackEndsTheTree) {
  Bench bench(with_runtime(std::string(kNest) + "ret; }"));
  const std::uint64_t log = bench.upload(std::vector<std::uint32_t>(2), "log");
  bench.run("nest", {1}, {1}, {.after_grid = [n = 0](const auto&) mutable { return ++n < 3; }}, log,
            1u);
  EXPECT_THAT(bench.download<std::uint32_t>(log, 1), ElementsAre(3));
}

// The child's shared memory is not the parent's.
TEST(DeviceRuntime, AKernelIsNoPartOfTheOneThatLaunchesIt) {
  Bench bench(with_runtime(R"(
.visible .entry child() {
  .shared .align 4 .b8 tile[4096];
  .reg .b32 x;
  ld.shared.u32 x, [tile];
  ret;
}
.visible .entry parent() {
  .reg .b64 k, b; .reg .b32 e;
  mov.u64 k, child;
  call (b), prepare, (k, 1, 1);
  call (e), start, (b, 0);
  ret;
})"));
  EXPECT_EQ(bench.module->program("parent")->static_shared_bytes(), 0u);
  EXPECT_EQ(bench.module->program("child")->static_shared_bytes(), 4096u);
  EXPECT_TRUE(bench.run("parent", {1}, {1}, {}).complete());
}

}  // namespace
}  // namespace tilescope::emulator::test
