// Every spelling of the instructions of clusters and mbarriers that the ISA manual lists is taken,
// and those that it forbids are refused.
#include <tilescope/error.hpp>

#include "emulator/harness.hpp"

namespace tilescope::emulator::test {
namespace {

constexpr std::string_view kTaken[] = {
    "mapa.shared::cluster.u32 %r1, %r2, %r3",
    "mapa.shared::cluster.u64 %rd1, %rd2, %r3",
    "mapa.shared::cluster.u32 %r1, cells, 1",
    "mapa.shared::cluster.u64 %rd1, cells+8, %r3",
    "mapa.u64 %rd1, %rd2, %r3",
    "getctarank.shared::cluster.u32 %r1, %r2",
    "getctarank.shared::cluster.u64 %r1, %rd2",
    "getctarank.u64 %r1, %rd2",
    "isspacep.shared::cluster %p1, %rd1",
    "isspacep.shared::cta %p1, %rd1",
    "cvta.shared::cluster.u64 %rd1, %rd2",
    "cvta.to.shared::cluster.u64 %rd1, %rd2",
    "mov.pred %p1, %is_explicit_cluster",
    "barrier.cluster.arrive",
    "barrier.cluster.arrive.release",
    "barrier.cluster.arrive.relaxed.aligned",
    "barrier.cluster.wait",
    "barrier.cluster.wait.acquire.aligned",
    "ld.shared::cluster.v4.f32 {%f1, %f2, %f3, %f4}, [%r1]",
    "ld.acquire.cluster.shared::cluster.b32 %r1, [%rd1]",
    "st.release.cluster.shared::cluster.v2.b32 [%r1], {%r2, %r3}",
    "st.volatile.shared::cluster.b64 [%r1], %rd1",
    "atom.acq_rel.cluster.shared::cluster.cas.b32 %r1, [%r2], %r3, %r4",
    "atom.shared::cluster.exch.b64 %rd1, [%r2], %rd3",
    "red.relaxed.cluster.shared::cluster.add.f32 [%r2], %f1",
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3]",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%r1], {%f1, %f2, %f3, %f4}, "
    "[%r3]",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.s64 [%rd1+8], {%rd2, %rd3}, [%rd4+8]",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r1], %r2, "
    "[%r3]",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32 [%r1], %r2, "
    "[%r3]",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [%r1], %r2, "
    "[%r3]",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r1], %rd2, "
    "[%r3]",
    "mbarrier.init.shared::cta.b64 [%r1], %r2",
    "mbarrier.init.b64 [%rd1], 32",
    "mbarrier.inval.shared.b64 [bar]",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], %r2",
    "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r1], 128",
    "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r1], 128",
    "mbarrier.complete_tx.shared::cta.b64 [%r1], %r2",
    "mbarrier.arrive.b64 %rd1, [%rd2]",
    "mbarrier.arrive.shared.b64 %rd1, [%r2], 3",
    "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar]",
    "mbarrier.arrive.relaxed.cluster.shared::cta.b64 %rd1, [%r2], %r3",
    "mbarrier.arrive.shared::cluster.b64 _, [%r2]",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2], %r3",
    "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd1, [%r2], %r3",
    "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r2], 64",
    "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %rd1, [%r2], 2",
    "mbarrier.arrive.noComplete.b64 %rd1, [%rd2], %r3",
    "mbarrier.arrive_drop.shared.b64 %rd1, [%r2]",
    "mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%r2], %r3",
    "mbarrier.arrive_drop.expect_tx.shared::cta.b64 %rd1, [%r2], %r3",
    "mbarrier.arrive_drop.noComplete.release.cta.shared::cta.b64 %rd1, [%r2], 1",
    "mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %rd2",
    "mbarrier.test_wait.acquire.cluster.shared::cta.b64 %p1, [%r1], %rd2",
    "mbarrier.test_wait.parity.b64 %p1, [%rd1], %r2",
    "mbarrier.test_wait.parity.relaxed.cluster.shared::cta.b64 %p1, [%r1], 1",
    "mbarrier.try_wait.shared::cta.b64 %p1, [%r1], %rd2, %r3",
    "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r1], %r2, 1000",
    "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0",
    "mbarrier.pending_count.b64 %r1, %rd1",
    "cp.async.mbarrier.arrive.shared.b64 [%r1]",
    "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1]",
    "fence.mbarrier_init.release.cluster",
    "fence.proxy.alias",
    "fence.proxy.async",
    "fence.proxy.async.global",
    "fence.proxy.async.shared::cta",
    "fence.proxy.async.shared::cluster",
    "fence.proxy.tensormap::generic.release.gpu",
    "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128",
    "fence.acq_rel.cluster",
    "fence.sc.cluster",
    "elect.sync %r1|%p1, 0xffffffff",
    "elect.sync _|%p1, %r2",
    "setmaxnreg.inc.sync.aligned.u32 240",
    "setmaxnreg.dec.sync.aligned.u32 40",
    "griddepcontrol.launch_dependents",
    "griddepcontrol.wait",
};

constexpr std::string_view kRefused[] = {
    "mbarrier.init.shared::cluster.b64 [%r1], %r2",
    "mbarrier.try_wait.parity.shared::cluster.b64 %p1, [%r1], 0",
    "mapa.global.u64 %rd1, %rd2, %r3",
    "mapa.shared::cta.u32 %r1, %r2, %r3",
    "getctarank.shared::cluster.u32 %rd1, %r2",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.u16 [%r1], %rs1, [%r3]",
    "st.async.shared::cta.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3]",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.f32 [%r1], %f1, "
    "[%r3]",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.exch.b32 [%r1], %r2, "
    "[%r3]",
};

/// The error of a program with this instruction; empty if it is taken.
std::string refusal(std::string_view instruction) {
  try {
    Bench bench(std::string(kHeader) +
                ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 cells[64];\n"
                ".visible .entry k() {\n.reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<8>;\n"
                ".reg .b64 %rd<8>; .reg .f32 %f<8>;\n" +
                std::string(instruction) + ";\nret; }\n");
    bench.module->program("k");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(ClusterForms, OfTheManualAreTaken) {
  for (const std::string_view form : kTaken) EXPECT_EQ(refusal(form), "") << form;
}

TEST(ClusterForms, ThatTheManualForbidsAreRefused) {
  for (const std::string_view form : kRefused) EXPECT_NE(refusal(form), "") << form;
}

}  // namespace
}  // namespace tilescope::emulator::test
