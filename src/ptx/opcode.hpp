// Every operation of PTX for compute capability 7.5 to 9.0. Dotted words that make another
// operation (cp.async.wait_all, bar.warp.sync) belong to the opcode; those that choose a flavour
// of the same operation (bar.sync, bar.arrive) are modifiers.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilescope::ptx {

// clang-format off
enum class Opcode : std::uint16_t {
  unknown,  ///< not in the table, or with a modifier that the table does not allow: see the text
  // integer and floating point arithmetic
  abs, add, addc, bfe, bfi, bfind, bmsk, brev, clz, cnot, copysign, cos, div, dp2a, dp4a, ex2, fma,
  fns, lg2, mad, mad24, madc, max, min, mul, mul24, neg, popc, rcp, rem, rsqrt, sad, sin, sqrt,
  sub, subc, szext, tanh, testp,
  // comparison, selection, logic, shifts
  and_, lop3, not_, or_, selp, set, setp, shf, shl, shr, slct, xor_,
  // data movement
  applypriority, createpolicy_cvt, createpolicy_fractional, createpolicy_range, cvt, cvt_pack,
  cvta, discard, getctarank, isspacep, ld, ldu, mapa, mov, movmatrix, multimem_ld_reduce,
  multimem_red, multimem_st, prefetch, prefetchu, prmt, shfl, st, st_async, st_bulk,
  // asynchronous copies
  cp_async, cp_async_bulk, cp_async_bulk_commit_group, cp_async_bulk_prefetch,
  cp_async_bulk_prefetch_tensor, cp_async_bulk_tensor, cp_async_bulk_wait_group,
  cp_async_commit_group, cp_async_mbarrier_arrive, cp_async_wait_all, cp_async_wait_group,
  cp_reduce_async_bulk, cp_reduce_async_bulk_tensor, tensormap_cp_fenceproxy, tensormap_replace,
  // textures and surfaces
  istypep, suld, suq, sured, sust, tex, tld4, txq,
  // control flow
  bra, brx_idx, call, exit, ret,
  // synchronisation and communication
  activemask, atom, bar, bar_warp_sync, barrier, barrier_cluster, elect, fence, griddepcontrol,
  match, mbarrier_arrive, mbarrier_arrive_drop, mbarrier_complete_tx, mbarrier_expect_tx,
  mbarrier_init, mbarrier_inval, mbarrier_pending_count, mbarrier_test_wait, mbarrier_try_wait,
  membar, red, red_async, redux, vote,
  // matrices
  ldmatrix, mma, mma_sp, mma_sp_ordered, stmatrix, wgmma_commit_group, wgmma_fence,
  wgmma_mma_async, wgmma_mma_async_sp, wgmma_wait_group, wmma_load, wmma_mma, wmma_store,
  // stack
  alloca, stackrestore, stacksave,
  // video
  vabsdiff, vabsdiff2, vabsdiff4, vadd, vadd2, vadd4, vavrg2, vavrg4, vmad, vmax, vmax2, vmax4,
  vmin, vmin2, vmin4, vset, vset2, vset4, vshl, vshr, vsub, vsub2, vsub4,
  // miscellaneous
  brkpt, nanosleep, pmevent, setmaxnreg, trap,
  count_  ///< how many there are
};
// clang-format on

/// What an opcode takes. `operands` has one letter for each operand, in the order of the text:
/// d destination (register, vector, pair, sink), s source, a address, x address or source, l label;
/// those after ? may be left out. The destination that bar.red alone has counts as a source. Empty
/// for call, whose operands are in Function::calls.
struct OpcodeInfo {
  std::string_view name;
  std::string_view operands;
  bool has_destination() const { return operands.starts_with('d'); }
};
const OpcodeInfo& info(Opcode opcode);

/// The operation as PTX spells it: "cp.async.wait_all"; "unknown" for Opcode::unknown.
std::string_view name(Opcode opcode);

}  // namespace tilescope::ptx
