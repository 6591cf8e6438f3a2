// Clusters: special registers, distributed shared memory, the cluster's barrier, remote mbarriers,
// and what goes wrong with them.
#include <tilescope/error.hpp>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

constexpr char kSync[] =
    "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n";

std::string cluster_kernel(const std::string& body, const std::string& directives = "") {
  return std::string(kHeader) +
         ".shared .align 16 .b8 cells[1024];\n.shared .align 8 .b64 bar;\n"
         ".visible .entry k(.param .u64 out) " +
         directives +
         " {\n.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<4>;\n"
         "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
         "mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 4;\n"
         "add.u64 %rd2, %rd2, %rd1; mov.u32 %r5, %cluster_ctarank;\n"
         "mov.u32 %r6, %cluster_nctarank;\n" +
         body + "\n}\n";
}

struct ClusterRun {
  LaunchSummary summary;
  std::vector<std::uint32_t> out;
};

/// out[] has an element for each thread of the grid.
ClusterRun run_cluster(const std::string& text, Dim3 grid, std::uint32_t threads, Dim3 cluster) {
  Bench bench(text);
  const std::size_t count = grid.count() * threads;
  const auto out = bench.upload(std::vector<std::uint32_t>(count, 0), "out");
  ClusterRun result;
  result.summary =
      bench.run("k", grid, {threads},
                {.threads = 2, .max_instructions = 10'000'000, .cluster = cluster}, out);
  result.out = bench.download<std::uint32_t>(out, count);
  return result;
}

std::vector<std::uint32_t> results(const std::string& body, Dim3 grid, std::uint32_t threads,
                                   Dim3 cluster) {
  const ClusterRun got = run_cluster(cluster_kernel(body), grid, threads, cluster);
  EXPECT_TRUE(got.summary.complete()) << got.summary.message;
  for (const FaultRecord& fault : got.summary.faults) ADD_FAILURE() << fault.text;
  return got.out;
}

TEST(Cluster, EveryBlockHasItsPlace) {
  const std::string body = R"(
mov.u32 %r7, %ctaid.y; mov.u32 %r8, %nctaid.x; mad.lo.u32 %r9, %r7, %r8, %r2;
mov.u32 %r10, %cluster_ctaid.x; mov.u32 %r11, %cluster_ctaid.y; mov.u32 %r12, %clusterid.x;
mov.u32 %r13, %clusterid.y; mov.u32 %r14, %nclusterid.x; mov.u32 %r15, %cluster_nctaid.y;
mov.pred %p1, %is_explicit_cluster; selp.u32 %r16, 1, 0, %p1;
shl.b32 %r10, %r10, 4; or.b32 %r10, %r10, %r11; shl.b32 %r10, %r10, 4; or.b32 %r10, %r10, %r12;
shl.b32 %r10, %r10, 4; or.b32 %r10, %r10, %r13; shl.b32 %r10, %r10, 4; or.b32 %r10, %r10, %r14;
shl.b32 %r10, %r10, 4; or.b32 %r10, %r10, %r15; shl.b32 %r10, %r10, 4; or.b32 %r10, %r10, %r5;
shl.b32 %r10, %r10, 4; or.b32 %r10, %r10, %r6;
mul.wide.u32 %rd3, %r9, 4; add.u64 %rd3, %rd3, %rd1; st.global.u32 [%rd3], %r10; ret;)";
  const auto got = results(body, {6, 4}, 1, {2, 2});
  for (std::uint32_t y = 0; y < 4; ++y) {
    for (std::uint32_t x = 0; x < 6; ++x) {
      const std::uint32_t rank = x % 2 + 2 * (y % 2);
      EXPECT_EQ(got[y * 6 + x], (x % 2) << 28 | (y % 2) << 24 | (x / 2) << 20 | (y / 2) << 16 |
                                    3u << 12 | 2u << 8 | rank << 4 | 4u)
          << x << ' ' << y;
    }
  }
}

TEST(Cluster, ALaunchWithoutOneHasClustersOfOneBlock) {
  const auto got = results("shl.b32 %r7, %r6, 8; or.b32 %r7, %r7, %r5; st.global.u32 [%rd2], %r7;" +
                               std::string(kSync) + "ret;",
                           {3}, 1, {1});
  EXPECT_EQ(got, (std::vector<std::uint32_t>{256, 256, 256}));
}

/// Each thread leaves a number for the next block of the cluster.
const std::string kNeighbour = R"(
mov.u32 %r7, cells; mad.lo.u32 %r8, %r1, 4, %r7; mad.lo.u32 %r9, %r2, 1000, %r1;
st.shared.u32 [%r8], %r9;)" + std::string(kSync) +
                               R"(
add.u32 %r10, %r5, 1; rem.u32 %r10, %r10, %r6;)";

void expect_neighbours(const std::vector<std::uint32_t>& got, std::uint32_t size) {
  for (std::uint32_t i = 0; i < got.size(); ++i) {
    const std::uint32_t block = i / 64, first = block / size * size;
    EXPECT_EQ(got[i], (first + (block - first + 1) % size) * 1000 + i % 64) << i;
  }
}

TEST(Cluster, ReadsSharedMemoryOfTheNextBlock) {
  for (const std::uint32_t size : {2u, 4u, 8u}) {
    expect_neighbours(results(kNeighbour +
                                  "mapa.shared::cluster.u32 %r11, %r8, %r10;"
                                  "ld.shared::cluster.u32 %r12, [%r11];" +
                                  kSync + "st.global.u32 [%rd2], %r12; ret;",
                              {16}, 64, {size}),
                      size);
    expect_neighbours(results(kNeighbour +
                                  "mov.u64 %rd3, cells; cvta.shared.u64 %rd3, %rd3;"
                                  "mapa.u64 %rd4, %rd3, %r10; mul.wide.u32 %rd5, %r1, 4;"
                                  "add.u64 %rd4, %rd4, %rd5; ld.u32 %r12, [%rd4];" +
                                  kSync + "st.global.u32 [%rd2], %r12; ret;",
                              {16}, 64, {size}),
                      size);
  }
}

TEST(Cluster, WritesVectorsToItAndAddsToIt) {
  const auto got = results(R"(
add.u32 %r10, %r5, 1; rem.u32 %r10, %r10, %r6; mapa.shared::cluster.u32 %r11, cells, %r10;
mad.lo.u32 %r12, %r1, 8, %r11; mov.u32 %r13, 7;)" +
                               std::string(kSync) + R"(
st.shared::cluster.v2.u32 [%r12], {%r2, %r13};)" +
                               kSync + R"(
mapa.shared::cluster.u32 %r14, cells, %r5; mad.lo.u32 %r15, %r1, 8, %r14;
red.shared::cluster.add.u32 [%r15+4], 2; mapa.shared::cluster.u32 %r16, cells+4, 0;
atom.shared::cluster.add.u32 %r17, [%r16], 100;)" +
                               kSync + R"(
mov.u32 %r18, cells; mad.lo.u32 %r18, %r1, 8, %r18; ld.shared.v2.u32 {%r19, %r20}, [%r18];
mad.lo.u32 %r21, %r19, 10000, %r20; st.global.u32 [%rd2], %r21; ret;)",
                           {4}, 2, {2});
  // Thread 0 of each first block received four additions of 100.
  EXPECT_EQ(got, (std::vector<std::uint32_t>{10409, 10009, 9, 9, 30409, 30009, 20009, 20009}));
}

TEST(Cluster, AddressesTellTheirRankAndSpace) {
  const auto got = results(R"(
mapa.shared::cluster.u32 %r7, cells, 1; getctarank.shared::cluster.u32 %r8, %r7;
mov.u32 %r9, cells; getctarank.shared::cluster.u32 %r10, %r9;
cvt.u64.u32 %rd3, %r7; cvta.shared::cluster.u64 %rd4, %rd3; getctarank.u64 %r11, %rd4;
isspacep.shared::cluster %p1, %rd4; isspacep.shared %p2, %rd4; isspacep.global %p3, %rd4;
selp.u32 %r12, 1, 0, %p1; selp.u32 %r13, 2, 0, %p2; selp.u32 %r14, 4, 0, %p3;
or.b32 %r12, %r12, %r13; or.b32 %r12, %r12, %r14;
mad.lo.u32 %r15, %r8, 16, %r10; mad.lo.u32 %r15, %r15, 16, %r11; mad.lo.u32 %r15, %r15, 16, %r12;
st.global.u32 [%rd2], %r15; ret;)",
                           {2}, 1, {2});
  EXPECT_EQ(got, (std::vector<std::uint32_t>{0x1011, 0x1113}));
}

// On an H200 too, mapping to the own rank changes nothing.
TEST(Cluster, AnAddressMappedToTheOwnRankStaysTheSame) {
  const auto got = results(R"(
.shared .b8 last; mapa.shared::cluster.u32 %r7, cells+4, %r5; mov.u32 %r8, cells; sub.u32 %r9, %r7, %r8;
mov.u64 %rd3, cells; cvta.shared.u64 %rd3, %rd3; mapa.u64 %rd4, %rd3, %r5;
setp.eq.u64 %p1, %rd3, %rd4; selp.u32 %r10, 16, 0, %p1; or.b32 %r9, %r9, %r10;
mov.u32 %r11, %total_smem_size; mov.u32 %r12, %aggr_smem_size; mul.lo.u32 %r11, %r11, 256;
mul.lo.u32 %r12, %r12, 1048576; ld.shared.u8 %r13, [last]; or.b32 %r9, %r9, %r11; or.b32 %r9, %r9, %r12;
st.global.u32 [%rd2], %r9; ret;)",
                           {2}, 1, {2});
  // 1,025 bytes: nine units of 128; with 1,024 of the system 2,049.
  const std::uint32_t expected = (2049u << 20) | (1152u << 8) | 16 | 4;
  EXPECT_EQ(got, (std::vector<std::uint32_t>{expected, expected}));
}

TEST(ClusterBarrier, WaitsForEveryLiveThread) {
  // Rounds in which each block reads what its neighbour wrote in the same round; half the threads
  // of the last block leave at once.
  const auto got = results(R"(
add.u32 %r7, %r5, 1; setp.eq.u32 %p1, %r7, %r6; setp.ge.u32 %p2, %r1, 32; and.pred %p1, %p1, %p2;
@%p1 ret; mov.u32 %r8, cells; rem.u32 %r7, %r7, %r6; mapa.shared::cluster.u32 %r9, cells, %r7;
mov.u32 %r10, 0; mov.u32 %r11, 0;
R: setp.ne.u32 %p3, %r1, 0; mad.lo.u32 %r12, %r5, 100, %r10; @!%p3 st.shared.u32 [%r8], %r12;
barrier.cluster.arrive; add.u32 %r13, %r10, 1; barrier.cluster.wait;
ld.shared::cluster.u32 %r14, [%r9]; add.u32 %r11, %r11, %r14;)" +
                               std::string(kSync) + R"(
mov.u32 %r10, %r13; setp.lt.u32 %p4, %r10, 5; @%p4 bra R; st.global.u32 [%rd2], %r11; ret;)",
                           {4}, 64, {4});
  for (std::uint32_t i = 0; i < 256; ++i) {
    const std::uint32_t next = (i / 64 + 1) % 4;
    EXPECT_EQ(got[i], i >= 224 ? 0 : next * 500 + 10) << i;
  }
}

TEST(ClusterBarrier, AHangNamesItsLines) {
  // Block 1 never arrives: it waits at a barrier of its own.
  const ClusterRun got = run_cluster(cluster_kernel(R"(
setp.eq.u32 %p1, %r5, 1; @%p1 bra B; barrier.cluster.arrive; barrier.cluster.wait; ret;
B: setp.eq.u32 %p2, %r1, 0; mbarrier.init.shared.b64 [bar], 9;
W: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra W;
barrier.cluster.arrive; barrier.cluster.wait; ret;)"),
                                     {2}, 32, {2});
  EXPECT_EQ(got.summary.end, LaunchEnd::complete);
  EXPECT_EQ(got.summary.deadlocked_blocks, 2u);
  EXPECT_THAT(got.summary.message, ::testing::HasSubstr("the barrier of the cluster"));
}

TEST(ClusterBarrier, WhoWaitsTogetherInAWrongOrderIsFound) {
  // One warp of block 0 waits for the cluster, the other for its own block: nobody can go on.
  const ClusterRun got = run_cluster(cluster_kernel(R"(
setp.ne.u32 %p1, %r5, 0; setp.lt.u32 %p2, %r1, 32; or.pred %p1, %p1, %p2; @%p1 bra C;
bar.sync 0;
C: barrier.cluster.arrive; barrier.cluster.wait; ret;)"),
                                     {2}, 64, {2});
  EXPECT_EQ(got.summary.deadlocked_blocks, 2u);
}

TEST(ClusterBarrier, ArrivalsWithoutWaitsAreReported) {
  for (const char* body :
       {"barrier.cluster.arrive; barrier.cluster.arrive; ret;", "barrier.cluster.wait; ret;"}) {
    const ClusterRun got = run_cluster(cluster_kernel(body), {2}, 32, {2});
    ASSERT_FALSE(got.summary.faults.empty()) << body;
    EXPECT_EQ(got.summary.faults[0].kind, FaultKind::unpaired_arrival);
  }
}

void expect_fault(const std::string& body, FaultKind kind, Dim3 cluster) {
  const ClusterRun got = run_cluster(cluster_kernel(body), {4}, 32, cluster);
  ASSERT_FALSE(got.summary.faults.empty()) << body;
  EXPECT_EQ(got.summary.faults[0].kind, kind) << got.summary.faults[0].text;
}

/// Block 0 leaves after `rounds` rounds of a loop, and block 1 comes to `access` after `later` of
/// them, with block 0's cells in %r7. Behind the second meeting block 0 runs first.
std::string after_exit(int rounds, int later, const std::string& access) {
  return "mapa.shared::cluster.u32 %r7, cells, 0; mov.u32 %r9, cells; mbarrier.init.shared.b64 "
         "[%r9], 1; mov.u32 %r10, " +
         std::to_string(later) + "; setp.eq.u32 %p1, %r5, 0; @%p1 mov.u32 %r10, " +
         std::to_string(rounds) + "; mov.u32 %r11, 7; st.shared.u32 [%r9+8], %r11;" + kSync +
         kSync +
         "mov.u32 %r9, 0; L: add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, %r10; @%p2 bra L; "
         "@%p1 bra E; " +
         access + " st.global.u32 [%rd2], %r8;\nE: ret;";
}

const char* const kLateAccesses[] = {
    "ld.shared::cluster.u32 %r8, [%r7+8];",
    "atom.shared::cluster.add.u32 %r8, [%r7+8], 1;",
    "st.shared::cluster.u32 [%r7], 5; mov.u32 %r8, 7;",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7]; mov.u32 %r8, 7;",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r7+8], %r11, [%r7]; "
    "mov.u32 %r8, 7;",
    "mov.u32 %r8, cells; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
    "[%r7+16], [%r8+16], 16, [%r7]; mov.u32 %r8, 7;"};

// An H200 ends a launch that accesses a block which has ended. But blocks of a cluster run side by
// side there: the one that runs first here has not ended when the other is no further.
TEST(ClusterExit, OnlyABlockThatIsFurtherIsTooLate) {
  for (const std::string access : kLateAccesses) {
    SCOPED_TRACE(access);
    EXPECT_EQ(results(after_exit(3000, 1000, access), {2}, 1, {2})[1], 7u);
    const ClusterRun late =
        run_cluster(cluster_kernel(after_exit(1000, 3000, access)), {2}, 1, {2});
    ASSERT_FALSE(late.summary.faults.empty());
    EXPECT_EQ(late.summary.faults[0].kind, FaultKind::exited_block);
  }
}

TEST(ClusterFaults, AreNamed) {
  const std::string other = "mapa.shared::cluster.u32 %r7, cells, 1; ";
  const std::string first = "setp.ne.u32 %p1, %r5, 0; @%p1 bra E; ";
  expect_fault("mapa.shared::cluster.u32 %r7, cells, 3; ld.shared::cluster.u32 %r8, [%r7]; ret;",
               FaultKind::no_such_block, {2});
  expect_fault(other + "ld.shared::cluster.u32 %r8, [%r7]; ret;", FaultKind::no_such_block, {1});
  expect_fault(other + first + "ld.shared.u32 %r8, [%r7];\nE: " + kSync + "ret;",
               FaultKind::other_block, {2});
  expect_fault(other + first + "ld.shared::cluster.u32 %r8, [%r7+4096];\nE: " + kSync + "ret;",
               FaultKind::out_of_bounds, {2});
  expect_fault(other + first + "ld.shared::cluster.u32 %r8, [%r7+2];\nE: " + kSync + "ret;",
               FaultKind::misaligned, {2});
  expect_fault(
      "cvta.shared.u64 %rd3, 0; mapa.u64 %rd4, %rd3, 1; setp.ne.u32 %p1, %r5, 0;"
      "@%p1 bra E; mbarrier.try_wait.parity.b64 %p2, [%rd4+1024], 0;\nE: " +
          std::string(kSync) + "ret;",
      FaultKind::other_block, {2});
}

TEST(ClusterLaunch, LimitsAreErrors) {
  const auto message = [](const std::string& directives, Dim3 grid, LaunchOptions options) {
    Bench bench(cluster_kernel("ret;", directives));
    try {
      bench.run("k", grid, {32}, options, std::uint64_t{0});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  using ::testing::HasSubstr;
  EXPECT_EQ(message("", {8}, {.cluster = {8}}), "");
  EXPECT_EQ(message(".explicitcluster .reqnctapercluster 2, 2", {2, 2}, {}), "");
  EXPECT_EQ(message(".explicitcluster .reqnctapercluster 2", {4}, {.cluster = {2}}), "");
  EXPECT_EQ(message("", {16}, {.cluster = {16}}), "");
  EXPECT_THAT(message("", {32}, {.cluster = {32}}), HasSubstr("1 to 16 are possible"));
  EXPECT_THAT(message("", {5}, {.cluster = {2}}), HasSubstr("no multiple of its clusters"));
  EXPECT_THAT(message(".reqnctapercluster 2", {3}, {}), HasSubstr("no multiple of its clusters"));
  EXPECT_THAT(message(".reqnctapercluster 2", {4}, {.cluster = {4}}),
              HasSubstr("requires clusters of 2 x 1 x 1"));
  EXPECT_THAT(message(".maxclusterrank 4", {8}, {.cluster = {8}}),
              HasSubstr("the 4 of its launch bounds"));
}

TEST(ClusterMbarrier, RemoteArrivalsEndThePhase) {
  // Every thread of the cluster arrives at the barrier of block 0, which alone waits for it.
  const auto got = results(R"(
setp.ne.u32 %p1, %r1, 0; mov.u32 %r7, %r6; mul.lo.u32 %r7, %r7, %r3;
@!%p1 mbarrier.init.shared::cta.b64 [bar], %r7; @!%p1 fence.mbarrier_init.release.cluster;)" +
                               std::string(kSync) + R"(
mapa.shared::cluster.u32 %r8, bar, 0; mapa.shared::cluster.u32 %r9, cells, 0;
mad.lo.u32 %r10, %r5, %r3, %r1; mad.lo.u32 %r11, %r10, 4, %r9; st.shared::cluster.u32 [%r11], %r4;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];
setp.ne.u32 %p2, %r5, 0; @%p2 bra E;
W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [bar], 0, 100; @!%p3 bra W;
mov.u32 %r12, 0; mov.u32 %r13, cells; mul.lo.u32 %r7, %r7, 4; add.u32 %r14, %r13, %r7;
S: ld.shared.u32 %r15, [%r13]; add.u32 %r12, %r12, %r15; add.u32 %r13, %r13, 4;
setp.lt.u32 %p4, %r13, %r14; @%p4 bra S; st.global.u32 [%rd2], %r12;
E: ret;)",
                           {8}, 48, {4});
  for (std::uint32_t i = 0; i < got.size(); ++i) {
    const std::uint32_t first = i / 192 * 192;
    EXPECT_EQ(got[i], i % 192 < 48 ? 192 * first + 191 * 96 : 0) << i;
  }
}

// The threads of block 0 send values to block 1 and wait for nothing; block 1 waits for the bytes.
TEST(ClusterMbarrier, AsynchronousStoresCompleteTransactions) {
  const auto got = results(R"(
setp.ne.u32 %p1, %r1, 0; @!%p1 mbarrier.init.shared::cta.b64 [bar], 1;
mov.u32 %r20, cells; mad.lo.u32 %r20, %r1, 16, %r20; mov.u32 %r21, 5;
st.shared.v4.u32 [%r20], {%r21, %r21, %r21, %r21};)" +
                               std::string(kSync) + R"(
setp.ne.u32 %p2, %r5, 0; @%p2 bra C;
mapa.shared::cluster.u32 %r8, bar, 1; mapa.shared::cluster.u32 %r9, cells, 1;
mad.lo.u32 %r10, %r1, 16, %r9; add.u32 %r11, %r1, 100; add.u32 %r12, %r1, 200;
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r10], {%r11, %r12}, [%r8];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r10+8], 3, [%r8];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%r10+12], -1, [%r8];
bra E;
C: @!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;
W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra W;
ld.shared.v4.u32 {%r22, %r23, %r24, %r25}, [%r20];
mad.lo.u32 %r22, %r22, 1000, %r23; mad.lo.u32 %r24, %r24, 10, %r25;
mad.lo.u32 %r22, %r22, 100, %r24; st.global.u32 [%rd2], %r22;
E: barrier.cluster.arrive; barrier.cluster.wait; ret;)",
                           {2}, 32, {2});
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(got[32 + i], ((100 + i) * 1000 + 200 + i) * 100 + 85) << i;
  }
}

// The values that an H200 leaves.
TEST(ClusterMbarrier, AsynchronousReductionsHaveTheirOperations) {
  const auto got = results(R"(
mbarrier.init.shared::cta.b64 [bar], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 32;
mov.u32 %r7, cells; st.shared.v4.s32 [%r7], {5, 5, 7, -3}; st.shared.v4.s32 [%r7+16], {255, 0, 1, 9};
)" + std::string(kSync) + R"(
xor.b32 %r8, %r5, 1; mapa.shared::cluster.u32 %r9, cells, %r8;
mapa.shared::cluster.u32 %r10, bar, %r8;
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r9], 5, [%r10];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.dec.u32 [%r9+4], 9, [%r10];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32 [%r9+8], -1, [%r10];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [%r9+12], 3, [%r10];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.and.b32 [%r9+16], 60, [%r10];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.or.b32 [%r9+20], 129, [%r10];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [%r9+24], 3, [%r10];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%r9+28], -20, [%r10];
W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0; @!%p1 bra W;
mov.u32 %r11, 0; mov.u32 %r12, 0;
S: add.u32 %r13, %r7, %r12; ld.shared.u32 %r14, [%r13]; mad.lo.u32 %r11, %r11, 31, %r14;
add.u32 %r12, %r12, 4; setp.lt.u32 %p2, %r12, 32; @%p2 bra S; st.global.u32 [%rd2], %r11;
)" + kSync + "ret;",
                           {2}, 1, {2});
  std::uint32_t sum = 0;
  for (const std::uint32_t value :
       {0u, 4u, 0xffffffffu, 0xfffffffdu, 0x3cu, 0x81u, 2u, 0xfffffff5u}) {
    sum = sum * 31 + value;
  }
  EXPECT_EQ(got, (std::vector<std::uint32_t>{sum, sum}));
}

}  // namespace
}  // namespace tilescope::emulator::test
