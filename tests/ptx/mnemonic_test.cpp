#include <gtest/gtest.h>

#include "ptx/opcode_table.hpp"

namespace tilescope::ptx {
namespace {

/// In the order that the ISA manual gives, at least one for each group of modifiers.
constexpr const char* canonical[] = {
    "add.s32",
    "add.sat.s32",
    "add.cc.u32",
    "addc.cc.u32",
    "addc.u64",
    "add.rz.ftz.sat.f32",
    "add.rn.f64",
    "add.sat.f16x2",
    "sub.cc.u32",
    "subc.u32",
    "mul.lo.s32",
    "mul.wide.u16",
    "mul.hi.s64",
    "mul.rp.ftz.f32",
    "mad.hi.sat.s32",
    "mad.lo.cc.u32",
    "madc.hi.cc.u32",
    "mul24.lo.s32",
    "mad24.hi.sat.s32",
    "fma.rn.ftz.sat.f32",
    "fma.rn.relu.bf16x2",
    "div.approx.ftz.f32",
    "div.full.f32",
    "div.rn.f64",
    "div.u32",
    "rcp.approx.ftz.f64",
    "sqrt.rn.f32",
    "rsqrt.approx.f32",
    "ex2.approx.ftz.bf16x2",
    "tanh.approx.f32",
    "sin.approx.f32",
    "min.ftz.NaN.xorsign.abs.f32",
    "max.relu.s32",
    "abs.ftz.f16x2",
    "neg.bf16",
    "popc.b64",
    "bfind.shiftamt.s64",
    "bmsk.clamp.b32",
    "szext.wrap.s32",
    "dp4a.s32.u32",
    "dp2a.lo.s32.u32",
    "testp.subnormal.f32",
    "copysign.f64",
    "set.gt.and.ftz.u32.f32",
    "setp.ltu.or.ftz.f32",
    "setp.hs.u64",
    "setp.num.f64",
    "selp.b32",
    "slct.ftz.f32.s32",
    "lop3.b32",
    "lop3.or.b32",
    "shf.l.clamp.b32",
    "shf.r.wrap.b32",
    "and.pred",
    "cnot.b32",
    "prmt.b32",
    "prmt.b32.f4e",
    "mov.pred",
    "mov.b128",
    "shfl.sync.bfly.b32",
    "vote.sync.ballot.b32",
    "match.all.sync.b64",
    "activemask.b32",
    "redux.sync.min.u32",
    "elect.sync",
    "ld.global.nc.v4.f32",
    "ld.volatile.shared.u32",
    "ld.relaxed.gpu.global.u64",
    "ld.acquire.sys.b32",
    "ld.global.cg.u32",
    "ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.v4.u32",
    "ld.param.b8",
    "ld.const.f64",
    "st.wt.v2.f64",
    "st.release.cta.shared.u32",
    "st.shared::cluster.u32",
    "st.global.L1::evict_last.L2::cache_hint.b32",
    "prefetch.global.L2",
    "prefetchu.L1",
    "prefetch.global.L2::evict_last",
    "isspacep.shared",
    "cvta.to.global.u64",
    "cvta.local.u64",
    "cvt.rni.s32.f64",
    "cvt.rn.ftz.sat.f16.f32",
    "cvt.rn.relu.bf16x2.f32",
    "cvt.rna.tf32.f32",
    "cvt.rn.satfinite.e4m3x2.f32",
    "cvt.u64.u32",
    "cvt.pack.sat.s8.s32.b32",
    "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64",
    "createpolicy.cvt.L2.b64",
    "discard.global.L2",
    "applypriority.global.L2::evict_normal",
    "cp.async.cg.shared.global.L2::128B",
    "cp.async.commit_group",
    "cp.async.wait_group",
    "cp.async.wait_all",
    "cp.async.mbarrier.arrive.noinc.shared.b64",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group.read",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
    "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col",
    "cp.reduce.async.bulk.global.shared.bulk_group.add.noftz.bf16",
    "bra.uni",
    "brx.idx",
    "call.uni",
    "ret",
    "exit",
    "trap",
    "bar.sync",
    "bar.red.popc.u32",
    "bar.red.and.pred",
    "barrier.cta.sync.aligned",
    "bar.warp.sync",
    "barrier.cluster.arrive.release.aligned",
    "membar.gl",
    "fence.acq_rel.gpu",
    "fence.proxy.async.shared",
    "fence.mbarrier_init.release.cluster",
    "atom.relaxed.gpu.global.add.s32",
    "atom.global.add.noftz.f16x2",
    "atom.shared.cas.b64",
    "atom.global.add.v4.f32",
    "red.global.add.f64",
    "red.release.sys.global.max.u32",
    "mbarrier.init.shared.b64",
    "mbarrier.try_wait.parity.acquire.cta.shared.b64",
    "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16",
    "movmatrix.sync.aligned.m8n8.trans.b16",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32",
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
    "wmma.store.d.sync.aligned.row.m16n16k16.global.f32",
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16",
    "wgmma.wait_group.sync.aligned",
    "tex.2d.v4.f32.s32",
    "tld4.r.2d.v4.f32.f32",
    "txq.width.b32",
    "suld.b.2d.v4.b32.trap",
    "sust.p.1d.b32.clamp",
    "vadd.s32.u32.s32.sat.add",
    "vabsdiff4.u32.u32.u32.add",
    "nanosleep.u32",
    "setmaxnreg.inc.sync.aligned.u32",
    "griddepcontrol.wait",
    "alloca.u64",
    "multimem.ld_reduce.relaxed.gpu.global.add.acc::f32.v4.f16x2",
    "tensormap.replace.tile.global_address.shared.b1024.b64",
};

TEST(Mnemonic, IsReadAndWrittenAlike) {
  for (const char* text : canonical) {
    const Mnemonic read = parse_mnemonic(text);
    EXPECT_EQ(read.problem, "") << text;
    EXPECT_EQ(mnemonic(read.opcode, read.modifiers), text);
  }
}

TEST(Mnemonic, EveryOperationHasAnEntryThatNamesIt) {
  for (std::size_t i = 1; i < static_cast<std::size_t>(Opcode::count_); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const Mnemonic read = parse_mnemonic(name(opcode));
    if (read.problem.empty()) EXPECT_EQ(read.opcode, opcode) << name(opcode);
    // Operations that need a type report that, and still give their names.
    else
      EXPECT_EQ(read.opcode, opcode) << read.problem;
  }
}

TEST(Mnemonic, FillsTheFields) {
  const Modifiers load =
      parse_mnemonic("ld.acquire.gpu.shared::cluster.L1::evict_first.L2::64B.v2.f64").modifiers;
  EXPECT_EQ(load.ordering, Ordering::acquire);
  EXPECT_EQ(load.scope, Scope::gpu);
  EXPECT_EQ(load.space, Space::shared_cluster);
  EXPECT_EQ(load.l1_eviction, Eviction::first);
  EXPECT_EQ(load.l2_prefetch, 64);
  EXPECT_EQ(load.vector, 2);
  EXPECT_EQ(load.type(), Type::f64);

  const Modifiers mma =
      parse_mnemonic("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32").modifiers;
  EXPECT_EQ(mma.shape, (MatrixShape{16, 8, 8}));
  EXPECT_EQ(mma.a_layout, Layout::row);
  EXPECT_EQ(mma.b_layout, Layout::col);
  EXPECT_EQ(mma.types[1], Type::tf32);
  EXPECT_EQ(mma.source_type(), Type::f32);
  EXPECT_TRUE(mma.has(Flag::sync) && mma.has(Flag::aligned) && !mma.has(Flag::trans));

  const Modifiers copy = parse_mnemonic("cp.async.ca.shared.global").modifiers;
  EXPECT_EQ(copy.space, Space::shared);
  EXPECT_EQ(copy.source_space, Space::global);
  EXPECT_EQ(copy.cache, CacheOp::ca);

  EXPECT_EQ(parse_mnemonic("membar.gl").modifiers.scope, Scope::gpu);
  EXPECT_EQ(parse_mnemonic("mul.wide.s32").modifiers.part, Part::wide);
  EXPECT_EQ(parse_mnemonic("shf.r.wrap.b32").modifiers.shift_direction, ShiftDirection::right);
  EXPECT_EQ(parse_mnemonic("set.ne.xor.s32.u32").modifiers.bool_op, BoolOp::xor_);
}

TEST(Mnemonic, AcceptsTheOrderThatLibcuppWrites) {
  const Mnemonic read = parse_mnemonic("atom.add.relaxed.gpu.s32");
  EXPECT_EQ(read.problem, "");
  EXPECT_EQ(mnemonic(read.opcode, read.modifiers), "atom.relaxed.gpu.add.s32");
}

TEST(Mnemonic, SharedOfThisBlockHasTwoSpellings) {
  EXPECT_EQ(parse_mnemonic("ld.shared::cta.u32").modifiers,
            parse_mnemonic("ld.shared.u32").modifiers);
}

TEST(Mnemonic, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(parse_mnemonic("tcgen05.mma.cta_group").opcode, Opcode::unknown);
  EXPECT_EQ(parse_mnemonic("tcgen05.mma").problem, "unknown operation 'tcgen05'");
  EXPECT_EQ(parse_mnemonic("add.approx.f32").opcode, Opcode::unknown);
  EXPECT_EQ(parse_mnemonic("add.approx.f32").problem,
            "'add' does not allow the modifier '.approx'");
  EXPECT_EQ(parse_mnemonic("ld.global.global.f32").problem,
            "'ld' does not allow the modifier '.global'");
  EXPECT_EQ(parse_mnemonic("ldmatrix.sync.aligned.m8n8x.x4.shared.b16").opcode, Opcode::unknown);
}

TEST(Mnemonic, MissesTypes) {
  EXPECT_EQ(parse_mnemonic("add").problem, "'add' needs 1 type, this has 0");
  EXPECT_EQ(parse_mnemonic("cvt.u32").problem, "'cvt' needs 2 types, this has 1");
}

TEST(Mnemonic, LongGarbageTakesNoTime) {
  std::string text = "add";
  for (int i = 0; i < 2'000'000; ++i) text += ".x";
  EXPECT_EQ(parse_mnemonic(text).opcode, Opcode::unknown);
}

}  // namespace
}  // namespace tilescope::ptx
