// The modifiers between an opcode and its operands, as fields. Every field is `none` (or 0, or 1
// element) if the text does not set it; the executor applies the ISA's defaults.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

#include "ptx/ptx_types.hpp"

namespace tilescope::ptx {

enum class Rounding : std::uint8_t {
  none,
  rn,
  rz,
  rm,
  rp,
  rna,
  rs,  ///< to a floating point value
  rni,
  rzi,
  rmi,
  rpi,  ///< to an integral value
};

/// lo, ls, hi, hs compare as unsigned; the names ending in u are true for unordered operands.
enum class Compare : std::uint8_t {
  none,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  lo,
  ls,
  hi,
  hs,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan
};

/// Joins a comparison with a predicate (set, setp, lop3), or the bits of a one-bit mma.
enum class BoolOp : std::uint8_t { none, and_, or_, xor_ };

/// Which half of a product or which bytes of an operand (mul, mad, dp2a).
enum class Part : std::uint8_t { none, lo, hi, wide };

enum class CacheOp : std::uint8_t { none, ca, cg, cs, lu, cv, wb, wt };
enum class CacheLevel : std::uint8_t { none, l1, l2 };
enum class Eviction : std::uint8_t { none, normal, first, last, unchanged, no_allocate };
enum class Scope : std::uint8_t { none, cta, cluster, gpu, sys };  ///< membar.gl is gpu

enum class Ordering : std::uint8_t {
  none,
  weak,
  volatile_,
  relaxed,
  acquire,
  release,
  acq_rel,
  sc
};

/// The function of atom, red, redux, bar.red, multimem and cp.reduce.
enum class ReduceOp : std::uint8_t {
  none,
  add,
  min,
  max,
  inc,
  dec,
  and_,
  or_,
  xor_,
  exch,
  cas,
  popc
};

enum class ShuffleMode : std::uint8_t { none, up, down, bfly, idx };
enum class VoteMode : std::uint8_t { none, all, any, uni, ballot };  ///< match has all and any
enum class ShiftDirection : std::uint8_t { none, left, right };      ///< shf.l, shf.r
enum class ShiftMode : std::uint8_t { none, clamp, wrap };           ///< shf, szext, bmsk
enum class PermuteMode : std::uint8_t { none, f4e, b4e, rc8, ecl, ecr, rc16 };
enum class TestKind : std::uint8_t {
  none,
  finite,
  infinite,
  number,
  notanumber,
  normal,
  subnormal
};
enum class BarrierKind : std::uint8_t { none, sync, arrive, red, wait };

/// mMnNkK of mma and wgmma; m8n8 of ldmatrix has k = 0.
struct MatrixShape {
  std::uint16_t m = 0, n = 0, k = 0;
  friend bool operator==(const MatrixShape&, const MatrixShape&) = default;
};
enum class Layout : std::uint8_t { none, row, col };
enum class Fragment : std::uint8_t { none, a, b, c, d };  ///< wmma.load.a

enum class Geometry : std::uint8_t { none, d1, d2, d3, d4, d5, a1d, a2d, cube, acube, d2ms, a2dms };

/// Flags among the modifiers. Those of operations that few programs use (textures, tensor maps) are
/// kept too, so that nothing in the text is lost.
// clang-format off
enum class Flag : std::uint8_t {
  // arithmetic
  ftz, sat, satfinite, relu, approx, full, nan, xorsign, abs, oob, noftz, cc, shiftamt, scaled,
  // warps, blocks, branches
  sync, aligned, uni, cta, launch_dependents, wait, increase, decrease,
  // memory
  nc, mmio, unified, cache_hint, to /* cvta.to */,
  // matrices
  trans, popc /* one-bit mma */, acc_f16, acc_f32,
  // mbarriers, fences, bulk copies
  parity, expect_tx, no_complete, no_inc, read, proxy, alias, async, async_generic,
  tensormap_generic, mbarrier_init, sync_restrict_cta, sync_restrict_cluster, complete_tx_bytes,
  bulk_group, multicast, cp_mask, tile, im2col, im2col_no_offs, tensormap,
  // fields of a tensor map
  global_address, rank, box_dim, global_dim, global_stride, element_stride, elemtype,
  interleave_layout, swizzle_mode, swizzle_atomicity, fill_mode, b1024,
  // textures and surfaces
  level, base, grad, red, green, blue, alpha, width, height, depth, channel_data_type,
  channel_order, normalized_coords, force_unnormalized_coords, filter_mode, addr_mode_0,
  addr_mode_1, addr_mode_2, array_size, num_mipmap_levels, num_samples, memory_layout,
  surface_bytes, surface_pixels, surface_trap, surface_zero, texref, samplerref, surfref,
  // video
  po, shr7, shr15, op_add, op_min, op_max,
  // performance monitor
  mask,
  count_
};
// clang-format on

struct Modifiers {
  /// In the order of the text: cvt.rn.f16.f32 has {f16, f32}; mma has {d, a, b, c}.
  std::array<Type, 4> types{};
  std::uint8_t type_count = 0;
  /// The state space of a memory operation; none is generic. With two spaces
  /// (cp.async.shared.global) this is the destination and `source_space` the source.
  Space space = Space::none;
  Space source_space = Space::none;
  std::uint8_t vector = 1;    ///< elements of .v2, .v4, .v8; 1 for a scalar
  std::uint8_t matrices = 0;  ///< x1, x2, x4 of ldmatrix and stmatrix: 1, 2, 4

  Rounding rounding = Rounding::none;
  Compare compare = Compare::none;
  BoolOp bool_op = BoolOp::none;
  Part part = Part::none;
  ReduceOp reduce = ReduceOp::none;

  Ordering ordering = Ordering::none;
  Scope scope = Scope::none;
  CacheOp cache = CacheOp::none;
  CacheLevel cache_level = CacheLevel::none;  ///< prefetch.L1, discard.L2
  Eviction l1_eviction = Eviction::none;
  Eviction l2_eviction = Eviction::none;
  Eviction l2_second_eviction = Eviction::none;  ///< createpolicy: the secondary priority
  std::uint16_t l2_prefetch = 0;                 ///< bytes of .L2::64B, .L2::128B, .L2::256B

  ShuffleMode shuffle = ShuffleMode::none;
  VoteMode vote = VoteMode::none;
  ShiftDirection shift_direction = ShiftDirection::none;
  ShiftMode shift_mode = ShiftMode::none;
  PermuteMode permute = PermuteMode::none;
  TestKind test = TestKind::none;
  BarrierKind barrier = BarrierKind::none;

  MatrixShape shape;
  Layout a_layout = Layout::none;  ///< of mma's A, or of the one matrix of wmma.load and .store
  Layout b_layout = Layout::none;
  Fragment fragment = Fragment::none;
  Geometry geometry = Geometry::none;

  std::bitset<static_cast<std::size_t>(Flag::count_)> flags;

  bool has(Flag flag) const { return flags[static_cast<std::size_t>(flag)]; }
  /// The first type, and the last: destination and source of a conversion.
  Type type() const { return types[0]; }
  Type source_type() const { return type_count == 0 ? Type::none : types[type_count - 1]; }

  friend bool operator==(const Modifiers&, const Modifiers&) = default;
};

}  // namespace tilescope::ptx
