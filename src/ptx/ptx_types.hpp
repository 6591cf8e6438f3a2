// The types and state spaces of PTX, which both declarations and instructions use.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilescope::ptx {

/// A type as PTX spells it (".f16x2" is f16x2). `none` where the text names no type.
// clang-format off
enum class Type : std::uint8_t {
  none,
  b1, b8, b16, b32, b64, b128,
  u2, u4, u8, u16, u32, u64,
  s2, s4, s8, s16, s32, s64,
  f16, f32, f64, bf16, tf32,
  f16x2, bf16x2, f32x2, u16x2, s16x2,
  e4m3, e5m2, e3m2, e2m3, e2m1, ue8m0,  // eight bits and fewer: elements of matrices
  e4m3x2, e5m2x2, e3m2x2, e2m3x2, e2m1x2, ue8m0x2,
  pred,
  texref, samplerref, surfref,  // opaque handles
};
// clang-format on

/// Size in bits as a register or in memory; 0 for none, pred and opaque types.
unsigned bit_width(Type type);
/// Size in bytes in memory; types below eight bits take one; 8 for opaque handles; 0 for none,
/// pred.
unsigned byte_size(Type type);
bool is_float(Type type);     ///< any floating point type, packed ones too
bool is_signed(Type type);    ///< sN and the packed sNxM
bool is_unsigned(Type type);  ///< uN and the packed uNxM
bool is_untyped(Type type);   ///< bN
/// "f16x2", without the dot; "" for none.
std::string_view name(Type type);

/// A state space. `none` on a memory instruction means generic addressing.
enum class Space : std::uint8_t {
  none,
  reg,
  global,
  shared,          ///< .shared and .shared::cta: this block's shared memory
  shared_cluster,  ///< .shared::cluster
  local,
  constant,
  param,
  param_entry,  ///< .param::entry, when the text says so
  param_func,   ///< .param::func, when the text says so
  texture,      ///< the deprecated .tex
};

/// "shared::cluster", without the dot; "" for none.
std::string_view name(Space space);

}  // namespace tilescope::ptx
